"""Section 6 of the report: what a quarter contributes to disclosures, and the sentence of the one figure that is filed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.reports.kit import changed, record_of, rendered, values_of

LISTED = "insert into marts.dim_datapoints (framework, datapoint_id, position, measure) values "
ROWS = (
    LISTED + "('contribution', 'ours.cloud.location', 1, 'cloud_total_location_based'),"
    " ('contribution', 'ours.cloud.market', 2, 'cloud_total_market_based'),"
    " ('contribution', 'ours.cloud.runs.location', 3, 'runs_total_location_based'),"
    " ('contribution', 'ours.energy.beside', 4, 'energy_facility')",
    "insert into marts.dim_disclosure_settings values ('location', 'our policy', 9)",
    "insert into marts.dim_own_inventory values"
    " ('2026', 'own_scope_1', 'kgCO2e', 118400, 'the controller', '2026-09-18', 'own', 'own.csv', 1)",
)
FIGURE = "insert into marts.rpt_quarterly_disclosure values "


def figure(
    id: str, name: str, value: str, unit: str, reason: str = "null", *, is_filed: bool = False, quarter: str = "2026Q2"
) -> str:
    return (
        f"{FIGURE}('{quarter}', 'contribution', 'ours.{id}', '{name}', {value}, '{unit}', 'Allocated', 'preliminary', {reason},"
        f" 'ours', 'trainledger', null, 'Scope 3, category 1', null, {is_filed})"
    )


OF_THE_QUARTER = (
    figure("cloud.location", "Cloud <b>services</b>", "45.200000000001", "tCO2e", is_filed=True),
    figure("cloud.market", "Cloud services, market-based", "0.554", "tCO2e"),
    figure("cloud.runs.location", "of which training runs", "27.2", "tCO2e"),
    figure("energy.beside", "Energy of training runs", "null", "MWh", "'no run held chips'"),
    figure("cloud.location", "Cloud services", "9", "tCO2e", is_filed=True, quarter="2026Q3"),
)


@pytest.fixture(scope="module")
def report(published: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    folder = tmp_path_factory.mktemp("datapoints")
    copy = changed(Path(shutil.copy(published, folder / "published.duckdb")), *ROWS, *OF_THE_QUARTER)
    made = rendered(copy, "2026Q2", folder)
    return record_of(made), made.html.read_text()


def sentence_of(record: dict, id: str) -> str:
    return next(one["text"] for one in record["sections"][0]["sentences"] if one["id"] == id)


def test_a_figure_is_exact_or_has_the_reason_why_there_is_none_and_one_is_marked_as_filed(report: tuple[dict, str]) -> None:
    names = ("datapoint_id", "value", "filed", "availability")
    assert [tuple(row[name] for name in names) for row in values_of(report[0], "datapoints")] == [
        ("ours.cloud.location", "45.200000000001", "filed", "preliminary"),
        ("ours.cloud.market", "0.554000000000", "not filed", "preliminary"),
        ("ours.cloud.runs.location", "27.200000000000", "a part", "preliminary"),
        ("ours.energy.beside", None, "beside", "not available: no run held chips"),
    ]


def test_the_board_reads_the_filed_figure_with_runs_as_a_part_of_it_and_one_unit(report: tuple[dict, str]) -> None:
    assert sentence_of(report[0], "emissions") == (
        "Of 2026Q2 we file 45.2 tCO2e for all cloud services in our Scope 3, category 1, with location-based electricity; of "
        "which training runs 27.2 tCO2e. The other answer of the providers, market-based, is 0.554 tCO2e and is not filed."
    )


def test_a_quarter_that_cannot_be_filed_names_what_lacks(published: Path, tmp_path: Path) -> None:
    lacking = figure("cloud.location", "Cloud", "null", "tCO2e", "'no bill of AWS payer 1 for 2026-06'", is_filed=True)
    copy = changed(Path(shutil.copy(published, tmp_path / "published.duckdb")), *ROWS, lacking)
    record = record_of(rendered(copy, "2026Q2", tmp_path))
    assert sentence_of(record, "emissions") == "Nothing of 2026Q2 can be filed yet: no bill of AWS payer 1 for 2026-06."


def test_what_the_organisation_states_of_the_year_is_a_table_of_its_own(report: tuple[dict, str]) -> None:
    [row] = values_of(report[0], "own_figures")
    assert (row["fiscal_year"], row["figure"], row["value"], row["source"]) == (
        "2026", "own_scope_1", "118400.000000000", "the controller",
    )  # fmt: skip


def test_tables_of_emissions_head_the_columns_of_the_method_that_is_filed(report: tuple[dict, str]) -> None:
    table = report[1].partition('id="emissions_by_month-caption"')[2].partition("<tbody>")[0]
    assert "Location-based, filed" in table and "Market-based, filed" not in table


def test_the_section_states_whose_tonnes_they_are_and_words_of_a_figure_are_text(report: tuple[dict, str]) -> None:
    section = report[1].partition('id="disclosure"')[2]
    assert "Tonnes of a cloud are Scope 3, category 1 of our own inventory" in section
    assert re.search("&lt;b&gt;services", section) and "<b>services" not in report[1]


def test_a_publication_without_datapoints_has_no_such_chapter(published: Path, tmp_path: Path) -> None:
    old = changed(Path(shutil.copy(published, tmp_path / "p.duckdb")), "drop table marts.rpt_quarterly_disclosure")
    assert "Disclosure datapoints" not in rendered(old, "2026Q2", tmp_path).html.read_text()
