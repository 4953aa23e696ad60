"""`trainledger trace` on the demo: figures down to landed rows with contributions, issued ones too, and the other way."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dagster_project.base.failures import GateError
from dagster_project.evidence.tracing.command import Trace, opened_trace, report_of, trace_figure
from dagster_project.evidence.tracing.source_rows import trace_row
from dagster_project.settings import load_settings
from dagster_project.warehouse.home import Home
from reports.tracing.figures import figure_id
from tests import nightly
from tests.conftest import Command
from tests.evidence.walked import statistics_that_differ

pytestmark = pytest.mark.slow

MONTH = "usage_month = date '2026-08-01'"
BILL = "data/BILLING_PERIOD=2026-08/payer-a-cur-00001.snappy.parquet"
SHARED = "fct_training_run_costs/align-sweep-a,2026-08-01,USD,accelerator,resource_time/effective_cost"


def home_of(demo_home: Path) -> Home:
    return Home.of(load_settings(demo_home / "trainledger.yaml"))


def answer(demo_home: Path, figure: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer to --figure, and all rows behind it."""
    with opened_trace(home_of(demo_home), figure) as trace:
        stated = trace_figure(trace, figure)
        return stated, trace.landed.rows("from origins order by all")


def given(rows: list[dict[str, Any]], kind: str) -> Decimal:
    return sum((row["contribution"] for row in rows if row["kind"] == kind), Decimal(0))


def test_a_cost_ends_in_bill_rows_that_add_up_to_it_and_in_no_others(demo_home: Path) -> None:
    stated, rows = answer(demo_home, "2026Q3/glance/effective_cost")
    assert stated["class"] == "sum" and {row["kind"] for row in rows} == {"bill"}
    assert given(rows, "bill") == Decimal(stated["value"]) > 0
    assert all(row["contribution"] and row["training_run_id"] and row["object_sha256"] for row in rows)
    assert {row["usage_month"].month for row in rows} == {7, 8, 9}


def test_an_allocated_tonne_ends_in_carbon_rows_of_the_elected_version_and_in_the_bill_rows_that_weigh_it(
    demo_home: Path,
) -> None:
    figure = "2026Q2/glance/provider_total_location_based"
    stated, rows = answer(demo_home, figure)
    assert given(rows, "carbon") == Decimal(stated["value"]) and {row["kind"] for row in rows} == {"carbon", "weight"}
    with opened_trace(home_of(demo_home)) as trace:
        cells = trace.landed.rows(
            "select sum(weight_numerator::decimal(38, 0)) as w, list(distinct provider_model_version) as versions"
            " from published.marts.fct_run_cell_emissions where year(usage_month) || 'Q' || quarter(usage_month) = '2026Q2'"
        )
    [cell] = cells
    assert given(rows, "weight") * 10**12 == cell["w"]
    versions = {row["detail"].rpartition("model version ")[2] for row in rows if row["kind"] == "carbon"}
    assert versions <= {*cell["versions"]}, "a superseded version"


@pytest.mark.parametrize(
    ("figure", "parts"),
    [
        ("2026Q3/coverage_of_the_bill/USD,AWS/carbon_coverage_ratio", ["effective_cost_with_carbon", "effective_cost"]),
        ("2026Q3/glance/effective_cost/change_ratio", []),
    ],
)
def test_of_a_ratio_both_parts_are_followed_or_its_inputs_are_listed(demo_home: Path, figure: str, parts: list[str]) -> None:
    stated, rows = answer(demo_home, figure)
    first = [step["column"] for step in stated["steps"] if step["depth"] == 1 and step["kind"] != "input"]
    assert first == parts and (not parts or given(rows, "bill") > 0)
    assert parts or all(step["rows"] for step in stated["steps"])


def test_energy_ends_in_integrals_that_are_divided_once_with_records_samples_and_seeds_beside_them(demo_home: Path) -> None:
    stated, rows = answer(demo_home, "2026Q3/glance/facility_energy")
    assert stated["steps"][-1]["table"] == "fct_energy_integrals" and stated["steps"][-1]["total"] == Decimal(stated["value"])
    assert {row["kind"] for row in rows} >= {"record", "sample", "seed"} and not any(row["kind"] == "bill" for row in rows)
    integrals = [row for row in rows if row["kind"] == "energy"]
    assert given(rows, "energy") == Decimal(stated["value"]) > 0
    kwh: dict[str, Fraction] = {}
    for row in integrals:
        region, measure, _ = row["object"].rsplit(" / ", 2)
        assert row["unit"] == "J" and row["contribution"] and measure == "facility"
        factor, joules_of_kwh = row["share"].split("/")
        kwh[region] = kwh.get(region, Fraction(0)) + Fraction(row["amount"]) * Fraction(factor) / int(joules_of_kwh)
    billionths = [(energy * 10**9 + Fraction(1, 2)) // 1 for energy in kwh.values()]
    assert len(billionths) > 20 and Decimal(sum(billionths)) / 10**9 == Decimal(stated["value"])


@pytest.mark.parametrize("what", ["purchased_cost", "amortised_used_cost", "amortised_unused_cost", "closing_cost"])
def test_what_was_paid_ahead_ends_in_the_bill_rows_of_its_commitment_and_leads_back(demo_home: Path, what: str) -> None:
    with opened_trace(home_of(demo_home)) as trace:
        [key] = trace.connection.execute(
            "select provider_name, payer_account_id, commitment_id, usage_month, billing_currency"
            f" from published.marts.fct_prepaid where {what} > 0"
            " order by commitment_kind = 'savings_plan' desc, commitment_id, usage_month limit 1"
        ).fetchall()
        figure = figure_id(("fct_prepaid",), [str(value) for value in key], what)
        stated = trace_figure(trace, figure)
        rows = trace.landed.rows("from origins order by abs(contribution) desc, object, first_row")
    assert {row["kind"] for row in rows} == {"bill"} and given(rows, "bill") == Decimal(stated["value"])
    back = row_of(demo_home, f"{rows[0]['object']}:{rows[0]['first_row']}")
    [prepaid] = [one for one in back["rows"] if one["table"] == "marts.fct_prepaid"]
    assert {place[2] for place in prepaid["first"]} == {key[2]}, "rows of another commitment"
    assert what == "closing_cost" or (list(map(str, key)) in prepaid["first"] and what in prepaid["measures"])


def test_a_row_that_is_of_no_commitment_is_in_no_row_of_one(demo_home: Path) -> None:
    stated = row_of(demo_home, f"{BILL}:4084")
    tables = {one["table"]: one for one in stated["rows"]}
    assert "marts.fct_prepaid" not in tables and tables["marts.fct_costs_by_commitment"]["count"] == 3
    assert tables["marts.focus_1_4"]["count"] == 3


def test_a_statistic_is_given_again_by_its_statement_on_its_listed_inputs_alone(demo_home: Path) -> None:
    drawn = None if nightly.IS_NIGHTLY else 15
    assert not statistics_that_differ(demo_home / "trainledger-home", demo_home / "trainledger.yaml", nightly.seed(), drawn)


def test_a_figure_of_the_organisation_ends_in_the_row_of_its_own_file(demo_home: Path) -> None:
    stated, rows = answer(demo_home, "2026Q2/own_figures/2026,own_scope_1/value")
    [row] = rows
    assert (row["kind"], row["object"], row["first_row"]) == ("record", "inventory-2026.csv", 1) and row["object_sha256"]
    assert row["contribution"] == Decimal(stated["value"]) > 0


def test_a_date_or_a_text_lists_the_rows_that_decided(demo_home: Path) -> None:
    stated, _ = answer(demo_home, "run_summary/align-sweep-a/status")
    assert stated["class"] == "decided" and {step["table"] for step in stated["steps"]} >= {"fct_training_run_costs"}


def test_an_issued_report_is_traced_from_its_pack_and_the_landing_whatever_is_published_today(
    demo_home: Path, tmp_path: Path, trainledger: Command
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(
        demo_home, moved, symlinks=True, ignore=shutil.ignore_patterns("published", "build.duckdb", ".dagster", "2026Q2")
    )
    stated, rows = answer(moved, "2026Q2-1/glance/effective_cost")
    issued = moved / "trainledger-home" / "reports" / "issued" / "2026Q2-1" / "report" / "report.json"
    printed = next(one for one in json.loads(issued.read_bytes())["figures"] if one["id"].endswith("/effective_cost"))
    assert stated["value"] == printed["value"] and given(rows, "bill") == Decimal(printed["value"])
    assert all(row["object_sha256"] and row["first_row"] for row in rows)
    report = issued.read_text().replace(printed["value"], "1" + printed["value"])
    issued.chmod(0o644)
    issued.write_text(report)
    done = trainledger("trace", "--figure", "2026Q2-1/glance/effective_cost", "--config", moved / "trainledger.yaml")
    assert done.returncode == 1 and "is not as it was issued" in done.stderr, done.stderr


def test_no_sql_of_a_report_is_asked_and_a_number_that_no_row_gives_is_refused(
    demo_home: Path, tmp_path: Path, trainledger: Command
) -> None:
    """Row 23 of what was tried: a statement that copies out, and one that states a figure of no row."""
    out, folder = tmp_path / "stolen.csv", tmp_path / "report"
    record = report_of(home_of(demo_home), "2026Q3")
    folder.mkdir()
    figure = record["figures"][0]
    asked = ("trace", "--figure", "2026Q3/glance/effective_cost", "--report", folder, "--config", demo_home / "trainledger.yaml")
    figure["sql"] = f"copy (from read_csv('/etc/hostname')) to '{out}'"
    (folder / "report.json").write_text(json.dumps(record))
    done = trainledger(*asked, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["value"] == figure["value"] and not out.exists()
    figure |= {"sql": "select 3 as value", "value": "3"}
    (folder / "report.json").write_text(json.dumps(record))
    done = trainledger(*asked)
    assert done.returncode == 2 and "the report prints 3" in done.stderr and not done.stdout


def test_a_group_that_its_delivery_does_not_give_again_is_an_error(demo_home: Path) -> None:
    with opened_trace(home_of(demo_home)) as trace:
        groups = f"from attributed where {MONTH} and source_name = 'payer-a-cur' and training_run_id = 'align-sweep-a'"
        trace.connection.execute(f"create temp table kept as from attributed where {MONTH}")
        for change in ("row_count + 1 as row_count", "billed_cost + 0.01 as billed_cost"):
            trace.connection.execute(f"create or replace temp view attributed as select * replace ({change}) from kept")
            trace.connection.execute(f"create or replace temp table groups as select *, billed_cost as amount_ {groups}")
            with pytest.raises(GateError, match=r"group .* of payer-a-cur was published with"):
                trace.landed.add_bill_rows("bill", "fct_charge_attributions", "billed_cost")


def test_a_figure_is_reported_with_its_rows_and_a_file_of_all_that_is_behind(
    trainledger: Command, demo_home: Path, tmp_path: Path
) -> None:
    config = ("--config", demo_home / "trainledger.yaml")
    done = trainledger("trace", "--figure", SHARED, "--out", tmp_path / "rows.csv", "--json", *config)
    stated = json.loads(done.stdout)
    assert stated["value"] == "7.505769444444" and stated["out_rows"] == 1
    [row] = stated["first"]
    assert (row["kind"], row["object"], row["first_row"], row["share"]) == ("bill", BILL, 4084, "21392000000/57600000000")
    assert row["contribution"] == "7.505769444444" and len((tmp_path / "rows.csv").read_text().splitlines()) == 2
    text = trainledger("trace", "--figure", SHARED, *config).stdout
    assert f"bill payer-a-cur {BILL}:4084 20.210000000000 USD -> align-sweep-a by resource_time" in text
    assert "gives 7.505769444444" in text


def row_of(demo_home: Path, name: str) -> dict[str, Any]:
    with opened_trace(home_of(demo_home)) as trace:
        return trace_row(trace, name)


def test_a_row_of_a_bill_names_its_cost_its_scopes_and_what_is_made_of_them_and_nothing_else(demo_home: Path) -> None:
    stated = row_of(demo_home, f"{BILL}:4084")
    shares = {part["training_run_id"] or part["reason"]: str(part["effective_cost"]) for part in stated["parts"]}
    assert shares == {"align-sweep-a": "7.505769444444", "align-sweep-b": "10.424991666667", "idle": "2.279238888889"}
    tables = {one["table"]: one for one in stated["rows"]}
    assert {f"marts.{name}" for name in ("fct_training_run_costs", "fct_reconciliation", "rpt_coverage")} <= tables.keys()
    assert tables["marts.fct_run_cell_emissions"]["count"] == 2, "it weighs the emissions of two runs in one cell"
    assert not {"marts.fct_training_run_energy", "marts.fct_lost_work", "marts.dim_training_runs"} & tables.keys()
    assert "2026Q3/glance/effective_cost" in stated["figures"] and "2026Q3/glance/facility_energy" not in stated["figures"]
    assert not [figure for figure in stated["figures"] if figure.startswith("2026Q2/")], "it is of August"


def test_what_a_row_is_a_part_of_leads_back_to_it(demo_home: Path) -> None:
    stated = row_of(demo_home, f"{BILL}:4084")
    for figure in [one for one in stated["figures"] if "/cost_by_month/" in one or "/totals_by_currency/" in one][:2]:
        _, rows = answer(demo_home, figure)
        assert any((row["object"], row["first_row"]) == (BILL, 4084) for row in rows), figure


def test_a_row_inside_a_group_is_traced_to_the_group(demo_home: Path) -> None:
    with opened_trace(home_of(demo_home)) as trace:
        groups = f"from attributed where {MONTH} and row_count > 3 and source_name = 'payer-a-cur'"
        trace.connection.execute(f"create or replace temp table groups as select *, billed_cost as amount_ {groups}")
        trace.landed.add_bill_rows("bill", "fct_charge_attributions", "billed_cost")
        group, name, last = trace.connection.execute(
            "select charge_group_id, object, max(first_row) from origins group by all having count(*) > 3 order by all limit 1"
        ).fetchone() or ("", "", 0)
    assert not group.endswith(f"|{last}"), "the last row names no group"
    assert [part["charge_group_id"] for part in row_of(demo_home, f"{name}:{last}")["parts"]] == [group]


def place_of_kind(trace: Trace, figure: str, kind: str) -> str:
    trace_figure(trace, figure)
    name, row = trace.connection.execute(
        "select object, first_row from origins where kind = ? order by all limit 1", [kind]
    ).fetchone() or ("", 0)
    return f"{name}:{row}"


def test_rows_of_carbon_samples_and_records_are_traced_to_runs_and_figures(demo_home: Path) -> None:
    for kind, figure, table in (
        ("carbon", "2026Q2/glance/provider_total_location_based", "fct_run_cell_emissions"),
        ("sample", "2026Q3/glance/facility_energy", "fct_training_run_energy"),
        ("record", "2026Q3/glance/facility_energy", "dim_training_runs"),
    ):
        with opened_trace(home_of(demo_home)) as trace:
            place = place_of_kind(trace, figure, kind)
        stated = row_of(demo_home, place)
        assert any(part.get("training_run_id") for part in stated["parts"]) and stated["figures"], kind
        assert f"marts.{table}" in {one["table"] for one in stated["rows"]}


def test_where_no_report_was_looked_at_no_number_of_figures_is_stated(
    demo_home: Path, tmp_path: Path, trainledger: Command
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(demo_home, bare, symlinks=True, ignore=shutil.ignore_patterns("reports", "build.duckdb", ".dagster"))
    done = trainledger("trace", "--source-row", f"{BILL}:4084", "--config", bare / "trainledger.yaml")
    assert done.returncode == 0 and "no figure was looked at" in done.stdout and " of: 0" not in done.stdout, done.stderr


def test_a_row_that_does_not_count_has_its_reason(demo_home: Path) -> None:
    with opened_trace(home_of(demo_home)) as trace:
        quarantined = trace.connection.execute(
            "select source_object || ':' || row_number from published.marts.fct_quarantine where row_number is not null"
            " order by 1 limit 1"
        ).fetchone()
        elected = "select content_hash from published.ops.dim_deliveries where is_elected"
        hashes = {content_hash for (content_hash,) in trace.connection.execute(elected).fetchall()}
        older = [one for one in trace.landed.generations("payer-b-cur") if one.content_hash not in hashes]
    assert quarantined and "is in quarantine or doubted" in row_of(demo_home, *quarantined)["told"][0]
    stated = row_of(demo_home, f"{older[0].objects[0].key}:1")
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
        ("--figure", "2026Q2-9/glance/effective_cost"),
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
