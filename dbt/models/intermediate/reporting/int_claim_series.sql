{%- set ends = {'': '', '_low': '_high', '_high': '_low'} %}
{%- set of = 'claim_id, workload_key, basis_class, series' %}
{%- set amounts = ['side_amount', 'side_work', 'baseline_amount', 'baseline_work'] %}
{%- set per = 'cast(sum({0}_amount{1}) as double) / cast(sum({0}_work) as double)' %}
with deviations as (
    select
        *,
        {%- for amount in amounts %}
        cast(
            cast(sum({{ amount }}) over (partition by {{ of }}) as decimal(37, 9)) - cast({{ amount }} as decimal(37, 9))
            as double
        ) as other_{{ amount }},
        {%- endfor %}
        cast(log_ratio - {{ mean_log('log_ratio', ' over (partition by ' ~ of ~ ')') }} as decimal(18, 12)) as deviation
    from {{ ref('int_claim_clusters') }}
    where log_ratio is not null
),

-- the ratio of totals without one cluster after the other
left_out as (
    select
        *,
        case
            when other_baseline_amount > 0 and other_side_work > 0 and other_baseline_work > 0
                then {{ exact_log('other_side_amount / other_side_work / (other_baseline_amount / other_baseline_work)') }}
        end as log_total_without
    from deviations
),

totals as (
    select
        *,
        cast(log_total_without - {{ mean_log('log_total_without', ' over (partition by ' ~ of ~ ')') }} as decimal(18, 12))
            as total_deviation
    from left_out
),

moments as (
    select
        {{ of }},
        cast(sum(pair_count) as bigint) as pair_count,
        count(*) as n,
        {%- for end, other in ends.items() %}
        cast({{ mean_log('log_ratio' ~ end) }} as double) as mean{{ end }},
        cast(
            {{ exact_log(per.format('side', end)) }} - {{ exact_log(per.format('baseline', other)) }} as double
        ) as total{{ end }},
        {%- endfor %}
        cast(sum(deviation * deviation) as double) as squares,
        cast(sum(
            cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9))
        ) as double) as cubes,
        case
            when count(*) = count(log_total_without)
                then sqrt(cast(sum(total_deviation * total_deviation) as double) * (count(*) - 1) / count(*))
        end as total_error
    from totals
    group by {{ of }}
),

asked as (
    select
        claim_id,
        cast(count(distinct case when n >= 6 then workload_key end) as double) as workload_count
    from moments
    where series = 'all'
    group by claim_id
),

-- the e value that is needed: 50 for each workload that is asked, eight times that where a few clusters carry the mean
needed as (
    select
        moments.*,
        asked.workload_count,
        abs(moments.cubes) / moments.n
        > 1.25e0 * (moments.squares / moments.n) * sqrt(moments.squares / moments.n) as is_skewed
    from moments
    inner join asked on moments.claim_id = asked.claim_id
    where moments.n >= 6
),

widths as (
    select
        needed.*,
        {{ sequence_half_width(
            'needed.n', 'sqrt(needed.squares / (needed.n - 1))',
            'ln(50e0 * needed.workload_count * case when needed.is_skewed then 8e0 else 1e0 end)'
        ) }} as half_width,
        quantiles.t_1 * needed.total_error as total_half_width
    from needed
    inner join {{ ref('dim_t_quantiles') }} as quantiles
        on greatest(4, least(needed.n - 1, 120)) = quantiles.degrees_of_freedom
),

-- where skewed the ratio of totals must lie on the same side: the interval is that of both
intervals as (
    select
        *,
        case
            when not is_skewed then mean_low - half_width
            when total_half_width is not null and half_width is not null
                then least(mean_low - half_width, total_low - total_half_width)
        end as log_low,
        case
            when not is_skewed then mean_high + half_width
            when total_half_width is not null and half_width is not null
                then greatest(mean_high + half_width, total_high + total_half_width)
        end as log_high
    from widths
),

-- in the last half quarters no launch of a side reached: nothing is decided for that side
unreached as (
    select
        {{ of }},
        bool_or(side_work = 0) as is_side_unreached,
        bool_or(baseline_work = 0) as is_baseline_unreached
    from {{ ref('int_claim_clusters') }}
    where log_ratio is null
    group by {{ of }}
),

figures as (
    select
        moments.claim_id,
        moments.workload_key,
        moments.basis_class,
        moments.series,
        moments.pair_count,
        moments.n,
        moments.mean,
        coalesce(intervals.is_skewed, false) as is_skewed,
        coalesce(unreached.is_side_unreached, false) as is_side_unreached,
        coalesce(unreached.is_baseline_unreached, false) as is_baseline_unreached,
        claims.supported_from,
        claims.contradicted_below,
        {%- for x, log in {'x': 'moments.mean', 'x_low': 'intervals.log_high', 'x_high': 'intervals.log_low'}.items() %}
        {{ significant(
            'case claims.form when \'saving\' then 1e0 - exp(' ~ log ~ ') else exp(-(' ~ log ~ ')) end'
        ) }} as {{ x }}{{ ',' if not loop.last }}
        {%- endfor %}
    from moments
    inner join {{ ref('dim_vendor_claims') }} as claims on moments.claim_id = claims.claim_id
    left join intervals
        on
            moments.claim_id = intervals.claim_id and moments.workload_key = intervals.workload_key
            and moments.basis_class = intervals.basis_class and moments.series = intervals.series
    left join unreached
        on
            moments.claim_id = unreached.claim_id and moments.workload_key = unreached.workload_key
            and moments.basis_class = unreached.basis_class and moments.series = unreached.series
)

select
    *,
    case
        when x_low >= supported_from then 'supported'
        when x_high < contradicted_below then 'contradicted'
    end as verdict
from figures
