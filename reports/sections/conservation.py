"""Section 6: the provider's total against its parts, runs, residual and quarantined, in every cell and measure."""

from reports.model import TableSpec, columns
from reports.sections.sql import MASSES, within

SIDES = {
    "provider_total": "Provider total",
    "runs_total": "Runs",
    "residual_total": "Residual",
    "quarantined_total": "Quarantined",
    "difference": "Difference",
}
MASSES_IN_ORDER = ", ".join(f"'{mass}'" for mass in MASSES)
# a cell without a list total has no row: its measure then has no whole
SUMS = ",\n    ".join(
    f"case when count(*) = count({side}) and (measure not like '%_cost' or count(*) >= max(billed_cells)) then sum({side}) "
    f"end as {side}"
    for side in SIDES
)
CONSERVATION = TableSpec(
    id="conservation",
    title="Conservation: provider total = runs + residual + quarantined",
    sql=f"""with billed as (
    select unit_or_currency, count(*) as billed_cells
    from marts.fct_reconciliation
    where method = 'conservation' and measure = 'billed_cost' and {within()}
    group by unit_or_currency
),
book as (
    select distinct source_name, payer_account_id, usage_month, provider_model_version from marts.fct_run_cell_emissions
    union
    select distinct source_name, payer_account_id, usage_month, provider_model_version from marts.fct_residual_emissions
)
select measure, unit_or_currency, provider_model_version, count(*) as cell_count,
    count(*) filter (where difference is distinct from 0) as cells_that_differ,
    {SUMS},
    min(weight_coverage_ratio) as lowest_weight_coverage_ratio,
    case
        when measure like '%_cost' or bool_and(book.usage_month is not null) then 'the book'
        when bool_or(book.usage_month is not null) then 'the book in part'
        else 'another version'
    end as stands_in
from marts.fct_reconciliation
left join billed using (unit_or_currency)
left join book using (source_name, payer_account_id, usage_month, provider_model_version)
where method = 'conservation' and {within()}
group by measure, unit_or_currency, provider_model_version
order by measure in ({MASSES_IN_ORDER}), measure, unit_or_currency, provider_model_version""",
    columns=(
        *columns("code", measure="Measure"),
        *columns(unit_or_currency="Unit", provider_model_version="Model version", cell_count="Cells"),
        *columns("count", cells_that_differ="that differ"),
        *columns("amount", note="a cell has no value (no list price, or not published)", **SIDES),
        *columns(stands_in="Belongs to"),
        *columns(note="not weighed", lowest_weight_coverage_ratio="Lowest weight coverage"),
    ),
    key=("measure", "unit_or_currency", "provider_model_version"),
    method="Exact, cell by cell; the billed total is added independently from the landed files. Amounts are in the unit "
    "of their row. Versions of the provider's model are never added: the book holds one per payer and month.",
    empty="Nothing to reconcile in this quarter.",
)
