"""Section 6, quality: what arrived, which gates passed, what is quarantined, and each provider total against its parts."""

from reports.model import Column, TableSpec, columns
from reports.sections.sql import MASSES, PERIODS, within

# a partition of a bill or a carbon export begins with its month; a run record does not
# the build a publication holds is the last one begun; its clock times stay out of the page
IS_MONTH = "regexp_matches(partition, '^[0-9]{4}-[0-9]{2}([^0-9]|$$)')"
THIS_BUILD = "(select build_id from ops.builds order by started_at desc, build_id desc limit 1)"
MONTHS = PERIODS[:3]

PUBLISHED = ",\n".join(f"    max(published_at) filter (where partition_month = ${month}) as {month}" for month, _ in MONTHS)
VINTAGE = TableSpec(
    id="vintage",
    title="Data vintage: when each source was published, by month of usage (UTC)",
    sql=f"""with elected as (
    select *, case when {IS_MONTH} then cast(left(partition, 7) || '-01' as date) end as partition_month
    from ops.dim_deliveries
    where is_elected
)
select source_name, kind,
{PUBLISHED},
    max(published_at) filter (where partition_month is null) as undated,
    count(*) as delivery_count
from elected
where partition_month is null or {within("partition_month")}
group by source_name, kind
order by source_name, kind""",
    columns=(
        *columns(source_name="Source", kind="Kind"),
        *columns("time", note="no delivery", **{month: f"${month}_name" for month, _ in MONTHS}),
        *columns(note="delivered by month", undated="Records, newest"),
        *columns(delivery_count="Deliveries"),
    ),
    key=("source_name", "kind"),
    method="The newest elected delivery of each source and month; a Google bill by the day of its partitions. Section 9 "
    "lists every delivery with its digest.",
    empty="No delivery of this quarter has landed.",
)

STATES = ",\n".join(
    f"    coalesce(max(state) filter (where usage_month = ${month}), 'missing') as {month}" for month, _ in MONTHS
)
MATRIX = TableSpec(
    id="sources_by_month",
    title="Sources and months",
    sql=f"""with landed as (
    select source_name, kind, cast(left(partition, 7) || '-01' as date) as usage_month, 'landed' as state
    from ops.dim_deliveries
    where is_elected and {IS_MONTH}
),
booked as (
    select cells.source_name, cells.usage_month,
        case when bool_or(costs.status <> 'final') then 'preliminary' else 'final' end as state
    from marts.fct_run_cell_costs as cells
    inner join marts.fct_training_run_costs as costs
        using (training_run_id, usage_month, billing_currency, cost_component, attribution_rule)
    group by cells.source_name, cells.usage_month
    union all
    select cells.source_name, cells.usage_month,
        case when bool_or(emissions.status <> 'final') then 'preliminary' else 'final' end
    from marts.fct_run_cell_emissions as cells
    inner join marts.fct_training_run_emissions as emissions using (training_run_id, usage_month)
    group by cells.source_name, cells.usage_month
),
states as (
    select landed.source_name, landed.kind, landed.usage_month, coalesce(max(booked.state), landed.state) as state
    from landed
    left join booked using (source_name, usage_month)
    group by landed.source_name, landed.kind, landed.usage_month, landed.state
),
undated as (
    select source_name, kind, count(*) as records
    from ops.dim_deliveries
    where is_elected and not {IS_MONTH}
    group by source_name, kind
),
quarantined as (
    select source_name, count(*) as quarantined_rows from marts.fct_quarantine group by source_name
),
dated as (
    select source_name, kind,
{STATES},
        cast(null as bigint) as undated_records
    from states
    group by source_name, kind
    union all
    select source_name, kind, null, null, null, records from undated
)
select dated.*, coalesce(quarantined.quarantined_rows, 0) as quarantined_rows
from dated
left join quarantined using (source_name)
order by source_name, kind, undated_records nulls first""",
    columns=(
        *columns(source_name="Source", kind="Kind"),
        *columns("state", note="not delivered by month", **dict(MONTHS)),
        *columns(note="delivered by month", undated_records="Undated records"),
        *columns(quarantined_rows="Quarantined rows"),
    ),
    key=("source_name", "kind", "undated_records"),
    method="landed: delivered, no run has a row in it; preliminary and final: the status of the runs' rows from this "
    "source; missing: no delivery. Quarantined rows are of the whole source.",
    empty="No source has landed anything.",
)

GATES = TableSpec(
    id="gates",
    title="Gates of the published build",
    sql=f"""select gate, passed, failing_rows, detail
from ops.gate_results
where build_id = {THIS_BUILD}
order by passed, gate""",
    columns=(
        *columns(gate="Gate", passed="Passed", failing_rows="Failing rows"),
        Column("detail", "Detail", note="no detail", is_dropped_when_empty=True),
    ),
    key=("gate",),
    method="A build is published only when every expected gate passed.",
    empty="The published file holds no gate result: it was not published by the line.",
    page_rows=400,
)

CONFLICTS = TableSpec(
    id="conflicts",
    title="Conflicts between records of one run",
    sql="""select training_run_id, field, source_a, value_a, source_b, value_b, chosen
from marts.fct_run_conflicts
order by training_run_id, field, source_a, source_b""",
    columns=(
        *columns(training_run_id="Run", field="Field", source_a="One source"),
        *columns(note="no value", value_a="its value"),
        *columns(source_b="Another source"),
        *columns(note="no value", value_b="its value"),
        *columns(chosen="Taken"),
    ),
    key=("training_run_id", "field", "source_a", "source_b"),
    method="All quarters. Per field run.json before scheduler before logs.",
    empty="No two records of a run disagree.",
    page_rows=20,
)

QUARANTINE = TableSpec(
    id="quarantine",
    title="Quarantine: what was not taken into the book",
    sql="""select source_name, source_object, row_number, column_name, value, reason, remedy
from marts.fct_quarantine
order by source_name, reason, source_object, row_number nulls first, column_name nulls first, value nulls first""",
    columns=(
        *columns(source_name="Source", source_object="Object"),
        *columns(note="the whole object", row_number="Row"),
        Column("column_name", "Column", "code", note="the whole row or object"),
        Column("value", "Value", "code", note="no value"),
        Column("reason", "Reason", "state"),
        Column("remedy", "Remedy"),
    ),
    key=("source_name", "source_object", "row_number", "column_name"),
    method="All quarters. Negative provider emissions and unknown regions are here too; their masses are in the "
    "reconciliation as quarantined, never clipped to zero.",
    empty="Nothing is quarantined.",
    page_rows=20,
)

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
        *columns(cells_that_differ="that differ"),
        *columns("amount", note="a cell has no value (no list price, or not published)", **SIDES),
        *columns(stands_in="Belongs to"),
        *columns(note="not weighed", lowest_weight_coverage_ratio="Lowest weight coverage"),
    ),
    method="Exact, cell by cell; the billed total is added independently from the landed files. Amounts are in the unit "
    "of their row. Versions of the provider's model are never added: the book holds one per payer and month.",
    empty="Nothing to reconcile in this quarter.",
)
