{%- set ends = {'': '', '_low': '_high', '_high': '_low'} %}
{%- set roles = {'side': 'baseline', 'baseline': 'side'} %}
{%- set of = 'claim_id, workload_key, basis_class' %}
{%- set series = of ~ ', series' %}
{%- set per = 'cast({0}_amount{1} as double) / cast(nullif({0}_work, 0) as double)' %}
with used as (
    select * from {{ ref('int_claim_pairs') }}
    where (is_closed or is_waiting) and set_aside_because is null
),

-- what a figure that is missing may have been: the extremes of the pairs that decide
peers as (
    select
        {{ of }},
        {%- for role in roles %}{% for end in ends %}
        min({{ per.format(role, end) }}) as {{ role }}_least{{ end }},
        max({{ per.format(role, end) }}) as {{ role }}_most{{ end }},
        {%- endfor %}{% endfor %}
        count(*) as pair_count
    from used
    where is_closed
    group by {{ of }}
    having count(distinct cluster_start) >= 6
),

-- where more than a tenth lacks one
lacking as (
    select
        pairs.*,
        peers.basis_class as in_class
        {%- for role in roles %}{% for end in ends %},
        peers.{{ role }}_least{{ end }},
        peers.{{ role }}_most{{ end }}
        {%- endfor %}{% endfor %}
    from {{ ref('int_claim_pairs') }} as pairs
    inner join peers on pairs.claim_id = peers.claim_id and pairs.workload_key = peers.workload_key
    where pairs.is_closed and pairs.missing_role is not null
    qualify
        10 * count(*) over (partition by pairs.claim_id, pairs.workload_key, peers.basis_class)
        > count(*) over (partition by pairs.claim_id, pairs.workload_key, peers.basis_class) + peers.pair_count
),

short_of_figures as (
    select distinct claim_id, workload_key, in_class as basis_class from lacking
),

members as (
    select
        {{ of }},
        'all' as series,
        cluster_start, closed_on, is_waiting
        {%- for role in roles %},
        cast({{ role }}_work as double) as {{ role }}_work
        {%- for end in ends %},
        cast({{ role }}_amount{{ end }} as double) as {{ role }}_amount{{ end }}
        {%- endfor %}{% endfor %}
    from used
    {%- for name, extremes in {
        'highest': {'side': 'most', 'baseline': 'least'}, 'lowest': {'side': 'least', 'baseline': 'most'}
    }.items() %}
    union all
    select
        {{ of }},
        '{{ name }}' as series,
        used.cluster_start, used.closed_on, used.is_waiting
        {%- for role in roles %},
        cast(used.{{ role }}_work as double) as {{ role }}_work
        {%- for end in ends %},
        cast(used.{{ role }}_amount{{ end }} as double) as {{ role }}_amount{{ end }}
        {%- endfor %}{% endfor %}
    from used
    inner join short_of_figures using ({{ of }})
    union all
    -- with as much work as the other side of its pair
    select
        claim_id, workload_key, in_class as basis_class,
        '{{ name }}' as series,
        cluster_start, closed_on, is_waiting
        {%- for role, other in roles.items() %},
        cast(case when missing_role = '{{ role }}' then {{ other }}_work else {{ role }}_work end as double) as {{ role }}_work
        {%- for end in ends %},
        case
            when missing_role = '{{ role }}' then {{ role }}_{{ extremes[role] }}{{ end }} * cast({{ other }}_work as double)
            else cast({{ role }}_amount{{ end }} as double)
        end as {{ role }}_amount{{ end }}
        {%- endfor %}{% endfor %}
    from lacking
    {%- endfor %}
),

half_quarters as (
    select
        {{ series }}, cluster_start, closed_on, is_waiting,
        count(*) as pair_count
        {%- for role in roles %},
        sum(cast({{ role }}_work as decimal(38, 9))) as {{ role }}_work
        {%- for end in ends %},
        sum(cast({{ role }}_amount{{ end }} as decimal(38, 9))) as {{ role }}_amount{{ end }}
        {%- endfor %}{% endfor %}
    from members
    group by {{ series }}, cluster_start, closed_on, is_waiting
),

-- one in which a side reached nothing is joined to those that follow, until both did
numbered as (
    select
        *,
        coalesce(sum(case when side_work > 0 and baseline_work > 0 then 1 else 0 end) over (
            partition by {{ series }} order by cluster_start rows between unbounded preceding and 1 preceding
        ), 0) as place
    from half_quarters
),

-- where a launch goes on it waits, and with it what is joined to it from there on
waiting as (
    select
        *,
        bool_or(is_waiting) over (
            partition by {{ series }}, place order by cluster_start rows between unbounded preceding and current row
        ) as is_held_up
    from numbered
),

joined as (
    select
        {{ series }},
        min(cluster_start) as cluster_start,
        max(closed_on) as closed_on,
        cast(sum(pair_count) as bigint) as pair_count
        {%- for role in roles %},
        cast(sum({{ role }}_work) as decimal(38, 9)) as {{ role }}_work
        {%- for end in ends %},
        cast(sum({{ role }}_amount{{ end }}) as decimal(38, 9)) as {{ role }}_amount{{ end }}
        {%- endfor %}{% endfor %}
    from waiting
    where not is_held_up
    group by {{ series }}, place
),

last_ends as (
    select max(window_end) as last_end from {{ ref('int_report_windows') }}
),

of_series as (
    {%- for name in ['', 'last_four'] %}
    select
        joined.claim_id, joined.workload_key, joined.basis_class,
        {{ "'" ~ name ~ "' as series" if name else 'joined.series' }},
        joined.cluster_start, joined.closed_on, joined.pair_count
        {%- for role in roles %},
        joined.{{ role }}_work
        {%- for end in ends %},
        joined.{{ role }}_amount{{ end }}
        {%- endfor %}{% endfor %}
    from joined
    {%- if name %}
    cross join last_ends
    where joined.series = 'all' and joined.closed_on > last_ends.last_end - interval 12 month
    {%- else %}
    union all
    {%- endif %}
    {%- endfor %}
)

-- less is better of every amount, so the side at its low end is set against the baseline at its high end
select
    *
    {%- for end, other in ends.items() %},
    cast({{ exact_log(per.format('side', end)) }} - {{ exact_log(per.format('baseline', other)) }} as decimal(18, 12))
        as log_ratio{{ end }}
    {%- endfor %}
from of_series
