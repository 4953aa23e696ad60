"""Text in lines, plain or compressed with gzip or Zstandard: streamed, so that a file of any size is read in little memory.

What a file is compressed with is read from its first bytes, not from its name. A cut or hostile file is an ExportContentError
that names its limit. What a line holds is not known here.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.errors import ExportContentError, Place
from connectors.formats.delimited import limit_of
from connectors.formats.lazy import pa
from connectors.stores import READ_LIMIT

MAX_LINE = READ_LIMIT
_CHUNK = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class TextFile:
    """One landed object that holds lines. `key` and `uri` name the original in messages."""

    path: Path
    key: str
    uri: str

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line that is not blank with its number from 1. The last one may have no line end."""
        number, rest = 0, b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                number += 1
                if line and not line.isspace():
                    yield number, line
            if len(rest) > MAX_LINE:
                raise self._too_large(f"line {number + 1} is longer than {MAX_LINE} bytes", number + 1)
        if rest and not rest.isspace():
            yield number + 1, rest

    def content(self) -> bytes:
        """Return the whole text; for documents, which are small."""
        parts, size = [], 0
        for chunk in self._chunks():
            size += len(chunk)
            if size > READ_LIMIT:
                raise self._too_large(f"it holds more than {READ_LIMIT} bytes; write it as JSON lines")
            parts.append(chunk)
        return b"".join(parts)

    def _chunks(self) -> Iterator[bytes]:
        limit, read = limit_of(self.path), 0
        try:
            with self._open() as source:
                while chunk := source.read(_CHUNK):
                    read += len(chunk)
                    if read > limit:
                        raise self._too_large(f"it holds more than {limit} bytes when decompressed")
                    yield chunk
        except (EOFError, zlib.error, OSError) as error:  # gzip's own errors and those of Zstandard are OSErrors
            what = f"{self.uri} is cut off or damaged ({type(error).__name__})."
            raise ExportContentError(what, place=Place(self.key), reason="truncated") from error

    def _open(self) -> Any:
        with self.path.open("rb") as file:
            magic = file.read(4)
        if not magic and self.key.lower().endswith((".gz", ".zst")):
            raise EOFError  # even an empty text is some bytes when it is compressed
        if magic.startswith(_GZIP):
            return gzip.open(self.path)  # Arrow's reader refuses a file that is padded with zeros
        return pa.input_stream(self.path, "zstd" if magic == _ZSTD else None)

    def _too_large(self, what: str, row: int | None = None) -> ExportContentError:
        return ExportContentError(
            f"{self.uri}: {what}.",
            place=Place(self.key, row_number=row),
            reason="too_large",
            remedy="Check what wrote this file; telemetry of one node and day is far smaller.",
        )
