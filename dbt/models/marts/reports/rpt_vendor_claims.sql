{%- set shown = [
    'x', 'x_low', 'x_high', 'workload_key', 'pair_count', 'set_aside_count', 'cluster_count', 'is_skewed', 'open_because'
] %}
with claims as (
    select *, contradicted_below < supported_from as is_up_to from {{ ref('dim_vendor_claims') }}
),

-- an 'up to' is judged by the workload that does best, any other claim by the one that does least
ranked_workloads as (
    select
        workloads.*,
        row_number() over (
            partition by workloads.claim_id
            order by
                workloads.open_because is not null,
                case
                    when claims.is_up_to then -coalesce(workloads.x_low, workloads.x)
                    else coalesce(workloads.x_high, workloads.x)
                end,
                workloads.cluster_count desc,
                workloads.workload_key
        ) as place
    from {{ ref('int_claim_workloads') }} as workloads
    inner join claims using (claim_id)
),

paired as (
    select
        claim_id,
        count(case when open_because is null then 1 end) as judged_count,
        count(case when open_because is null and verdict = 'supported' then 1 end) as supported_count,
        count(case when open_because is null and verdict = 'contradicted' then 1 end) as contradicted_count,
        {%- for name in shown %}
        max(case when place = 1 then {{ name }} end) as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from ranked_workloads
    group by claim_id
),

google_pues as (
    select region_id, cast(pue_ratio as double) as pue_ratio, data_year from {{ ref('dim_pue') }}
    where provider_name = 'Google Cloud'
    qualify data_year = max(data_year) over ()
),

-- a claim about the fleet is judged by the fleet's figure; those of campuses are beside it
fleet as (
    select
        max(case when region_id = '*' then pue_ratio end) as x,
        min(case when region_id <> '*' then pue_ratio end) as x_low,
        max(case when region_id <> '*' then pue_ratio end) as x_high,
        count(case when region_id <> '*' then 1 end) as campus_count,
        max(data_year) as data_year
    from google_pues
),

carbon_providers as (
    select count(distinct provider_name) as provider_count from {{ ref('int_claim_masses') }}
),

-- one row per claim: what was measured, between which bounds, and why nothing is decided where nothing is
measured as (
    select
        claims.*,
        paired.judged_count,
        paired.supported_count,
        paired.contradicted_count,
        figures.recomputed_value as own_saving,
        case
            when claims.test like 'paired%' and paired.claim_id is null
                then 'no matched pairs of runs on ' || claims.side || ' and on ' || claims.baseline
            when claims.test = 'google_pue' and fleet.data_year is null then 'no PUE of Google is known'
            when claims.test = 'market_based' and masses.kg is null
                then 'no market-based Scope 2 of ' || claims.side || ' is published, or a part of it is not known'
            when claims.test = 'carbon_grain' and carbon_providers.provider_count < 2
                then 'the carbon exports of both providers are needed'
            when claims.test in ('spot', 'commitment') and savings.saving is null
                then 'no run on ' || claims.side || ' used such hours with a list price, in one currency'
        end as missing,
        case
            when claims.test = 'google_pue' and fleet.x is null and fleet.data_year is not null
                then 'it is about the fleet, of which no figure is known: campuses alone are no fleet'
            else claims.not_testable_because
        end as untestable,
        case claims.test
            when 'google_pue' then fleet.x
            when 'market_based' then masses.kg
            when 'spot' then savings.saving
            when 'commitment' then savings.saving
            else paired.x
        end as x,
        case when claims.test = 'google_pue' then fleet.x_low else paired.x_low end as x_low,
        case when claims.test = 'google_pue' then fleet.x_high else paired.x_high end as x_high,
        paired.open_because,
        case
            when claims.test like 'paired%' and paired.open_because is null
                then
                    case when claims.is_up_to then 'most of ' else 'least of ' end || cast(paired.judged_count as string)
                    || ' workloads with six half quarters: ' || paired.workload_key || ', '
                    || cast(paired.pair_count - paired.set_aside_count as string) || ' matched pairs in '
                    || cast(paired.cluster_count as string) || ' half quarters'
                    || case when paired.is_skewed then '; a few launches carry this' else '' end
            when claims.test like 'paired%'
                then paired.workload_key || ', ' || cast(paired.pair_count as string) || ' matched pairs: ' || paired.open_because
            when claims.test = 'google_pue'
                then
                    case
                        when fleet.x is null then ''
                        else 'the figure that the provider gives for its fleet, ' || cast(fleet.data_year as string)
                            || '; beside it '
                    end || 'the lowest and the highest of ' || cast(fleet.campus_count as string) || ' campuses'
            when claims.test = 'market_based'
                then
                    'beside it what is allocated to these accounts by model version ' || masses.provider_model_version
                    || ', which proves nothing of location-based figures'
            when claims.test = 'spot'
                then 'Spot hours of ' || cast(savings.run_count as string)
                    || ' runs against list cost of the work that was of use, lost attempts included'
            when claims.test = 'commitment'
                then 'beside it effective against list cost of covered hours of ' || cast(savings.run_count as string) || ' runs'
            when claims.test = 'carbon_grain'
                then 'neither export has a row per asset: the finest is account or project, service, region and month in both'
            when claims.test = 'own_prices'
                then 'at its own prices a run costs 6.036 USD on g5.xlarge and 8.04 on trn1.2xlarge: nothing to pay back'
        end as evidence
    from claims
    left join paired using (claim_id)
    left join {{ ref('int_claim_savings') }} as savings on claims.test = savings.test and claims.side = savings.side
    left join {{ ref('int_claim_masses') }} as masses
        on case when claims.test = 'market_based' then claims.side end = masses.place
    left join {{ ref('dim_article_figures') }} as figures
        on case when claims.test = 'own_prices' then 'a5-c11-saving' end = figures.figure_id
    cross join fleet
    cross join carbon_providers
),

judged as (
    select
        *,
        case
            when untestable is not null then 'not_testable_here'
            when missing is not null then 'no_data'
            when test = 'carbon_grain' then 'contradicted'
            when test = 'own_prices' then case when own_saving > 0 then 'undecided' else 'contradicted' end
            when form = 'below' then case when x < claimed_value then 'supported' else 'contradicted' end
            when test like 'paired%' and judged_count = 0 then 'undecided'
            when test like 'paired%' and supported_count = judged_count then 'supported'
            when test like 'paired%' and is_up_to and supported_count > 0 then 'supported'
            when test like 'paired%' and contradicted_count = judged_count then 'contradicted'
            when test like 'paired%' then 'undecided'
            when x >= supported_from then 'supported'
            when x < contradicted_below then 'contradicted'
            else 'undecided'
        end as verdict
    from measured
)

select
    claim_id,
    claim,
    stated_by,
    source,
    cast(claimed_value as double) as claimed_value
    {%- for name, x in {'measured_value': 'x', 'measured_low': 'x_low', 'measured_high': 'x_high'}.items() %},
    case when missing is null then {{ significant(x) }} end as {{ name }}
    {%- endfor %},
    verdict,
    case
        when untestable is not null then untestable || case when missing is null then coalesce('; ' || evidence, '') else '' end
        when missing is not null then missing
        when verdict <> 'undecided' or open_because is not null or judged_count is null and not is_up_to then evidence
        when supported_count > 0 then evidence || '; other workloads do not reach the claim'
        when coalesce(x_high, x) < supported_from and is_up_to
            then evidence || '; less than the most that is claimed, which contradicts no "up to"'
        else evidence || '; the claimed value lies between the bounds'
    end as reason
from judged
