"""Forgeries of the documents of a pack, each as a change of its folder `report`: what a reader would see, or not see."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import typst
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject, StreamObject


def _text(file: Path, change: Callable[[str], str]) -> None:
    text = file.read_text()
    changed = change(text)
    assert changed != text, file
    file.write_text(changed)


def csv_cell(report: Path) -> None:
    _text(report / "tables" / "totals_twice.csv", lambda text: text.replace("AWS", "AWX", 1))


def html_cell(report: Path) -> None:
    _text(report / "report.html", lambda text: re.sub(r'(<td class="number[^>]*>)[\d.]+', r"\g<1>7", text, count=1))


def html_paragraph(report: Path) -> None:
    _text(report / "report.html", lambda text: text.replace("</header>", "<p>Limited assurance was given.</p></header>", 1))


def html_without_a_paragraph(report: Path) -> None:
    _text(report / "report.html", lambda text: re.sub(r'<p class="scope">.*?</p>', "", text, count=1))


def html_hidden_row(report: Path) -> None:
    _text(report / "report.html", lambda text: text.replace("<tbody>\n<tr", "<tbody>\n<tr hidden", 1))


def html_style_that_hides(report: Path) -> None:
    _text(report / "report.html", lambda text: text.replace("</style>", "tr:nth-child(2) {display: none}</style>", 1))


def _sheets(report: Path, change: Callable[[dict[str, str]], object]) -> None:
    """Change the parts of the workbook, and pack them as ours are."""
    file = report / "report.xlsx"
    with ZipFile(file) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    before = dict(parts)
    change(parts)
    assert parts != before
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(ZipInfo(name), text)
    file.write_bytes(buffer.getvalue())


def _in_part(report: Path, part: str, pattern: str, by: str) -> None:
    _sheets(report, lambda parts: parts.update({part: re.sub(pattern, by, parts[part], count=1)}))


def xlsx_cell(report: Path) -> None:
    _in_part(report, "xl/worksheets/sheet3.xml", r"<v>(\d)", r"<v>9\1")


def xlsx_format_that_prints_another_number(report: Path) -> None:
    _in_part(report, "xl/styles.xml", r'formatCode="#,##0.00"', 'formatCode="&quot;7&quot;"')


def xlsx_hidden_sheet(report: Path) -> None:
    _in_part(report, "xl/workbook.xml", r'(<sheet name="Figures")', r'\1 state="hidden"')


def xlsx_hidden_row(report: Path) -> None:
    _in_part(report, "xl/worksheets/sheet2.xml", r'<row r="2"', '<row r="2" hidden="1"')


def xlsx_without_a_row(report: Path) -> None:
    _in_part(report, "xl/worksheets/sheet2.xml", r'<row r="3".*?</row>', "")


def xlsx_formula(report: Path) -> None:
    _in_part(report, "xl/worksheets/sheet2.xml", r"<v>", "<f>1+1</f><v>")


def xlsx_more_sheets(report: Path) -> None:
    def change(parts: dict[str, str]) -> None:
        parts["xl/worksheets/sheet900.xml"] = parts["xl/worksheets/sheet1.xml"]
        sheet = '<sheet name="Assurance" sheetId="900" r:id="rId900"/></sheets>'
        parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace("</sheets>", sheet)
        target = '<Relationship Id="rId900" Type="worksheet" Target="worksheets/sheet900.xml"/></Relationships>'
        rels = "xl/_rels/workbook.xml.rels"
        parts[rels] = parts[rels].replace("</Relationships>", target)

    _sheets(report, change)


def no_workbook(report: Path) -> None:
    (report / "report.xlsx").write_text("not even a workbook")


def _pdf(report: Path, change: Callable[[PdfWriter], object], name: str = "report.pdf") -> None:
    file = report / name
    writer = PdfWriter(clone_from=PdfReader(file))
    change(writer)
    writer.write(file)


def _content(writer: PdfWriter, page: int, change: Callable[[bytes], bytes]) -> None:
    content = writer.pages[page].get_contents()
    assert content is not None
    stream = DecodedStreamObject()
    changed = change(content.get_data())
    assert changed != content.get_data()
    stream.set_data(changed)
    writer.pages[page][NameObject("/Contents")] = writer._add_object(stream)


def _other_glyph(data: bytes) -> bytes:
    """The first letter of the first text that is no ornament is another one."""
    start = data.index(b"/MCID")
    head, glyphs = data[:start], data[start:]
    return head + re.sub(rb"\[?\((?:\\\d{3}|[^\\])(?:\\\d{3}|[^\\)])", lambda found: found[0][:-1] + b"\x09", glyphs, count=1)


def pdf_glyph(report: Path) -> None:
    _pdf(report, lambda writer: _content(writer, 1, _other_glyph))


def _with_a_page(writer: PdfWriter) -> None:
    """A page of text behind the last, in no tag."""
    more = PdfReader(io.BytesIO(typst.compile(b"Limited assurance was given.")))
    writer.add_page(more.pages[0])


def pdf_more_pages(report: Path) -> None:
    _pdf(report, _with_a_page)


def pdf_fewer_pages(report: Path) -> None:
    _pdf(report, lambda writer: writer.remove_page(len(writer.pages) - 1))


def _hidden_text(data: bytes) -> bytes:
    return data.replace(b" 0 Tr", b" 3 Tr", 1)


def pdf_text_that_nobody_sees(report: Path) -> None:
    _pdf(report, lambda writer: _content(writer, 1, _hidden_text))


def board_of_another_figure(report: Path) -> None:
    _pdf(report, lambda writer: _content(writer, 0, _other_glyph), "board.pdf")


def board_of_three_pages(report: Path) -> None:
    _pdf(report, _with_a_page, "board.pdf")


def board_text_that_nobody_sees(report: Path) -> None:
    _pdf(report, lambda writer: _content(writer, 1, _hidden_text), "board.pdf")


def board_of_the_report(report: Path) -> None:
    (report / "board.pdf").write_bytes((report / "report.pdf").read_bytes())


def no_board(report: Path) -> None:
    (report / "board.pdf").unlink()


def pdf_picture(report: Path) -> None:
    def change(writer: PdfWriter) -> None:
        picture = StreamObject()
        picture.set_data(b"\xff")
        size = {NameObject("/Subtype"): NameObject("/Image"), NameObject("/Type"): NameObject("/XObject")}
        picture.update(size)
        resources = writer.pages[0]["/Resources"].get_object()
        assert isinstance(resources, DictionaryObject)
        resources[NameObject("/XObject")] = DictionaryObject({NameObject("/Im0"): writer._add_object(picture)})
        _content(writer, 0, lambda data: data + b"\nq 99 0 0 99 0 0 cm /Im0 Do Q")

    _pdf(report, change)


def pdf_attachment(report: Path) -> None:
    _pdf(report, lambda writer: writer.add_attachment("assurance.txt", b"given"))


def pdf_of_one_line(report: Path) -> None:
    (report / "report.pdf").write_bytes(typst.compile(b"One line."))


def no_pdf(report: Path) -> None:
    (report / "report.pdf").write_text("not even a PDF")


def swapped_files(report: Path) -> None:
    one, other = report / "tables" / "totals_twice.csv", report / "tables" / "cost_by_month.csv"
    was = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(was)


def missing_file(report: Path) -> None:
    (report / "report.pdf").unlink()


CSV, HTML, XLSX = "report/tables/totals_twice.csv", "report/report.html", "report/report.xlsx"
PDF, BOARD = "report/report.pdf", "report/board.pdf"
FORGERIES = [
    (csv_cell, CSV),
    (html_cell, HTML),
    (html_paragraph, HTML),
    (html_without_a_paragraph, HTML),
    (html_hidden_row, HTML),
    (html_style_that_hides, HTML),
    (xlsx_cell, XLSX),
    (xlsx_format_that_prints_another_number, XLSX),
    (xlsx_hidden_sheet, XLSX),
    (xlsx_hidden_row, XLSX),
    (xlsx_without_a_row, XLSX),
    (xlsx_formula, XLSX),
    (xlsx_more_sheets, XLSX),
    (no_workbook, XLSX),
    (pdf_glyph, PDF),
    (pdf_more_pages, PDF),
    (pdf_fewer_pages, PDF),
    (pdf_text_that_nobody_sees, PDF),
    (pdf_picture, PDF),
    (pdf_attachment, PDF),
    (pdf_of_one_line, PDF),
    (no_pdf, PDF),
    (board_of_another_figure, BOARD),
    (board_of_three_pages, BOARD),
    (board_text_that_nobody_sees, BOARD),
    (board_of_the_report, BOARD),
    (no_board, BOARD),
    (swapped_files, CSV),
    (missing_file, PDF),
]
