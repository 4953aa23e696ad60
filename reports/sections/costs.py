"""Where it went: cost by accelerator, team, model, month, run, evidence and outcome; from the runs to the bill."""

from reports.model import TableSpec
from reports.sections.sql import (
    ENDS,
    GROUP_ORDER,
    OUTCOME_ORDER,
    RESIDUAL_GROUP,
    account_names,
    by_period,
    of_runs,
    reconciled,
    wholes,
    within,
)
from reports.sections.tables import by, chosen, summed

GROUPS = (("accelerator", "accelerator_type", "Accelerator"), ("team", "team", "Team"), ("model", "model_name", "Model"))


def grouped_costs(name: str, group: str, label: str) -> TableSpec:
    """Cost of runs by one attribute and platform, each currency with its total, the last quarter beside it."""

    def added(amount: str, rows: str = "is_now") -> str:
        return f"coalesce(sum({amount}) filter (where {rows}), 0)"

    prior = added("effective_cost", "not is_now")
    return summed(
        by("cost_by", name, group, label),
        """costs
inner join marts.dim_training_runs as runs using (training_run_id)
where usage_month >= $before and usage_month < $end""",
        f"billing_currency, is_total, effective_cost desc, {group}, accelerator_family",
        before=f"""costs as (
    select *, {within()} as is_now, min(usage_month) over (partition by billing_currency) < $start as has_prior
    from marts.fct_training_run_costs
)""",
        total="billing_currency",
        run_count="count(distinct training_run_id) filter (where is_now)",
        accelerator_effective_cost=added("effective_cost", "is_now and cost_component = 'accelerator'"),
        other_effective_cost=added("effective_cost", "is_now and cost_component <> 'accelerator'"),
        effective_cost=added("effective_cost"),
        prior_effective_cost=f"case when bool_and(has_prior) then {prior} end",
        change_effective_cost=f"case when bool_and(has_prior) then {added('effective_cost')} - {prior} end",
        idle_share_effective_cost=added("idle_share_effective_cost"),
        billed_cost=added("billed_cost"),
        list_cost=f"case when bool_and(list_cost is not null or not is_now) then {added('list_cost')} end",
    )


def _parts(of_run: str, of_rest: str) -> str:
    """CTE `parts`: what the bills of the quarter have, as far as a run carries it and as far as none does, each part named."""
    return f"""parts as (
    select usage_month, billing_currency, {of_run} as part, billed_cost, effective_cost
    from {of_runs("costs")}
    where {within()}
    union all
    select usage_month, billing_currency, {of_rest}, billed_cost, effective_cost
    from marts.fct_residual_costs
    where {within()}"""


MONTHLY_COSTS = summed(
    "cost_by_month",
    "parts",
    "billing_currency, usage_month, is_total, part = 'no run', part",
    before=_parts("accelerator_family", "'no run'") + ")",
    total="billing_currency, usage_month",
)

LARGEST_RUNS = chosen(
    "largest_runs",
    """costs
inner join marts.dim_training_runs as runs using (training_run_id)
left join emissions using (training_run_id)
left join energy using (training_run_id)""",
    "billing_currency, position",
    before=f"""costs as (
    select training_run_id, billing_currency, sum(effective_cost) as effective_cost, sum(billed_cost) as billed_cost,
        row_number() over (partition by billing_currency order by sum(effective_cost) desc, training_run_id) as position
    from marts.fct_training_run_costs
    where {within()}
    group by training_run_id, billing_currency
    qualify position <= 10
),
emissions as (
    select training_run_id, {wholes("provider_total_location_based_kgco2e", "provider_total_market_based_kgco2e")},
        max(case status when 'not_published' then '4 not published' when 'no_cell' then '3 no cell'
            when 'preliminary' then '2 preliminary' else '1 final' end) as worst_status
    from marts.fct_training_run_emissions
    where {within()}
    group by training_run_id
),
energy as (
    select training_run_id, {wholes(*(f"facility_energy_kwh{end}" for end in ENDS))}
    from marts.fct_training_run_energy
    where {within()}
    group by training_run_id
)""",
    emission_status="substr(worst_status, 3)",
)

WORK_WITHOUT_RESULT = summed(
    "work_by_outcome",
    "parts",
    f"billing_currency, {OUTCOME_ORDER}",
    before=f"""parts as (
    select state as outcome, billing_currency, training_run_id, effective_cost
    from {of_runs("costs")}
    where {within()}
    union all
    select case reason when 'idle' then 'idle' when 'unused_commitment' then 'unused commitment'
            when 'unlogged' then 'named by no record' else 'no records kept' end,
        billing_currency, null, effective_cost
    from marts.fct_residual_costs
    where {within()}
        and (reason in ('idle', 'unused_commitment') or (reason in ('unlogged', 'no_record') and cost_component = 'accelerator'))
)""",
    run_count="nullif(count(distinct training_run_id), 0)",
)

ATTRIBUTION = summed(
    "cost_by_evidence",
    f"marts.fct_training_run_costs\nwhere {within()}",
    run_count="count(distinct training_run_id)",
)


def _step(part: str, total: str, only: str = "true") -> str:
    return reconciled("usage_month, unit_or_currency", part, total, ("billed_cost", "effective_cost"), only)


COST_WATERFALL = summed(
    "cost_waterfall",
    "parts",
    f"billing_currency, {GROUP_ORDER}, part",
    before=f"""{_parts("'Runs on ' || accelerator_family", RESIDUAL_GROUP)}
    union all
    {_step("Quarantined", "quarantined_total", "quarantined_total <> 0")}
    union all
    {_step("Provider total", "provider_total")}
)""",
    is_total="part = 'Provider total'",
    **by_period("billed_cost", "billed_cost"),
    **by_period("effective_cost", "effective_cost"),
)

PREPAID = chosen("prepaid", f"marts.fct_prepaid\n{account_names('payer_account_id', 'payer_account_name')}\nwhere {within()}")
