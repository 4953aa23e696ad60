"""Quality: what arrived and when, which checks failed, what is quarantined, and each provider total against its parts."""

from reports.model import Table
from reports.publication import Publication
from reports.quarter import Quarter, listed
from reports.sections.sql import MASSES, within
from reports.sections.tables import chosen, summed

# the build a publication holds is the last one begun; its clock times stay out of the page
THIS_BUILD = "(select build_id from ops.builds order by started_at desc, build_id desc limit 1)"
# kinds by what they bring, as connectors.registry has them (a test compares): what is in neither is a bill or a carbon export
RECORDS = "('training_runs', 'fx_rates', 'user_inputs')"  # that come one by one, of no month
TELEMETRY = (
    "('neuron_monitor', 'tpu_monitoring', 'xprof', 'neuron_power', 'gpu_monitoring', 'power_meters', 'prometheus', 'wandb')"
)
# A partition of a bill or a carbon export begins with its month, or its day; a file of telemetry has it behind other numbers, as
# host=i-2026-01~neuron0-2026-09-22T09-30-00Z.jsonl or vm~plugins~profile~2026_09_07_09_05_20~vm.xplane.pb: its last date counts;
# the name of a run record may hold anything: moe-2026-04.run.json is of no month.
DELIVERED = f"""delivered as (
    select source_name, kind, published_at,
        case
            when kind in {RECORDS} then ''
            when kind in {TELEMETRY}
                then regexp_extract(replace(partition, '_', '-'), '.*(^|[^0-9])([0-9]{{4}}-[0-9]{{2}}(-[0-9]{{2}})?)', 2)
            else regexp_extract(partition, '^([0-9]{{4}}-[0-9]{{2}}(-[0-9]{{2}})?)', 1)
        end as dated,
        case when dated <> '' then cast(left(dated, 7) || '-01' as date) end as usage_month,
        length(dated) = 10 as is_day
    from ops.dim_deliveries
    where is_elected
)"""
NOT_THERE = f"case when min(kind) in {RECORDS} then 'as records' when min(kind) in {TELEMETRY} then 'no file' else 'missing' end"


def _vintage(month: str) -> dict[str, str]:
    """The newest publication of a month, and how many of its days a source that delivers by day has given."""
    of_month = f"usage_month = ${month}"
    return {
        month: f"coalesce(strftime(max(published_at) filter (where {of_month}), '%Y-%m-%d %H:%M'), {NOT_THERE})",
        f"{month}_days": f"""case when bool_or(is_day)
        then count(distinct dated) filter (where is_day and {of_month}) || ' of ' || day(last_day(${month}))
    end""",
    }


VINTAGE = summed(
    "vintage",
    "delivered",
    before=DELIVERED,
    **_vintage("month_1"),
    **_vintage("month_2"),
    **_vintage("month_3"),
    records="count(*) filter (where usage_month is null)",
    newest_record="max(published_at) filter (where usage_month is null)",
    delivery_count=f"count(*) filter (where {within()})",
)

NEWEST = f"""with {DELIVERED}
select
    case
        when kind = 'training_runs' then 'run records'
        when kind in {RECORDS} then 'own figures and rates'
        when kind in {TELEMETRY} then 'telemetry'
        when kind like '%carbon%' then 'carbon'
        else 'bills'
    end as what,
    max(published_at) as newest
from delivered
where usage_month is null or {within()}
group by what
order by case what when 'bills' then 1 when 'carbon' then 2 when 'telemetry' then 3 when 'run records' then 4 else 5 end"""


def vintage_sentence(publication: Publication, quarter: Quarter) -> str:
    """Until when what the quarter rests on was published."""
    rows = publication.rows_if_there(quarter.fill(NEWEST))
    newest = [f"{row['what']} until {row['newest']:%Y-%m-%d}" for row in rows]
    return f"Data as published: {listed(newest)} (UTC)." if newest else ""


def _state(month: str) -> str:
    return f"""coalesce(
        max(states.state) filter (where states.usage_month = ${month}),
        case when bool_or(quarantined.usage_month = ${month}) then 'quarantined' end,
        {NOT_THERE}
    )"""


MATRIX = summed(
    "sources_by_month",
    "sources\nleft join states using (source_name)\nleft join quarantined using (source_name)",
    before=f"""{DELIVERED},
booked as (
    select cells.source_name, usage_month, case when bool_or(costs.status <> 'final') then 'preliminary' else 'final' end as state
    from marts.fct_run_cell_costs as cells
    inner join marts.fct_training_run_costs as costs
        using (training_run_id, usage_month, billing_currency, cost_component, attribution_rule)
    group by cells.source_name, usage_month
    union all
    select cells.source_name, usage_month, case when bool_or(emissions.status <> 'final') then 'preliminary' else 'final' end
    from marts.fct_run_cell_emissions as cells
    inner join marts.fct_training_run_emissions as emissions using (training_run_id, usage_month)
    group by cells.source_name, usage_month
),
states as (
    select distinct source_name, usage_month, coalesce(booked.state, 'landed') as state
    from delivered
    left join booked using (source_name, usage_month)
    where usage_month is not null
),
quarantined as (
    select source_name, sum(count(*)) over (partition by source_name) as row_count,
        try_cast(nullif(regexp_extract(source_object, '(20[0-9]{{2}}-[0-9]{{2}})', 1), '') || '-01' as date) as usage_month
    from marts.fct_quarantine
    group by source_name, usage_month
),
sources as (
    select source_name, kind from ops.listed_objects
    union
    select source_name, kind from ops.dim_deliveries where is_elected
)""",
    month_1=_state("month_1"),
    month_2=_state("month_2"),
    month_3=_state("month_3"),
    quarantined_rows="coalesce(max(quarantined.row_count), 0)",
)

GATES = chosen("gates", f"ops.gate_results\nwhere build_id = {THIS_BUILD}", "passed, gate")


def gates_line(table: Table) -> str:
    """All checks in one line, those that did not pass named in words."""
    if not table.rows:
        return ""
    failed = [_in_words(str(row["gate"])) for row in table.rows if not row["passed"]]
    if not failed:
        return f"All {len(table.rows)} checks before publication passed."
    passed = len(table.rows) - len(failed)
    return f"{passed} of {len(table.rows)} checks before publication passed. Not passed, as a warning: {'; '.join(failed)}."


def _in_words(gate: str) -> str:
    """dbt.assert_every_tpu_sku_is_known -> every tpu sku is known."""
    return gate.rpartition(".")[2].removeprefix("assert_").replace("_", " ")


CONFLICTS = chosen("conflicts", "marts.fct_run_conflicts")
QUARANTINE = chosen(
    "quarantine",
    "marts.fct_quarantine",
    "source_name, reason, source_object, row_number nulls first, column_name nulls first, value nulls first",
)


def _side(amount: str) -> str:
    """A sum of cells. A cell without a list total has no row: its measure then has no whole."""
    return f"""case when count(*) = count({amount}) and (min(measure) not like '%_cost' or count(*) >= max(billed_cells))
        then sum({amount}) end"""


CONSERVATION = summed(
    "conservation",
    f"""marts.fct_reconciliation
left join billed using (unit_or_currency)
left join book using (source_name, payer_account_id, usage_month, provider_model_version)
where method = 'conservation' and {within()}""",
    f"bool_or(measure in {MASSES}), measure, unit_or_currency, provider_model_version",
    before=f"""billed as (
    select unit_or_currency, count(*) as billed_cells
    from marts.fct_reconciliation
    where method = 'conservation' and measure = 'billed_cost' and {within()}
    group by unit_or_currency
),
book as (
    select source_name, payer_account_id, usage_month, provider_model_version from marts.fct_run_cell_emissions
    union
    select source_name, payer_account_id, usage_month, provider_model_version from marts.fct_residual_emissions
)""",
    cell_count="count(*)",
    cells_that_differ="count(*) filter (where difference is distinct from 0)",
    provider_total=_side("provider_total"),
    runs_total=_side("runs_total"),
    residual_total=_side("residual_total"),
    quarantined_total=_side("quarantined_total"),
    difference=_side("difference"),
    stands_in="""case
        when min(measure) like '%_cost' or bool_and(book.usage_month is not null) then 'the book'
        when bool_or(book.usage_month is not null) then 'the book in part'
        else 'another version'
    end""",
    lowest_weight_coverage_ratio="min(weight_coverage_ratio)",
)
