"""Rows that come as Arrow batches, written to a Parquet file as they come: of a stream of any length little is in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROW_GROUP = 64 << 20  # bytes in memory: some 50,000 wide rows of a bill


@dataclass(frozen=True, slots=True)
class Written:
    """What came: the number of rows, and the newest time in the column that was asked for."""

    rows: int
    newest: datetime | None = None


def write_rows(batches: Iterable[pa.RecordBatch], path: Path, time_column: str | None) -> Written:
    """Write batches with their own types, some together as a row group: messages of a stream have some hundred rows each."""
    count, size, newest, waiting = 0, 0, None, list[pa.RecordBatch]()
    writer: pq.ParquetWriter | None = None
    try:
        for batch in batches:
            writer = writer or pq.ParquetWriter(path, batch.schema.remove_metadata(), compression="zstd")
            if time_column and batch.num_rows:
                newest = max((one for one in (newest, pc.max(batch.column(time_column)).as_py()) if one), default=None)
            waiting.append(batch)
            count, size = count + batch.num_rows, size + batch.nbytes
            if size >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting, writer.schema))
                waiting, size = [], 0
        if writer and waiting:
            writer.write_table(pa.Table.from_batches(waiting, writer.schema))
    finally:
        if writer:
            writer.close()
    return Written(count, newest)


def microseconds(instant: datetime) -> int:
    """An instant as whole microseconds since 1970: exact, where a float of seconds would move the last digits."""
    return (instant - EPOCH) // timedelta(microseconds=1)
