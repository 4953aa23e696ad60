"""The canonical digest of a published table: the same on every engine, whatever the row order or the number of threads.

A row is its values in column order, joined by a tab: null as \\N, dates and times in ISO form (UTC, six decimals), exact
numbers with their full scale, doubles with 9 significant digits; backslash, tab, line feed and carriage return inside
text are escaped. The lines of a partition (a usage month, or `all` for a table without one) are sorted by code point and
joined by line feeds; sha256 of that is the partition's digest. The table's digest is sha256 of a line with its column
names and one line `partition<TAB>rows<TAB>digest` for each partition, in order. Everything but the last small sum is SQL:
no row passes through Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from dagster_project.base.sql import literal as literal
from dagster_project.base.sql import quoted as quoted
from dagster_project.base.sql import rows_by_name as rows_by_name

if TYPE_CHECKING:
    import duckdb

MONTH = "usage_month"
WHOLE = "all"
NO_MONTH = "none"


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The digest of one table and of its partitions: partition -> (rows, digest)."""

    table: str
    rows: int
    digest: str
    partitions: dict[str, tuple[int, str]]


def plain_text(value: object) -> str:
    """A value of a row as text, with every digit."""
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def _text_of(name: str, data_type: str) -> str:
    column = quoted(name)
    if data_type == "VARCHAR":
        text = f"{column}"
        for sign, escaped in (("chr(92)", r"\\"), ("chr(9)", r"\t"), ("chr(10)", r"\n"), ("chr(13)", r"\r")):
            text = f"replace({text}, {sign}, '{escaped}')"
    elif data_type == "DATE":
        text = f"strftime({column}, '%Y-%m-%d')"
    elif data_type.startswith("TIMESTAMP") and "ZONE" not in data_type:
        text = f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%f')"
    elif data_type in ("DOUBLE", "FLOAT"):
        text = f"format('{{:.8e}}', cast({column} + 0 as double))"  # + 0: minus zero is zero
    elif data_type.startswith("DECIMAL") or data_type in ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"):
        text = f"cast({column} as varchar)"
    else:
        raise ValueError(f"column {name} has type {data_type}, for which there is no canonical text")
    return f"coalesce({text}, '{chr(92)}N')"


def whole_digest(table: str, columns: Sequence[tuple[str, str]], partitions: Mapping[str, tuple[int, str]]) -> TableDigest:
    """The digest of a table from those of its partitions."""
    lines = ["\t".join(name for name, _ in columns)]
    lines += [f"{name}\t{rows}\t{digest}" for name, (rows, digest) in sorted(partitions.items())]
    whole = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return TableDigest(table, sum(rows for rows, _ in partitions.values()), whole, dict(partitions))


def table_digest(
    connection: duckdb.DuckDBPyConnection,
    schema: str,
    table: str,
    condition: str = "true",
    known: Sequence[tuple[str, str]] = (),
) -> TableDigest:
    """Compute the canonical digest of a table or view, or of those of its rows that meet a condition, from the rows alone.

    `known` are its columns, where the caller has asked for them.
    """
    place = f"{quoted(schema)}.{quoted(table)}"
    columns = known or [(name, kind) for name, kind, *_ in connection.execute(f"describe {place}").fetchall()]
    has_month = any(name == MONTH for name, _ in columns)
    partition = f"coalesce(strftime({MONTH}, '%Y-%m'), '{NO_MONTH}')" if has_month else f"'{WHOLE}'"
    line = " || chr(9) || ".join(_text_of(name, data_type) for name, data_type in columns)
    found = connection.execute(
        f"with lines as (select {partition} as partition, {line} as line from {place} where {condition})"
        " select partition, count(*), sha256(string_agg(line, chr(10) order by line)) from lines group by partition order by 1"
    ).fetchall()
    return whole_digest(table, columns, {name: (rows, digest) for name, rows, digest in found})
