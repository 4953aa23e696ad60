with set_aside as (
    select
        claim_id,
        workload_key,
        count(*) as pair_count,
        count(set_aside_because) as set_aside_count,
        min(set_aside_because) as set_aside_because
    from {{ ref('int_claim_pairs') }}
    group by claim_id, workload_key
),

-- what is measured decides from six clusters on, else what is modelled
chosen as (
    select * from {{ ref('int_claim_series') }}
    where series = 'all'
    qualify row_number() over (
        partition by claim_id, workload_key
        order by n < 6, case when n >= 6 then basis_class else '' end, n desc, basis_class
    ) = 1
),

-- the other class, the last four quarters, and what is missing at its extremes
others as (
    select
        chosen.claim_id,
        chosen.workload_key,
        bool_or(
            coalesce(others.verdict <> chosen.verdict, false)
            and (others.series = 'all' or (others.series = 'last_four' and others.basis_class = chosen.basis_class))
        ) as is_opposed,
        bool_or(
            others.series in ('highest', 'lowest') and others.basis_class = chosen.basis_class
            and coalesce(others.verdict <> chosen.verdict, true)
        ) as is_short_of_figures
    from chosen
    inner join {{ ref('int_claim_series') }} as others
        on chosen.claim_id = others.claim_id and chosen.workload_key = others.workload_key
    group by chosen.claim_id, chosen.workload_key
),

strata as (
    select
        claim_id,
        workload_key,
        basis_class,
        {{ in_one_text('stratum_kind') }} as different_strata
    from {{ ref('int_claim_strata') }}
    where is_different
    group by claim_id, workload_key, basis_class
),

figures as (
    select
        set_aside.*,
        claims.test,
        chosen.n,
        chosen.pair_count as used_count,
        chosen.mean,
        chosen.x,
        chosen.x_low,
        chosen.x_high,
        chosen.is_skewed,
        chosen.verdict,
        strata.different_strata,
        others.is_opposed,
        others.is_short_of_figures,
        case chosen.verdict
            when 'supported' then chosen.is_side_unreached when 'contradicted' then chosen.is_baseline_unreached
        end as is_unreached,
        shares.side_share,
        shares.side_least_share,
        shares.baseline_share,
        shares.baseline_least_share,
        -- the ratio of amounts at which the claim turns
        case
            when claims.form = 'saving'
                then 1e0 - case chosen.verdict when 'supported' then claims.supported_from else claims.contradicted_below end
            else 1e0 / case chosen.verdict when 'supported' then claims.supported_from else claims.contradicted_below end
        end as turning_ratio
    from set_aside
    inner join {{ ref('dim_vendor_claims') }} as claims on set_aside.claim_id = claims.claim_id
    left join chosen on set_aside.claim_id = chosen.claim_id and set_aside.workload_key = chosen.workload_key
    left join others on set_aside.claim_id = others.claim_id and set_aside.workload_key = others.workload_key
    left join strata
        on
            chosen.claim_id = strata.claim_id and chosen.workload_key = strata.workload_key
            and chosen.basis_class = strata.basis_class
    left join {{ ref('int_claim_shares') }} as shares
        on set_aside.claim_id = shares.claim_id and set_aside.workload_key = shares.workload_key
),

-- whether cost that no run carries turns the claim, at the worst of the currencies; an unknown share could be anything up to 1
withheld as (
    select
        *,
        case
            when test <> 'paired_cost' or verdict is null then false
            when verdict = 'supported'
                then coalesce(
                    exp(mean) * (1e0 - coalesce(baseline_least_share, 0e0)) > turning_ratio * (1e0 - side_share), true
                )
            else coalesce(exp(mean) * (1e0 - baseline_share) <= turning_ratio * (1e0 - coalesce(side_least_share, 0e0)), true)
        end as is_withheld
    from figures
)

-- verdict: of the figures alone; where open_because is not null there is none
select
    claim_id,
    workload_key,
    pair_count,
    set_aside_count,
    coalesce(n, 0) as cluster_count,
    x,
    x_low,
    x_high,
    coalesce(is_skewed, false) as is_skewed,
    coalesce(verdict, 'undecided') as verdict,
    case
        when used_count is null and set_aside_count > 0 then set_aside_because
        when coalesce(n, 0) < 6
            then 'its pairs fill ' || cast(coalesce(n, 0) as string) || ' closed half quarters, and a verdict takes six'
        when x_low is null then 'the interval has no end'
        when is_opposed then 'the last four quarters, or energy of the other basis, decide otherwise'
        when different_strata is not null then 'it differs by ' || different_strata || ' more than by chance (F test, 1 %)'
        when is_unreached then 'in the last half quarter no launch of a side reached the target'
        when verdict is not null and is_short_of_figures
            then 'more than a tenth of the pairs lacks a figure on one side, and its extremes decide otherwise'
        when is_withheld
            then case
                when side_share is null or baseline_share is null
                    then 'the share of accelerator cost that no run carries is not known on both sides'
                else 'with the accelerator cost that no run carries (shares ' || {{ in_words('side_share') }} || ' and '
                    || {{ in_words('baseline_share') }} || ') it would be otherwise'
            end
    end as open_because
from withheld
