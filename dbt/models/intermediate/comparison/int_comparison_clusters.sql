{%- set series = 'workload_key, kpi, factor_view, basis_class, stratum_kind, stratum' %}
{%- set begun_series = 'begun.' ~ series | replace(', ', ', begun.') %}
{%- set same_series = [] %}
{%- for name in series.split(', ') %}{% do same_series.append('begun.' ~ name ~ ' = earlier.' ~ name) %}{% endfor %}
{%- set same_series = same_series | join(' and ') %}
{%- set strata = {
    '': none, 'team': 'team', 'accelerator': 'accelerator_type', 'region': 'region_id', 'software': 'software',
    'purchase': 'purchase'
} %}

with pairs as (
    select
        *,
        kpi like 'cost_per_run%' as is_primary
    from {{ ref('int_comparison_pairs') }}
    where use = 'decides' and setting = ''
),

-- each pair among all, and in its stratum of each kind
members as (
    {%- for kind, name in strata.items() %}
    select
        workload_key,
        kpi,
        factor_view,
        coalesce(basis_class, '') as basis_class,
        '{{ kind }}' as stratum_kind,
        {{ "'Trainium: ' || trainium_" ~ name ~ " || '; TPU: ' || tpu_" ~ name if name else "''" }} as stratum,
        cluster_start,
        cluster_end,
        is_primary,
        log_ratio
        {%- for family in ['trainium', 'tpu'] %},
        case when is_primary then {{ family }}_reached else 1 end as {{ family }}_reached,
        case
            when is_primary then {{ double_to_decimal(family ~ '_total', 12) }}
            else {{ double_to_decimal(family ~ '_value', 12) }}
        end as {{ family }}_cost
        {%- endfor %}
    from pairs
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

waiting as (
    {{ half_quarters_that_wait() }}
),

half_quarters as (
    select
        {{ series }},
        cluster_start,
        max(cluster_end) as cluster_end,
        cast(date_trunc('quarter', cluster_start) + interval 3 month as date) as quarter_end,
        bool_or(is_primary) as is_primary,
        count(*) as pair_count,
        {{ mean_log('log_ratio') }} as mean_log_ratio
        {%- for family in ['trainium', 'tpu'] %},
        cast(sum({{ family }}_cost) as decimal(38, 12)) as {{ family }}_cost,
        cast(sum({{ family }}_reached) as bigint) as {{ family }}_reached
        {%- endfor %}
    from members
    group by {{ series }}, cluster_start
),

-- one in which a side reached nothing is joined to those that follow, until both sides reached: `next` is what begins after them
numbered as (
    select
        *,
        row_number() over (partition by {{ series }} order by cluster_start) as n
    from half_quarters
),

reaching as (
    select
        *,
        trainium_reached > 0 and tpu_reached > 0 as is_whole,
        greatest(
            coalesce(min(case when trainium_reached > 0 then n end) over following, 1000000),
            coalesce(min(case when tpu_reached > 0 then n end) over following, 1000000)
        ) + 1 as next
    from numbered
    window following as (partition by {{ series }} order by n rows between current row and unbounded following)
),

-- after one that is whole by itself another begins; those between are followed, eight in a row
begun as (
    select
        *,
        coalesce(lag(is_whole) over (partition by {{ series }} order by n), true) as is_begin
    from reaching
),

begins_0 as (
    select {{ series }}, n, next from begun
    where is_begin
),
{% for step in range(1, 9) %}
begins_{{ step }} as (
    select {{ series }}, n, next from begins_{{ step - 1 }}
    union
    select {{ begun_series }}, begun.n, begun.next
    from begun
    inner join begins_{{ step - 1 }} as earlier
        on begun.n = earlier.next and {{ same_series }}
),
{% endfor %}
joined as (
    select
        begun.*,
        sum(case when begins.n is not null then 1 else 0 end) over (
            partition by {{ begun_series }} order by begun.n rows between unbounded preceding and current row
        ) as place,
        waiting.workload_key is not null as is_waiting
    from begun
    left join begins_8 as begins on begun.n = begins.n and {{ same_series | replace('earlier.', 'begins.') }}
    left join waiting on begun.workload_key = waiting.workload_key and begun.cluster_start = waiting.cluster_start
),

-- one that waits, and what is joined to it from there on: what was before it counts as it did
grouped as (
    select
        *,
        bool_or(is_waiting) over (
            partition by {{ series }}, place order by n rows between unbounded preceding and current row
        ) as is_held_up
    from joined
),

totals as (
    select
        {{ series }},
        min(cluster_start) as cluster_start,
        max(cluster_end) as cluster_end,
        case when not bool_or(is_waiting) then max(quarter_end) end as closed_on,
        min(case when not is_held_up then quarter_end end) as begun_on,
        bool_or(is_primary) as is_primary,
        cast(sum(pair_count) as bigint) as pair_count,
        max(mean_log_ratio) as mean_log_ratio
        {%- for family in ['trainium', 'tpu'] %},
        cast(sum({{ family }}_cost) as decimal(38, 12)) as {{ family }}_cost,
        cast(sum({{ family }}_reached) as bigint) as {{ family }}_reached,
        min(case when not is_held_up and {{ family }}_reached > 0 then quarter_end end) as {{ family }}_reached_on
        {%- endfor %}
    from grouped
    group by {{ series }}, place
),

ratios as (
    select
        *,
        cast(tpu_cost as double) / nullif(tpu_reached, 0)
        / (cast(nullif(trainium_cost, 0) as double) / nullif(trainium_reached, 0)) as ratio
    from totals
)

-- the logarithm of the ratio, not a difference of two: pairs of 98 for 100 and of 100 for 98 have a mean of 0
select
    {{ series }},
    cluster_start,
    cluster_end,
    closed_on,
    pair_count,
    case when is_primary then {{ exact_log('ratio') }} else mean_log_ratio end as log_value,
    trainium_cost,
    tpu_cost,
    trainium_reached,
    tpu_reached,
    begun_on,
    trainium_reached_on,
    tpu_reached_on
from ratios
