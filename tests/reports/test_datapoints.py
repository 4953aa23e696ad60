"""Section 6 of the report: datapoints with a figure, and those without one with their reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.reports.kit import changed, record_of, rendered, values_of

ROWS = (
    "insert into marts.dim_datapoints (framework, datapoint_id, position, reference, confidence, xbrl_name, measure) values"
    " ('GRI', '305-1', 1, '305-1', 'low', null, null),"
    " ('GRI', '305-3.cloud', 2, '305-3', 'low', null, 'cloud_total_location_based'),"
    " ('ESRS-2023', '51', 1, 'E1-6, 51', 'medium', 'esrs:GrossScope3GreenhouseGasEmissions', null)",
    "insert into marts.rpt_quarterly_disclosure values"
    " ('2026Q2', 'GRI', '305-1', 'Scope 1', null, 'tCO2e', 'Not filled', 'preliminary', 'own fuels are in no source'),"
    " ('2026Q2', 'GRI', '305-3.cloud', 'Cloud', 1.500000000001, 'tCO2e', 'Exact', 'preliminary', null),"
    " ('2026Q2', 'ESRS-2023', '51', '<b>Gross</b>', null, 'tCO2e', 'Not filled', 'preliminary', 'one part is known'),"
    " ('2026Q3', 'GRI', '305-3.cloud', 'Cloud', 9, 'tCO2e', 'Exact', 'draft', null)",
)


@pytest.fixture(scope="module")
def report(published: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    folder = tmp_path_factory.mktemp("datapoints")
    made = rendered(changed(Path(shutil.copy(published, folder / "published.duckdb")), *ROWS), "2026Q2", folder)
    return record_of(made), made.html.read_text()


def test_a_datapoint_has_its_exact_figure_or_the_reason_why_there_is_none(report: tuple[dict, str]) -> None:
    found = [
        (row["framework"], row["datapoint_id"], row["value"], row["availability"]) for row in values_of(report[0], "datapoints")
    ]
    assert found == [
        ("ESRS-2023", "51", None, "not available: one part is known"),
        ("GRI", "305-1", None, "not available: own fuels are in no source"),
        ("GRI", "305-3.cloud", "1.500000000001", "preliminary"),
    ]


def test_the_section_shows_how_many_datapoints_have_a_figure_and_whose_tonnes_they_are(report: tuple[dict, str]) -> None:
    section = report[1].partition('id="disclosure"')[2]
    assert "1 of 3 datapoints of 2 frameworks have a figure" in section
    assert "Tonnes of a cloud are Scope 3, category 1 of our own inventory" in section


def test_a_framework_is_named_once_and_the_first_of_its_rows_is_set_apart(report: tuple[dict, str]) -> None:
    table = report[1].partition('id="datapoints-caption"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr(?: class=\"(\w+)\")?><th[^>]*>(<span class=\"again\">)?([\w-]+)", table)
    assert rows == [("", "", "ESRS-2023"), ("start", "", "GRI"), ("", '<span class="again">', "GRI")]


def test_words_of_a_datapoint_are_text_on_the_page(report: tuple[dict, str]) -> None:
    assert "&lt;b&gt;Gross" in report[1] and "<b>Gross" not in report[1]


def test_each_framework_has_its_counts_and_its_cloud_tonnes_in_one_line(report: tuple[dict, str]) -> None:
    names = ("framework", "datapoint_count", "filled_count", "cloud_location_based_tco2e", "training_energy_mwh")
    assert [tuple(row[name] for name in names) for row in values_of(report[0], "datapoints_by_framework")] == [
        ("ESRS-2023", "1", "0", None, None),
        ("GRI", "2", "1", "1.500000000001", None),
    ]


def test_a_publication_without_datapoints_has_no_such_chapter(published: Path, tmp_path: Path) -> None:
    old = changed(Path(shutil.copy(published, tmp_path / "p.duckdb")), "drop table marts.rpt_quarterly_disclosure")
    assert "Disclosure datapoints" not in rendered(old, "2026Q2", tmp_path).html.read_text()
