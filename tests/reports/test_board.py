"""The two pages for the board: two, whoever the organisation is, and nothing on them that the report's record does not state."""

import re
from collections.abc import Iterator

import pytest
from pypdf import PdfReader

from reports.quarterly import QuarterlyReport
from tests.reports.kit import record_of, rendered, tables_of, values_of
from tests.reports.published_fixture import HOSTILE, PAIRED, TWO_RUNS, write_published
from tests.reports.published_rows import MONTHS, PAYERS, Run

LONG = tuple(
    Run(f"long-{n}", f"team {n} {'x' * 400}", f"model {n} {'y' * 400}", dollars=900 + n, months=MONTHS[:3]) for n in range(30)
)
ORGANISATIONS: dict[str, tuple[Run, ...]] = {"small": TWO_RUNS, "nothing": (), "pairs": PAIRED, "hostile": (*HOSTILE, *LONG)}
IN_TURN = ("nothing", "pairs")  # a report of one circumstance each
TABLES = ("board_figures", "board_waste", "board_changes", "board_sureness")


@pytest.fixture(scope="module", autouse=True)
def _paper() -> Iterator[None]:
    """Here the PDF is real."""
    yield


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.in_turn] * (name in IN_TURN)) for name in ORGANISATIONS]
)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> QuarterlyReport:
    folder = tmp_path_factory.mktemp(request.param)
    path = write_published(folder / "p.duckdb", ORGANISATIONS[request.param], payers=PAYERS[:2])
    name = "Example AG" if request.param != "hostile" else f"Example {'of a very long name ' * 8}\u202e#set page()"
    note = "As of 1 July 2026." if request.param != "hostile" else "A long note. " * 60
    return rendered(path, "2026Q2", folder, organisation=name, note=note)


def flat(text: str) -> str:
    """Letters, digits and signs, however lines are broken."""
    return re.sub(r"\s", "", text)


def test_the_board_has_two_pages_that_are_tagged_and_a_title_of_their_own(report: QuarterlyReport) -> None:
    pdf = PdfReader(report.board)
    assert len(pdf.pages) == 2 and all(len(page.extract_text()) > 300 for page in pdf.pages)
    assert pdf.trailer["/Root"]["/MarkInfo"]["/Marked"] and ", for the board, 2026Q2 (" in pdf.metadata.title
    assert "1 / 2" in pdf.pages[0].extract_text() and "2 / 2" in pdf.pages[1].extract_text()


def test_the_board_has_the_sentences_and_the_page_columns_of_the_record(report: QuarterlyReport) -> None:
    """Every sentence; of each table every text, and every number as the annex prints it."""
    if "very long name" in record_of(report)["organisation"]:
        return  # names that are cut, and signs that the fonts lack, are compared in test_report_on_paper.py
    record, page = record_of(report), report.html.read_text(encoding="utf-8")
    first, second = (flat(page.extract_text()) for page in PdfReader(report.board).pages)
    shown = [one for one in record["sections"][0]["sentences"] if not one["id"].startswith("verdict,")]
    verdicts = [one for one in record["sections"][0]["sentences"] if one["id"].startswith("verdict,")]
    assert [one["id"] for one in (*shown, *verdicts[:8]) if flat(one["text"]) not in first] == []
    assert all(flat(record["board"][name]) in first for name in ("verdicts", "words", "others"))
    assert all(flat(record["board"][name]) in second for name in ("figures", "people", "annex"))
    tables = tables_of(record)
    for id in TABLES:
        assert flat(tables[id]["title"] + tables[id]["code"]) in second
        for row in tables[id]["rows"]:
            # the cell of the page has the figure's id; its text is the column's value, in the unit of its header
            for column in tables[id]["columns"]:
                cell = re.search(rf'id="{re.escape(row["id"])}/{column["id"]}"[^>]*>(.*?)</t[dh]>', page)
                if cell and row["values"][column["id"]] is not None:
                    assert flat(re.sub("<[^>]+>", "", cell[1]).replace("\u2009", "\u202f")) in second, (id, row["id"])


def test_what_the_board_reads_is_in_one_unit_and_waste_is_one_figure(report: QuarterlyReport) -> None:
    record = record_of(report)
    assert {row["unit"] for row in values_of(record, "board_figures")} <= {"USD", "MWh", "tCO2e"}
    wastes = values_of(record, "board_waste")
    text = {one["id"]: one["text"] for one in record["sections"][0]["sentences"]}.get("waste", "")
    assert bool(text) == any(float(row["effective_cost"]) for row in wastes)
    if text:
        assert len(re.findall("Waste cost", text)) == 1 and len([row for row in wastes if row["cause"] == "total"]) == 1
