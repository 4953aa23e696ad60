"""`trainledger trace` on the demo: every figure of a report down to landed rows and seeds, and the other way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.base.failures import GateError
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.command import Trace, opened_trace, report_of
from dagster_project.evidence.tracing.source_rows import trace_row
from dagster_project.settings import load_settings
from dagster_project.warehouse.home import Home
from reports.page.numbers import plain
from reports.quarter import Quarter
from reports.tracing.figures import headline_id, in_report, quarter_of, tables_of
from reports.tracing.proof import RowSet, narrowest, prove
from tests.conftest import Command

pytestmark = pytest.mark.slow

QUARTER = "2026Q3"
MONTH = "usage_month = date '2026-08-01'"
BILL = "data/BILLING_PERIOD=2026-08/payer-a-cur-00001.snappy.parquet"
# what is behind the rows of a table: kinds of origins, all of which must be there
BEHIND = {
    "fct_training_run_costs": {"bill"},
    "fct_run_cell_costs": {"bill"},
    "fct_purchase_costs": {"bill"},
    "fct_residual_costs": {"bill"},
    "fct_reconciliation": {"bill", "carbon", "delivery"},
    "fct_training_run_emissions": {"carbon"},
    "fct_training_run_emissions_versions": {"carbon"},
    "fct_run_cell_emissions": {"carbon"},
    "fct_residual_emissions": {"carbon"},
    "fct_training_run_energy": {"record", "sample", "seed"},
    "fct_training_run_emissions_modelled": {"record", "sample", "seed"},
    "fct_telemetry_matches": {"sample"},
    "fct_power_calibration": {"sample", "seed"},
    "fct_quarantine": {"record"},
    "fct_run_conflicts": {"record"},
    "dim_training_runs": {"record"},
    "dim_prices": {"seed"},
    "dim_regions": {"seed"},
    "dim_accelerators": {"seed"},
    "dim_accelerator_sources": {"seed"},
    "dim_emission_factors": {"seed"},
    "dim_meters": {"seed"},
    "dim_pue": {"seed"},
    "dim_vendor_claims": {"seed"},
    "dim_article_figures": {"seed"},
    "dim_t_quantiles": {"seed"},
    "dim_comparison_plan_power": {"seed"},
    "dim_datapoints": {"seed"},
    "dim_own_inventory": {"record"},
    "dim_disclosure_settings": {"build"},
    "fct_lost_work": {"bill", "record"},
    "rpt_coverage": {"bill"},  # by its statement
    "run_month_summary": {"bill", "carbon", "sample"},  # a view
    "fct_prepaid": {"delivery"},
    "dim_accounts": {"delivery"},
    "dim_services": {"delivery"},
    "dim_deliveries": {"delivery"},
    "gate_results": {"build"},
    "builds": {"build"},
}


@pytest.fixture(scope="module")
def trace(demo_home: Path) -> Iterator[Trace]:
    with opened_trace(Home.of(load_settings(demo_home / "trainledger.yaml"))) as opened:
        yield opened


def row_of(trace: Trace, name: str) -> dict[str, Any]:
    """The answer to --source-row, by a trace of its own: once figures are asked, its connection reaches no file any more."""
    with opened_trace(trace.home) as own:
        return trace_row(own, name)


@pytest.fixture
def connection(trace: Trace) -> duckdb.DuckDBPyConnection:
    trace.prover.connection.execute("delete from origins")
    return trace.prover.connection


def proved(trace: Trace, table: dict[str, Any], quarter: Quarter) -> tuple[RowSet, ...]:
    """The rows that alone give every figure of a table of the report again, which is what it prints."""
    sql, printed = table["sql"], [row["values"] for row in table["rows"]]
    trace.prover.show_all(trace.prover.tables(sql))
    given = [{name: plain(row[name]) for name in values} for row, values in zip(trace.prover.whole(sql), printed, strict=True)]
    assert given == printed, table["id"]
    return narrowest(trace.prover, sql, f"({sql}) as own", quarter)


def test_every_figure_of_the_report_is_given_again_by_rows_that_are_proved(trace: Trace) -> None:
    report, quarter = report_of(trace.home, QUARTER), Quarter.parse(QUARTER)
    read = set()
    for table in tables_of(report):
        sets = proved(trace, table, quarter)
        assert sum(one.count for one in sets) > 0 or not table["rows"], table["id"]
        read |= {one.table.partition(".")[2] for one in sets if one.count}
    for headline in report["figures"]:
        if headline["value"] is not None:
            proof = prove(trace.prover, in_report(report, headline_id(report, headline)), quarter)
            assert proof.value == headline["value"]
            read |= {one.table.partition(".")[2] for one in proof.rows if one.count}
    reports = {name for name in read if name in trace.report_statements}  # followed by their statements to tables of these
    reports |= {"fct_restatements", "fct_restated_texts"}  # of what issued reports printed, which packs and their chain prove
    assert read - reports <= BEHIND.keys(), "a table that figures read is not followed to landed rows in the test below"


def test_a_cell_of_a_table_is_proved_by_the_rows_of_its_key_alone(trace: Trace) -> None:
    report = report_of(trace.home, QUARTER)
    table = next(one for one in tables_of(report) if one["id"] == "cost_by_team")
    row = next(row for row in table["rows"] if all(row["values"][name] for name in table["key"]))
    figure = in_report(report, f"{row['id']}/effective_cost")
    proof = prove(trace.prover, figure, quarter_of(figure))
    [costs] = [one for one in proof.rows if one.table == "marts.fct_training_run_costs"]
    whole = trace.prover.count("marts.fct_training_run_costs", "usage_month >= date '2026-07-01'")
    assert proof.value == figure.value and 0 < costs.count < whole
    assert f"{costs.count} rows of fct_training_run_costs" in proof.sentence and proof.sentence.endswith(f"give {figure.value}")


@pytest.mark.parametrize("table", sorted(BEHIND))
def test_rows_of_every_table_that_figures_read_are_followed_to_landed_rows_or_seeds(
    table: str, trace: Trace, connection: duckdb.DuckDBPyConnection
) -> None:
    schema = "marts" if f"marts.{table}" in trace.prover.columns else "ops"
    place = f"{schema}.{table}"
    condition = MONTH if "usage_month" in trace.prover.columns[place] else "true"
    trace.follow([RowSet(place, (condition,), trace.prover.count(place, condition))])
    found = {one["kind"]: one["rows"] for one in origins.summary(connection)}
    assert BEHIND[table] <= found.keys() and all(found[kind] for kind in BEHIND[table])
    landed = "kind in ('bill', 'carbon', 'sample') or (kind = 'record' and delivery_content_hash is not null)"
    unnamed = "object_sha256 is null or delivery_content_hash is null or first_row is null"
    assert not connection.execute(f"select * from origins where ({landed}) and ({unnamed})").fetchall()


def test_a_whole_month_of_groups_finds_every_row_of_its_bills_and_their_sum(
    trace: Trace, connection: duckdb.DuckDBPyConnection
) -> None:
    connection.execute(f"create or replace temp table groups as from attributions where {MONTH}")
    trace.landed.add_bill_rows("fct_charge_attributions")
    amounts = "select distinct source_name, object, first_row, charge_group_id, amount from origins"
    of_bill = f"method = 'conservation' and measure = 'billed_cost' and {MONTH}"
    billed = f"select sum(provider_total) from published.marts.fct_reconciliation where {of_bill}"
    assert connection.execute(f"select sum(amount) from ({amounts})").fetchone() == connection.execute(billed).fetchone()


def test_a_group_that_its_delivery_does_not_give_again_is_an_error(trace: Trace, connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("alter view attributions rename to kept_attributions")
    try:
        for change in ("row_count + 1 as row_count", "billed_cost + 0.01 as billed_cost"):
            connection.execute(f"create or replace temp view attributions as select * replace ({change}) from kept_attributions")
            connection.execute(
                f"create or replace temp table groups as from attributions where {MONTH} and source_name = 'payer-a-cur'"
                " and training_run_id = 'align-sweep-a'"
            )
            with pytest.raises(GateError, match=r"group .* of payer-a-cur was published with"):
                trace.landed.add_bill_rows("")
    finally:
        connection.execute("drop view attributions; alter view kept_attributions rename to attributions")


def asked(trainledger: Command, demo_home: Path, *arguments: str) -> dict[str, Any]:
    done = trainledger("trace", *arguments, "--json", "--config", demo_home / "trainledger.yaml")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_figure_is_reported_with_its_proof_its_rows_and_a_file_of_all_that_is_behind(
    trainledger: Command, demo_home: Path, tmp_path: Path
) -> None:
    figure = "fct_training_run_costs/align-sweep-a,2026-08-01,USD,accelerator,resource_time/effective_cost"
    stated = asked(trainledger, demo_home, "--figure", figure, "--out", str(tmp_path / "rows.csv"))
    assert (
        stated["value"] == "7.505769444444" and stated["proof"] == "proved: 1 row of fct_training_run_costs give 7.505769444444"
    )
    [row] = stated["first"]
    assert (row["kind"], row["object"], row["first_row"], row["share"]) == ("bill", BILL, 4084, "21392000000/57600000000")
    assert stated["out_rows"] == 1 and len((tmp_path / "rows.csv").read_text().splitlines()) == 2
    text = trainledger("trace", "--figure", figure, "--config", demo_home / "trainledger.yaml").stdout
    assert f"bill payer-a-cur {BILL}:4084 20.210000000000 USD -> align-sweep-a by resource_time" in text


def test_a_row_of_a_bill_is_traced_to_its_group_its_runs_and_the_figures_that_rest_on_it(
    trainledger: Command, demo_home: Path
) -> None:
    stated = asked(trainledger, demo_home, "--source-row", f"{BILL}:4084")
    shares = {part["training_run_id"] or part["reason"]: part["effective_cost"] for part in stated["parts"]}
    assert shares == {"align-sweep-a": "7.505769444444", "align-sweep-b": "10.424991666667", "idle": "2.279238888889"}
    assert f"{QUARTER}/glance/effective_cost" in stated["figures"]
    assert {one["table"] for one in stated["rows"]} >= {"marts.fct_run_cell_costs", "marts.fct_training_run_costs"}


def test_a_row_inside_a_group_is_traced_to_the_group(trace: Trace, connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "create or replace temp table groups as from attributions"
        f" where {MONTH} and row_count > 3 and source_name = 'payer-a-cur'"
    )
    trace.landed.add_bill_rows("")
    group, name, last = connection.execute(
        "select charge_group_id, object, max(first_row) from origins group by all having count(*) > 3 order by all limit 1"
    ).fetchone() or ("", "", 0)
    assert not group.endswith(f"|{last}"), "the last row names no group"
    stated = row_of(trace, f"{name}:{last}")
    assert [part["charge_group_id"] for part in stated["parts"]] == [group]


def test_rows_of_carbon_samples_and_records_are_traced_to_runs_and_figures(
    trace: Trace, connection: duckdb.DuckDBPyConnection
) -> None:
    sets = [RowSet(f"marts.{name}", (MONTH,), 1) for name in ("fct_run_cell_emissions", "fct_training_run_energy")]
    trace.follow(sets)
    for kind, table in (
        ("carbon", "fct_run_cell_emissions"),
        ("sample", "fct_training_run_energy"),
        ("record", "dim_training_runs"),
    ):
        name, row = connection.execute(
            "select object, first_row from origins where kind = ? order by all limit 1", [kind]
        ).fetchone() or ("", 0)
        stated = row_of(trace, f"{name}:{row}")
        assert any(part.get("training_run_id") for part in stated["parts"]) and stated["figures"]
        assert f"marts.{table}" in {one["table"] for one in stated["rows"]}


def test_a_row_that_does_not_count_has_its_reason(trace: Trace) -> None:
    quarantined = trace.prover.connection.execute(
        "select source_object || ':' || row_number from published.marts.fct_quarantine where row_number is not null"
        " order by 1 limit 1"
    ).fetchone()
    assert quarantined
    stated = row_of(trace, *quarantined)
    assert "is in quarantine or doubted" in stated["told"][0]
    elected = "select content_hash from published.ops.dim_deliveries where is_elected"
    hashes = {content_hash for (content_hash,) in trace.prover.connection.execute(elected).fetchall()}
    older = [one for one in trace.landed.generations("payer-b-cur") if one.content_hash not in hashes]
    stated = row_of(trace, f"{older[0].objects[0].key}:1")
    assert any("is not the delivery that counts" in line for line in stated["told"])


@pytest.mark.parametrize(
    "question",
    [
        ("--figure", "nothing"),
        ("--figure", ""),
        ("--figure", "2026Q3/glance/'; drop table x; --"),
        ("--figure", "2026Q3/no_table/a/b"),
        ("--figure", "2026Q3/cost_by_team/%00,%FF/effective_cost"),
        ("--figure", "1999Q1/glance/effective_cost"),
        ("--figure", "../../etc/passwd/a/b"),
        ("--figure", "fct_training_run_costs/a,b/effective_cost"),
        ("--figure", "fct_training_run_costs/a,2026-08-01,USD,' or true --,tag/effective_cost"),
        ("--figure", "no_table/a/effective_cost"),
        ("--source-row", "no such object:1"),
        ("--source-row", f"{BILL}:0"),
        ("--source-row", f"{BILL}:-1"),
        ("--source-row", f"{BILL}:99999999999999999999999"),
        ("--source-row", f"{BILL}:9999999"),
        ("--source-row", "'; drop table x; --:1"),
        (),
    ],
)
def test_a_question_that_names_nothing_ends_with_2_and_states_it(
    question: tuple[str, ...], trainledger: Command, demo_home: Path
) -> None:
    done = trainledger("trace", *question, "--config", demo_home / "trainledger.yaml")
    *_, last = done.stderr.splitlines()  # behind the steps that it took
    assert done.returncode == 2 and last.startswith("trainledger: "), done.stderr
    assert not done.stdout
