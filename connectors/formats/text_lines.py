"""Text in lines, plain or compressed with gzip or Zstandard: streamed, so that a file of any size is read in little memory.

What a file is compressed with is read from its first bytes, not from its name. A cut or hostile file is an ExportContentError
that names its limit. What a line holds is not known here.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.errors import ExportContentError, ExportSchemaError, Place
from connectors.formats.delimited import limit_of
from connectors.formats.lazy import pa
from connectors.stores import READ_LIMIT

MAX_LINE = READ_LIMIT
_CHUNK = 1 << 18
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class TextFile:
    """One landed object that holds lines. `key` and `uri` name the original in messages."""

    path: Path
    key: str
    uri: str

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line that is not blank with its number from 1 and its line end. The last one may have none."""
        number, read, limit = 0, 0, limit_of(self.path)
        with self._opened() as source:
            while line := source.readline(MAX_LINE + 1):
                number += 1
                read += len(line)
                self._check_size(read, limit)
                if len(line) > MAX_LINE and not line.endswith(b"\n"):
                    raise self._too_large(f"line {number} is longer than {MAX_LINE} bytes", number)
                if not line.isspace():
                    yield number, line

    def content(self) -> bytes:
        """Return the whole text; for documents, which are small."""
        with self._opened() as source:
            text = source.read(READ_LIMIT + 1)
            self._check_size(len(text), limit_of(self.path))
            if len(text) > READ_LIMIT:
                raise self._too_large(f"it holds more than {READ_LIMIT} bytes; write it as JSON lines")
            return text

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole text in pieces that know nothing of lines, for readers that find them by themselves."""
        read, limit = 0, limit_of(self.path)
        with self._opened() as source:
            while chunk := source.read(_CHUNK):
                read += len(chunk)
                self._check_size(read, limit)
                yield chunk

    @contextmanager
    def read_as_csv(self) -> Iterator[None]:
        """Give the errors of whoever reads the text as CSV the name of the object."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise ExportContentError(f"{self.uri} is no UTF-8 text.", place=Place(self.key), reason="bad_encoding") from error
        except csv.Error as error:
            raise ExportContentError(f"{self.uri} is no CSV ({error}).", place=Place(self.key), reason="bad_csv") from error

    def check_header(self, header: Sequence[str], missing: Sequence[str], remedy: str) -> None:
        """Refuse a CSV that lacks columns, or has two of one name."""
        if missing or len(set(header)) < len(header):
            what = f"is missing {', '.join(missing)}" if missing else "has a column twice"
            place = Place(self.key, column_name=", ".join(missing) or None)
            raise ExportSchemaError(f"{self.uri} {what}.", place=place, remedy=remedy)

    @contextmanager
    def _opened(self) -> Iterator[io.BufferedReader]:
        """The unpacked text. Its buffer is far larger than a line: a reader that splits blocks itself is five times slower."""
        try:
            with self._open() as packed, io.BufferedReader(packed, _CHUNK) as source:
                yield source
        except (EOFError, zlib.error, OSError) as error:  # gzip's own errors and those of Zstandard are OSErrors
            if isinstance(error, OSError) and error.errno:
                raise  # the disk's, where the landing keeps this file: nothing is wrong with the delivery
            what = f"{self.uri} is cut off or damaged ({type(error).__name__})."
            raise ExportContentError(what, place=Place(self.key), reason="truncated") from error

    def _open(self) -> Any:
        with self.path.open("rb") as file:
            magic = file.read(4)
        if not magic and self.key.lower().endswith((".gz", ".zst")):
            raise EOFError  # even an empty text is some bytes when it is compressed
        if magic.startswith(_GZIP):
            return gzip.open(self.path)  # Arrow's reader refuses a file that is padded with zeros
        return pa.input_stream(self.path, "zstd") if magic == _ZSTD else self.path.open("rb", buffering=0)

    def _check_size(self, size: int, limit: int) -> None:
        if size > limit:
            raise self._too_large(f"it holds more than {limit} bytes when decompressed")

    def _too_large(self, what: str, row: int | None = None) -> ExportContentError:
        return ExportContentError(
            f"{self.uri}: {what}.",
            place=Place(self.key, row_number=row),
            reason="too_large",
            remedy="Check what wrote this file; telemetry of one node and day is far smaller.",
        )


class Stream(io.RawIOBase):
    """Pieces of a text as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks, self._rest = iter(chunks), b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._rest and (chunk := next(self._chunks, None)) is not None:
            self._rest = chunk
        count = min(len(target), len(self._rest))
        target[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
