"""TPU metrics from Cloud Monitoring's `timeSeries.list` (JSON or JSON lines) or as Prometheus text: a sample per chip and point.

Points of a gauge have no length; they cover the spacing before them, which SQL finds over all files of a series. Google's points
come every minute for six weeks and every ten minutes afterwards, so they are never counted by rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from connectors.formats.schema import Schema
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import packed
from connectors.telemetry.converting import Group, Reader, find_and_convert
from connectors.telemetry.exporters import scraped
from connectors.telemetry.samples import (
    COLUMNS,
    SAMPLE_MEASURES,
    KeyFacts,
    Problems,
    SampleError,
    decode_json,
    documents_of,
    micros_of,
    micros_or_none,
)
from connectors.telemetry.tpu_points import OWN, PLACES, SHARED, series_of

KIND = "tpu_monitoring"
SCHEMA = Schema(COLUMNS, remedy_page="docs/sources/tpu_monitoring.md", measures=SAMPLE_MEASURES)

_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Deliver the answers of timeSeries.list as the API gives them."


class Labelled(msgspec.Struct):
    """A metric or a monitored resource."""

    type: str = ""
    labels: dict[str, str] | None = None


class Metadata(msgspec.Struct, rename="camel"):
    """Labels that Google or the user adds to the resource."""

    system_labels: dict[str, Any] | None = None
    user_labels: dict[str, str] | None = None


class Interval(msgspec.Struct, rename="camel"):
    """When a point was taken; a gauge starts where it ends."""

    end_time: str
    start_time: str | None = None


class Value(msgspec.Struct, rename="camel"):
    """A point's value; an int64 is text in JSON, and a double that is no number too."""

    double_value: float | str | None = None
    int64_value: int | str | None = None


class Point(msgspec.Struct):
    """One point."""

    interval: Interval
    value: Value | None = None


class Entry(msgspec.Struct, rename="camel"):
    """An answer of timeSeries.list, or one series of it."""

    time_series: list[Entry] | None = None
    execution_errors: list[Any] | None = None
    error: Any = None
    metric: Labelled | None = None
    resource: Labelled | None = None
    metadata: Metadata | None = None
    unit: str | None = None
    points: list[Point] | None = None


_DECODER = msgspec.json.Decoder(list[Entry] | Entry)


def _answers(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
    for number, text in documents_of(file, _LINES):
        with problems.left_out(number):
            decoded = decode_json(_DECODER, text, _REMEDY, broken=_REMEDY)
            for entry in decoded if isinstance(decoded, list) else [decoded]:
                yield from _answer(entry, facts, number, problems)


def _answer(entry: Entry, facts: KeyFacts, number: int, problems: Problems) -> Iterator[Group]:
    is_complete = not entry.execution_errors
    if entry.error is not None:
        problems.add(number, SampleError("error_answer", "error", "Ask again: this is the API's refusal, not an answer."))
    if not is_complete:
        problems.add(number, SampleError("partial_answer", "executionErrors", "Ask again: series are missing here."))
    for series in (*(entry.time_series or ()), entry):
        with problems.left_out(number):
            # a series without a unit has that of its answer
            yield from _series(series, facts, number, series.unit or entry.unit, problems, is_complete=is_complete)


def _series(
    entry: Entry, facts: KeyFacts, number: int, unit: str | None, problems: Problems, *, is_complete: bool
) -> Iterator[Group]:
    if entry.metric is None or not entry.points:
        return
    metadata = entry.metadata or Metadata()
    resource = (entry.resource and entry.resource.labels) or {}
    labels = {
        **resource,
        **{name: value for name, value in (metadata.system_labels or {}).items() if isinstance(value, str)},
        **(metadata.user_labels or {}),
        **(entry.metric.labels or {}),
        # a label of the user by such a name may mean anything
        **{name: resource.get(name, "") for name in PLACES},
    }
    if series := series_of(entry.metric.type, labels, unit, facts, is_complete=is_complete):
        yield from series.groups((number, *_interval(point.interval), _value(point.value)) for point in entry.points)
    else:
        problems.pass_by(entry.metric.type)


def _interval(interval: Interval) -> tuple[int | None, int]:
    remedy = "Deliver times as the API gives them, in RFC 3339."
    end = micros_of(interval.end_time, "points.interval", remedy)
    if interval.start_time == interval.end_time:  # of a gauge
        return None, end
    start = micros_or_none(interval.start_time, "points.interval", remedy) if interval.start_time else None
    return (start if start is not None and start < end else None), end


def _value(value: Value | None) -> float | None:
    found = None if value is None else value.int64_value if value.double_value is None else value.double_value
    try:
        return None if found is None else float(found)
    except (ValueError, OverflowError) as error:
        raise SampleError("wrong_type", "points.value", _REMEDY) from error


def _prometheus(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
    known = partial(series_of, unit=None, facts=facts, is_complete=True)
    for number, point, series, time in scraped(file, facts, problems, known):
        with problems.left_out(number):
            yield from series.groups([(number, None, time, point.value)])


_READERS = {
    packed(".prom", ".txt"): Reader(_prometheus, SHARED, OWN),
    (*_LINES, *packed(".json")): Reader(_answers, SHARED, OWN),
}
find_deliveries, convert = find_and_convert(KIND, _READERS)
