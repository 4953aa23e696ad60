"""Files of a report: what report.json has of a table, a figure and a section, and its CSV.

Every digit is there, with its unit, its method and its SQL. A file is written whole or not at all.
"""

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

from reports.model import Figure, Number, Section, Sentence, Table
from reports.page.numbers import plain

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run them


def csv_text(table: Table) -> str:
    """The table with every digit; null is an empty cell. Units are in report.json."""
    keys = [column.key for column in table.spec.columns]
    rows = [[csv_cell(plain(row[key]), is_text=isinstance(row[key], str)) for key in keys] for row in table.rows]
    return csv_of([keys, *rows])


def csv_of(rows: Iterable[list[str]]) -> str:
    """Rows of cells as the text of a CSV file."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def csv_cell(text: str | None, *, is_text: bool) -> str:
    """A value as text that no spreadsheet takes for a formula."""
    text = text or ""
    return f"'{text}" if is_text and text.startswith(FORMULA_STARTS) else text


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def write_file(path: Path, content: str | bytes) -> None:
    """Write beside the target, then rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_tables(folder: Path, tables: list[Table]) -> None:
    """One CSV per table that has an answer; tables of an earlier rendering that are gone now go from the folder too."""
    wanted = {f"{table.id}.csv": csv_text(table) for table in tables if not table.absent}
    for stale in sorted(folder.glob("*.csv")):
        if stale.name not in wanted:
            stale.unlink()
    for name, text in wanted.items():
        write_file(folder / name, text)


def table_record(table: Table) -> dict[str, object]:
    """A table for report.json: values as decimal strings, each column with unit and method, the SQL that answers it."""
    columns = [
        {
            "id": column.key,
            "label": column.label,
            "kind": column.kind,
            "unit": column.unit_of("of the row: billing_currency"),
            "method": table.spec.method,
        }
        for column in table.spec.columns
    ]
    rows = [
        {
            "id": table.row_id(row),
            "is_total": bool(row.get("is_total")),
            "values": {column.key: plain(row[column.key]) for column in table.spec.columns},
        }
        for row in table.rows
    ]
    record: dict[str, object] = {
        "id": table.id,
        "code": table.code,
        "title": table.spec.title,
        "method": table.spec.method,
        "model": table.spec.model,
        "sql": table.spec.sql,
        "key": list(table.spec.row_key),
    }
    if table.absent:
        return {**record, "absent": table.absent}
    return {**record, "columns": columns, "rows": rows, "file": f"tables/{table.id}.csv", "sha256": digest(csv_text(table))}


def figure_record(figure: Figure) -> dict[str, object]:
    """A headline figure for report.json; a text that does not apply is null. `<id>/prior` and so on name its other numbers."""
    known = dict(zip(("value", "low", "high"), map(plain, figure.known), strict=True)) if figure.known else None
    texts = {field.name: plain(getattr(figure, field.name)) or None for field in fields(figure)}
    return {**texts, "model": "headlines", "unit": figure.unit, "known": known}


def sentence_record(sentence: Sentence) -> dict[str, object]:
    numbers = [{"id": part.figure_id, "text": part.text} for part in sentence.parts if isinstance(part, Number)]
    return {"id": sentence.id, "text": sentence.text, "figures": numbers}


def section_record(section: Section) -> dict[str, object]:
    return {
        "id": section.id,
        "title": section.title,
        "lead": section.lead or None,
        "absent": section.absent or None,
        "sentences": [sentence_record(sentence) for sentence in section.sentences],
        "tables": [table_record(table) for table in section.tables],
    }
