"""Section 3, from the runs to the bill: the waterfall of each currency, and what was paid ahead."""

from reports.model import Column, TableSpec
from reports.quarter import Quarter
from reports.sections.costs import CURRENCY
from reports.sections.sql import GROUP_ORDER, RESIDUAL_GROUP, by_period, periods, within


def cost_waterfall(quarter: Quarter) -> TableSpec:
    """From the runs to the bill, for the quarter and each month: what each step adds, and the provider's own total."""
    return TableSpec(
        id="cost_waterfall",
        title="From training runs to the bill",
        sql=f"""with parts as (
    select usage_month, billing_currency, 'Runs on ' || runs.accelerator_family as part, billed_cost, effective_cost
    from marts.fct_training_run_costs as costs
    inner join marts.dim_training_runs as runs using (training_run_id)
    where {within(quarter, "costs.usage_month")}
    union all
    select usage_month, billing_currency, {RESIDUAL_GROUP}, billed_cost, effective_cost
    from marts.fct_residual_costs
    where {within(quarter)}
    union all
    select usage_month, unit_or_currency, 'Quarantined',
        case when measure = 'billed_cost' then quarantined_total else 0 end,
        case when measure = 'effective_cost' then quarantined_total else 0 end
    from marts.fct_reconciliation
    where method = 'conservation' and measure in ('billed_cost', 'effective_cost')
        and quarantined_total <> 0 and {within(quarter)}
    union all
    select usage_month, unit_or_currency, 'Provider total',
        case when measure = 'billed_cost' then provider_total else 0 end,
        case when measure = 'effective_cost' then provider_total else 0 end
    from marts.fct_reconciliation
    where method = 'conservation' and measure in ('billed_cost', 'effective_cost') and {within(quarter)}
)
select billing_currency, part,
{by_period(quarter, "billed_cost", "billed_cost")},
{by_period(quarter, "effective_cost", "effective_cost")},
    part = 'Provider total' as is_total
from parts
group by billing_currency, part
order by billing_currency, {GROUP_ORDER}, part""",
        columns=(
            Column("part", "Step"),
            CURRENCY,
            *(
                Column(f"{measure}_{period}", label, "money", group=words)
                for measure, words in (("billed_cost", "Billed"), ("effective_cost", "Effective"))
                for period, label in periods(quarter)
            ),
        ),
        key=("billing_currency", "part"),
        method="Runs and residuals by reason; the provider total is added independently from the landed files. Section 6 "
        "shows the difference of every measure, which is 0. Commitments: billed, the fees; effective, what of them was not "
        "used.",
        empty="No bill in this quarter.",
    )


def prepaid(quarter: Quarter) -> TableSpec:
    """What was paid ahead and how it was used up."""
    flows = ("opening", "purchased", "refunded", "amortised_used", "amortised_unused", "closing")
    return TableSpec(
        id="prepaid",
        title="Prepaid commitments: the roll-forward",
        sql=f"""select provider_name, commitment_id, commitment_kind, usage_month, billing_currency,
    {", ".join(f"{flow}_cost" for flow in flows)}
from marts.fct_prepaid
where {within(quarter)}
order by provider_name, commitment_id, usage_month, billing_currency""",
        columns=(
            Column("commitment_id", "Commitment", "code"),
            Column("commitment_kind", "Kind", "state"),
            Column("usage_month", "Month", "month"),
            CURRENCY,
            *(Column(f"{flow}_cost", flow.replace("_", " ").capitalize(), "money") for flow in flows),
        ),
        key=("provider_name", "commitment_id", "usage_month", "billing_currency"),
        method="Opening + purchased − refunded − amortised on used hours − amortised on unused hours = closing.",
        empty="No commitment was paid ahead, used or carried in this quarter.",
    )
