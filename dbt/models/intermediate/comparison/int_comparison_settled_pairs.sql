-- the pairs behind each cluster that has a value: of a cluster that was joined to a later one as well
select
    clusters.workload_key,
    clusters.kpi,
    clusters.factor_view,
    clusters.basis_class,
    clusters.cluster_start,
    clusters.closed_on,
    pairs.pair_key,
    pairs.log_ratio,
    pairs.evidence_of_time,
    coalesce(pairs.is_power_assumed, true) as is_power_assumed,
    {%- for family in ['trainium', 'tpu'] %}
    coalesce(pairs.{{ family }}_accelerator_type, 'unknown') as {{ family }}_accelerator,
    coalesce(pairs.{{ family }}_region_id, 'unknown') as {{ family }}_region,
    coalesce(pairs.{{ family }}_purchase, 'unknown') as {{ family }}_purchase,
    coalesce(pairs.{{ family }}_software, 'unknown') as {{ family }}_software,
    coalesce(pairs.{{ family }}_team, 'unknown') as {{ family }}_team,
    -- one launch that reaches the target, of the primary figures
    case
        when {{ figure_family('pairs.kpi') }} <> 'primary' then pairs.{{ family }}_value
        when pairs.{{ family }}_reached > 0 then cast(pairs.{{ family }}_total as double) / pairs.{{ family }}_reached
    end as {{ family }}_figure,
    cast({{ exact_log('pairs.' ~ family ~ '_value_low') }} - {{ exact_log('pairs.' ~ family ~ '_value') }} as decimal(18, 12))
        as {{ family }}_log_low,
    cast({{ exact_log('pairs.' ~ family ~ '_value_high') }} - {{ exact_log('pairs.' ~ family ~ '_value') }} as decimal(18, 12))
        as {{ family }}_log_high{{ ',' if not loop.last }}
    {%- endfor %}
from {{ ref('int_comparison_clusters') }} as clusters
inner join {{ ref('int_comparison_pairs') }} as pairs
    on
        clusters.workload_key = pairs.workload_key and clusters.kpi = pairs.kpi and clusters.factor_view = pairs.factor_view
        and clusters.basis_class = coalesce(pairs.basis_class, '')
        and pairs.cluster_start >= clusters.cluster_start and pairs.cluster_start < clusters.cluster_end
where clusters.stratum_kind = '' and clusters.log_value is not null and pairs.use = 'decides' and pairs.setting = ''
