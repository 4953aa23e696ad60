"""Google's export folders: a delivery per day partition of the bill and per month of carbon; nested rows as dictionaries.

The files of a partition are the delivery, its time that of the newest file. No rule of the ledger lives here.
"""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .exports import Delivery, modified_at
from .numerals import OracleError

_PARTITION = "_PARTITIONTIME="
_LINES = re.compile(r"\.(json|jsonl|ndjson)(\.gz)?$")


def partition_deliveries(source_name: str, location: Path) -> Iterator[Delivery]:
    for folder in sorted(location.glob(f"{_PARTITION}*")):
        files = sorted(folder.glob("*.parquet")) or sorted(path for path in folder.iterdir() if _LINES.search(path.name))
        if files:
            named = tuple((path.relative_to(location).as_posix(), path) for path in files)
            yield Delivery(source_name, folder.name.removeprefix(_PARTITION), max(modified_at(path) for path in files), named)


def nested_rows(path: Path, columns: set[str] | None = None) -> Iterator[dict]:
    """The rows with the wanted records, or all; absent ones are missing keys. JSON writes exact numbers and times as text."""
    if _LINES.search(path.name):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = {name: value for name, value in json.loads(line).items() if columns is None or name in columns}
                yield {name: value.replace(" UTC", "+00:00") if _is_time(value) else value for name, value in row.items()}
        return
    file = pq.ParquetFile(path)
    present = [name for name in file.schema_arrow.names if columns is None or name in columns]
    for field in _leaves(file.schema_arrow):
        if pa.types.is_float32(field):
            raise OracleError(f"{path} holds a float32")
    yield from file.read(columns=present).to_pylist()


def _is_time(value: object) -> bool:
    return isinstance(value, str) and value.endswith(" UTC")


def _leaves(schema: pa.Schema) -> Iterator[pa.DataType]:
    waiting = [field.type for field in schema]
    while waiting:
        kind = waiting.pop()
        if kind.num_fields:
            waiting += [kind.field(place).type for place in range(kind.num_fields)]
        else:
            yield kind


def at(row: dict, path: str) -> object:
    """A value inside records, `project.number`; None where any of them is absent."""
    value: object = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def pairs(row: dict, path: str) -> dict[str, str]:
    """Repeated key-value records; of a key that is twice the first counts."""
    found: dict[str, str] = {}
    for entry in at(row, path) or ():
        found.setdefault(entry["key"], entry["value"])
    return found
