{{ config(materialized='by_month') }}
{%- set levels = {'': 'mid', '_low': 'low', '_high': 'high'} %}
{%- set bases = {
    'measured': 'metered', 'measured_node': 'node', 'driver_power': 'driven', 'utilisation_model': 'seen', 'time_model': 'unseen',
} %}
{%- set run = 'usage_month, training_run_id, region_id' %}
{#- 1e-9 kWh are 3.6e9 x 1e-12 J -#}
{%- set kwh_in_pj = '3600000000' %}

with boundaries as (
    {%- for boundary in ['chip', 'chip_host', 'it', 'facility'] %}
    select '{{ boundary }}' as measure
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

modelled as (
    select parts.*, boundaries.measure, {{ to_units('parts.pue_ratio', 4) }} as pue_units
    from {{ ref('int_run_region_energy') }} as parts
    inner join {{ ref('int_measured_run_energy') }} as energy using ({{ run }})
    cross join boundaries
    where not energy.is_measured
),

stated as (
    select energy.*, boundaries.measure
    from {{ ref('int_measured_run_energy') }} as energy
    cross join boundaries
    where energy.is_measured
),

integrals as (
    {%- for basis, name in bases.items() %}
    select
        {{ run }}, '' as pool_id, measure, '{{ basis }}' as basis
        {%- for suffix, level in levels.items() %},
        case measure when 'chip' then {{ name }}_chip_{{ level }} else {{ name }}_chip_host_{{ level }} end
            as integral{{ suffix }},
        {{ from_units(
            "case measure when 'it' then it_factor_" ~ level ~ " * 10000 when 'facility' then it_factor_" ~ level
            ~ " * pue_units else 10000000000 end", 10
        ) }} as factor{{ suffix }}
        {%- endfor %}
    from modelled

    union all
    {% endfor %}

    -- what the organisation stated, with what the written method adds outside its meter
    select
        {{ run }}, '' as pool_id, measure, 'stated' as basis
        {%- for suffix, level in levels.items() %},
        cast({{ to_units(
            "case measure when 'chip' then chip_energy_kwh_" ~ level ~ " when 'chip_host' then chip_host_energy_kwh_" ~ level
            ~ " when 'it' then it_energy_kwh_" ~ level ~ ' else facility_energy_kwh_' ~ level ~ ' end', 9
        ) }} * {{ kwh_in_pj }} as decimal(38, 0)) as integral{{ suffix }},
        cast(1 as decimal(38, 10)) as factor{{ suffix }}
        {%- endfor %}
    from stated

    union all

    select
        {{ run }}, pool_id, 'idle_share' as measure, 'idle_reserve' as basis
        {%- for suffix in levels %},
        {%- if suffix %}
        cast(null as decimal(38, 0)) as integral{{ suffix }},
        cast(null as decimal(38, 10)) as factor{{ suffix }}
        {%- else %}
        cast({{ to_units('facility_energy_kwh', 9) }} * {{ kwh_in_pj }} as decimal(38, 0)) as integral,
        cast(1 as decimal(38, 10)) as factor
        {%- endif %}
        {%- endfor %}
    from {{ ref('int_idle_energy_shares') }}
    {%- for time in ['reserved', 'observed', 'powered', 'watched', 'used'] %}

    union all

    -- hours are divided once for all regions
    select
        usage_month, training_run_id, '' as region_id, '' as pool_id, '{{ time }}' as measure, 'chip_time' as basis
        {%- for suffix in levels %},
        cast({{ 'null' if suffix else 'sum(' ~ time ~ '_ps)' }} as decimal(38, 0)) as integral{{ suffix }},
        cast({{ 'null' if suffix else '1' }} as decimal(38, 10)) as factor{{ suffix }}
        {%- endfor %}
    from {{ ref('int_measured_run_energy') }}
    group by usage_month, training_run_id
    {%- endfor %}
)

select
    training_run_id,
    usage_month,
    region_id,
    pool_id,
    measure,
    basis
    {%- for suffix in levels %},
    {{ from_trillionths('integral' ~ suffix) }} as integral{{ suffix }}
    {%- endfor %},
    factor,
    factor_low,
    factor_high
from integrals
where integral <> 0 or integral_high <> 0
