select
    window_start,
    window_end,
    workload_key,
    pair_key,
    kpi,
    factor_view,
    setting,
    unit,
    {%- for family in ['trainium', 'tpu'] %}
    {{ family }}_accelerator_type,
    {{ family }}_region_id,
    {{ family }}_run_count,
    {%- for end in ['', '_low', '_high'] %}
    {{ significant(family ~ '_value' ~ end) }} as {{ family }}_value{{ end }},
    {%- endfor %}
    {%- endfor %}
    {{ significant('exp(cast(log_ratio as double))') }} as ratio,
    {{ significant('exp(cast(log_ratio_low as double))') }} as ratio_corner_low,
    {{ significant('exp(cast(log_ratio_high as double))') }} as ratio_corner_high,
    basis_class,
    is_power_assumed
from {{ ref('int_comparison_window_pairs') }}
