"""`trainledger sql`: one question to the published file, and its answer as a table, CSV, JSON or Parquet.

The file is opened read-only and DuckDB is locked to it: no other file is read or written, no extension loaded. Exact
numbers keep all their digits; in JSON they are strings, because most readers of JSON would make doubles of them.
"""

import csv
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

import duckdb
from pyarrow import parquet

from dagster_project.base.failures import UsageError, writing_to
from dagster_project.commands.options import Format
from dagster_project.publishing.digest import TableDigest, plain_text, table_digest
from reports.door import TooLongError, time_limit

BATCH = 10_000


def open_published(file: Path) -> duckdb.DuckDBPyConnection:
    """Open a published file for reading only."""
    if not file.exists():
        raise UsageError("nothing is published yet", where=str(file), remedy="Run `trainledger refresh` first.")
    try:
        return duckdb.connect(str(file), read_only=True)
    except duckdb.Error as error:
        what = f"this is no published file: {str(error).strip().rstrip('.!')}"
        raise UsageError(what, where=str(file), remedy="`trainledger refresh --full` publishes again.") from error


def digests(file: Path) -> list[TableDigest]:
    """The canonical digest of every table of the marts in a published file."""
    with open_published(file) as connection:
        connection.execute("set TimeZone = 'UTC'")
        tables = connection.execute("select table_name from duckdb_tables() where schema_name = 'marts' order by 1").fetchall()
        return [table_digest(connection, "marts", name) for (name,) in tables]


def digests_json(file: Path, tables: list[TableDigest]) -> str:
    """The digests for programs; docs/operations.md promises the shape."""
    listed = [{"table": table.table, "rows": table.rows, "digest": table.digest} for table in tables]
    return json.dumps({"file": str(file), "tables": listed}, indent=2)


def answer(file: Path, sql: str, form: Format, target: Path | None = None, timeout: float | None = None) -> None:
    """Run one statement on the published file and write the answer to a file, or to standard output, within `timeout` seconds."""
    if form is Format.parquet and target is None:
        raise UsageError("Parquet needs a file", remedy="Give --out FILE.parquet.")
    with open_published(file) as connection:
        connection.execute("set TimeZone = 'UTC'; set search_path = 'marts,ops'")
        connection.execute("set enable_external_access = false; set lock_configuration = true")
        try:
            _require_one(connection, sql)
            with time_limit(connection, timeout):
                write_answer(connection.execute(sql), form, target)
        except TooLongError as error:
            raise UsageError(str(error).rstrip("."), remedy="Ask for less, or give a longer --timeout.") from None
        except duckdb.Error as error:
            raise UsageError(f"the query does not run: {str(error).strip().rstrip('.!')}") from None


def write_answer(
    cursor: duckdb.DuckDBPyConnection | None, form: Format, target: Path | None, cell: Callable[[Any], str] = plain_text
) -> None:
    """Write an answer to a file, some rows at a time, or to standard output; `cell` gives the text of a value."""
    if cursor is None or cursor.description is None:  # nothing, or only a remark, or a statement without an answer
        raise UsageError("the statement returns no rows")
    if form is Format.parquet and target is not None:
        reader = cursor.to_arrow_reader(BATCH)
        with writing_to(target), parquet.ParquetWriter(target, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)
    elif target is not None:
        with writing_to(target), target.open("w", encoding="utf-8", newline="") as out:
            _WRITERS[form](cursor, out, cell)
    else:
        _WRITERS[form](cursor, sys.stdout, cell)


def _require_one(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Of several statements only the last would be answered. PIVOT without a list is one, although the engine makes two of it."""
    made_by_engine = duckdb.StatementType.CREATE  # the list of a PIVOT: it has no text of its own
    asked = [one for one in connection.extract_statements(sql) if one.query or one.type != made_by_engine]
    if len(asked) > 1:
        second = " ".join(asked[1].query.split())[:60]
        what = f"this is {len(asked)} statements, and one is answered; the second begins with: {second}"
        raise UsageError(what, remedy="Ask one at a time.")


def _names(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    return [column[0] for column in cursor.description]


def _write_csv(cursor: duckdb.DuckDBPyConnection, out: TextIO, cell: Callable[[Any], str]) -> None:
    """Null is an empty cell."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_names(cursor))
    while rows := cursor.fetchmany(BATCH):
        writer.writerows([["" if value is None else cell(value) for value in row] for row in rows])


def _write_json(cursor: duckdb.DuckDBPyConnection, out: TextIO, cell: Callable[[Any], str]) -> None:
    names, separator = _names(cursor), ""
    out.write("[")
    while rows := cursor.fetchmany(BATCH):
        for row in rows:
            out.write(f"{separator}\n{json.dumps(dict(zip(names, row, strict=True)), default=cell, ensure_ascii=False)}")
            separator = ","
    out.write("\n]\n")


def _write_table(cursor: duckdb.DuckDBPyConnection, out: TextIO, cell: Callable[[Any], str]) -> None:
    names, rows = _names(cursor), cursor.fetchall()
    cells = [["–" if value is None else cell(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[place]) for row in cells)]) for place, name in enumerate(names)]
    is_number = [any(isinstance(row[place], int | float | Decimal) for row in rows) for place in range(len(names))]

    def line(values: list[str]) -> str:
        places = zip(values, widths, is_number, strict=True)
        padded = [value.rjust(width) if number else value.ljust(width) for value, width, number in places]
        return "  ".join(padded).rstrip() + "\n"

    out.write(line(names) + line(["-" * width for width in widths]))
    for row in cells:
        out.write(line(row))
    out.write(f"({len(rows)} row{'' if len(rows) == 1 else 's'})\n")


_WRITERS = {Format.csv: _write_csv, Format.json: _write_json, Format.table: _write_table}
