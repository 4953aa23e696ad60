"""`report yearly`: each framework's list of a fiscal year whole, with honest counts, or refused by the name of what lacks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reports import yearly
from reports.errors import YearError
from tests.reports.kit import changed, values_of

LACK = "user_inputs of fiscal year 2026 lack own_scope_3_category_4"


def listed(framework: str, id: str, value: str, text: str, reason: str = "null", *, kind: str = "ours") -> str:
    """A row of the year: `text` has edition, element, expected reference and the day on which it was read."""
    return (
        f"insert into marts.rpt_yearly_disclosure values ('2026', '{framework}', '{id}', 'In short', {value}, 'tCO2e', 'Stated',"
        f" 'preliminary', {reason}, '{kind}', {text}, true)"
    )


ROWS = (
    "insert into marts.dim_disclosure_settings values ('location', 'our policy', 9)",
    "insert into marts.dim_datapoints (framework, datapoint_id, position, measure, reference, source, confidence) values"
    " ('contribution', 'ours.cloud', 1, 'cloud_total_location_based', null, 'this ledger', 'high'),"
    " ('IFRS-S2', '29a_i_1', 1, 'own_scope_1', '29 (a)(i)(1)', 'an address', 'high'),"
    " ('IFRS-S2', '29a_i_3', 2, 'scope_3', '29 (a)(i)(3)', 'an address', 'high'),"
    " ('CDP', 'ours.scope_3', 1, 'scope_3', null, 'quoted', 'low'),"
    " ('CDP', 'ours.energy', 2, null, null, 'quoted', 'low')",
    listed("contribution", "ours.cloud", "79", "'trainledger', null, 'x', null"),
    listed("IFRS-S2", "29a_i_1", "118.4", "'June 2023', null, null, '2026-11-28'", kind="official"),
    listed("IFRS-S2", "29a_i_3", "3359.1", "'June 2023', null, null, '2026-11-28'", kind="official"),
    listed("CDP", "ours.scope_3", "null", "'since 2024', null, '7.8', null", f"'{LACK}'"),
    listed("CDP", "ours.energy", "null", "'since 2024', null, '7.30', null", "'no meters'"),
    "insert into marts.dim_own_inventory values"
    " ('2026', 'own_scope_1', 'kgCO2e', 118400, 'the controller', '2026-09-18', 'own', 'own.csv', 1)",
)


@pytest.fixture(scope="module")
def publication(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changed(Path(shutil.copy(published, tmp_path_factory.mktemp("yearly") / "published.duckdb")), *ROWS)


@pytest.fixture(scope="module")
def report(publication: Path) -> yearly.YearlyReport:
    return yearly.render(publication, "2026", publication.parent, organisation="Example AG")


@pytest.fixture(scope="module")
def record(report: yearly.YearlyReport) -> dict:
    return json.loads(report.json.read_text())


def test_an_id_of_ours_counts_as_filled_nowhere_and_a_list_that_lacks_an_input_is_refused_by_its_name(record: dict) -> None:
    names = ("framework", "official_count", "official_filled_count", "official_contributed_count", "ours_count", "state")
    assert [tuple(row[name] for name in names) for row in values_of(record | {"vintage": {}}, "year_frameworks")] == [
        ("IFRS-S2", "2", "2", "1", "0", "complete"),
        ("CDP", "0", "0", "0", "2", f"refused: {LACK}"),
    ]


def test_a_list_is_whole_and_says_how_each_row_is_asked_for(record: dict) -> None:
    names = ("asked_as", "value", "availability", "source")
    assert [tuple(row[name] for name in names) for row in values_of(record | {"vintage": {}}, "year_cdp")] == [
        ("ours; expected: 7.8", None, f"not available: {LACK}", "quoted"),
        ("ours; expected: 7.30", None, "not available: no meters", "quoted"),
    ]
    assert values_of(record | {"vintage": {}}, "year_ifrs_s2")[0]["asked_as"] == "29 (a)(i)(1)"


def test_the_lead_has_the_honest_counts(report: yearly.YearlyReport) -> None:
    page = " ".join(report.html.read_text().split())
    assert (
        "2 of the 2 datapoints whose text or taxonomy we have read have a figure, and tonnes of this ledger are in 1 of them"
        in page
    )
    assert "The other 2 are ours until their text is read" in page


def test_a_fiscal_year_is_the_twelve_months_to_the_one_that_names_it(report: yearly.YearlyReport) -> None:
    assert report.year.words == "fiscal year 2026, 1 September 2025 to 31 August 2026"
    assert (report.status, report.refused) == ("preliminary", (f"CDP: refused: {LACK}",))
    assert report.html.parent.name == "year-2026" and report.pdf.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("year", "words"), [("2025", "there are data of 2026"), ("26", "is not a fiscal year"), ("2026Q1", "is not a fiscal year")]
)
def test_a_year_that_is_none_or_of_which_nothing_is_published_is_refused(publication: Path, year: str, words: str) -> None:
    with pytest.raises(YearError, match=words):
        yearly.render(publication, year, publication.parent, organisation="Example AG")


def test_the_same_publication_gives_the_same_bytes(publication: Path, report: yearly.YearlyReport, tmp_path: Path) -> None:
    again = yearly.render(publication, "2026", tmp_path, organisation="Example AG")
    for one, other in ((report.html, again.html), (report.json, again.json), (report.pdf, again.pdf)):
        assert one.read_bytes() == other.read_bytes()
