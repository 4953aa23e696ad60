"""The payers that the rows of an AWS delivery name, in Parquet or CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from connectors.formats.delimited import CsvFile
from connectors.formats.parquet import named_errors, open_parquet, read_rows
from connectors.formats.values import Rows


def payers_in(key: str, path: Path, uri: str, column: str, in_csv: Callable[[CsvFile, Sequence[str]], Sequence[str]]) -> set[str]:
    """The payers of one object; `in_csv` gives the columns that a CSV has them in, by its header."""
    if key.lower().endswith(".parquet"):
        with named_errors(key, uri):
            rows = read_rows(open_parquet(path, key, uri), [column], Rows(key, uri))
            found = [batch.column(0) for _, batch in rows]
    else:
        csv = CsvFile(path, key, uri)
        header = csv.header()
        names = in_csv(csv, header) if header else ()
        found = [one for batch in csv.batches(header, names) for one in batch.columns] if names else []
    return {payer for values in found for payer in values.unique().to_pylist() if payer}
