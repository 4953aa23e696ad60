with claims as (
    select * from {{ ref('dim_vendor_claims') }}
),

-- runs that may be in a pair
target_runs as (
    select * from {{ ref('int_runs_to_target') }}
    where pair_key is not null
),

-- a claim names a family (trainium), a type (v5e), an EC2 family (p4d) or a generation (p5: p5, p5e and p5en)
run_groups as (
    select training_run_id, accelerator_family as type_group from target_runs

    union

    select training_run_id, accelerator_type as type_group from target_runs

    union

    select training_run_id, regexp_extract(accelerator_type, '^([^.]+)', 1) as type_group from target_runs

    union

    select training_run_id, regexp_extract(accelerator_type, '^([a-z]+[0-9]+)', 1) as type_group from target_runs
),

-- without promotions; no cost where a month is not billed or the bills are in two currencies
run_costs as (
    select
        training_run_id,
        min(billing_currency) as unit,
        cast(sum(effective_cost) as double) as effective_cost
    from {{ ref('fct_training_run_costs') }}
    where cost_component <> 'credit'
    group by training_run_id
    having count(distinct billing_currency) = 1 and bool_and(status <> 'not_published')
),

run_energy as (
    select
        energy.training_run_id,
        {%- for end in ['', '_low', '_high'] %}
        {{ sum_as_double('energy.chip_host_energy_kwh' ~ end) }} as kwh{{ end }},
        {%- endfor %}
        {{ sum_as_double('energy.reserved_chip_hours') }} as chip_hours,
        bool_or(coalesce(energy.power_confidence, 'assumed') = 'assumed') as is_power_assumed,
        max(case when target_runs.model_flops > 0 then target_runs.model_flops end) as flops
    from {{ ref('fct_training_run_energy') }} as energy
    inner join target_runs using (training_run_id)
    group by energy.training_run_id
),

-- of each, less is better; energy and chip time per useful FLOP
measured_runs as (
    select
        training_run_id, 'paired_cost' as test, unit,
        effective_cost as x, effective_cost as x_low, effective_cost as x_high, false as is_assumed
    from run_costs

    union all

    select
        training_run_id, 'paired_energy' as test, '' as unit,
        kwh / flops as x, kwh_low / flops as x_low, kwh_high / flops as x_high, is_power_assumed as is_assumed
    from run_energy

    union all

    select
        training_run_id, 'paired_chip_time' as test, '' as unit,
        chip_hours / flops as x, chip_hours / flops as x_low, chip_hours / flops as x_high, false as is_assumed
    from run_energy
),

roles as (
    select claim_id, test, 'side' as role, side as type_group from claims

    union all

    select claim_id, test, 'baseline' as role, baseline as type_group from claims
),

-- replicates of one side of a pair are averaged first: geometric means, as exact sums of logarithms
sides as (
    select
        roles.claim_id,
        roles.role,
        target_runs.workload_key,
        target_runs.pair_key,
        measured_runs.unit,
        bool_or(measured_runs.is_assumed) as is_assumed
        {%- for x in ['x', 'x_low', 'x_high'] %},
        cast(sum(cast(ln(measured_runs.{{ x }}) as decimal(38, 15))) as double) / count(*) as log_{{ x }}
        {%- endfor %}
    from roles
    inner join run_groups using (type_group)
    inner join target_runs using (training_run_id)
    inner join measured_runs using (training_run_id, test)
    where measured_runs.x_low > 0
    group by roles.claim_id, roles.role, target_runs.workload_key, target_runs.pair_key, measured_runs.unit
),

pairs as (
    select
        claim_id,
        side.is_assumed or baseline.is_assumed as is_assumed,
        cast(side.log_x - baseline.log_x as decimal(38, 15)) as d,
        cast(side.log_x_low - baseline.log_x_high as decimal(38, 15)) as d_low,
        cast(side.log_x_high - baseline.log_x_low as decimal(38, 15)) as d_high
    from sides as side
    inner join sides as baseline using (claim_id, workload_key, pair_key, unit)
    where side.role = 'side' and baseline.role = 'baseline'
),

pair_means as (
    select
        claim_id,
        count(*) as pair_count,
        bool_or(is_assumed) as is_assumed,
        cast(sum(d) as double) / count(*) as mean,
        cast(sum(d_low) as double) / count(*) as mean_low,
        cast(sum(d_high) as double) / count(*) as mean_high
    from pairs
    group by claim_id
),

pair_deviations as (
    select
        pairs.claim_id,
        sqrt(
            cast(sum(cast(power(cast(pairs.d as double) - pair_means.mean, 2) as decimal(38, 24))) as double)
            / nullif(count(*) - 1, 0)
        ) as deviation
    from pairs
    inner join pair_means using (claim_id)
    group by pairs.claim_id
),

pair_statistics as (
    select
        pair_means.*,
        pair_deviations.deviation / sqrt(pair_means.pair_count) * quantiles.t_1 as half_width
    from pair_means
    inner join pair_deviations using (claim_id)
    left join {{ ref('dim_t_quantiles') }} as quantiles on least(pair_means.pair_count - 1, 120) = quantiles.degrees_of_freedom
),

-- the 98 % interval, shifted to both corners of the power bounds
intervals as (
    select
        claim_id,
        pair_count,
        is_assumed,
        exp(mean) as ratio,
        case when pair_count >= 5 then exp(mean_low - half_width) end as ratio_low,
        case when pair_count >= 5 then exp(mean_high + half_width) end as ratio_high
    from pair_statistics
),

google_pues as (
    select region_id, cast(pue_ratio as double) as pue_ratio, data_year from {{ ref('dim_pue') }}
    where provider_name = 'Google Cloud'
    qualify data_year = max(data_year) over ()
),

pue_range as (
    select
        max(case when region_id = '*' then pue_ratio end) as fleet,
        min(case when region_id <> '*' then pue_ratio end) as lowest,
        max(case when region_id <> '*' then pue_ratio end) as highest,
        count(case when region_id <> '*' then 1 end) as campus_count,
        max(data_year) as data_year
    from google_pues
),

-- the book: what runs carry and what no run carries
book as (
    select provider_name, region_id, usage_month, provider_model_version, provider_scope_2_market_based_kgco2e as kg
    from {{ ref('fct_run_cell_emissions') }}

    union all

    select provider_name, region_id, usage_month, provider_model_version, provider_scope_2_market_based_kgco2e as kg
    from {{ ref('fct_residual_emissions') }}
),

book_in_window as (
    select book.* from book
    cross join {{ ref('int_asked_window') }} as asked
    where book.usage_month >= asked.window_start and book.usage_month < asked.window_end
),

-- versions are never added: of each provider the one of its newest months
newest_versions as (
    select provider_name, provider_model_version from book_in_window
    group by provider_name, provider_model_version
    qualify row_number() over (partition by provider_name order by max(usage_month) desc, provider_model_version desc) = 1
),

places as (
    select distinct provider_name, region_id, provider_name as place from book_in_window

    union all

    select distinct provider_name, region_id, provider_name || '/' || region_id as place
    from book_in_window
),

market_based as (
    select
        places.place,
        book_in_window.provider_model_version,
        {{ sum_as_double('book_in_window.kg') }} as kg
    from book_in_window
    inner join newest_versions using (provider_name, provider_model_version)
    inner join places using (provider_name, region_id)
    group by places.place, book_in_window.provider_model_version
),

carbon_providers as (
    select count(distinct provider_name) as provider_count from book_in_window
),

lost_runs as (
    select training_run_id, cast(sum(effective_cost) as double) as effective_cost
    from {{ ref('fct_lost_work') }}
    where cause <> 'idle'
    group by training_run_id
),

-- what of a run's cost went into attempts that failed or were interrupted
run_losses as (
    select
        costs.training_run_id,
        least(coalesce(max(lost.effective_cost), 0) / nullif(cast(sum(costs.effective_cost) as double), 0), 1e0) as lost_share
    from {{ ref('fct_training_run_costs') }} as costs
    left join lost_runs as lost using (training_run_id)
    group by costs.training_run_id
),

run_purchases as (
    select
        purchases.training_run_id,
        types.accelerator_family as side,
        purchases.purchase_option as test,
        purchases.billing_currency,
        cast(sum(purchases.effective_cost) as decimal(38, 12)) as effective_cost,
        case when count(*) = count(purchases.list_cost) then cast(sum(purchases.list_cost) as decimal(38, 12)) end as list_cost
    from {{ ref('fct_purchase_costs') }} as purchases
    inner join {{ ref('dim_accelerators') }} as types using (accelerator_type)
    cross join {{ ref('int_asked_window') }} as asked
    -- the list price of Google's Spot is that of Spot
    where
        purchases.provider_name = 'AWS'
        and purchases.usage_month >= asked.window_start
        and purchases.usage_month < asked.window_end
    group by purchases.training_run_id, types.accelerator_family, purchases.purchase_option, purchases.billing_currency
),

-- against what the work that was of use would have cost on demand, where nothing is interrupted
purchase_savings as (
    select
        run_purchases.side,
        run_purchases.test,
        count(*) as run_count,
        case
            when count(*) = count(run_purchases.list_cost) and count(distinct run_purchases.billing_currency) = 1
                then 1 - cast(sum(run_purchases.effective_cost) as double) / nullif(cast(sum(cast(
                    cast(run_purchases.list_cost as double)
                    * case when run_purchases.test = 'spot' then 1 - coalesce(run_losses.lost_share, 0) else 1e0 end
                    as decimal(38, 12)
                )) as double), 0)
        end as saving
    from run_purchases
    left join run_losses using (training_run_id)
    group by run_purchases.side, run_purchases.test
),

-- one row per claim: what was measured, between which bounds, and why nothing is decided where nothing is
measured as (
    select
        claims.*,
        case
            when claims.test like 'paired%' and intervals.pair_count is null
                then 'no matched pairs of runs to target on ' || claims.side || ' and on ' || claims.baseline
            when claims.test = 'google_pue' and pue_range.highest is null then 'no PUE of Google is known'
            when claims.test = 'market_based' and market_based.kg is null
                then 'no market-based Scope 2 of ' || claims.side || ' is published, or a part of it is not known'
            when claims.test = 'carbon_grain' and carbon_providers.provider_count < 2
                then 'the carbon exports of both providers are needed'
            when claims.test in ('spot', 'commitment') and purchase_savings.saving is null
                then 'no run on ' || claims.side || ' used such hours with a list price, in one currency'
            else claims.not_testable_because
        end as missing,
        case
            when claims.test like 'paired%' and intervals.pair_count < 5
                then cast(intervals.pair_count as string) || ' matched pairs: an interval takes five'
            when claims.test like 'paired%' and intervals.is_assumed
                then 'power of one side is assumed, and no verdict rests on that'
            when claims.test = 'commitment'
                then 'effective against list cost of covered hours of ' || cast(purchase_savings.run_count as string)
                    || ' runs; for which term they were bought is not in the bill rows that are read'
        end as undecided,
        case
            when claims.test in ('spot', 'commitment') then purchase_savings.saving
            when claims.form = 'saving' then 1 - intervals.ratio
            when claims.form = 'times' then 1 / intervals.ratio
            when claims.test = 'google_pue' then pue_range.fleet
            when claims.test = 'market_based' then market_based.kg
        end as x,
        case
            when claims.form = 'saving' then 1 - intervals.ratio_high
            when claims.form = 'times' then 1 / intervals.ratio_high
            when claims.test = 'google_pue' then pue_range.lowest
        end as x_low,
        case
            when claims.form = 'saving' then 1 - intervals.ratio_low
            when claims.form = 'times' then 1 / intervals.ratio_low
            when claims.test = 'google_pue' then pue_range.highest
        end as x_high,
        case
            when claims.test like 'paired%' then cast(intervals.pair_count as string) || ' matched pairs, 98 % interval'
            when claims.test = 'google_pue'
                then
                    'the fleet, between the lowest and the highest of ' || cast(pue_range.campus_count as string)
                    || ' campuses, ' || cast(pue_range.data_year as string)
            when claims.test = 'market_based'
                then 'model version ' || market_based.provider_model_version || '; it says nothing of location-based figures'
            when claims.test = 'spot'
                then 'Spot hours of ' || cast(purchase_savings.run_count as string)
                    || ' runs against list cost of the work that was of use, lost attempts included'
            when claims.test = 'carbon_grain'
                then 'neither export has a row per asset: the finest is account or project, service, region and month in both'
            when claims.test = 'own_prices'
                then 'at its own prices a run costs 6.036 USD on g5.xlarge and 8.04 on trn1.2xlarge: nothing to pay back'
        end as evidence,
        figures.recomputed_value as own_saving
    from claims
    left join intervals using (claim_id)
    left join purchase_savings on claims.test = purchase_savings.test and claims.side = purchase_savings.side
    left join market_based on case when claims.test = 'market_based' then claims.side end = market_based.place
    left join {{ ref('dim_article_figures') }} as figures
        on case when claims.test = 'own_prices' then 'a5-c11-saving' end = figures.figure_id
    cross join pue_range
    cross join carbon_providers
),

rounded as (
    select
        claim_id, claim, stated_by, source, test, form, claimed_value, supported_from, contradicted_below,
        missing, undecided, evidence, own_saving,
        {{ significant('x') }} as x,
        {{ significant('x_low') }} as x_low,
        {{ significant('x_high') }} as x_high
    from measured
),

judged as (
    select
        *,
        case
            when missing is not null then 'no_data'
            when undecided is not null then 'undecided'
            when test = 'carbon_grain' then 'contradicted'
            when test = 'own_prices' then case when own_saving > 0 then 'undecided' else 'contradicted' end
            when form = 'none_left' then case when x = 0 then 'supported' else 'contradicted' end
            when form = 'below' and x_high < claimed_value then 'supported'
            when form = 'below' and x_low >= claimed_value then 'contradicted'
            when form = 'below' then 'undecided'
            when coalesce(x_low, x) >= supported_from then 'supported'
            when coalesce(x_high, x) < contradicted_below then 'contradicted'
            else 'undecided'
        end as verdict
    from rounded
)

select
    claim_id,
    claim,
    stated_by,
    source,
    cast(claimed_value as double) as claimed_value
    {%- for name, x in {'measured_value': 'x', 'measured_low': 'x_low', 'measured_high': 'x_high'}.items() %},
    case when missing is null then {{ x }} end as {{ name }}
    {%- endfor %},
    verdict,
    case
        when missing is not null then missing
        when undecided is not null then undecided
        when verdict = 'undecided' and contradicted_below < supported_from and coalesce(x_high, x) < supported_from
            then evidence || '; less than the most that is claimed, which contradicts no "up to"'
        when verdict = 'undecided' then evidence || '; the claimed value lies between the bounds'
        else evidence
    end as reason
from judged
