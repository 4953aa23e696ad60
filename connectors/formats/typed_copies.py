"""Typed copies: Parquet written beside a CSV, which cannot be read as it is.

The order of rows is kept: row 7 of the copy is data row 7 of the original, so that an error found in the copy names its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from connectors.formats.delimited import CsvFile
from connectors.formats.lazy import pa, pc, pl
from connectors.formats.parquet import write_tables
from connectors.formats.schema import Column
from connectors.formats.values import Rows, map_array, typed


@dataclass(frozen=True, slots=True)
class Plan:
    """Where each declared column comes from in a CSV file: the first named column with a value wins."""

    columns: Mapping[str, Sequence[str]]
    maps: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)  # map column -> entry -> CSV columns
    constants: Mapping[str, str] = field(default_factory=dict)  # declared text columns that only the folder's name gives
    unknown: tuple[str, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """The CSV columns that are read at all."""
        sources = [*self.columns.values(), *(source for entries in self.maps.values() for source in entries.values())]
        return tuple(dict.fromkeys(name for names in sources for name in names))


def copy_csv(csv: CsvFile, header: Sequence[str], schema: Iterable[Column], plan: Plan, target: Path) -> int:
    """Write the typed copy of a CSV object and return its rows. A file without rows leaves no copy."""
    columns = [column for column in schema if column.name in {*plan.columns, *plan.maps, *plan.constants}]

    def tables() -> Iterator[pa.Table]:
        rows = Rows(csv.key, csv.uri)
        for batch in csv.batches(header, plan.wanted):
            yield pa.table({column.name: _array(column, batch, plan, rows) for column in columns})
            rows = rows.after(batch.num_rows)

    return write_tables(tables(), target)


def _array(column: Column, batch: pa.RecordBatch, plan: Plan, rows: Rows) -> pa.Array:
    if column.name in plan.maps:
        return _map_array(batch, plan.maps[column.name])
    if column.name in plan.constants:
        return pa.repeat(pa.scalar(plan.constants[column.name]), batch.num_rows)
    return typed(column, _first_value(batch, plan.columns[column.name]), rows)


def _first_value(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    arrays = [batch.column(name) for name in names]
    return arrays[0] if len(arrays) == 1 else pc.coalesce(*arrays)


def _map_array(batch: pa.RecordBatch, entries: Mapping[str, Sequence[str]]) -> pa.Array:
    """Fold columns into one map column: an entry for each that has a value in the row, in the order of the columns."""
    pairs = [pl.DataFrame(schema={"row": pl.Int64, "value": pl.String, "key": pl.String})]
    for key, names in entries.items():
        values = pl.DataFrame(pa.table({"value": _first_value(batch, names)})).with_row_index("row").drop_nulls("value")
        pairs.append(values.select(pl.col("row").cast(pl.Int64), "value", pl.lit(key).alias("key")))
    return map_array(pl.concat(pairs).sort("row", maintain_order=True), batch.num_rows)  # entries keep the order of their columns
