"""The report as a workbook: a sheet of contents, the headline figures, and one sheet per table with every row and column.

Numbers are numbers, dates are dates, text is text and never a formula. A spreadsheet keeps 15 digits: where a value has more, a
hidden column at the right end of the table has all of them as text. Written without compression, so that bytes do not depend on
the machine's zlib.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from io import BytesIO
from math import isfinite
from typing import Any
from zipfile import ZipFile, ZipInfo

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from reports.model import Column, Figure, Section, Table
from reports.page.names import visible
from reports.page.numbers import plain
from reports.page.printed import span_of, stamp_of

CREATED = datetime(1980, 1, 1)  # noqa: DTZ001  a workbook has no time zone; nor does ours say when it was written
LONGEST = 32_000  # characters; a cell holds 32,767
DIGITS = 15
HEAD = 5  # rows above a table's header
WIDEST = 44  # letters of a column
WRAPPED: dict[str, Any] = {"text_wrap": True, "valign": "top"}  # a longer text is cut where the cell beside it has something
FORMATS = {
    "money": "#,##0.00",
    "mass": "#,##0.000",
    "energy": "#,##0.000",
    "hours": "#,##0.0",
    "ratio": "0.0%",
    "count": "0",
    "month": "mmm yyyy",
    "date": "yyyy-mm-dd",
    "time": "yyyy-mm-dd hh:mm",
    "year": "0",
}
Look = Callable[..., Format]  # a format of the workbook by its properties, each made once
FIGURES = [field.name for field in fields(Figure) if field.name not in ("sql", "known", "all_label", "is_on_first_page")]


def _text(value: str) -> str:
    """As a page shows it, and cut where a cell ends."""
    text = visible(value, "")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (cut here; the data file has all of it)"


def _is_longer(value: object) -> bool:
    """Whether a spreadsheet would lose digits of a number."""
    number = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return isinstance(number, Decimal) and len(number.normalize().as_tuple().digits) > DIGITS


def _write(sheet: Worksheet, row: int, column: int, value: object, look: Format | None) -> None:
    """One cell by the type of its value."""
    if value is None:
        sheet.write_blank(row, column, None, look)
    elif isinstance(value, bool):
        sheet.write_boolean(row, column, value, look)
    elif isinstance(value, int | Decimal) or (isinstance(value, float) and isfinite(value)):
        sheet.write_number(row, column, float(value), look)
    elif isinstance(value, date) and value.year >= 1900:
        moment = value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value
        sheet.write_datetime(row, column, moment, look)
    else:
        sheet.write_string(row, column, _text(plain(value) or ""), look)


def _column(
    sheet: Worksheet,
    top: int,
    n: int,
    header: tuple[str, Format],
    values: Sequence[object],
    width: int | None = None,
    look: Format | None = None,
) -> None:
    """The n-th column below its header. One without a width is hidden: all digits of another."""
    sheet.write_string(top, n, _text(header[0]), header[1])
    sheet.set_column(n, n, width or 30, None, None if width else {"hidden": True})
    for m, value in enumerate(values, top + 1):
        _write(sheet, m, n, value, look)


def _header(column: Column, currency: str) -> str:
    unit = "%" if column.kind == "ratio" else "UTC" if column.kind == "time" else column.unit_of(currency)
    group = f"{column.group}: " if column.group else ""
    return f"{group}{column.label} [{unit}]" if unit not in ("", "1") else f"{group}{column.label}"


def _names(tables: Sequence[Table]) -> dict[str, str]:
    """The name of each table's sheet: 31 characters at most, and no two alike."""
    names: dict[str, str] = {}
    for n, table in enumerate(tables):
        name = f"{table.code} {table.id}".strip()[:31]
        names[table.id] = name if name.lower() not in map(str.lower, names.values()) else f"{name[:27]}~{n}"
    return names


def _table(sheet: Worksheet, look: Look, table: Table, above: Sequence[str]) -> None:
    sheet.write_string(0, 0, _text(f"{table.code} {table.spec.title}".strip()), look(bold=True, font_size=13))
    for n, line in enumerate(above, 1):
        sheet.write_string(n, 0, _text(line))
    sheet.write_string(3, 0, _text(table.spec.method))
    if table.absent:
        sheet.write_string(HEAD, 0, _text(table.absent))
        return
    currencies = {str(row["billing_currency"]) for row in table.rows if row.get("billing_currency")}
    currency = currencies.pop() if len(currencies) == 1 else "in its currency"
    columns = table.spec.columns
    exact = [column for column in columns if any(_is_longer(row[column.key]) for row in table.rows)]
    bold = look(bold=True, text_wrap=True, valign="bottom", bottom=1)
    for n, column in enumerate(columns):
        values = [row[column.key] for row in table.rows]
        letters = max((len(plain(value) or "") for value in values), default=0)
        properties = {"num_format": FORMATS[column.kind]} if column.kind in FORMATS else WRAPPED if letters > WIDEST else {}
        width = min(max(letters + 2, 11), WIDEST)
        _column(sheet, HEAD, n, (_header(column, currency), bold), values, width, look(**properties) if properties else None)
    for n, column in enumerate(exact, len(columns)):
        _column(sheet, HEAD, n, (f"{column.key}, all digits", bold), [plain(row[column.key]) for row in table.rows])
    sheet.freeze_panes(HEAD + 1, 0)
    if table.rows:
        sheet.autofilter(HEAD, 0, HEAD + len(table.rows), len(columns) - 1)


def _figures(book: xlsxwriter.Workbook, look: Look, figures: Sequence[Figure]) -> None:
    sheet, bold = book.add_worksheet("Figures"), look(bold=True, bottom=1)
    for n, name in enumerate(FIGURES):
        values = [getattr(figure, name) or None for figure in figures]
        is_long = name in ("label", "method")
        width, lines = (WIDEST, look(**WRAPPED)) if is_long else (34 if name == "id" else 18, None)
        _column(sheet, 0, n, (name.replace("_", " "), bold), values, width, lines)
    _column(sheet, 0, len(FIGURES), ("value, all digits", bold), [plain(figure.value) for figure in figures])
    sheet.freeze_panes(1, 2)


def _contents(
    sheet: Worksheet, look: Look, record: dict[str, Any], sections: Sequence[Section], names: Mapping[str, str]
) -> None:
    bold = look(bold=True)
    lines = [f"Status: {stamp_of(record)}", *map(str, record["status_reasons"]), *filter(None, [record["status_note"]])]
    sheet.write_string(0, 0, _text(f"{record['organisation']}, training runs, {span_of(record)}"), look(bold=True, font_size=15))
    for n, line in enumerate([*lines, record["scope_sentence"]], 1):
        sheet.write_string(n, 0, _text(line), bold if line == record["scope_sentence"] else None)
    sentences = [sentence.text for section in sections for sentence in section.sentences]
    for n, line in enumerate(sentences, len(lines) + 3):
        sheet.write_string(n, 0, _text(line))
    top = len(lines) + len(sentences) + 4
    for n, (title, width) in enumerate((("Table", 16), ("Title", 70), ("Section", 30), ("Rows", 8), ("Not shown because", 60))):
        sheet.write_string(top, n, title, look(bold=True, bottom=1))
        sheet.set_column(n, n, width)
    rows: list[tuple[str, str, str, str, int | None, str]] = []
    if record.get("figures"):
        rows.append(("Figures", "Headline figures", "", "Figures", None, ""))
    for section in sections:
        for table in section.tables:
            count = None if table.absent else len(table.rows)
            code = table.code or "data only"
            rows.append((code, table.spec.title, section.title, names[table.id], count, table.absent))
    for n, (code, title, chapter, target, count, absent) in enumerate(rows, top + 1):
        sheet.write_url(n, 0, f"internal:'{target}'!A1", string=code)
        for m, value in enumerate((title, chapter, count, absent or None), 1):
            _write(sheet, n, m, value, None)
    sheet.freeze_panes(top + 1, 0)


def document(record: dict[str, Any], figures: Sequence[Figure], vintage: Table | None, sections: Sequence[Section]) -> bytes:
    """The workbook's bytes: the same for the same publication."""
    buffer = BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(buffer, options)
    look = cache(lambda **properties: book.add_format(properties))
    parts = [*([Section("vintage", "Data vintage", tables=(vintage,))] if vintage else []), *sections]
    names = _names([table for section in parts for table in section.tables])
    heading = _text(f"{record['organisation']}, training runs, {span_of(record)} ({stamp_of(record)})")
    book.set_properties({"title": heading, "author": _text(str(record["organisation"])), "created": CREATED})
    contents = book.add_worksheet("Contents")
    _contents(contents, look, record, parts, names)
    if figures:
        _figures(book, look, figures)
    for section in parts:
        for table in section.tables:
            _table(book.add_worksheet(names[table.id]), look, table, (heading, str(record["scope_sentence"])))
    book.close()
    return _stored(buffer.getvalue())


def _stored(packed: bytes) -> bytes:
    """The same archive without compression and without times."""
    buffer = BytesIO()
    with ZipFile(BytesIO(packed)) as source, ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(ZipInfo(name), source.read(name))
    return buffer.getvalue()
