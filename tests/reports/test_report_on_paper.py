"""The PDF and the workbook of a report: the page's content, tags, real numbers, the same bytes again, and hostile names."""

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import openpyxl
import pytest
import typst
from pypdf import PdfReader
from pypdf.generic import PdfObject

from dagster_project.evidence import paper as evidence
from reports.errors import FontError
from reports.model import Column, Table, TableSpec
from reports.page import fonts, layout, paper, printed, tree
from reports.page.names import shown
from reports.page.pdf import document as pdf_of
from reports.page.words import SCOPE_SENTENCE
from reports.page.workbook import document as workbook_of
from reports.quarterly import QuarterlyReport
from tests.reports.kit import record_of, rendered, tables_of
from tests.reports.published_fixture import HOSTILE, TWO_RUNS, USUAL, write_published
from tests.reports.published_rows import MONTHS, PAYERS, Run

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("Кириллица", "Ελληνικά", "العربية", "עברית", "日本語 中文 한국어", "हिन्दी", "rocket 🚀", "e\u0301\u0323", "ไทย")
HARM = (
    '#import "/etc/passwd": *',
    "$x^2$ ] } #panic() \\ *bold* @label <label>",
    "../../etc/passwd",
    "line\nbreak\ttab\rreturn",
    "bidi \u202eevil\u202c \u2066iso",
    "control \x01\x1b[31m \x7f",
    "nul\x00name",
    "a" * 10_000,
    "x" * 40_000,
    "=cmd|' /C calc'!A0",
    "</svg></table><script>alert(1)</script>",
    "\ufeffbom \u200bzero \ue000private \ufffe",
    "http://evil.example/x",
    "_x0041_",
)
RECORD = {
    **{"organisation": "O", "quarter": "2026Q3", "status": "draft", "scope_sentence": "S"},
    **{"status_reasons": [], "status_note": None},
}
NAMED = tuple(
    Run(f"run-{n:03d}", SCRIPTS[n % len(SCRIPTS)], name, dollars=9000 - n, months=MONTHS[3:5]) for n, name in enumerate(HARM)
)


@pytest.fixture(scope="module", autouse=True)
def _paper() -> Iterator[None]:
    """Here the PDF and the workbook are real."""
    yield


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> QuarterlyReport:
    folder = tmp_path_factory.mktemp("paper")
    path = write_published(folder / "p.duckdb", (*NAMED, *HOSTILE, *TWO_RUNS), payers=PAYERS[:1])
    return rendered(path, "2026Q3", folder, organisation="Пример AG \u202e#set page() 🚀")


@pytest.fixture(scope="module")
def pdf(report: QuarterlyReport) -> PdfReader:
    return PdfReader(report.pdf)


@pytest.fixture(scope="module")
def text(pdf: PdfReader) -> str:
    return "\n".join(page.extract_text() for page in pdf.pages)


def test_every_text_of_the_pdf_is_read_back_in_any_script(report: QuarterlyReport) -> None:
    """What `verify` reads of a PDF by its tags is what the page has, and its digest that of report.json."""
    read = evidence.read(report.pdf.read_bytes())
    texts = printed.texts(read.blocks)
    assert texts == printed.of_paper([tree.read(report.html.read_text())], fonts.printable) and len(texts) > 1000
    assert read.strange == [] and printed.digest(texts) == json.loads(report.json.read_bytes())["printed"]["report.pdf"]
    assert printed.comparable("e\u0301 12") == printed.comparable("\u00e9 12") != printed.comparable("\u00e9 13")


def structure(pdf: PdfReader) -> list[Any]:
    """Every element of the tags, in reading order."""
    found, waiting = [], [pdf.trailer["/Root"]["/StructTreeRoot"]]
    while waiting:
        element = waiting.pop()
        element = element.get_object() if isinstance(element, PdfObject) else element
        if isinstance(element, list):
            waiting += reversed(element)
        elif isinstance(element, dict):
            found.append(element)
            waiting.append(element.get("/K", 0))
    return [element for element in found if "/S" in element]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_file_gives_the_same_bytes_in_another_process_place_time_zone_and_number_of_threads(tmp_path: Path) -> None:
    here = rendered(write_published(tmp_path / "p.duckdb", USUAL[:4]), "2026Q3", tmp_path / "here")
    code = (
        "import sys; from pathlib import Path; from reports.quarterly import render;"
        "render(Path(sys.argv[1]), '2026Q3', Path(sys.argv[2]), organisation='Example AG')"
    )
    copy = tmp_path / "elsewhere" / "other-name.duckdb"
    copy.parent.mkdir()
    copy.write_bytes((tmp_path / "p.duckdb").read_bytes())
    other = {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "7"}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | other
    subprocess.run([sys.executable, "-c", code, str(copy), str(tmp_path / "there")], check=True, cwd=tmp_path, env=environment)
    there = bytes_of(tmp_path / "there" / "2026Q3")
    assert bytes_of(here.html.parent) == there and {"report.pdf", "report.xlsx"} <= there.keys()


def test_the_pdf_is_tagged_has_a_language_and_a_title(pdf: PdfReader) -> None:
    root = pdf.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"] and root["/Lang"] == "en" and root["/ViewerPreferences"]["/DisplayDocTitle"]
    assert "training runs, 2026Q3 (draft)" in pdf.metadata.title
    assert b"pdfuaid" in root["/Metadata"].get_data()
    kinds = Counter(element["/S"] for element in structure(pdf))
    assert kinds["/Table"] > 30 and kinds["/TH"] > 100 and kinds["/TD"] > 500 and kinds["/L"] >= 2


def test_every_drawing_of_the_pdf_has_an_alternative_text_and_names_the_table_with_its_numbers(
    report: QuarterlyReport, pdf: PdfReader, text: str
) -> None:
    drawn = [element for element in structure(pdf) if element["/S"] == "/Figure"]
    html = report.html.read_text(encoding="utf-8")
    assert len(drawn) == html.count("<svg ") >= 5
    assert all("table" in element["/Alt"] for element in drawn)
    blocks = paper.Paper(tree.read(html), fonts.printable).blocks()
    codes = {block["code"] for block in blocks if block["kind"] == "chart"}
    assert codes and codes <= {table["code"] for table in tables_of(record_of(report)).values()}
    assert all(f"numbers in {code}" in text for code in codes)


def test_a_mark_that_is_hollow_on_the_page_is_hollow_in_the_legend_on_paper() -> None:
    keys = '<span class="key round"></span>counted<span class="key round hollow"></span>modelled'
    title = f'<p class="chart-title">Ratios<span class="legend">{keys}</span></p>'
    (chart,) = paper.Paper(tree.read(f'<body><div class="chart">{title}</div></body>'), fonts.printable).blocks()
    marks = {mark["name"]: re.findall(r'class="(dot[^"]*)"', mark["svg"]) for mark in chart["legend"]}
    assert marks == {"counted": ["dot"], "modelled": ["dot modelled"]}


def test_headings_of_the_pdf_go_down_one_level_at_a_time_and_every_table_has_one(report: QuarterlyReport, pdf: PdfReader) -> None:
    levels = [int(element["/S"][2:]) for element in structure(pdf) if element["/S"][1:] in ("H1", "H2", "H3", "H4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    blocks = paper.Paper(tree.read(report.html.read_text(encoding="utf-8")), fonts.printable).blocks()
    assert len(levels) == sum(block["kind"] in ("heading", "table") for block in blocks)


def test_paper_shows_what_the_page_states_in_its_order(report: QuarterlyReport, pdf: PdfReader) -> None:
    html = report.html.read_text(encoding="utf-8")
    body = tree.read(html)
    captions = [caption.text() for caption in body.all("caption")]
    blocks = paper.Paper(body, fonts.printable).blocks()
    tables = ["".join(run["text"] for run in block["caption"]) for block in blocks if block["kind"] == "table"]
    assert [caption.split() for caption in captions] == [table.replace(paper.BREAK, "").split() for table in tables]
    cells = sum(1 for table in body.all("table") for tag in ("th", "td") for _ in table.all(tag))
    printed = sum(len(row["cells"]) for block in blocks if block["kind"] == "table" for row in block["head"] + block["body"])
    assert cells == printed
    titles = [" ".join(heading.text().split()) for heading in body.all("h2")]
    outline = [str(entry["/Title"]) for entry in _entries(pdf.outline)]
    assert [title for title in outline if title in titles] == titles


def _entries(outline: list[Any]) -> Iterator[Any]:
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(entry)
        else:
            yield entry


def test_every_page_of_the_pdf_has_its_number_the_scope_sentence_and_the_status(pdf: PdfReader) -> None:
    for n, page in enumerate(pdf.pages, 1):
        stated = page.extract_text()
        assert SCOPE_SENTENCE in stated and f"{n} / {len(pdf.pages)}" in stated and "DRAFT" in stated.upper()


def test_a_drawing_of_many_workloads_goes_on_on_the_next_page_and_nothing_is_set_below_the_footer(
    report: QuarterlyReport,
) -> None:
    html = report.html.read_text(encoding="utf-8")
    panels = re.search(r'<div class="panels[^>]*>(.*?</svg>.*?</div>)', html, re.DOTALL)
    assert panels
    pages = PdfReader(BytesIO(pdf_of(html.replace(panels[1], panels[1] * 40), record_of(report)))).pages
    for page in pages:
        heights: list[float] = []
        page.extract_text(
            visitor_text=lambda text, cm, tm, *_, at=heights: at.append(tm[5] * cm[3] + cm[5]) if text.strip() else None
        )
        assert min(heights) > 20  # points above the sheet's edge: the footer is at 30


def test_any_script_is_printed_and_what_no_font_has_is_its_code_point(pdf: PdfReader, text: str) -> None:
    stated = "".join(text.split())
    for name in ("Кириллица", "Ελληνικά", "日本語", "한국어", "‹U+1F680›", "‹U+0E44›", "‹U+1F680›standsforacharacter"):
        assert name in stated, name
    used = {font["/BaseFont"] for page in pdf.pages for font in page["/Resources"]["/Font"].values()}
    assert {
        name for name in ("NotoSansArabic", "NotoSansHebrew", "NotoSansCJK", "NotoSans-") if not any(name in f for f in used)
    } == set()


def test_invisible_characters_are_code_points_on_the_page_and_themselves_in_the_data(report: QuarterlyReport, text: str) -> None:
    html = report.html.read_text(encoding="utf-8")
    hidden = ("\u202e", "\x00", "\x01", "\x1b", "\u200b", "\ufeff", "\ue000", "\u2066")
    assert not [letter for letter in hidden if letter in html]
    for form in (html, "".join(text.split())):
        assert "‹U+202E›" in form and "‹U+0000›" in form
    data = tables_of(record_of(report))["cost_by_model"]["rows"]
    assert {name for name in HARM if len(name) > 1} <= {row["values"]["model_name"] for row in data}


def test_names_are_no_markup_on_paper(text: str) -> None:
    stated = "".join(text.split())
    for name in ('#import"/etc/passwd":*', "$x^2$]}#panic()\\*bold*@label<label>", "../../etc/passwd", "#setpage()"):
        assert name in stated, name


def test_a_name_that_would_fill_a_page_is_cut_there_and_counted() -> None:
    assert len(shown("a" * 10_000)) < 400 and "10000 characters" in shown("a" * 10_000)


def test_the_workbook_has_a_sheet_per_table_with_the_rows_of_its_csv(report: QuarterlyReport) -> None:
    book = openpyxl.load_workbook(report.xlsx)
    assert book.sheetnames[:2] == ["Contents", "Figures"]
    assert [name.split()[-1][:20] for name in book.sheetnames[2:]] == [id[:20] for id in _ids(report)]
    contents = [[cell.value for cell in row] for row in book["Contents"].iter_rows()]
    assert [row[0] for row in contents if row[0] in ("Status: draft", SCOPE_SENTENCE)] == ["Status: draft", SCOPE_SENTENCE]
    links = {cell.hyperlink.location.split("'")[1] for row in book["Contents"].iter_rows() for cell in row if cell.hyperlink}
    assert links == set(book.sheetnames[1:])
    for path in report.tables:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        [sheet] = [book[name] for name in book.sheetnames[2:] if (id := name.split()[-1]) == path.stem[: max(len(id), 20)]]
        assert sheet.max_row - 6 == len(rows) - 1, path.stem


def _ids(report: QuarterlyReport) -> list[str]:
    record = record_of(report)
    return ["vintage", *(table["id"] for section in record["sections"] for table in section["tables"])]


def test_the_workbook_has_numbers_dates_and_texts_as_such_and_units_in_its_headers(report: QuarterlyReport) -> None:
    book = openpyxl.load_workbook(report.xlsx)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} <= {"n", "s", "d", "b"}  # never a formula
    [sheet] = [sheet for sheet in book if "cost_by_month" in sheet.title]
    header = {cell.value: n for n, cell in enumerate(sheet[6])}
    row = sheet[7]
    assert isinstance(row[header["Month"]].value, datetime) and isinstance(row[header["Effective [USD]"]].value, float | int)
    assert any("=HYPERLINK" in str(cell.value) and cell.data_type == "s" and not cell.hyperlink for cell in cells)
    assert any("_x0041_" in str(cell.value) for cell in cells)


def test_digits_beyond_a_spreadsheets_are_text_in_a_hidden_column() -> None:
    spec = TableSpec("t", "T", "", (Column("name", "Name"), Column("mass_kgco2e", "Mass", "mass")), method="m")
    value = Decimal("123456789012.123456789")
    table = Table(spec, ({"name": date(2026, 7, 1), "mass_kgco2e": value}, {"name": "b", "mass_kgco2e": None}), code="T9.1")
    sheet = openpyxl.load_workbook(BytesIO(workbook_of({**RECORD}, [], table, [])))["T9.1 t"]
    assert sheet["B7"].value == pytest.approx(float(value), rel=1e-15) and sheet["C7"].value == "123456789012.123456789"
    assert sheet.column_dimensions["C"].hidden and sheet["B8"].value is None and sheet["C8"].value is None


def test_a_text_that_is_wider_than_its_column_goes_on_in_the_next_line_of_its_cell() -> None:
    spec = TableSpec("t", "T", "", (Column("name", "Name"), Column("reason", "Reason"), Column("next", "Next")), method="m")
    table = Table(spec, ({"name": "a", "reason": "why " * 40, "next": "b"},), code="T9.1")
    sheet = openpyxl.load_workbook(BytesIO(workbook_of({**RECORD}, [], table, [])))["T9.1 t"]
    assert sheet["B7"].alignment.wrap_text and not sheet["A7"].alignment.wrap_text


def test_five_thousand_rows_are_whole_in_the_workbook_and_cut_and_counted_on_the_page() -> None:
    spec = TableSpec("runs", "Runs", "", (Column("name", "Name"), Column("effective_cost", "Cost", "money")), method="m")
    table = Table(spec, tuple({"name": f"run-{n}", "effective_cost": Decimal(n)} for n in range(5_000)), code="A1")
    page = layout.page_table(table)
    assert (len(page.rows), page.hidden_rows) == (40, 4_960)
    sheet = openpyxl.load_workbook(BytesIO(workbook_of({**RECORD}, [], table, [])))["A1 runs"]
    assert (sheet.max_row, sheet["B5006"].value) == (5_006, 4_999)


def test_where_shaping_fails_the_letters_of_the_first_font_are_left() -> None:
    html = "<body><h1>Ж ع 中</h1></body>"
    fails_once = [typst.TypstError("a cluster without a glyph"), b"%PDF-"]
    with mock.patch.object(typst, "compile", side_effect=fails_once) as compiled:
        assert pdf_of(html, {**RECORD}) == b"%PDF-"
    first, second = (json.loads(call.kwargs["sys_inputs"]["report"])["sheets"][0] for call in compiled.call_args_list)
    assert first[0]["runs"][0]["text"] == "Ж ع 中" and second[0]["runs"][0]["text"] == "Ж ‹U+0639› ‹U+4E2D›"


@pytest.mark.parametrize("runs", [(), TWO_RUNS[:1]])
def test_a_quarter_of_no_run_or_one_run_is_a_pdf_and_a_workbook(runs: tuple[Run, ...], tmp_path: Path) -> None:
    made = rendered(write_published(tmp_path / "p.duckdb", runs, payers=PAYERS[:1]), "2026Q2", tmp_path)
    assert len(PdfReader(made.pdf).pages) >= 3 and len(openpyxl.load_workbook(made.xlsx).sheetnames) > 20


def test_a_font_file_with_other_bytes_is_refused_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family, package, name, sha256 = fonts.FONTS[1]
    data = bytearray(fonts._file(package, name, sha256).read_bytes())
    data[-1] ^= 1
    (tmp_path / "another_package").mkdir()
    (tmp_path / "another_package" / "__init__.py").touch()
    (tmp_path / "another_package" / "font.ttf").write_bytes(data)
    monkeypatch.syspath_prepend(tmp_path)
    for there, words in (("another_package", "its sha256 differs"), ("absent_package", "is not installed")):
        monkeypatch.setattr(fonts, "FONTS", ((family, there, "font.ttf", sha256),))
        with pytest.raises(FontError, match=f"{words}.*run.lock"):
            fonts.folders()
