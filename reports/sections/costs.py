"""Where it went: cost by accelerator, team, model, month, run, evidence and outcome; from the runs to the bill."""

from reports.model import TableSpec
from reports.sections.sql import (
    ENDS,
    GROUP_ORDER,
    RESIDUAL_GROUP,
    account_names,
    by_period,
    whole,
    within,
)
from reports.sections.tables import by, table

GROUPS = (("accelerator", "accelerator_type", "Accelerator"), ("team", "team", "Team"), ("model", "model_name", "Model"))


def grouped_costs(name: str, group: str, label: str) -> TableSpec:
    """Cost of runs by one attribute and platform, each currency with its total, the last quarter beside it."""
    now = within("costs.usage_month")
    return by(
        table("cost_by").answered_by(f"""with presence as (
    select billing_currency, min(usage_month) as first_month
    from marts.fct_training_run_costs
    group by billing_currency
)
select
    runs.{group},
    runs.accelerator_family,
    costs.billing_currency,
    count(distinct costs.training_run_id) filter (where {now}) as run_count,
    coalesce(sum(costs.effective_cost) filter (where {now} and costs.cost_component = 'accelerator'), 0)
        as accelerator_effective_cost,
    coalesce(sum(costs.effective_cost) filter (where {now} and costs.cost_component <> 'accelerator'), 0)
        as other_effective_cost,
    coalesce(sum(costs.effective_cost) filter (where {now}), 0) as effective_cost,
    case when min(presence.first_month) < $start
        then coalesce(sum(costs.effective_cost) filter (where not {now}), 0) end as prior_effective_cost,
    case when min(presence.first_month) < $start
        then coalesce(sum(costs.effective_cost) filter (where {now}), 0)
            - coalesce(sum(costs.effective_cost) filter (where not {now}), 0) end as change_effective_cost,
    coalesce(sum(costs.idle_share_effective_cost) filter (where {now}), 0) as idle_share_effective_cost,
    coalesce(sum(costs.billed_cost) filter (where {now}), 0) as billed_cost,
    case when count(*) filter (where {now}) = count(costs.list_cost) filter (where {now})
        then coalesce(sum(costs.list_cost) filter (where {now}), 0) end as list_cost,
    grouping(runs.{group}, runs.accelerator_family) > 0 as is_total
from marts.fct_training_run_costs as costs
inner join marts.dim_training_runs as runs using (training_run_id)
inner join presence on costs.billing_currency = presence.billing_currency
where costs.usage_month >= $before and costs.usage_month < $end
group by grouping sets ((runs.{group}, runs.accelerator_family, costs.billing_currency), (costs.billing_currency))
order by costs.billing_currency, is_total, effective_cost desc, runs.{group}, runs.accelerator_family"""),
        name,
        group,
        label,
    )


MONTHLY_COSTS = table("cost_by_month").answered_by(f"""with parts as (
    select costs.usage_month, runs.accelerator_family as part, costs.billing_currency, costs.billed_cost, costs.effective_cost
    from marts.fct_training_run_costs as costs
    inner join marts.dim_training_runs as runs using (training_run_id)
    where {within("costs.usage_month")}
    union all
    select usage_month, 'no run', billing_currency, billed_cost, effective_cost
    from marts.fct_residual_costs
    where {within()}
)
select billing_currency, usage_month, part, sum(effective_cost) as effective_cost, sum(billed_cost) as billed_cost,
    grouping(part) > 0 as is_total
from parts
group by grouping sets ((billing_currency, usage_month, part), (billing_currency, usage_month))
order by billing_currency, usage_month, is_total, part = 'no run', part""")

LARGEST_RUNS = table("largest_runs").answered_by(f"""with costs as (
    select training_run_id, billing_currency, sum(effective_cost) as effective_cost, sum(billed_cost) as billed_cost
    from marts.fct_training_run_costs
    where {within()}
    group by training_run_id, billing_currency
),
emissions as (
    select training_run_id,
        {whole("provider_total_location_based_kgco2e")},
        {whole("provider_total_market_based_kgco2e")},
        max(case status when 'not_published' then '4 not published' when 'no_cell' then '3 no cell'
            when 'preliminary' then '2 preliminary' else '1 final' end) as worst_status
    from marts.fct_training_run_emissions
    where {within()}
    group by training_run_id
),
energy as (
    select training_run_id,
        {", ".join(whole(f"facility_energy_kwh{end}") for end in ENDS)}
    from marts.fct_training_run_energy
    where {within()}
    group by training_run_id
),
ranked as (
    select *, row_number() over (partition by billing_currency order by effective_cost desc, training_run_id) as position
    from costs
)
select
    ranked.position, ranked.training_run_id, runs.accelerator_family, runs.team, runs.model_name, runs.accelerator_type,
    runs.state, runs.attempt_count, ranked.billing_currency, ranked.effective_cost, ranked.billed_cost,
    energy.facility_energy_kwh, energy.facility_energy_kwh_low, energy.facility_energy_kwh_high,
    emissions.provider_total_location_based_kgco2e, emissions.provider_total_market_based_kgco2e,
    substr(emissions.worst_status, 3) as emission_status
from ranked
inner join marts.dim_training_runs as runs using (training_run_id)
left join emissions using (training_run_id)
left join energy using (training_run_id)
where ranked.position <= 10
order by ranked.billing_currency, ranked.position""")

WORK_WITHOUT_RESULT = table("work_by_outcome").answered_by(f"""with parts as (
    select
        case runs.state when 'succeeded' then 1 when 'running' then 2 when 'stopped' then 3 when 'failed' then 4
            when 'interrupted' then 5 else 6 end as position,
        runs.state as outcome, costs.billing_currency, costs.training_run_id, costs.effective_cost
    from marts.fct_training_run_costs as costs
    inner join marts.dim_training_runs as runs using (training_run_id)
    where {within("costs.usage_month")}
    union all
    select case reason when 'idle' then 7 when 'unused_commitment' then 8 when 'unlogged' then 9 else 10 end,
        case reason when 'idle' then 'idle' when 'unused_commitment' then 'unused commitment'
            when 'unlogged' then 'named by no record' else 'no records kept' end,
        billing_currency, null, effective_cost
    from marts.fct_residual_costs
    where {within()}
        and (reason in ('idle', 'unused_commitment') or (reason in ('unlogged', 'no_record') and cost_component = 'accelerator'))
)
select outcome, billing_currency, nullif(count(distinct training_run_id), 0) as run_count, sum(effective_cost) as effective_cost
from parts
group by outcome, position, billing_currency
order by billing_currency, position""")

ATTRIBUTION = table("cost_by_evidence").answered_by(f"""\
select attribution_rule, attribution_confidence, cost_component, billing_currency,
    count(distinct training_run_id) as run_count, sum(effective_cost) as effective_cost, sum(billed_cost) as billed_cost,
    {whole("list_cost")}
from marts.fct_training_run_costs
where {within()}
group by attribution_rule, attribution_confidence, cost_component, billing_currency
order by billing_currency, attribution_rule, attribution_confidence, cost_component""")

FLOWS = ("opening", "purchased", "refunded", "amortised_used", "amortised_unused", "closing")
QUARANTINED = "\n        and quarantined_total <> 0"


def _reconciled(part: str, total: str, only: str = "") -> str:
    """One step of the waterfall from the reconciliation, billed and effective cost in columns of their own."""
    return f"""    select usage_month, unit_or_currency, '{part}',
        case when measure = 'billed_cost' then {total} else 0 end,
        case when measure = 'effective_cost' then {total} else 0 end
    from marts.fct_reconciliation
    where method = 'conservation' and measure in ('billed_cost', 'effective_cost'){only} and {within()}"""


COST_WATERFALL = table("cost_waterfall").answered_by(f"""with parts as (
    select usage_month, billing_currency, 'Runs on ' || runs.accelerator_family as part, billed_cost, effective_cost
    from marts.fct_training_run_costs as costs
    inner join marts.dim_training_runs as runs using (training_run_id)
    where {within("costs.usage_month")}
    union all
    select usage_month, billing_currency, {RESIDUAL_GROUP}, billed_cost, effective_cost
    from marts.fct_residual_costs
    where {within()}
    union all
{_reconciled("Quarantined", "quarantined_total", QUARANTINED)}
    union all
{_reconciled("Provider total", "provider_total")}
)
select billing_currency, part,
{by_period("billed_cost", "billed_cost")},
{by_period("effective_cost", "effective_cost")},
    part = 'Provider total' as is_total
from parts
group by billing_currency, part
order by billing_currency, {GROUP_ORDER}, part""")

PREPAID = table("prepaid").answered_by(f"""\
select prepaid.provider_name, prepaid.payer_account_id, payers.account_name as payer_account_name,
    prepaid.commitment_id, prepaid.commitment_kind, prepaid.usage_month, prepaid.billing_currency,
    {", ".join(f"prepaid.{flow}_cost" for flow in FLOWS)}
from marts.fct_prepaid as prepaid
{account_names("prepaid", "payer_account_id", "payers")}
where {within("prepaid.usage_month")}
order by prepaid.provider_name, prepaid.payer_account_id, prepaid.commitment_id, prepaid.usage_month, prepaid.billing_currency""")
