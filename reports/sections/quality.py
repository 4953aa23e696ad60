"""Section 6, quality: what has arrived, which gates passed, where records disagree, what is quarantined."""

from reports.model import Column, TableSpec
from reports.quarter import Quarter, month_name, short_month_name
from reports.sections.sql import literal, within

# a partition of a bill or a carbon export begins with its month; a run record does not
# the build a publication holds is the last one begun; its clock times stay out of the page
IS_MONTH = "regexp_matches(partition, '^[0-9]{4}-[0-9]{2}([^0-9]|$)')"
THIS_BUILD = "(select build_id from ops.builds order by started_at desc, build_id desc limit 1)"


def vintage(quarter: Quarter) -> TableSpec:
    """Sources x months: when the provider published what this report rests on."""
    months = quarter.months
    columns = ",\n".join(
        f"    max(published_at) filter (where partition_month = {literal(month)}) as month_{n}"
        for n, month in enumerate(months, 1)
    )
    return TableSpec(
        id="vintage",
        title="Data vintage: when each source was published, by month of usage (UTC)",
        sql=f"""with elected as (
    select *, case when {IS_MONTH} then cast(left(partition, 7) || '-01' as date) end as partition_month
    from ops.dim_deliveries
    where is_elected
)
select source_name, kind,
{columns},
    max(published_at) filter (where partition_month is null) as undated,
    count(*) as delivery_count
from elected
where partition_month is null or {within(quarter, "partition_month")}
group by source_name, kind
order by source_name, kind""",
        columns=(
            Column("source_name", "Source"),
            Column("kind", "Kind", "code"),
            *(Column(f"month_{n}", month_name(month), "time", note="no delivery") for n, month in enumerate(months, 1)),
            Column("undated", "Records, newest", "time", note="delivered by month"),
            Column("delivery_count", "Deliveries", "count"),
        ),
        key=("source_name", "kind"),
        method="The newest elected delivery of each source and month; a Google bill by the day of its partitions. Section 9 "
        "lists every delivery with its digest.",
        empty="No delivery of this quarter has landed.",
    )


def _matrix_sql(quarter: Quarter) -> str:
    states = ",\n".join(
        f"    coalesce(max(state) filter (where usage_month = {literal(month)}), 'missing') as month_{n}"
        for n, month in enumerate(quarter.months, 1)
    )
    return f"""with landed as (
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
{states},
        cast(null as bigint) as undated_records
    from states
    group by source_name, kind
    union all
    select source_name, kind, null, null, null, records from undated
)
select dated.*, coalesce(quarantined.quarantined_rows, 0) as quarantined_rows
from dated
left join quarantined using (source_name)
order by source_name, kind, undated_records nulls first"""


def matrix(quarter: Quarter) -> TableSpec:
    """Sources x months of the quarter, one word each."""
    months = quarter.months
    return TableSpec(
        id="sources_by_month",
        title="Sources and months",
        sql=_matrix_sql(quarter),
        columns=(
            Column("source_name", "Source"),
            Column("kind", "Kind", "code"),
            *(
                Column(f"month_{n}", short_month_name(month), "state", note="not delivered by month")
                for n, month in enumerate(months, 1)
            ),
            Column("undated_records", "Undated records", "count", note="delivered by month"),
            Column("quarantined_rows", "Quarantined rows", "count"),
        ),
        key=("source_name", "kind", "undated_records"),
        method="landed: delivered, no run has a row in it; preliminary and final: the status of the runs' rows from this "
        "source; missing: no delivery. Quarantined rows are of the whole source.",
        empty="No source has landed anything.",
    )


def gates(quarter: Quarter) -> TableSpec:
    """Every gate of the published build with its result."""
    return TableSpec(
        id="gates",
        title="Gates of the published build",
        sql=f"""select gate, passed, failing_rows, detail
from ops.gate_results
where build_id = {THIS_BUILD}
order by passed, gate""",
        columns=(
            Column("gate", "Gate", "code"),
            Column("passed", "Passed", "flag"),
            Column("failing_rows", "Failing rows", "count"),
            Column("detail", "Detail", note="no detail", is_dropped_when_empty=True),
        ),
        key=("gate",),
        method="A build is published only when every expected gate passed.",
        empty="The published file holds no gate result: it was not published by the line.",
        page_rows=400,
    )


def conflicts(quarter: Quarter) -> TableSpec:
    """Where two records of one run disagree, and which was taken."""
    return TableSpec(
        id="conflicts",
        title="Conflicts between records of one run",
        sql="""select training_run_id, field, source_a, value_a, source_b, value_b, chosen
from marts.fct_run_conflicts
order by training_run_id, field, source_a, source_b""",
        columns=(
            Column("training_run_id", "Run", "code"),
            Column("field", "Field", "code"),
            Column("source_a", "One source"),
            Column("value_a", "its value", note="no value"),
            Column("source_b", "Another source"),
            Column("value_b", "its value", note="no value"),
            Column("chosen", "Taken"),
        ),
        key=("training_run_id", "field", "source_a", "source_b"),
        method="All quarters. Per field run.json before scheduler before logs.",
        empty="No two records of a run disagree.",
        page_rows=20,
    )


def quarantine(quarter: Quarter) -> TableSpec:
    """What was refused, counted by reason; the data file has every row."""
    return TableSpec(
        id="quarantine",
        title="Quarantine: what was not taken into the book",
        sql="""select source_name, source_object, row_number, column_name, value, reason, remedy
from marts.fct_quarantine
order by source_name, reason, source_object, row_number nulls first, column_name nulls first, value nulls first""",
        columns=(
            Column("source_name", "Source"),
            Column("source_object", "Object", "code"),
            Column("row_number", "Row", "count", note="the whole object"),
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
