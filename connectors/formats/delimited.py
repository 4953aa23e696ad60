"""CSV as AWS writes it: plain, gzip or zip; read in a stream, every value as the text that is written there.

No type is ever guessed (an account id is no number, 1.81E-8 stays 1.81E-8) and an empty value is null, quoted or not. What is
larger than it may be, cut off or no CSV is an ExportContentError with the row.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.lazy import pa, pacsv

MAX_BYTES = 20 << 30  # of one object, decompressed
MAX_RATIO = 200  # decompressed to compressed; bills reach about 30
_RATIO_FROM = 64 << 20  # small files may be as repetitive as they like
_HEADER_BYTES = 1 << 20
_MAX_COLUMNS = 10_000
_BLOCK_BYTES = 16 << 20  # one row must fit in one block
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True)
class CsvFile:
    """One landed CSV object. `key` and `uri` name the original in messages."""

    path: Path
    key: str
    uri: str

    def header(self) -> tuple[str, ...]:
        """Return the column names; none at all when the file holds nothing."""
        with self._named_errors(), self._open() as (source, _):
            start = source.read(_HEADER_BYTES)
        if not start:
            return ()
        text = start.decode("utf-8-sig", errors="replace")
        try:
            names = next(csv.reader(io.StringIO(text, newline=""), strict=True))
        except (csv.Error, StopIteration) as error:
            raise self._content_error(f"the header is no CSV ({error})", "bad_csv") from error
        if len(names) > _MAX_COLUMNS or any("\n" in name or "\r" in name or "\ufffd" in name for name in names) or not any(names):
            raise self._content_error("the first line is no header", "bad_csv")
        return tuple(names)

    def batches(self, header: Sequence[str], wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns as text, in the order of the rows."""
        with self._named_errors(), self._open() as (source, seen):
            reader = pacsv.open_csv(
                source,
                # one thread: row numbers in errors are only known in serial reading
                read_options=pacsv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, column_names=header, skip_rows=1),
                parse_options=pacsv.ParseOptions(newlines_in_values=True),
                convert_options=pacsv.ConvertOptions(
                    column_types={name: pa.string() for name in wanted},
                    include_columns=list(wanted),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
            for batch in reader:
                if batch.num_rows:
                    yield batch
            if seen["quotes"] % 2:  # Arrow takes all that follows an open quote as one value, without an error
                raise self._content_error("a quoted value is never closed", "bad_csv")

    @contextlib.contextmanager
    def _open(self) -> Iterator[tuple[Any, Counter[str]]]:
        """Open the text inside, never more of it than the limits allow, and count the bytes and quotes that are read."""
        limit, seen = limit_of(self.path), Counter[str]()

        def watched(chunk: Any) -> Any:
            seen.update(bytes=chunk.size, quotes=chunk.to_pybytes().count(b'"'))
            if seen["bytes"] > limit:
                raise ExportContentError(
                    f"{self.uri} holds more than {limit} bytes when decompressed"
                    f" (limits: {MAX_RATIO} times its size beyond {_RATIO_FROM} bytes, and {MAX_BYTES} bytes).",
                    place=Place(self.key, value=str(limit)),
                    reason="too_large",
                    remedy="Check what wrote this file; a bill of this size is delivered in several objects.",
                )
            return chunk

        name = self.key.lower()
        with contextlib.ExitStack() as stack:
            if name.endswith(".zip"):
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                members = [member for member in archive.infolist() if not member.is_dir()]
                if len(members) != 1 or not members[0].filename.lower().endswith(".csv") or members[0].flag_bits & 1:
                    raise self._content_error("the zip does not hold exactly one readable CSV file", "bad_archive")
                try:
                    source: Any = stack.enter_context(archive.open(members[0]))
                except NotImplementedError as error:  # what zipfile raises for a compression it does not know
                    raise self._content_error(f"the zip is packed in an unknown way ({error})", "bad_archive") from error
            elif name.endswith(".gz"):
                source = stack.enter_context(gzip.open(self.path))
            else:
                source = stack.enter_context(self.path.open("rb"))
            yield pa.TransformInputStream(pa.PythonFile(source, "r"), watched), seen

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Give the errors of gzip, zip and Arrow the name of the object, and the row where they know it."""
        try:
            yield
        except _BROKEN as error:
            raise self._content_error(f"the file is cut off or damaged ({error})", "truncated") from error
        except pa.ArrowInvalid as error:
            text = str(error)
            # Arrow counts lines of data from 2 because the header is its row 1
            match = re.search(r"Row #(\d+)", text)
            row = int(match[1]) - 1 if match else None
            reason = "bad_encoding" if "UTF8" in text else "bad_csv"
            raise self._content_error(shorten(text), reason, row) from error

    def _content_error(self, what: str, reason: str, row: int | None = None) -> ExportContentError:
        at = "" if row is None else f", row {row}"
        return ExportContentError(f"{self.uri}{at}: {what}.", place=Place(self.key, row_number=row), reason=reason)


def limit_of(path: Path) -> int:
    """The bytes a compressed file may hold: what is beyond is a decompression bomb, not a bill."""
    return min(MAX_BYTES, max(_RATIO_FROM, MAX_RATIO * path.stat().st_size))
