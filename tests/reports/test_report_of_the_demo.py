"""The reports of the demo's own publication: what the line publishes is what the report reads."""

import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dagster_project.publishing.reporting import policy_of
from dagster_project.settings import load_settings
from reports.page.pdf import document as pdf_of
from reports.quarterly import QuarterlyReport, render
from tests.reports.kit import figures_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Path:
    return demo_home / "trainledger-home" / "published" / "trainledger.duckdb"


@pytest.fixture(scope="module")
def reports(published: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, QuarterlyReport]:
    out = tmp_path_factory.mktemp("reports")
    return {quarter: render(published, quarter, out, organisation="Example AG") for quarter in ("2026Q2", "2026Q3")}


def test_the_second_quarter_is_complete_and_the_third_shows_which_carbon_is_missing(reports: dict[str, QuarterlyReport]) -> None:
    assert reports["2026Q2"].status == "preliminary"
    assert reports["2026Q3"].status == "draft"
    gaps = [reason for reason in reports["2026Q3"].reasons if reason.startswith("No ")]
    payers = (
        "AWS payer 004217390156, Example AG payer A (synthetic),",
        "AWS payer 730025118844, Example AG payer B (synthetic),",
        "Google Cloud payer 01A7F3-5E2C90-B4D816",  # Google's bill names projects alone
    )
    assert gaps == [f"No carbon publication of {payer} for September 2026." for payer in payers]


def test_headline_figures_equal_plain_sums_over_the_marts(published: Path, reports: dict[str, QuarterlyReport]) -> None:
    figures = figures_of(json.loads(reports["2026Q2"].json.read_text()))
    quarter = "usage_month between date '2026-04-01' and date '2026-06-01'"
    with duckdb.connect(str(published), read_only=True) as connection:

        def total(measure: str, table: str) -> Decimal:
            return connection.execute(f"select sum({measure}) from marts.{table} where {quarter}").fetchall()[0][0]

        runs = total("effective_cost", "fct_training_run_costs")
        everything = runs + total("effective_cost", "fct_residual_costs")
        scope_2 = "provider_scope_2_location_based_kgco2e"
        mass = total(scope_2, "fct_training_run_emissions")
    assert (Decimal(figures["effective_cost"]["value"]), Decimal(figures["effective_cost"]["whole"])) == (runs, everything)
    assert Decimal(figures["provider_scope_2_location_based"]["value"]) == mass
    # runs carry most of what accelerators cost; of the TPU commitment a quarter was not used
    assert Decimal("0.9") <= Decimal(figures["accelerator_cost_coverage"]["whole"]) <= Decimal("0.95")


def test_every_table_of_today_has_an_answer_and_every_gate_passed(reports: dict[str, QuarterlyReport]) -> None:
    for report in reports.values():
        record = json.loads(report.json.read_text())
        tables = [table for section in record["sections"] for table in section["tables"]]
        assert [table["id"] for table in tables if "absent" in table] == []
        values = {table["id"]: [row["values"] for row in table["rows"]] for table in tables if "rows" in table}
        assert values["gates"] and {row["passed"] for row in values["gates"]} == {"true"}
        assert {row["cells_that_differ"] for row in values["conservation"]} == {"0"}
        for period in ("month_1", "month_2", "month_3", "quarter"):
            steps = {row["part"]: Decimal(row[f"billed_cost_{period}"]) for row in values["cost_waterfall"]}
            assert sum(steps.values()) == 2 * steps["Provider total"]


def test_the_demo_command_wrote_the_same_bytes(demo_home: Path, published: Path, tmp_path: Path) -> None:
    written = demo_home / "trainledger-home" / "reports" / "2026Q2"
    settings = load_settings(demo_home / "trainledger.yaml")
    again = render(published, "2026Q2", tmp_path, organisation=settings.organisation.name, policy=policy_of(settings))
    assert again.html.read_bytes() == (written / "report.html").read_bytes()
    stated, as_written = (json.loads(path.read_bytes()) for path in (again.json, written / "report.json"))
    assert stated.pop("printed").keys() == as_written.pop("printed").keys()  # of documents, which these tests do not set
    assert stated == as_written
    page, record = (written / "report.html").read_text(encoding="utf-8"), json.loads((written / "report.json").read_text())
    assert pdf_of(page, record) == (written / "report.pdf").read_bytes() and (written / "report.xlsx").stat().st_size > 100_000
