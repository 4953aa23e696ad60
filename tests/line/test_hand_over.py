"""What other systems get: FOCUS rows that are the bill, activity data that are the provider's tonnes, and a sheet per model."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from pyarrow import parquet

from dagster_project.base.failures import UsageError
from dagster_project.commands.exporting import ACTIVITY, EMISSIONS, TOOLS, VERSIONS, cell, export, export_activity, export_focus
from dagster_project.commands.options import Electricity, FocusVersion, Tool
from tests.warm import run_trainledger


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


@pytest.mark.slow
@pytest.mark.parametrize(("column", "measure"), [("BilledCost", "billed_cost"), ("EffectiveCost", "effective_cost")])
def test_allocated_and_residual_rows_are_the_whole_bill_to_the_last_digit(
    published: duckdb.DuckDBPyConnection, column: str, measure: str
) -> None:
    exported = published.execute(f"select BillingCurrency, sum({column}) from marts.focus_1_4 group by 1 order by 1").fetchall()
    billed = published.execute(
        "select unit_or_currency, sum(provider_total) from marts.fct_reconciliation"
        " where method = 'conservation' and measure = ? group by 1 order by 1",
        [measure],
    ).fetchall()
    assert exported == billed != []


@pytest.mark.slow
def test_emissions_of_the_export_are_the_providers_in_either_method(published: duckdb.DuckDBPyConnection) -> None:
    names = {"x_ProviderTotalLocationBasedKgco2e": "location", "x_ProviderTotalMarketBasedKgco2e": "market"}
    for name, way in names.items():
        found = published.execute(f"select sum({name}) from marts.focus_emissions").fetchone()
        book = published.execute(
            f"select (select sum(provider_total_{way}_based_kgco2e) from marts.fct_run_cell_emissions)"
            f" + (select sum(provider_total_{way}_based_kgco2e) from marts.fct_residual_emissions)"
        ).fetchone()
        assert found == book
    tonnes = published.execute("select sum(provider_total_location_based_tco2e) * 1000 from marts.activity_data").fetchone()
    assert tonnes == published.execute("select sum(x_ProviderTotalLocationBasedKgco2e) from marts.focus_emissions").fetchone()


@pytest.mark.slow
def test_every_row_of_an_export_has_its_key(published: duckdb.DuckDBPyConnection) -> None:
    for what in (*VERSIONS.values(), EMISSIONS, ACTIVITY, *TOOLS.values()):
        rows, keys = published.execute(f'select count(*), count(distinct "{what.key}") from {what.schema}.{what.view}').fetchone()
        assert rows == keys > 0, what.view


@pytest.mark.slow
def test_ratios_of_an_origin_add_up_to_one_and_only_runs_are_allocated_resources(published: duckdb.DuckDBPyConnection) -> None:
    rows = published.execute(
        "select (x_SourceName, BillingAccountId, SubAccountId, x_ServiceCode, RegionId, ChargePeriodStart, BillingCurrency,"
        " x_CostComponent, CommitmentDiscountId, CommitmentDiscountStatus, ChargeCategory = 'Purchase')::varchar,"
        " AllocatedMethodDetails, AllocatedMethodId,"
        " AllocatedTags, AllocatedResourceId from marts.focus_1_4 where AllocatedMethodId is not null"
    ).fetchall()
    ratios: dict[str, list[Decimal]] = defaultdict(list)
    for origin, details, method, tags, run in rows:
        assert (run is None) == (method == "residual") == (tags is None)
        if details is not None:
            (element,) = json.loads(details, parse_float=Decimal)["Elements"]
            assert element.keys() == {"AllocatedRatio", "UsageUnit", "UsageQuantity"}
            ratios[origin].append(element["AllocatedRatio"])
        if tags is not None:
            assert json.loads(tags).keys() == {"team", "model_name", "workload_key", "accelerator_type", "state"}
    assert ratios and {sum(found) for found in ratios.values()} == {Decimal(1)}


PAGES = Path(__file__).resolve().parents[2] / "docs" / "handover"
PARTLY_BILLED = {"2025Q4", "2026Q1"}  # the demo has bills of one month of three: a datapoint is whole or null


@pytest.mark.slow
def test_exports_and_sheets_are_written_by_command(demo_home: Path, tmp_path: Path) -> None:
    config = ("--config", demo_home / "trainledger.yaml")
    table, emissions = tmp_path / "focus.parquet", tmp_path / "emissions.csv"
    asked = ("--from", "2026-05", "--to", "2026-06", "--out", table, "--emissions", emissions)
    assert run_trainledger("export", "focus", *asked, *config).returncode == 0
    months = {str(start.as_py())[:7] for start in parquet.read_table(table)["ChargePeriodStart"]}
    assert months == {"2026-05", "2026-06"} and not any("Kgco2e" in name for name in parquet.read_schema(table).names)
    assert {row["ChargePeriodStart"][:7] for row in csv.DictReader(emissions.open())} == months
    stated = run_trainledger("export", "activity", "--from", "2026-04", "--to", "2026-04", *config)
    rows = list(csv.DictReader(io.StringIO(stated.stdout)))
    assert {row["period_start"] for row in rows} == {"2026-04-01"} and {row["period_end"] for row in rows} == {"2026-04-30"}
    assert {row["ghg_category"] for row in rows} == {"3.1"}
    sheets = run_trainledger("report", "model", "--model", "llm-8b", "--out", tmp_path / "models", *config)
    assert sheets.stdout == f"{tmp_path / 'models' / 'llm-8b.html'}\n"
    assert json.loads((tmp_path / "models" / "llm-8b.json").read_text())["model"] == "llm-8b"
    assert run_trainledger("report", "model", "--model", "nobody", "--out", tmp_path, *config).returncode == 2


@pytest.mark.slow
def test_the_cloud_rows_of_a_quarter_are_the_export_of_its_months(published: duckdb.DuckDBPyConnection) -> None:
    (value,) = published.execute(
        "select value from marts.rpt_quarterly_disclosure where quarter = '2026Q2' and datapoint_id = 'ours.cloud.market'"
    ).fetchone()
    (exported,) = published.execute(
        "select sum(provider_total_market_based_tco2e) from marts.activity_data"
        " where period_start between date '2026-04-01' and date '2026-06-01'"
    ).fetchone()
    assert value == exported != 0


def small(folder: Path) -> Path:
    path = folder / "trainledger.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create schema marts; create view marts.activity_data as"
            " select date '2026-04-01' as period_start, '=1+1' as activity_id, -1.5::decimal(38, 12) as tonnes, null as region_id"
            " union all select date '2026-05-01', 'b', 2, 'us-east-1'"
        )
    return path


def test_a_text_that_a_spreadsheet_would_run_is_text_and_a_negative_number_is_a_number(tmp_path: Path) -> None:
    export(small(tmp_path), ACTIVITY, None, None, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (
        "period_start,activity_id,tonnes,region_id\n2026-04-01,'=1+1,-1.500000000000,\n2026-05-01,b,2.000000000000,us-east-1\n"
    )
    assert [cell(text) for text in ("+1", "-1", "@x", "\tx", "\rx", "x=1")] == ["'+1", "'-1", "'@x", "'\tx", "'\rx", "x=1"]


def test_months_of_an_export_are_both_included(tmp_path: Path) -> None:
    export(small(tmp_path), ACTIVITY, "2026-05", "2026-05", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("what", "months", "name", "words"),
    [
        (ACTIVITY, (None, None), "out.xlsx", "neither CSV nor Parquet"),
        (ACTIVITY, ("2026-06", "2026-05"), "out.csv", "Write --from 2026-05 --to 2026-06"),
        (ACTIVITY, ("June", None), "out.csv", "--from 'June' is no month"),
        (VERSIONS[FocusVersion.v1_4], (None, None), "out.csv", "no focus_1_4"),
        (VERSIONS[FocusVersion.v1_0], (None, None), "out.csv", "no focus_1_0"),
    ],
)
def test_an_export_that_cannot_be_is_a_usage_error(
    tmp_path: Path, what: object, months: tuple[str | None, str | None], name: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        export(small(tmp_path), what, *months, tmp_path / name)  # type: ignore[arg-type]
    assert not (tmp_path / name).exists()


@pytest.mark.slow
def test_datapoints_are_the_headline_figures_in_tonnes_and_megawatt_hours(published: duckdb.DuckDBPyConnection) -> None:
    """Two statements, one knowledge: where the report's first page has a figure, so has the datapoint, and the same one."""
    pairs = {
        "ours.cloud.location": ("provider_total_location_based", "whole_value"),
        "ours.cloud.market": ("provider_total_market_based", "whole_value"),
        "ours.cloud.electricity.market": ("provider_scope_2_market_based", "whole_value"),
        "ours.cloud.runs.location": ("provider_total_location_based", "value"),
        "ours.energy.beside": ("facility_energy", "value"),
    }
    for datapoint, (figure, column) in pairs.items():
        filed = published.execute(
            "select quarter, value * 1000 from marts.rpt_quarterly_disclosure"
            " where framework = 'contribution' and datapoint_id = ? order by quarter",
            [datapoint],
        ).fetchall()
        shown = published.execute(
            f"select quarter, {column} from marts.rpt_quarterly_figures where figure_id = ? order by quarter", [figure]
        ).fetchall()
        whole = ({name: value for name, value in rows if name not in PARTLY_BILLED} for rows in (filed, shown))
        filed, shown = (sorted(rows.items()) for rows in whole)
        assert filed == shown and any(value is not None for _, value in filed), datapoint


@pytest.mark.slow
@pytest.mark.parametrize("electricity", list(Electricity))
@pytest.mark.parametrize("tool", list(Tool))
def test_tonnes_in_the_columns_of_a_tool_are_those_of_the_activity_data(
    published: duckdb.DuckDBPyConnection, demo_home: Path, tmp_path: Path, tool: Tool, electricity: Electricity
) -> None:
    """One method, no total of both: nothing is left out, and an unknown tonne is an empty cell."""
    file = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    export_activity(file, tool, electricity, "2026-04", "2026-06", tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    (quantity,) = {"Quantity", "CO2E", "EMISSION_QTY"} & {*rows[0]}
    known = [Decimal(row[quantity]) for row in rows if row[quantity]]
    tonnes = f"provider_total_{electricity}_based_tco2e"
    expected = published.execute(
        f"select sum({tonnes}), count(*) - count({tonnes}) from marts.activity_data where emissions_data_quality is not null"
        " and period_start between date '2026-04-01' and date '2026-06-01'"
    ).fetchone()
    assert (sum(known), len(rows) - len(known)) == expected and "electricity" not in rows[0]
    assert (PAGES / f"{tool}.md").is_file()
    assert [name for name in rows[0] if name not in (PAGES / f"{tool}.md").read_text()] == []


@pytest.mark.parametrize(("tool", "electricity"), [(Tool.envizi, None), (None, Electricity.market)])
def test_a_tool_and_the_method_that_is_filed_are_named_together(
    tmp_path: Path, tool: Tool | None, electricity: Electricity | None
) -> None:
    with pytest.raises(UsageError, match="--tool and --electricity together"):
        export_activity(small(tmp_path), tool, electricity, None, None, tmp_path / "out.csv")


def test_emissions_do_not_go_into_the_file_of_costs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a file of its own"):
        export_focus(small(tmp_path), FocusVersion.v1_4, None, None, tmp_path / "out.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
