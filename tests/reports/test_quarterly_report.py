"""The quarterly report as a function of a published file: bytes, figures, status, nulls."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from reports.errors import PublicationError, QuarterError
from reports.quarterly import QuarterlyReport, render
from tests.reports.published_fixture import write_published
from tests.reports.published_rows import MONTHS, PAYERS, Run

GOLDEN = Path(__file__).with_name("golden_2026Q2.json")
ROOT = Path(__file__).resolve().parents[2]
TWO_RUNS = (
    Run("run-a", "language", "llama-8b", dollars=1000, months=MONTHS[:3]),
    Run("run-b", None, "vit-huge", accelerator="trn1.32xlarge", dollars=501, months=MONTHS[1:2], state="failed"),
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published(tmp_path_factory.mktemp("published") / "trainledger.duckdb")


def rendered(published: Path, quarter: str, out: Path) -> QuarterlyReport:
    return render(published, quarter, out, organisation="Example AG")


def record_of(report: QuarterlyReport) -> dict:
    return json.loads(report.json.read_text())


def figures_of(record: dict) -> dict[str, dict]:
    return {figure["id"]: figure for figure in record["figures"]}


def tables_of(record: dict) -> dict[str, dict]:
    return {table["id"]: table for section in record["sections"] for table in section["tables"]} | {"vintage": record["vintage"]}


def values_of(record: dict, table: str) -> list[dict]:
    return [row["values"] for row in tables_of(record)[table]["rows"]]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def changed(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_the_same_file_gives_the_same_bytes_in_another_process_place_and_time_zone(published: Path, tmp_path: Path) -> None:
    here = rendered(published, "2026Q3", tmp_path / "here")
    code = (
        "import sys; from pathlib import Path; from reports.quarterly import render;"
        "render(Path(sys.argv[1]), '2026Q3', Path(sys.argv[2]), organisation='Example AG')"
    )
    copy = tmp_path / "elsewhere" / "other-name.duckdb"
    copy.parent.mkdir()
    copy.write_bytes(published.read_bytes())
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(copy), str(tmp_path / "there")], check=True, cwd=tmp_path, env=environment)
    assert bytes_of(here.html.parent) == bytes_of(tmp_path / "there" / "2026Q3")


def test_no_path_and_no_clock_value_reaches_the_report(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2026Q3", tmp_path)
    with duckdb.connect(str(published), read_only=True) as connection:
        landed = connection.execute("select distinct strftime(landed_at, '%Y-%m-%d %H:%M') from ops.dim_deliveries").fetchall()
    for text in (report.html.read_text(), report.json.read_text()):
        assert str(published.parent) not in text and str(tmp_path) not in text
        assert not [time for (time,) in landed if time in text]


def test_every_value_of_a_small_quarter_is_the_golden_one(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1], list_known=True)
    record = record_of(rendered(path, "2026Q2", tmp_path))
    found = {
        "status": record["status"],
        "status_reasons": record["status_reasons"],
        "figures": {id: [figure["value"], figure["unit"], figure["whole"]] for id, figure in figures_of(record).items()},
        "tables": {
            id: {row["id"]: list(row["values"].values()) for row in table["rows"]}
            for id, table in tables_of(record).items()
            if "rows" in table
        },
    }
    if os.environ.get("REWRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def test_headline_figures_equal_what_a_person_adds_up(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    figures = figures_of(record_of(rendered(path, "2026Q2", tmp_path)))
    runs = 3 * 1000 + 501  # dollars, and a quarter of them in kg
    residual = 3 * (1900 + 600 + 5200 + 450 + 811)  # per month: idle, unused, other services, unlogged, tax
    accelerators = Decimal(runs) * Decimal("0.92")
    idle_accelerators = 3 * (1900 + 600 + 450)
    assert Decimal(figures["effective_cost"]["value"]) == runs
    assert Decimal(figures["effective_cost"]["whole"]) == runs + residual
    assert Decimal(figures["provider_scope_2_location_based"]["value"]) == Decimal(runs) / 4 * Decimal("0.80")
    assert Decimal(figures["provider_scope_2_market_based"]["value"]) == Decimal(runs) / 4 * Decimal("0.15")
    share = round(float(accelerators / (accelerators + idle_accelerators)), 6)
    coverage = figures["accelerator_cost_coverage"]
    assert Decimal(coverage["value"]) == Decimal(coverage["whole"]) == Decimal(str(share))
    assert Decimal(figures["facility_energy"]["value"]) == runs * 2 * Decimal("1.44375")


def test_a_quarter_without_its_last_carbon_month_is_draft_and_names_payer_and_month(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2026Q3", tmp_path)
    assert report.status == "draft"
    expected = f"No carbon publication of AWS payer {PAYERS[0]} for September 2026."
    assert expected in report.reasons and expected in report.html.read_text()


def test_a_quarter_without_a_bill_is_draft_and_has_no_total_cost(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    changed(path, "delete from marts.fct_reconciliation where measure like '%_cost' and usage_month = date '2026-05-01'")
    report = rendered(path, "2026Q2", tmp_path)
    assert f"No bill of AWS payer {PAYERS[0]} for May 2026." in report.reasons
    cost = figures_of(record_of(report))["effective_cost"]
    assert cost["value"] is None and cost["absent"] == "a bill of 2026Q2 is missing"


def test_a_complete_quarter_is_preliminary_and_never_issued_even_when_all_is_final(published: Path, tmp_path: Path) -> None:
    assert rendered(published, "2026Q2", tmp_path).status == "preliminary"
    final = changed(
        write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1]),
        "update marts.fct_training_run_emissions set status = 'final' where status = 'preliminary'",
    )
    report = rendered(final, "2026Q2", tmp_path / "final")
    assert (report.status, report.reasons) == ("preliminary", ("Every figure is final; the report has not been issued.",))


def test_a_carbon_month_that_was_delivered_empty_is_published(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS[:1], payers=PAYERS[:1], carbon_until=date(2026, 5, 1))
    assert rendered(path, "2026Q2", tmp_path).status == "draft"
    changed(
        path,
        "insert into ops.dim_deliveries select * replace ('2026-06@v3.0.1' as partition, 0 as rows) from ops.dim_deliveries "
        "where partition = '2026-05@v3.0.1'",
        "update marts.fct_training_run_emissions set status = 'no_cell' where usage_month = date '2026-06-01'",
    )
    report = rendered(path, "2026Q2", tmp_path)
    assert report.status == "preliminary"
    months = {row["usage_month"]: row["all_location_based_kgco2e"] for row in values_of(record_of(report), "emissions_by_month")}
    assert months["2026-05-01"] is not None and Decimal(months["2026-06-01"]) == 0


def test_an_unknown_value_is_null_in_the_data_and_a_dash_with_a_footnote_on_the_page(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2026Q3", tmp_path)
    record = record_of(report)
    september = [row for row in values_of(record, "emissions_by_month") if row["usage_month"] == "2026-09-01"]
    assert {value for row in september for key, value in row.items() if key.endswith("kgco2e")} == {None}
    assert figures_of(record)["provider_scope_2_location_based"]["value"] is None
    with (report.html.parent / "tables" / "emissions_by_month.csv").open(newline="") as handle:
        assert [row["all_market_based_kgco2e"] for row in csv.DictReader(handle)][-1] == ""
    table = report.html.read_text().partition('id="emissions_by_month"')[2].partition("</section>")[0]
    row = next(line for line in table.splitlines() if "Sep 2026" in line)
    assert row.count('<span class="dash" title="not known">–</span><sup>a</sup>') == 7
    assert "0.000" not in row and "<sup>a</sup> – not published by the provider." in table


def test_a_group_with_one_run_month_without_figure_has_no_total(published: Path, tmp_path: Path) -> None:
    rows = values_of(record_of(rendered(published, "2026Q3", tmp_path)), "emissions_by_team")
    assert any(int(row["run_months_without_figure"]) for row in rows) and any(
        not int(row["run_months_without_figure"]) for row in rows
    )
    for row in rows:
        assert (row["provider_total_location_based_kgco2e"] is None) == (int(row["run_months_without_figure"]) > 0)


@pytest.mark.parametrize(
    ("table", "measures"),
    [
        ("cost_waterfall", ("billed_cost", "effective_cost")),
        ("emissions_waterfall", ("location_based_kgco2e", "market_based_kgco2e")),
    ],
)
def test_the_steps_of_a_waterfall_end_at_the_provider_total(published: Path, tmp_path: Path, table: str, measures: tuple) -> None:
    rows = values_of(record_of(rendered(published, "2026Q2", tmp_path)), table)
    for measure in measures:
        for period in ("month_1", "month_2", "month_3", "quarter"):
            amounts = {row["part"]: Decimal(row[f"{measure}_{period}"]) for row in rows}
            assert sum(amounts.values()) == 2 * amounts["Provider total"] > 0


def test_a_measure_that_some_cells_lack_has_no_total_in_the_reconciliation(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    changed(
        path,
        "insert into marts.fct_reconciliation select * replace ('list_cost' as measure) from marts.fct_reconciliation "
        "where measure = 'effective_cost' and usage_month <> date '2026-05-01'",
    )
    measures = {row["measure"]: row for row in values_of(record_of(rendered(path, "2026Q2", tmp_path)), "conservation")}
    assert measures["list_cost"]["provider_total"] is None and measures["effective_cost"]["provider_total"] is not None
    assert measures["list_cost"]["cells_that_differ"] == "0"


def test_a_version_that_is_not_elected_is_named_and_never_in_a_total(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    before = record_of(rendered(path, "2026Q2", tmp_path))
    changed(
        path,
        "insert into marts.fct_reconciliation "
        "select * replace ('v2.0.1' as provider_model_version) from marts.fct_reconciliation "
        "where provider_model_version = 'v3.0.1' and usage_month = date '2026-05-01'",
    )
    after = record_of(rendered(path, "2026Q2", tmp_path))
    assert values_of(after, "emissions_waterfall") == values_of(before, "emissions_waterfall")
    assert after["figures"] == before["figures"]
    roles = {row["provider_model_version"]: row["stands_in"] for row in values_of(after, "conservation")}
    assert roles == {"": "the book", "v3.0.1": "the book", "v2.0.1": "another version"}


def test_location_based_and_market_based_are_never_added(published: Path, tmp_path: Path) -> None:
    record = record_of(rendered(published, "2026Q2", tmp_path))
    total = next(row for row in values_of(record, "totals_twice") if row["scope"] == "Provider total")
    forbidden = Decimal(total["all_location_based_kgco2e"]) + Decimal(total["all_market_based_kgco2e"])
    numbers = {value for table in tables_of(record).values() for row in table.get("rows", ()) for value in row["values"].values()}
    assert str(forbidden) not in numbers | {figure["value"] for figure in record["figures"]}
    assert total["all_location_based_kgco2e"] in numbers and total["all_market_based_kgco2e"] in numbers


def test_every_table_can_be_repeated_by_its_sql(published: Path, tmp_path: Path) -> None:
    record = record_of(rendered(published, "2026Q3", tmp_path))
    with duckdb.connect(str(published), read_only=True) as connection:
        for table in tables_of(record).values():
            if "rows" not in table:
                continue
            answer = connection.execute(table["sql"])
            names = [column[0] for column in answer.description]
            rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
            assert len(rows) == len(table["rows"]) == len({row["id"] for row in table["rows"]}), table["id"]
            assert all(column["method"] for column in table["columns"])
            for row, shown in zip(rows, table["rows"], strict=True):
                decimals = {key: f"{row[key]:f}" for key in shown["values"] if isinstance(row[key], Decimal)}
                assert decimals == {key: shown["values"][key] for key in decimals}
        for figure in record["figures"]:
            if not figure["absent"]:
                value = Decimal(figure["value"])
                assert value in [row[1] for row in connection.execute(figure["sql"]).fetchall()]


def test_no_change_is_shown_over_a_break_in_the_providers_model(tmp_path: Path) -> None:
    runs = (replace(TWO_RUNS[0], months=MONTHS), TWO_RUNS[1])
    path = write_published(tmp_path / "both.duckdb", runs, payers=PAYERS[:1], carbon_until=date(2026, 9, 1))
    same = figures_of(record_of(rendered(path, "2026Q3", tmp_path)))["provider_scope_2_location_based"]
    assert same["change_ratio"] is not None
    tables = ("fct_run_cell_emissions", "fct_residual_emissions", "fct_reconciliation")
    changed(path, *(f"update marts.{table} set provider_model_version = 'v3.0.0' where usage_month < date '2026-07-01' "
                    "and provider_model_version <> ''" for table in tables))  # fmt: skip
    broken = figures_of(record_of(rendered(path, "2026Q3", tmp_path)))["provider_scope_2_location_based"]
    assert (broken["change_ratio"], broken["change_reason"]) == (None, "the provider changed its model: v3.0.0, then v3.0.1")


def test_currencies_are_never_added(tmp_path: Path) -> None:
    euro = replace(TWO_RUNS[1], payer=PAYERS[1], currency="EUR")
    record = record_of(rendered(write_published(tmp_path / "p.duckdb", (TWO_RUNS[0], euro)), "2026Q2", tmp_path))
    figures = figures_of(record)
    assert Decimal(figures["effective_cost/USD"]["value"]) == 3000 and Decimal(figures["effective_cost/EUR"]["value"]) == 501
    assert {row["billing_currency"] for row in values_of(record, "cost_by_team")} == {"USD", "EUR"}


@pytest.mark.parametrize("runs", [(), TWO_RUNS[:1]])
def test_a_quarter_of_no_run_or_one_run_renders(runs: tuple[Run, ...], tmp_path: Path) -> None:
    report = rendered(write_published(tmp_path / "p.duckdb", runs, payers=PAYERS[:1]), "2026Q2", tmp_path)
    assert len(values_of(record_of(report), "largest_runs")) == len(runs)
    assert ("No run has a cost in this quarter." in report.html.read_text()) == (not runs)


def test_a_quarter_the_file_knows_nothing_about_is_an_empty_draft(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2031Q1", tmp_path)
    assert report.status == "draft" and "No payer has a bill" in report.reasons[0]
    assert {figure["value"] for figure in record_of(report)["figures"]} == {None}


def test_sections_of_tables_that_are_not_published_say_so(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    changed(path, "drop table marts.fct_training_run_energy")
    html = rendered(path, "2026Q2", tmp_path).html.read_text()
    for table in ("marts.fct_training_run_energy", "marts.rpt_quarterly_disclosure", "marts.fct_restatements"):
        assert f"the published file has no {table}" in html


def test_a_file_without_a_table_of_today_still_renders_and_says_what_is_missing(tmp_path: Path) -> None:
    path = changed(
        write_published(tmp_path / "p.duckdb", TWO_RUNS), "drop table marts.fct_prepaid", "drop table ops.dim_deliveries"
    )
    report = rendered(path, "2026Q2", tmp_path)
    assert report.status == "draft" and report.reasons == ("The published file has no ops.dim_deliveries.",)
    assert tables_of(record_of(report))["prepaid"]["absent"] == "Nothing is shown: the published file has no marts.fct_prepaid."


def test_only_the_gates_of_the_published_build_are_shown(published: Path, tmp_path: Path) -> None:
    gates = {row["gate"] for row in values_of(record_of(rendered(published, "2026Q2", tmp_path)), "gates")}
    assert "dbt.keys" in gates and "dbt.of_an_older_build" not in gates


def test_rendering_again_removes_the_tables_that_are_gone_and_nothing_else(published: Path, tmp_path: Path) -> None:
    folder = rendered(published, "2026Q2", tmp_path).html.parent
    (folder / "tables" / "of_an_older_version.csv").write_text("x\n")
    (folder / "note.txt").write_text("mine\n")
    report = rendered(published, "2026Q2", tmp_path)
    assert {path.name for path in (folder / "tables").iterdir()} == {path.name for path in report.tables}
    assert (folder / "note.txt").exists()


@pytest.mark.parametrize("quarter", ["2026Q5", "2026-Q3", "2026q3", "../2026Q3", "", "2026Q3\n"])
def test_what_is_not_a_quarter_is_refused_by_name(published: Path, tmp_path: Path, quarter: str) -> None:
    with pytest.raises(QuarterError, match="is not a quarter"):
        rendered(published, quarter, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_publication_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="trainledger refresh"):
        rendered(tmp_path / "absent.duckdb", "2026Q2", tmp_path)
    garbage = tmp_path / "garbage.duckdb"
    garbage.write_bytes(b"not a database" * 500)
    with pytest.raises(PublicationError, match="cannot be read"):
        rendered(garbage, "2026Q2", tmp_path)
    empty = changed(tmp_path / "empty.duckdb", "create table t (a int)")
    with pytest.raises(PublicationError, match="no schema `marts`"):
        rendered(empty, "2026Q2", tmp_path)
