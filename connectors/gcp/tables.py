"""What Google's tables are read by in BigQuery: by which time they are divided, and what shows that a part of them changed.

For each kind that lies in a table. Which columns there are and what they become is declared once, beside the kind's SCHEMA. What
a table looks like comes as its description in the REST API (`tables.get`), which costs nothing:
https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from connectors.formats.bigquery_types import arrow_schema, time_of
from connectors.formats.lazy import pa, pc
from connectors.formats.nested import Shape, check_shape
from connectors.gcp import billing, billing_columns, carbon, focus, focus_columns, prices
from connectors.gcp.bigquery_sql import INGESTION, Axis, matching, modified_sql, partition_sql, partitions_sql
from connectors.gcp.grouped_sql import DAY, Table, grouped_sql, version_of


@dataclass(frozen=True, slots=True)
class TableReading:
    """How the tables of a kind are read."""

    shape: Shape
    own_axis: Axis  # of a view, and of a table that no time divides
    export_time: str | None = None  # a column that grows with each append
    is_by_month: bool = False  # a delivery is a month of the own axis, whatever divides the table
    words: str = ""  # of few rows among many: what the texts of a row must match to be read
    texts: tuple[str, ...] = ()  # the columns of these texts, of which a table may lack all but the first
    grouped: str = ""  # where BigQuery makes groups of the rows: the version of what is asked

    def of_rows(self) -> TableReading:
        """How the same tables are read without groups."""
        return self

    def axis_of(self, description: Mapping[str, Any]) -> Axis:
        """By which column's days or months a table is read.

        A table divided by the hour is read by the day. One divided by the year, or by no time at all, is read as a view is:
        by the kind's own time. How a table is clustered changes what is billed, not what is read.
        """
        divided: Mapping[str, Any] = description.get("timePartitioning") or {}
        unit = divided.get("type")
        if self.is_by_month or unit not in ("HOUR", "DAY", "MONTH"):
            return self.own_axis
        if not divided.get("field"):
            return INGESTION if unit != "MONTH" else Axis(INGESTION.column, INGESTION.type, "MONTH")
        name = str(divided["field"])
        types = {field.name.lower(): field.type for field in arrow_schema(description.get("schema", {}))}
        found = time_of(types.get(name.lower(), pa.null()))
        return Axis(name, found, "MONTH" if unit == "MONTH" else "DAY") if found else self.own_axis

    def changes_by(self, description: Mapping[str, Any]) -> str | None:
        """The column whose greatest value shows an append; None where this table lacks it: then whole rows are compared."""
        return self.export_time if self.export_time in arrow_schema(description.get("schema", {})).names else None

    def columns_of(self, description: Mapping[str, Any], uri: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns to read and, beside them, the undeclared paths.

        A required column that lacks, or has a type that cannot be taken exactly, is an ExportSchemaError before a byte is billed.
        """
        schema = arrow_schema(description.get("schema", {}))
        return tuple(schema.names), check_shape(schema, self.shape, uri, uri)

    def is_divided(self, description: Mapping[str, Any]) -> bool:
        """Whether the partitions of the table are those that it is read by; of others, and of a view, only a query knows."""
        divided: Mapping[str, Any] = description.get("timePartitioning") or {}
        return bool(divided) and divided.get("field", INGESTION.column) == self.axis_of(description).column

    def other_days(self, description: Mapping[str, Any]) -> str | None:
        """A column that divides the table by other days than its rows were loaded on: of one row both days would be of it."""
        column = self.axis_of(description).column
        return None if self.is_by_month or column == INGESTION.column else column

    def look_sql(
        self,
        table: str,
        description: Mapping[str, Any],
        first: date | None,
        end: date | None,
        earlier: Iterable[date] = (),
    ) -> str:
        """The look at the partitions from a day to before another, and at some before; one of a month is asked for whole."""
        axis = self.axis_of(description)
        if first and axis.unit == "MONTH":
            first = first.replace(day=1)
        earlier = [day for day in earlier if first and day < first]
        return partitions_sql(table, axis, self.changes_by(description), first, end, earlier, self._only(description))

    def rows_sql(self, table: str, description: Mapping[str, Any], days: Iterable[date]) -> str:
        """The rows of the partitions that begin with these days, in the columns that the table has now."""
        columns, _ = self.columns_of(description, table)
        return partition_sql(table, columns, self.axis_of(description), *days, only=self._only(description))

    def _only(self, description: Mapping[str, Any]) -> str:
        """Which rows are read, where not all are."""
        first, *others = (*self.texts, "")
        names = arrow_schema(description.get("schema", {})).names
        return matching(first, [name for name in others if name in names], self.words) if self.words else ""

    def written_sql(self, dataset: str, table: str, description: Mapping[str, Any]) -> str | None:
        """When each partition was written; None where another time than the axis divides the table, or none."""
        return modified_sql(dataset, table) if self.is_divided(description) else None

    def day_of_rows(self, description: Mapping[str, Any], rows: pa.RecordBatch) -> pa.Array:
        """The first day of the partition that each row is of, as `axis_of` has it."""
        axis = self.axis_of(description)
        column = rows.column(rows.schema.get_field_index(axis.column))
        days = column.cast(pa.date32())
        return days if axis.unit == "DAY" else pc.floor_temporal(days, unit="month").cast(pa.date32())


@dataclass(frozen=True, slots=True)
class GroupedReading(TableReading):
    """How a bill is read whose rows BigQuery makes into groups: the same partitions, another answer."""

    run_labels: tuple[str, ...] = ()

    def of_rows(self) -> TableReading:
        """How the same bill is read without groups."""
        return TableReading(self.shape, self.own_axis, self.export_time)

    def rows_sql(self, table: str, description: Mapping[str, Any], days: Iterable[date]) -> str:
        """The groups of the partitions that begin with these days, the rows that travel as they are, and the sums of all."""
        self.columns_of(description, table)
        fields = description.get("schema", {}).get("fields", ())
        return grouped_sql(Table(table, fields), self.axis_of(description), self.run_labels, days)

    def day_of_rows(self, description: Mapping[str, Any], rows: pa.RecordBatch) -> pa.Array:
        """The first day of the partition that each row is of, as the statement states it."""
        return rows.column(rows.schema.get_field_index(DAY))


BILL = TableReading(billing_columns.SHAPE, own_axis=Axis("usage_start_time"), export_time="export_time")
FOCUS = TableReading(focus_columns.SHAPE, own_axis=Axis("ChargePeriodStart"), export_time="x_ExportTime")
CARBON = TableReading(carbon.SHAPE, own_axis=Axis("usage_month", "DATE", "MONTH"), is_by_month=True)
PRICES = TableReading(
    prices.SHAPE,
    own_axis=Axis("pricing_as_of_time"),
    export_time="export_time",
    words=prices.ACCELERATORS,
    texts=("sku.description", prices.CATEGORIES),
)


def grouped_bill(run_labels: Iterable[str]) -> GroupedReading:
    """How a bill is read in groups; a row that has one of these labels travels as it is."""
    labels = tuple(run_labels)
    grouped = version_of(labels)
    own = BILL.shape, BILL.own_axis, BILL.export_time
    return GroupedReading(*own, grouped=grouped, run_labels=labels)


# by kind; landing hands a source's one to its store
READINGS = {billing.KIND: BILL, focus.KIND: FOCUS, carbon.KIND: CARBON, prices.KIND: PRICES}
