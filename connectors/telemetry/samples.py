"""The one shape of telemetry, a row per device and interval, and what its kinds share: decoding, times, problems.

How long a gauge's point counts, and which rows are copies of each other, is decided in SQL over all files: a day delivered as one
file or as 24 must give the same result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

import msgspec

from connectors.deliveries import Delivery, Refusal, refusal_of
from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.schema import BigInt, Boolean, Number, Text, Timestamp, optional, required
from connectors.formats.text_lines import TextFile
from connectors.times import YEARS, execution_time, parse_utc, recorded_time

_T = TypeVar("_T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NAMED = 3  # names in one remark
_FIRST, _END = ((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND for year in (YEARS.start, YEARS.stop))
_PLAIN_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3}(?:\d{3})?)?(?:Z|\+00:00)", re.ASCII)
_ENDINGS = re.compile(r"\.(jsonl|ndjson|json|prom|txt)(\.(gz|zst))?$", re.I)

COLUMNS = (
    # equal for the same observation, however often and in whichever file it was delivered
    required("document_hash", Text, filled=True),
    required("line_number", BigInt, filled=True),  # the line of the object that holds the observation
    *optional("run_key", Text),  # as written in the object's key or in a label
    required("host_id", Text, filled=True),
    *optional("device_index device_count", BigInt),
    *optional("sample_start", Timestamp),  # null: a gauge's point, which covers the spacing before it
    required("sample_end", Timestamp, filled=True),
    *optional("utilisation_ratio", Number),  # 0 to 1 over all cores of the device; null: unknown because of an error
    # measured: the device's own utilisation; presence: the device was seen alive and reported none
    required("evidence", Text, filled=True),
    required("is_idle_by_absence", Boolean, filled=True),
    *optional("accelerator_type", Text),
    *optional("effective_flops", Number),  # per second
    *optional("region_id", Text),  # where the machine is
)
SAMPLE_MEASURES = {"device_count": 0, "utilisation_ratio": 12, "effective_flops": 0}


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Facts in the key of an object: `run=<id>/host=<resource_id>/<UTC start>.jsonl[.gz|.zst]`, any of it may be absent."""

    run: str | None
    host: str | None
    started_at: int | None


class Host(msgspec.Struct, gc=False):
    """Where a recorder or collector ran."""

    resource_id: str | None = None
    instance_type: str | None = None


def facts_of(key: str) -> KeyFacts:
    """Read a key. An id that holds a slash is percent-encoded in it."""
    *folders, name = key.split("/")
    named = {label: unquote(value) for label, _, value in (folder.partition("=") for folder in folders) if value}
    return KeyFacts(named.get("run"), named.get("host"), _start_of(_ENDINGS.sub("", name)))


def _micros(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


class SampleError(Exception):
    """A document or series that gives no sample: why, and what to do about it."""

    def __init__(self, reason: str, column: str | None, remedy: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column
        self.remedy = remedy


@dataclass(slots=True)
class Problems:
    """What was left out of one object, with one refusal per reason: a broken exporter makes its mistake in every line."""

    first: dict[str, tuple[int, SampleError]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    passed: dict[str, None] = field(default_factory=dict)  # the first names of what this kind does not read
    is_answered: bool = False  # what was asked for was answered in full: there was nothing, and nothing is wrong

    def pass_by(self, *names: str) -> None:
        """Remember a metric or a column that is not read: a file that gives no row is named by the first of them."""
        for name in names:
            if len(self.passed) < _NAMED:
                self.passed.setdefault(name)

    def add(self, line: int, error: SampleError) -> None:
        """Count a document that is left out."""
        self.first.setdefault(error.reason, (line, error))
        self.counts[error.reason] += 1

    def left_out(self, line: int) -> _LeftOut:
        """`with problems.left_out(line)`: what is read there is counted as left out where it gives no sample."""
        return _LeftOut(self, line)

    def refusals(self, delivery: Delivery, uri: str, rows: int) -> Iterator[Refusal]:
        """Yield a row per reason with the place of the first and how many there are; one in any case where there is no row."""
        if not rows and not self.first and not self.is_answered:
            yield refusal_of(delivery, self._unknown(delivery.kind, uri))
        for reason, (line, error) in self.first.items():
            count = f"{self.counts[reason]} left out"
            message = f"{uri}: {count} ({reason}), the first in line {line}."
            place = Place(row_number=line, column_name=error.column, value=count)
            yield refusal_of(delivery, ExportContentError(message, place=place, reason=reason, remedy=error.remedy))

    def _unknown(self, kind: str, uri: str) -> ExportContentError:
        names = ", ".join(shorten(name, 60) for name in self.passed) or "no name at all"
        return ExportContentError(
            f"{uri}: it has nothing that {kind} reads, but {names}.",
            place=Place(value=names),
            reason="no_known_metric",
            remedy=f"See docs/sources/{kind}.md for the names that are read; take the file out if it is another exporter's.",
        )


class _LeftOut(NamedTuple):
    """A class, as a generator would take three times as long for each of millions of lines."""

    problems: Problems
    line: int

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if isinstance(error, SampleError):
            self.problems.add(self.line, error)
            return True
        return False


def decode_json(decoder: msgspec.json.Decoder[_T], text: bytes, remedy: str, broken: str) -> _T:
    """Decode a document; SampleError with `broken` as its remedy for what is no JSON at all."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        path = str(error).partition(" - at `$")[2].strip("`.") or None
        raise SampleError("wrong_type", path, remedy) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SampleError("bad_json", None, broken) from error
    except RecursionError as error:
        raise SampleError("too_deep", None, remedy) from error


def documents_of(file: TextFile, lines: tuple[str, ...]) -> Iterator[tuple[int, bytes]]:
    """Each line of a file that has one of these endings; of any other the one document that it is, or those of its lines."""
    if file.key.lower().endswith(lines):
        yield from file.lines()
        return
    whole = file.content()
    try:
        msgspec.json.decode(whole, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        yield from file.lines()
    else:
        yield 1, whole


def micros_of(text: str, column: str, remedy: str) -> int:
    """Read a time as microseconds since 1970; SampleError when it is none."""
    micros = micros_or_none(text, column, remedy)
    if micros is None:
        raise SampleError("bad_time", column, remedy)
    return micros


def micros_or_none(text: str, column: str, remedy: str) -> int | None:
    """The same, and None for a zero time or a sentinel, which say that there is no time."""
    try:
        # most collectors write one form, which needs no other reading; years of this century before 2006 and bad days do
        if _PLAIN_TIME.fullmatch(text) and is_recorded(micros := _micros(datetime.fromisoformat(text))):
            return micros
        moment = recorded_time(parse_utc(text))
    except ValueError as error:
        raise SampleError("bad_time", column, remedy) from error
    return None if moment is None else _micros(moment)


def is_recorded(micros: int) -> bool:
    """Whether microseconds since 1970 lie in the years that a sample can have."""
    return _FIRST <= micros < _END


def _start_of(stem: str) -> int | None:
    """The time that names an object; 2026-04-01T00-00-00Z is for file systems that allow no colon."""
    dashed = re.sub(r"T(\d{2})-(\d{2})-(\d{2})", r"T\1:\2:\3", stem)
    try:
        moment = execution_time(dashed) or parse_utc(dashed)
    except ValueError:
        return None
    return _micros(moment) if moment.year in YEARS else None
