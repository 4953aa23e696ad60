"""The payers that the rows of an object of AWS name, in Parquet or CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from connectors.formats.delimited import CsvFile
from connectors.formats.parquet import open_parquet, read_rows
from connectors.formats.values import Rows

Object = tuple[str, Path, str]  # its key, where it was landed, and its full name


def payers_in(one: Object, column: str, in_csv: Callable[[CsvFile, Sequence[str]], Sequence[str]]) -> list[Any]:
    """The arrays of payers in one object; `in_csv` gives the columns that a CSV has them in, by its header."""
    key, path, uri = one
    if key.lower().endswith(".parquet"):
        file = open_parquet(path, key, uri)
        spelled = [name for name in file.schema_arrow.names if name.lower() == column.lower()]
        return [batch.column(0) for _, batch in read_rows(file, spelled[:1], Rows(key, uri))]
    csv = CsvFile(path, key, uri)
    header = csv.header()
    names = in_csv(csv, header) if header else ()
    return [values for batch in csv.batches(header, names) for values in batch.columns] if names else []
