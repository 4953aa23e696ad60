"""Every SQL text that is sent to BigQuery, as a function of the table it asks: GoogleSQL, names in backticks, days as constants.

A constant day lets BigQuery leave out partitions before it bills them, in a query as in its dry run
(https://docs.cloud.google.com/bigquery/docs/querying-partitioned-tables, read 2026-11-22). Here is no client and no rule of
business. The version of a connector does not depend on this file: another text for the same rows derives nothing anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from connectors.formats.bigquery_types import Time

FIRST_DAY = date(2006, 1, 1)  # before any bill of a cloud: a table may want a filter on its partitions, also where all are asked
_AFTER_LAST = date(2100, 1, 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """The column by whose days or months a table is read: what it is partitioned by, or where it is not, the time of its rows."""

    column: str
    type: Time = "TIMESTAMP"
    unit: Literal["DAY", "MONTH"] = "DAY"

    def start(self, day: date) -> str:
        """A day as a constant of the column's type. The zone is written: a project may have another default than UTC."""
        midnight = {"DATE": "", "DATETIME": " 00:00:00", "TIMESTAMP": " 00:00:00+00"}[self.type]
        return f"{self.type} '{day:%Y-%m-%d}{midnight}'"

    @property
    def day(self) -> str:
        """The first day of a row's partition."""
        column = quoted(self.column)
        whole = {"DATE": column, "DATETIME": f"DATE({column})", "TIMESTAMP": f"DATE({column}, 'UTC')"}[self.type]
        return f"DATE_TRUNC({whole}, MONTH)" if self.unit == "MONTH" else whole

    def between(self, first: date, end: date) -> str:
        """A filter on the bare column, as pruning wants it. `end` is the first day that is no more asked for."""
        column = quoted(self.column)
        return f"{column} >= {self.start(first)} AND {column} < {self.start(end)}"

    def after(self, first: date) -> date:
        """The first day of the next partition."""
        if self.unit == "DAY":
            return first + timedelta(days=1)
        return (first.replace(day=1) + timedelta(days=31)).replace(day=1)

    def among(self, days: Iterable[date]) -> str:
        """A filter for the partitions that begin with these days, those that follow each other as one span."""
        spans: list[tuple[date, date]] = []
        for day in sorted(days):
            first = spans.pop()[0] if spans and spans[-1][1] == day else day
            spans.append((first, self.after(day)))
        return " OR ".join(f"({self.between(*span)})" if len(spans) > 1 else self.between(*span) for span in spans)


# the day a row was loaded by; the column exists only by name:
# https://docs.cloud.google.com/bigquery/docs/partitioned-tables#ingestion_time
INGESTION = Axis("_PARTITIONTIME")


def quoted(name: str) -> str:
    """A column, or a dotted name of a table, as one identifier. Names come checked; a backtick in one would end it."""
    if "`" in name or "\\" in name:
        raise ValueError(f"no name of BigQuery: {name!r}")
    return f"`{name}`"


def partitions_sql(
    table: str,
    axis: Axis,
    export_time: str | None,
    first: date | None = None,
    end: date | None = None,
    earlier: Iterable[date] = (),
    only: str = "",
) -> str:
    """The look: `day`, `row_count` and what changes with the rows of each partition, from day `first` to before `end`.

    `earlier` are partitions before `first` that are asked for too; `only` is a filter of the rows that are read.

    Google appends, and its export time grows with each append, so number and newest export time tell of any change
    (https://docs.cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage, read 2026-04-08). A table
    without such a time, as that of carbon which backfills rewrite, is known by a sum over fingerprints of its whole rows: equal
    rows in any order have the same, and rows that come twice count twice, as in an exclusive or they would not.
    """
    if export_time:
        changed = f"MAX({quoted(export_time)}) AS newest_export, CAST(NULL AS NUMERIC) AS fingerprint"
    else:
        of_row = "CAST(FARM_FINGERPRINT(TO_JSON_STRING(source)) AS NUMERIC)"
        changed = f"CAST(NULL AS TIMESTAMP) AS newest_export, SUM({of_row}) AS fingerprint"
    days = axis.between(first or FIRST_DAY, end or _AFTER_LAST)
    days = f"({days}) OR {more}" if (more := axis.among(earlier)) else days
    days = f"({days}) AND {only}" if only else days
    return (
        f"SELECT {axis.day} AS day, COUNT(*) AS row_count, {changed}\n"
        f"FROM {quoted(table)} AS source\n"
        f"WHERE {days}\n"
        "GROUP BY day\n"
        "ORDER BY day"
    )


def partition_sql(table: str, columns: Iterable[str], axis: Axis, *days: date, only: str = "") -> str:
    """Whole partitions, by the day that each begins with: the columns that the table has now, by name.

    Never `*`: Google adds columns without notice, and one that came after the table was looked at waits for the next look. Never
    a column that this table lacks: older ones have no `tags` or `consumption_model`. Records are taken whole, whatever fields
    they have.
    """
    names = ",\n  ".join(quoted(name) for name in columns)
    filtered = f"({axis.among(days)}) AND {only}" if only else axis.among(days)
    return f"SELECT\n  {names}\nFROM {quoted(table)}\nWHERE {filtered}"


def matching(field: str, repeated: Iterable[str], words: str) -> str:
    """A filter for rows in which a text, by its dotted path, or one of some repeated texts matches a pattern."""
    texts = [".".join(map(quoted, field.split("."))), *(f"ARRAY_TO_STRING({quoted(name)}, ' ')" for name in repeated)]
    parts = ", ' ', ".join(f"IFNULL({text}, '')" for text in texts)
    return f"REGEXP_CONTAINS(LOWER(CONCAT({parts})), {_text(words)})"


def modified_sql(dataset: str, table: str) -> str:
    """When each partition of a table was last written: `partition_id` as 20260412 or 202604, and `last_modified_time`.

    https://docs.cloud.google.com/bigquery/docs/information-schema-partitions (read 2026-11-22). A deletion may not count as a
    write there, so this time is when a month was published and not whether it changed.
    """
    return (
        "SELECT partition_id, last_modified_time, total_rows\n"
        f"FROM {quoted(dataset)}.INFORMATION_SCHEMA.PARTITIONS\n"
        f"WHERE table_name = {_text(table)}\n"
        "ORDER BY partition_id"
    )


def _text(value: str) -> str:
    """A text constant. Names of tables are checked where a location is read: they hold neither quotes nor backslashes."""
    if "'" in value or "\\" in value or "\n" in value:
        raise ValueError(f"no name of BigQuery: {value!r}")
    return f"'{value}'"
