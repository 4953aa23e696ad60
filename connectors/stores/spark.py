"""Apache Spark as an engine over files of a bucket, which it reads as they are named: there is no table over them.

A table of Iceberg is in iceberg.py; the process of Spark, and what its failures mean, in spark_process.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.stores import Asked, Opened, StoreOptions
from connectors.stores.spark_process import SparkProcess

if TYPE_CHECKING:  # a look loads no Arrow
    import pyarrow as pa

_ROWS = 20_000  # of an answer that are here at one time


class SparkEngine:
    """Spark over the files that a statement is about. The constructor starts nothing."""

    name = "spark"

    def __init__(self, uri: str, options: StoreOptions) -> None:
        self.uri = uri
        self.process = SparkProcess(uri, options)

    def open(self, files: Sequence[str]) -> Opened:
        """Make the files one relation, which has no others; it costs reading their footers."""
        paths = [f"s3a:{path.removeprefix('s3:')}" for path in files]
        listed = "\n".join(paths)
        view = f"export_files_{sha256(listed.encode()).hexdigest()[:8]}"
        return Opened(view, self.process.ask("open", files=paths, view=view)["types"])

    def ask(self, sql: str) -> Asked:
        """Run a statement. Its answer is on this machine when it is given."""
        import pyarrow.parquet as pq

        folder = tempfile.TemporaryDirectory(prefix="answer-")
        path = Path(folder.name) / "answer.parquet"
        try:
            asked = self.process.ask("answer", statement=sql, path=str(path))
        except BaseException:
            folder.cleanup()
            raise
        names = tuple(pq.read_schema(path).names)
        return Asked(names, _batches(path, folder), asked["job_id"], datetime.fromisoformat(asked["asked_at"]))


def _batches(path: Path, folder: tempfile.TemporaryDirectory[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with folder, pq.ParquetFile(path) as file:
        yield from file.iter_batches(_ROWS)
