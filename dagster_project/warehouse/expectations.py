"""Great Expectations suites: a delivery against its declared shape and its own history, and permission to publish.

Suites look at small frames of aggregates that DuckDB computes; rules about single rows are dbt tests. A critical
expectation is a gate; a warning is recorded and shown, and blocks nothing. The validation JSON is kept as evidence,
without clock values. Great Expectations takes seconds to import, so it is imported where it runs: see validator.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.kinds import KINDS, Kind, built_kinds
from dagster_project.warehouse.gates import GateResult
from dagster_project.warehouse.nodes import rows_as_text
from dagster_project.warehouse.validator import great_expectations

if TYPE_CHECKING:
    import duckdb
    import pandas

MASSES = (
    "provider_total_location_based_kgco2e",
    "provider_total_market_based_kgco2e",
    "provider_scope_1_kgco2e",
    "provider_scope_2_location_based_kgco2e",
    "provider_scope_2_market_based_kgco2e",
    "provider_scope_3_location_based_kgco2e",
    "provider_scope_3_market_based_kgco2e",
    "provider_scope_3_unsplit_kgco2e",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One expectation: its name, the Great Expectations type, its arguments."""

    name: str
    expectation: str
    arguments: dict[str, Any]
    is_blocking: bool = True


@dataclass(frozen=True, slots=True)
class Suite:
    """Expectations over one frame; `row` are the columns that tell its rows apart."""

    name: str
    frame: str
    row: tuple[str, ...]
    rules: tuple[Rule, ...] = field(default=())

    def gate(self, rule: Rule) -> str:
        """The gate a rule of this suite fills."""
        return f"gx.{self.name}.{rule.name}"


def _arrived() -> str:
    """Rows of each delivery in its raw view; of bills also the lines that count, as the control totals count them."""
    selects = []
    for kind in built_kinds():
        has_credits = kind in (Kind.GCP_BILLING, Kind.GCP_FOCUS)  # which are rows of their own
        is_line = "_is_book and part = 'line'" if has_credits else "_is_book"
        lines = f"count(*) filter (where {is_line})" if KINDS[kind].fact == "bill" else "cast(null as bigint)"
        hashes = "_source_name as source_name, _delivery_content_hash as content_hash"
        selects.append(f"select {hashes}, count(*) as raw_rows, {lines} as book_lines from raw.{kind} group by 1, 2")
    return " union all ".join(selects)


MONTHLY = ", ".join(f"'{kind}'" for kind in built_kinds() if KINDS[kind].fact in ("bill", "carbon"))
# one row per elected delivery; what does not apply to a kind is null, and null meets every expectation
DELIVERIES_FRAME = f"""
with elected as (
    select *, if(kind in ({MONTHLY}), try_cast(left(partition, 7) || '-01' as date), null) as month
    from ops.dim_deliveries where is_elected
),
arrived as (
    {_arrived()}
),
looked_at as (
    select distinct source_name, content_hash, true as is_read from raw.read_deliveries
),
controls as (
    select source_name, partition, content_hash, cast(sum(line_count) as bigint) as control_rows
    from raw.delivery_totals group by all
),
earlier as (
    select elected.source_name, elected.partition, max_by(older.rows, older.published_at) as previous_rows
    from elected inner join ops.dim_deliveries as older
        on
            elected.source_name = older.source_name
            and elected.partition = older.partition
            and older.published_at < elected.published_at
    group by all
),
months as (
    select
        source_name, month,
        date_diff('month', lag(month) over (partition by source_name order by month), month) - 1 as missing_months
    from (select distinct source_name, month from elected where month is not null) as distinct_months
)
select
    elected.source_name, elected.kind, elected.partition,
    -- a build counts the rows that it reads: those of another month were counted when that month was built
    if(is_read, elected.rows, null) as rows,
    if(is_read, coalesce(arrived.raw_rows, 0), null) as raw_rows,
    arrived.book_lines,
    if(arrived.book_lines is not null, coalesce(controls.control_rows, 0), null) as control_rows,
    months.missing_months,
    -- a handful of rows may well halve; a thousand may not
    if(earlier.previous_rows >= 1000, round(elected.rows / earlier.previous_rows, 3), null) as rows_ratio_to_previous
from elected
left join looked_at using (source_name, content_hash)
left join arrived using (source_name, content_hash)
left join controls using (source_name, partition, content_hash)
left join earlier using (source_name, partition)
left join months using (source_name, month)
order by elected.source_name, elected.partition
"""

# one row per provider and month that has a bill or a reconciliation; every number counts rows that must not be there
PUBLICATION_FRAME = f"""
with expected as (
    select provider_name, usage_month, bool_or(is_bill_landed) as is_bill_landed from raw.months group by all
),
reconciled as (
    select
        provider_name, usage_month, count(*) as reconciliation_rows,
        count(*) filter (where difference is distinct from 0) as difference_rows
    from marts.fct_reconciliation where method = 'conservation' group by all
),
landed as (
    select delivery.provider_name, totals.source_name, totals.usage_month, totals.currency, sum(totals.billed_cost) as billed_cost
    from raw.delivery_totals as totals
    inner join ops.dim_deliveries as delivery using (source_name, partition, content_hash)
    where delivery.is_elected and delivery.is_book group by all
),
ledger as (
    select provider_name, source_name, usage_month, unit_or_currency as currency, sum(provider_total) as billed_cost
    from marts.fct_reconciliation where method = 'conservation' and measure = 'billed_cost' group by all
),
controls as (
    select
        provider_name, usage_month,
        count(*) filter (where landed.billed_cost is distinct from ledger.billed_cost) as untied_rows
    from landed full outer join ledger using (provider_name, source_name, usage_month, currency) group by all
),
costs as (
    select provider_name, usage_month, count(*) filter (where billed_cost is null or effective_cost is null) as null_cost_rows
    from (
        select provider_name, usage_month, billed_cost, effective_cost from marts.fct_run_cell_costs
        union all
        select provider_name, usage_month, billed_cost, effective_cost from marts.fct_residual_costs
    ) as cost_rows group by all
),
masses as (
    select provider_name, usage_month, count(*) filter (where least({", ".join(MASSES)}) < 0) as negative_mass_rows
    from (
        select provider_name, usage_month, {", ".join(MASSES)} from marts.fct_run_cell_emissions
        union all
        select provider_name, usage_month, {", ".join(MASSES)} from marts.fct_residual_emissions
    ) as mass_rows group by all
)
select
    provider_name, strftime(usage_month, '%Y-%m') as usage_month,
    if(expected.is_bill_landed, coalesce(reconciliation_rows, 0), null) as reconciliation_rows_of_billed_month,
    coalesce(difference_rows, 0) as difference_rows,
    coalesce(untied_rows, 0) as untied_rows,
    coalesce(null_cost_rows, 0) as null_cost_rows,
    coalesce(negative_mass_rows, 0) as negative_mass_rows
from expected
full outer join reconciled using (provider_name, usage_month)
full outer join controls using (provider_name, usage_month)
full outer join costs using (provider_name, usage_month)
full outer join masses using (provider_name, usage_month)
order by provider_name, usage_month
"""


def _zero(name: str, column: str, *, is_blocking: bool = True) -> Rule:
    return Rule(name, "ExpectColumnValuesToBeInSet", {"column": column, "value_set": [0]}, is_blocking)


def _at_least(name: str, column: str, least: float, *, is_blocking: bool = True) -> Rule:
    return Rule(name, "ExpectColumnValuesToBeBetween", {"column": column, "min_value": least}, is_blocking)


def _equal(name: str, column: str, other: str) -> Rule:
    return Rule(name, "ExpectColumnPairValuesToBeEqual", {"column_A": column, "column_B": other})


SUITES = (
    Suite(
        "deliveries",
        DELIVERIES_FRAME,
        ("source_name", "partition"),
        (
            _equal("every_landed_row_is_in_raw", "rows", "raw_rows"),
            _equal("control_totals_count_every_row", "book_lines", "control_rows"),
            _zero("no_month_is_left_out", "missing_months", is_blocking=False),
            _at_least("rows_do_not_collapse_against_the_previous_delivery", "rows_ratio_to_previous", 0.5, is_blocking=False),
        ),
    ),
    Suite(
        "publication",
        PUBLICATION_FRAME,
        ("provider_name", "usage_month"),
        (
            _at_least("every_billed_month_is_reconciled", "reconciliation_rows_of_billed_month", 1),
            _zero("reconciliation_difference_is_zero", "difference_rows"),
            _zero("billed_cost_ties_to_the_landed_control_totals", "untied_rows"),
            _zero("no_cost_is_null", "null_cost_rows"),
            _zero("no_mass_is_negative", "negative_mass_rows"),
        ),
    ),
)


def expected_gates() -> set[str]:
    """Gates of every blocking expectation."""
    return {suite.gate(rule) for suite in SUITES for rule in suite.rules if rule.is_blocking}


def run_suites(connection: duckdb.DuckDBPyConnection, evidence: Path) -> list[GateResult]:
    """Validate every suite on a build file and keep each validation as JSON in `evidence`."""
    evidence.mkdir(parents=True, exist_ok=True)
    results: list[GateResult] = []
    for suite in SUITES:
        validation = _validate(suite, connection.execute(suite.frame).df())
        (evidence / f"{suite.name}.json").write_text(
            json.dumps(_without_clock(validation), indent=1, sort_keys=True, default=str) + "\n"
        )
        results += [_gate_result(suite, rule, found) for rule, found in zip(suite.rules, validation["results"], strict=True)]
    return results


def _validate(suite: Suite, frame: pandas.DataFrame) -> dict[str, Any]:
    gx = great_expectations()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("build").add_dataframe_asset(suite.name)
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    expectations = gx.ExpectationSuite(name=suite.name)
    for rule in suite.rules:
        severity = "critical" if rule.is_blocking else "warning"
        kind = getattr(gx.expectations, rule.expectation)
        expectations.add_expectation(kind(**rule.arguments, severity=severity, meta={"gate": suite.gate(rule)}))
    shape = {"result_format": "COMPLETE", "unexpected_index_column_names": list(suite.row)}
    validation = batch.validate(expectations, result_format=shape).to_json_dict()
    order = {suite.gate(rule): position for position, rule in enumerate(suite.rules)}
    validation["results"].sort(key=lambda found: order[found["expectation_config"]["meta"]["gate"]])
    return validation


def _gate_result(suite: Suite, rule: Rule, found: dict[str, Any]) -> GateResult:
    if found["exception_info"].get("raised_exception"):
        return GateResult(suite.gate(rule), False, 0, f"error: {found['exception_info']['exception_message']}")
    rows = found["result"].get("unexpected_index_list") or []
    detail = None if found["success"] else ("" if rule.is_blocking else "warning: ") + rows_as_text(rows)
    return GateResult(suite.gate(rule), bool(found["success"]), len(rows), detail)


def _without_clock(validation: dict[str, Any]) -> dict[str, Any]:
    """The batch's markers carry the time of validation; all that says what was found stays."""
    meta = {"great_expectations_version": validation["meta"]["great_expectations_version"]}
    return {**validation, "meta": meta, "id": None}
