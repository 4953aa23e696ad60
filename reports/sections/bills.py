"""Section 3, from the runs to the bill: the waterfall of each currency, and what was paid ahead."""

from reports.model import TableSpec, columns
from reports.sections.sql import GROUP_ORDER, PERIODS, RESIDUAL_GROUP, by_period, within

FLOWS = ("opening", "purchased", "refunded", "amortised_used", "amortised_unused", "closing")
QUARANTINED = "\n        and quarantined_total <> 0"


def _reconciled(part: str, total: str, only: str = "") -> str:
    """One step of the waterfall from the reconciliation, billed and effective cost in columns of their own."""
    return f"""    select usage_month, unit_or_currency, '{part}',
        case when measure = 'billed_cost' then {total} else 0 end,
        case when measure = 'effective_cost' then {total} else 0 end
    from marts.fct_reconciliation
    where method = 'conservation' and measure in ('billed_cost', 'effective_cost'){only} and {within()}"""


COST_WATERFALL = TableSpec(
    id="cost_waterfall",
    title="From training runs to the bill",
    sql=f"""with parts as (
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
order by billing_currency, {GROUP_ORDER}, part""",
    columns=(
        *columns(part="Step", billing_currency="Currency"),
        *columns("money", group="Billed", **{f"billed_cost_{period}": label for period, label in PERIODS}),
        *columns("money", group="Effective", **{f"effective_cost_{period}": label for period, label in PERIODS}),
    ),
    key=("billing_currency", "part"),
    method="Runs and residuals by reason; the provider total is added independently from the landed files. Section 6 "
    "shows the difference of every measure, which is 0. Commitments: billed, the fees; effective, what of them was not "
    "used.",
    empty="No bill in this quarter.",
)

PREPAID = TableSpec(
    id="prepaid",
    title="Prepaid commitments: the roll-forward",
    sql=f"""select provider_name, commitment_id, commitment_kind, usage_month, billing_currency,
    {", ".join(f"{flow}_cost" for flow in FLOWS)}
from marts.fct_prepaid
where {within()}
order by provider_name, commitment_id, usage_month, billing_currency""",
    columns=(
        *columns(commitment_id="Commitment", commitment_kind="Kind", usage_month="Month", billing_currency="Currency"),
        *columns(**{f"{flow}_cost": flow.replace("_", " ").capitalize() for flow in FLOWS}),
    ),
    key=("provider_name", "commitment_id", "usage_month", "billing_currency"),
    method="Opening + purchased − refunded − amortised on used hours − amortised on unused hours = closing.",
    empty="No commitment was paid ahead, used or carried in this quarter.",
)
