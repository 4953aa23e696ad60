"""The process in which Apache Spark groups an export where it lies, seen from the store: started with the first question, asked
question by question, ended with the store. What happens in it is in spark_program.py.

Its figures are those of Spark, and its memory, its machines and its rights to the export are those of Spark's own settings. Of
a source only the endpoint of its bucket and who pays for requests are handed on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from connectors.errors import SourceUnreadableError
from connectors.stores import StoreOptions

_PROGRAM = Path(__file__).with_name("spark_program.py")
_WAIT = 60  # seconds in which an ended Spark puts its house in order
# by a word in the names of what failed: the reason, and what helps
_NO_LIBRARY = (
    "missing_engine",
    "Give Spark its client of S3, hadoop-aws in the version of its Hadoop, and for a table the library of its catalogue.",
)
_NO_RIGHT = ("permission_denied", "Let the identity that Spark runs as list and read the export: it is not that of this machine.")
_NO_LOGIN = (
    "no_credentials",
    "Give Spark credentials for the bucket, as its client of S3 takes them (fs.s3a.aws.credentials.provider).",
)
_NO_FILE = ("missing_object", "Look whether the files are still where they were listed; then try again.")
_NO_TABLE = ("missing_table", "Check the name of the table, and that Spark's settings have its catalogue.")
_FAILED = ("engine_failed", "Look at Spark's own log; then try again, or leave `engine` out of this source.")
_MEANINGS = {
    "ClassNotFoundException": _NO_LIBRARY,
    "UnsupportedFileSystemException": _NO_LIBRARY,
    "AccessDeniedException": _NO_RIGHT,
    "AccessControlException": _NO_RIGHT,
    "NoAuthWithAWSException": _NO_LOGIN,
    "CredentialInitializationException": _NO_LOGIN,
    "PATH_NOT_FOUND": _NO_FILE,
    "FileNotFoundException": _NO_FILE,
    "NotFoundException": _NO_FILE,
    "TABLE_OR_VIEW_NOT_FOUND": _NO_TABLE,
    "NoSuchTableException": _NO_TABLE,
    "NoSuchNamespaceException": _NO_TABLE,
    "CATALOG_NOT_FOUND": _NO_TABLE,
}


class SparkProcess:
    """Spark as one store asks it, with what is handed on of its source."""

    def __init__(self, uri: str, options: StoreOptions) -> None:
        self._uri = uri
        self._settings = settings_of(uri, options)
        self._running = _shared()

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        process = self._running.process
        return process.pid if process and process.poll() is None else None

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Ask and wait for the answer; SourceUnreadableError by what failed in Spark."""
        require_spark(self._uri)
        line = self._running.answer({"do": do, "settings": self._settings, **request})
        if not line:
            raise self._failure(("its process ended", *self._running.last_words()))
        answer: dict[str, Any] = json.loads(line)
        if names := answer.get("failed"):
            raise self._failure(names)
        return answer

    def close(self) -> None:
        """End Spark and wait for it; it is started again where another question comes, of whichever store."""
        self._running.close()

    def _failure(self, names: Sequence[str]) -> SourceUnreadableError:
        known = (meaning for word, meaning in _MEANINGS.items() if any(word in name for name in names))
        reason, remedy = next(known, _FAILED)
        return SourceUnreadableError(f"{self._uri}: Spark could not answer ({', '.join(names)}).", reason=reason, remedy=remedy)


class _Running:
    """The one process of Spark that all stores of this process ask: two would wait for each other's cores of a cluster.

    It ends with the last store that knows it.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self._log: IO[str] | None = None
        self._lock = threading.Lock()

    def answer(self, request: Mapping[str, Any]) -> str:
        """The line that answers a request; '' where the process ended."""
        with self._lock:
            process = self._started()
            assert process.stdin and process.stdout
            try:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                return ""
            return process.stdout.readline()

    def close(self) -> None:
        """End the process and wait for it."""
        with self._lock:
            if self.process is not None:
                self._ended()
                self.process = None

    def last_words(self) -> list[str]:
        """Names of what a process that ended printed last: the class of an exception, without its message."""
        if self._log is None:
            return []
        self._log.seek(0)
        lines = [line.partition(":") for line in self._log.read().splitlines()[-200:]]
        words = (before.split()[-1] for before, colon, _ in lines if colon and before and not before.startswith(" "))
        return [word for word in words if word.endswith(("Error", "Exception"))][-3:]

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - it is the process's
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(_PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                encoding="utf-8",
                env=environment(os.environ),
            )
            self._ended = weakref.finalize(self, _end, self.process)
        return self.process


_CURRENT: weakref.WeakValueDictionary[str, _Running] = weakref.WeakValueDictionary()


def _shared() -> _Running:
    running = _CURRENT.get("spark")
    if running is None:
        _CURRENT["spark"] = running = _Running()
    return running


def require_spark(uri: str) -> None:
    """SourceUnreadableError where there is no Spark, or no Java for it."""
    if "SPARK_HOME" not in os.environ and find_spec("pyspark") is None:
        what, remedy = "no Spark", "Set SPARK_HOME, or run `pip install pyspark`"
    elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        what, remedy = "no Java", "Install Java 17 or newer, or set JAVA_HOME"
    else:
        return
    raise SourceUnreadableError(
        f"{uri}: `engine: spark` needs Apache Spark, and there is {what} here.",
        reason="missing_engine",
        remedy=f"{remedy}, or leave `engine` out of this source.",
    )


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """That of the process: the pyspark that belongs to SPARK_HOME, where that is set, goes before one that is installed here."""
    found = {**given, "PYSPARK_PYTHON": given.get("PYSPARK_PYTHON", sys.executable)}
    if home := given.get("SPARK_HOME"):
        archives = sorted(str(path) for path in (Path(home) / "python" / "lib").glob("*.zip"))
        found["PYTHONPATH"] = os.pathsep.join([*archives, *filter(None, [given.get("PYTHONPATH")])])
    return found


def settings_of(uri: str, options: StoreOptions) -> dict[str, str]:
    """What of a source is handed to Spark's client of S3, for the source's bucket alone."""
    bucket = urlsplit(uri).netloc
    found = {}
    if options.endpoint_url:
        found = {"endpoint": options.endpoint_url, "path.style.access": "true"}
        found["connection.ssl.enabled"] = str(options.endpoint_url.startswith("https:")).lower()
    if options.requester_pays:
        found["requester.pays.enabled"] = "true"
    return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in found.items()}


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a process to end; where it does not, end it."""
    try:
        process.communicate(json.dumps({"do": "end"}) + "\n", timeout=_WAIT)
    except (subprocess.TimeoutExpired, BrokenPipeError, ValueError):
        process.kill()
        process.wait()
