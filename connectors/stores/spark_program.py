"""Apache Spark in a process of its own: it reads an export where the export lies and answers one statement after the other.

Run by path, by `spark_process`; it imports pyspark and pyarrow alone, for the pyspark is that of the Spark which is used. A line
of standard input is a request, a line of standard output its answer, both JSON. Where Spark is, what it may do and which
catalogues it has is in its own settings (SPARK_CONF_DIR, SPARK_HOME, MASTER, PYSPARK_SUBMIT_ARGS); what an answer depends on is
`OURS`. Nothing of a bill is known here.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# the file of a row as a statement names it, as Iceberg does; a blank is %20 in Spark's own column, but a plus sign is one
_FILE = "url_decode(replace(_metadata.file_path, '+', '%2B')) AS _file"
OURS = {
    # times of an export are UTC; overflow is an error, never null; of two entries of one name in a map the later one counts
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    # a file that cannot be read, or is gone, is an error and never no rows
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # a literal with an exponent is a double, and 'text' in single quotes a text
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
}
OF_THIS_MACHINE = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
}
WHERE = ("SPARK_CONF_DIR", "SPARK_HOME", "MASTER", "PYSPARK_SUBMIT_ARGS")


class Engine:
    """A session, opened with the first request that needs it."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None

    @property
    def spark(self) -> SparkSession:
        """The session."""
        if self._session is None:
            from pyspark.sql import SparkSession

            settings = OURS if any(name in os.environ for name in WHERE) else {**OF_THIS_MACHINE, **OURS}
            builder = SparkSession.builder.appName("trainledger")
            for name, value in settings.items():
                builder = builder.config(name, value)
            self._session = builder.getOrCreate()
            self._session.sparkContext.setLogLevel("ERROR")
        return self._session

    def use(self, settings: Mapping[str, str]) -> None:
        """Take what is handed on of a source: settings of Hadoop for its bucket alone."""
        for name, value in settings.items():
            self.spark.conf.set(name, value)

    def open(self, files: list[str], view: str) -> dict[str, Any]:
        """Make files a view; return their columns, of all files together, and types."""
        # a path is a pattern there
        paths = ["".join(f"\\{letter}" if letter in "*?[]{}\\" else letter for letter in path) for path in files]
        rows = self.spark.read.option("mergeSchema", "true").parquet(*paths)
        rows.selectExpr("*", _FILE).createOrReplaceTempView(view)
        return {"types": types_of(rows)}

    def describe(self, relation: str) -> dict[str, Any]:
        """The columns and types of a table, whose version may be named with it."""
        return {"types": types_of(self.spark.sql(f"SELECT * FROM {relation}"))}

    def rows(self, statement: str) -> dict[str, Any]:
        """The few rows of a look."""
        found = [row.asDict(recursive=True) for row in self.spark.sql(statement).collect()]
        return {"rows": [{name: _as_text(value) for name, value in row.items()} for row in found]}

    def answer(self, statement: str, path: str) -> dict[str, Any]:
        """Write the answer of a statement to a Parquet file of this machine."""
        import pyarrow.parquet as pq

        asked_at = dt.datetime.now(dt.UTC)
        table = self.spark.sql(statement).toArrow()
        pq.write_table(table.replace_schema_metadata(), path, compression="zstd")
        context = self.spark.sparkContext
        return {
            "asked_at": asked_at.isoformat(),
            "job_id": context.applicationId,
            "engine_version": self.spark.version,
            "rows": table.num_rows,
        }

    def end(self) -> None:
        """End the session and wait for its Java process."""
        if self._session is None:
            return
        gateway: Any = self._session.sparkContext._gateway
        self._session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def types_of(rows: DataFrame) -> dict[str, str]:
    """Columns and types as SQL names them."""
    return {field.name: field.dataType.simpleString() for field in rows.schema.fields}


def _as_text(value: Any) -> Any:
    return value if value is None or isinstance(value, int | str | bool) else str(value)


def failure_of(error: Exception) -> dict[str, Any]:
    """What went wrong, as names that the one who started this knows, without a word of Spark's message: it may hold a secret."""
    names = [type(error).__name__]
    condition = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    if condition and (known := condition()):
        names.append(known)
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and len(names) < 12:
        names.append(cause.getClass().getName())
        cause = cause.getCause()
    return {"failed": list(dict.fromkeys(names))}


def serve(engine: Engine, requests: queue.Queue[dict[str, Any]], answers: TextIO) -> None:
    """Answer one request after the other, until one asks for the end."""
    calls: dict[str, Callable[..., dict[str, Any]]] = {
        name: getattr(engine, name) for name in ("open", "describe", "rows", "answer")
    }
    while (request := requests.get()).get("do") != "end":
        try:
            engine.use(request.pop("settings", {}))
            answer = calls[request.pop("do")](**request)
        except Exception as error:
            traceback.print_exc()  # to the log of the one who started this
            answer = failure_of(error)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    engine.end()


def listen(requests: queue.Queue[dict[str, Any]]) -> None:
    """Take requests; where the one who sends them is gone without having asked for the end, end at once, and Java with it."""
    for line in sys.stdin:
        requests.put(request := json.loads(line))
        if request.get("do") == "end":
            return
    os._exit(1)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Java prints is no answer
    received: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=listen, args=(received,), daemon=True).start()
    serve(Engine(), received, answers)
