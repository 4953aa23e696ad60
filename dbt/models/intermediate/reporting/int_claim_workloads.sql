{%- set ends = {'': '', '_low': '_high', '_high': '_low'} %}
{%- set logs = {
    'x': 'series.mean', 'x_low': 'intervals.mean_high + intervals.half_width',
    'x_high': 'intervals.mean_low - intervals.half_width',
} %}
{%- set per = 'cast(sum({0}_amount{1}) as double) / cast(nullif(sum({0}_work), 0) as double)' %}
{#- less is better of every amount, so the side at its low end is set against the baseline at its high end -#}
with last_windows as (
    select max(window_end) as last_end from {{ ref('int_report_windows') }}
),

closed as (
    select pairs.* from {{ ref('int_claim_pairs') }} as pairs
    inner join last_windows on pairs.closed_on <= last_windows.last_end
),

set_aside as (
    select
        claim_id,
        workload_key,
        count(*) as pair_count,
        count(set_aside_because) as set_aside_count,
        min(set_aside_because) as set_aside_because
    from {{ ref('int_claim_pairs') }}
    group by claim_id, workload_key
),

-- of each cluster the ratio of what all launches took over the work that was done
clusters as (
    select
        claim_id,
        workload_key,
        basis_class,
        cluster_start,
        {%- for end, other in ends.items() %}
        {{ exact_log(per.format('side', end)) }} - {{ exact_log(per.format('baseline', other)) }} as log_ratio{{ end }},
        {%- endfor %}
        count(*) as pair_count
    from closed
    where set_aside_because is null
    group by claim_id, workload_key, basis_class, cluster_start
),

deviations as (
    select
        *,
        cast(
            log_ratio - {{ mean_log('log_ratio', ' over (partition by claim_id, workload_key, basis_class)') }} as decimal(18, 12)
        ) as deviation
    from clusters
),

series as (
    select
        claim_id,
        workload_key,
        basis_class,
        sum(pair_count) as used_count,
        count(*) as n,
        count(*) = count(log_ratio) as is_reached_in_all,
        {%- for end in ends %}
        cast({{ mean_log('log_ratio' ~ end) }} as double) as mean{{ end }},
        {%- endfor %}
        cast(sum(deviation * deviation) as double) as squares,
        cast(sum(
            cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9)) * cast(deviation as decimal(12, 9))
        ) as double) as cubes
    from deviations
    group by claim_id, workload_key, basis_class
    -- what is measured counts from six clusters on, else what is modelled
    qualify row_number() over (partition by claim_id, workload_key order by count(*) < 6, basis_class) = 1
),

-- the e value that is needed: 50 for each workload that is asked, eight times that where a few clusters carry the mean
needed as (
    select
        *,
        50e0 * count(case when n >= 6 then 1 end) over (partition by claim_id)
        * case when abs(cubes) / n > 1.25e0 * (squares / n) * sqrt(squares / n) then 8e0 else 1e0 end as e_needed
    from series
),

bounded as (
    select
        *,
        exp(ln(e_needed * sqrt(1e0 + n)) * 2e0 / n) as k
    from needed
    where n >= 6 and is_reached_in_all
),

intervals as (
    select
        *,
        case when k < 1e0 + n then sqrt(squares / n * (k - 1e0) / (1e0 - k / (1e0 + n))) end as half_width
    from bounded
),

figures as (
    select
        set_aside.*,
        coalesce(series.used_count, 0) as used_count,
        coalesce(series.n, 0) as cluster_count,
        series.is_reached_in_all,
        claims.form,
        claims.supported_from,
        claims.contradicted_below,
        {%- for x, log in logs.items() %}
        {{ significant(
            'case claims.form when \'saving\' then 1e0 - exp(' ~ log ~ ') else exp(-(' ~ log ~ ')) end'
        ) }} as {{ x }}{{ ',' if not loop.last }}
        {%- endfor %}
    from set_aside
    inner join {{ ref('dim_vendor_claims') }} as claims using (claim_id)
    left join series using (claim_id, workload_key)
    left join intervals using (claim_id, workload_key)
)

select
    claim_id,
    workload_key,
    pair_count,
    set_aside_count,
    cluster_count,
    x,
    x_low,
    x_high,
    case
        when x_low >= supported_from then 'supported'
        when x_high < contradicted_below then 'contradicted'
        else 'undecided'
    end as verdict,
    case
        when used_count = 0 and set_aside_count > 0 then set_aside_because
        when cluster_count < 6
            then 'its pairs fill ' || cast(cluster_count as string) || ' closed half quarters, and a verdict takes six'
        when not is_reached_in_all then 'in one half quarter no launch of a side reached the target'
        when x_low is null then 'the interval has no end'
    end as open_because
from figures
