"""Files of a report: HTML, JSON, one CSV per table. Each is written whole or not at all."""

import csv
import io
import os
from hashlib import sha256
from pathlib import Path

from reports.model import Table
from reports.page.numbers import plain

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run them


def csv_text(table: Table) -> str:
    """The table with every digit; null is an empty cell. Units are in report.json."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column.key for column in table.spec.columns])
    for row in table.rows:
        writer.writerow([_cell(row[column.key]) for column in table.spec.columns])
    return buffer.getvalue()


def _cell(value: object) -> str:
    """The value as text no spreadsheet takes for a formula."""
    text = plain(value) or ""
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def write_file(path: Path, text: str) -> None:
    """Write beside the target, then rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
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
