"""What the quarterly report states of a published file: figures, status, nulls."""

import csv
import json
import os
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from tests.reports.kit import changed, figures_of, record_of, rendered, tables_of, values_of, with_tables
from tests.reports.published_fixture import TWO_RUNS, write_published
from tests.reports.published_rows import MONTHS, PAYERS

GOLDEN = Path(__file__).with_name("golden_2026Q2.json")


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
    share = round(float(accelerators / (accelerators + idle_accelerators)), 9)
    coverage = figures["accelerator_cost_coverage"]
    assert Decimal(coverage["value"]) == Decimal(coverage["whole"]) == Decimal(str(share))
    assert Decimal(figures["facility_energy"]["value"]) == runs * 2 * Decimal("1.44375")


def test_a_quarter_without_its_last_carbon_month_is_draft_and_names_payer_and_month(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2026Q3", tmp_path)
    assert report.status == "draft"
    expected = f"No carbon publication of AWS payer {PAYERS[0]}, Example payer, for September 2026."
    assert expected in report.reasons and expected in report.html.read_text()


def test_a_quarter_without_a_bill_is_draft_and_has_no_total_cost(tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    changed(path, "delete from marts.fct_reconciliation where measure like '%_cost' and usage_month = date '2026-05-01'")
    report = rendered(path, "2026Q2", tmp_path)
    assert f"No bill of AWS payer {PAYERS[0]}, Example payer, for May 2026." in report.reasons
    cost = figures_of(record_of(report))["effective_cost"]
    assert cost["value"] is None and cost["absent"] == "a bill of the quarter is missing"


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
    with with_tables(published) as copy, duckdb.connect(str(copy), read_only=True) as connection:
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
                assert [(value,)] == connection.execute(f"select value from ({figure['sql']})").fetchall()


def test_no_change_is_shown_over_a_break_in_the_providers_model(tmp_path: Path) -> None:
    runs = (replace(TWO_RUNS[0], months=MONTHS), TWO_RUNS[1])
    path = write_published(tmp_path / "both.duckdb", runs, payers=PAYERS[:1], carbon_until=date(2026, 9, 1))
    same = figures_of(record_of(rendered(path, "2026Q3", tmp_path)))["provider_scope_2_location_based"]
    assert same["change_ratio"] is not None
    tables = ("fct_run_cell_emissions", "fct_residual_emissions", "fct_reconciliation")
    changed(path, *(f"update marts.{table} set provider_model_version = 'v3.0.0' where usage_month < date '2026-07-01' "
                    "and provider_model_version <> ''" for table in tables))  # fmt: skip
    broken = figures_of(record_of(rendered(path, "2026Q3", tmp_path)))["provider_scope_2_location_based"]
    assert (broken["change_ratio"], broken["change_reason"]) == (None, "the provider changed its model: AWS v3.0.0, then v3.0.1")


def test_currencies_are_never_added(tmp_path: Path) -> None:
    euro = replace(TWO_RUNS[1], payer=PAYERS[1], currency="EUR")
    record = record_of(rendered(write_published(tmp_path / "p.duckdb", (TWO_RUNS[0], euro)), "2026Q2", tmp_path))
    figures = figures_of(record)
    assert Decimal(figures["effective_cost,USD"]["value"]) == 3000 and Decimal(figures["effective_cost,EUR"]["value"]) == 501
    assert {row["billing_currency"] for row in values_of(record, "cost_by_team")} == {"USD", "EUR"}


def test_costs_of_several_currencies_stand_beside_what_they_are_in_the_reporting_currency(tmp_path: Path) -> None:
    euro = replace(TWO_RUNS[1], payer=PAYERS[1], currency="EUR")
    path = write_published(tmp_path / "p.duckdb", (TWO_RUNS[0], euro))
    before = values_of(record_of(rendered(path, "2026Q2", tmp_path)), "cost_in_reporting_currency")
    assert (before[-1]["reporting_currency_effective_cost"], before[-1]["effective_cost"]) == (None, None)
    changed(
        path,
        "insert into marts.dim_fx_rates values (date '2026-05-29', 'EUR', 'USD', 1.25, true, 'ECB', 'fx'),"
        " (date '2026-05-29', 'EUR', 'GBP', 0.85, false, 'ECB', 'fx')",
        "update marts.fct_training_run_costs set reporting_currency_effective_cost = effective_cost * 1.25,"
        " fx_rate_date = date '2026-05-29' where billing_currency = 'EUR'",
    )
    rows = values_of(record_of(rendered(path, "2026Q2", tmp_path)), "cost_in_reporting_currency")
    (converted,) = [row for row in rows if row["billing_currency"] == "EUR"]
    assert Decimal(converted["effective_cost"]) == 501
    assert Decimal(converted["reporting_currency_effective_cost"]) == Decimal("626.25")
    assert (converted["reporting_currency"], Decimal(converted["fx_rate"]), converted["fx_rate_date"]) == (
        "USD",
        Decimal("1.25"),
        "2026-05-29",
    )
    assert Decimal(rows[-1]["reporting_currency_effective_cost"]) == 3000 + Decimal("626.25")
    alone = record_of(rendered(write_published(tmp_path / "usd.duckdb", TWO_RUNS), "2026Q2", tmp_path))
    assert "cost_in_reporting_currency" not in tables_of(alone), "nothing was converted, so nothing is said of it"


def test_only_the_gates_of_the_published_build_are_shown(published: Path, tmp_path: Path) -> None:
    gates = {row["gate"] for row in values_of(record_of(rendered(published, "2026Q2", tmp_path)), "gates")}
    assert "dbt.keys" in gates and "dbt.of_an_older_build" not in gates
