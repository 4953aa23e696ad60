"""TPU metrics from Cloud Monitoring's `timeSeries.list` (JSON or JSON lines) or as Prometheus text: a sample per chip and point.

Points of a gauge have no length; they cover the spacing before them, which SQL finds over all files of a series. Google's points
come every minute for six weeks and every ten minutes afterwards, so they are never counted by rows.

A duty cycle is a chip's utilisation. Every other metric of a chip proves that it lives: where Google emits no duty cycle for a
living chip, it is idle. The duty cycle numbers chips by their place in the slice and the others by their place in the host, so
the two do not join per chip: SQL counts both per host. In an answer that
reports an error, a missing duty cycle means nothing. A recorder that reduces gives a line per chip and minute instead (reduced).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.schema import Schema
from connectors.formats.text_lines import TextFile
from connectors.formats.tpu_names import tpu_type_of
from connectors.layouts.single_files import packed
from connectors.telemetry.converting import Group, Reader, find_and_convert
from connectors.telemetry.exporters import RUNS, first_label, scraped
from connectors.telemetry.neuron_documents import Instance
from connectors.telemetry.reduced import Reduced, stretch_of
from connectors.telemetry.regions import region_in, region_of
from connectors.telemetry.samples import (
    COLUMNS,
    SAMPLE_MEASURES,
    Host,
    KeyFacts,
    Problems,
    SampleError,
    decode_json,
    documents_of,
    micros_of,
    micros_or_none,
)

KIND = "tpu_monitoring"
SCHEMA = Schema(COLUMNS, remedy_page="docs/sources/tpu_monitoring.md", measures=SAMPLE_MEASURES)

_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Deliver the answers of timeSeries.list as the API gives them."
SHARED = ("run_key", "host_id", "device_index", "evidence", "is_idle_by_absence", "accelerator_type", "region_id")
_OWN = ("document_hash", "line_number", "sample_start", "sample_end", "utilisation_ratio")
_METRIC = re.compile(
    r"(?:^|[/:_])(duty_cycle|tensorcore_utilization|memory_bandwidth_utilization|memory_used|memory_total)(?:_node)?$"
)
_HOSTS = ("resource_id", "instance_id", "node_id", "node_name", "instance", "host")
_TYPE_LABEL = re.compile(r"^(?:model|accelerator_type)$|gke[-_]tpu[-_]accelerator$")
_PLACES = ("zone", "location")  # labels of where a machine is
_CHIP_NUMBER = re.compile(r"\d{1,4}", re.ASCII)
_INSTANCE = re.compile(r"\d{10,}", re.ASCII)
_UNITS_OF_RATIOS = frozenset({"1", "10^2.%", "ratio"})  # 10^2.% is a ratio that is shown as a percentage

_Sampled = tuple[int, int | None, int, float | None]  # line, start, end, value


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
    """An answer of timeSeries.list, or one series of it; or a recorder's line of a minute."""

    time_series: list[Entry] | None = None
    execution_errors: list[Any] | None = None
    error: Any = None
    metric: Labelled | None = None
    resource: Labelled | None = None
    metadata: Metadata | None = None
    unit: str | None = None
    points: list[Point] | None = None
    host: Host | None = None
    run: str | None = None
    reduced: Reduced | None = None


_DECODER = msgspec.json.Decoder(list[Entry] | Entry)


def _answers(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
    for number, text in documents_of(file, _LINES):
        with problems.left_out(number):
            decoded = decode_json(_DECODER, text, _REMEDY, broken=_REMEDY)
            for entry in decoded if isinstance(decoded, list) else [decoded]:
                if entry.reduced is not None:
                    yield _reduced(entry, entry.reduced, facts, number)
                else:
                    yield from _answer(entry, facts, number, problems)


def _reduced(entry: Entry, reduced: Reduced, facts: KeyFacts, number: int) -> Group:
    host, instance = entry.host or Host(), reduced.instance_info or Instance()
    host_id = host.resource_id or facts.host
    if not host_id:
        raise SampleError("missing_host", "host.resource_id", "Name the host in the line or in the key as host=<resource_id>.")
    one = stretch_of(reduced, host_id)
    type_ = next(filter(None, map(tpu_type_of, (instance.instance_type or "", host.instance_type or ""))), None)
    shared = (facts.run or entry.run, host_id, one.device, one.evidence, one.is_idle, type_, region_of(instance.instance_region))
    return Group(shared, ([one.digest], [number], [one.start], [one.end], [one.ratio]))


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
        **{name: resource.get(name, "") for name in _PLACES},
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


@dataclass(frozen=True, slots=True)
class Series:
    """What the points of one metric of one chip share."""

    shared: tuple[Any, ...]  # values of the columns SHARED
    full: float | None  # what a full chip reads; None where the metric only proves that the chip lives
    absent: float | None  # the use of a chip that lives and reports none

    def groups(self, points: Iterable[_Sampled]) -> Iterator[Group]:
        """Points as samples. One that cannot be read ends them: those before it are samples, then SampleError is raised."""
        own: list[tuple[Any, ...]] = []
        _, host, chip, *_ = self.shared
        try:
            for line, start, end, value in points:
                ratio = self.absent if self.full is None else ratio_of(value, self.full)
                # copies of a point are one: metrics that prove the same chip alive, or two pods that report it while it changes
                # hands
                observed = (host, chip, start, end, ratio, self.full is not None)
                own.append((hashlib.sha256(repr(observed).encode()).hexdigest(), line, start, end, ratio))
        finally:
            if own:
                yield Group(self.shared, (*zip(*own, strict=True),))


def series_of(metric: str, labels: Mapping[str, str], unit: str | None, facts: KeyFacts, *, is_complete: bool) -> Series | None:
    """Read who and what a series is of; None when it is no metric of a TPU chip. `is_complete`: its answer reports no errors."""
    match = _METRIC.search(metric)
    if not match or labels.get("make", "cloud-tpu") != "cloud-tpu":
        return None
    accelerator = labels.get("accelerator_id")
    # of a TPU's node also the labels say so: gke-tpu-accelerator, gke-tpu-topology
    is_of_tpu = accelerator or "tpu" in metric or "make" in labels or any("tpu" in name for name in labels)
    if not is_of_tpu:
        return None  # a metric of the same name that some other exporter writes
    host, index = _chip(accelerator)
    run = facts.run or first_label(labels, RUNS)
    host = host or first_label(labels, _HOSTS) or facts.host or _worker(labels, run)
    if not host:
        remedy = "Keep the label accelerator_id, or name the host in the key as host=<resource_id>."
        raise SampleError("missing_host", "accelerator_id", remedy)
    if index is None:
        names = ("chip", "chip_id", "device")
        index = next((int(labels[name]) for name in names if _CHIP_NUMBER.fullmatch(labels.get(name, ""))), None)
    named = [value for name, value in labels.items() if _TYPE_LABEL.search(name) and value]
    type_ = next(filter(None, map(tpu_type_of, named)), None) or accelerator_type_of(labels.get("model"))
    region = region_of(*(labels.get(name) for name in _PLACES)) or region_in(host)
    is_utilisation = match[1] == "duty_cycle"
    evidence, is_idle = ("measured", False) if is_utilisation else ("presence", is_complete)
    full = 1.0 if unit in _UNITS_OF_RATIOS else 100.0
    shared = (run, host, index, evidence, is_idle, type_, region)
    return Series(shared, full if is_utilisation else None, 0.0 if is_complete else None)


def ratio_of(value: float | None, full: float) -> float | None:
    """A duty cycle as 0 to 1; None where it is no number."""
    if value is None or not math.isfinite(value):
        return None
    if value < 0:
        raise SampleError("negative_utilisation", "duty_cycle", "Deliver duty cycles between 0 and 100 percent.")
    return min(round(value / full, 12), 1.0)


def _chip(accelerator: str | None) -> tuple[str | None, int | None]:
    """Split `<node resource_id>-<n>`; an id without a number at its end is a host, a short number alone is a chip."""
    if accelerator and _CHIP_NUMBER.fullmatch(accelerator):
        return None, int(accelerator)
    host, _, index = (accelerator or "").rpartition("-")
    if host and _CHIP_NUMBER.fullmatch(index):
        return host, int(index)
    return accelerator or None, None


def _worker(labels: Mapping[str, str], run: str | None) -> str | None:
    """The host of a TPU VM's worker: its instance's id, else its number, which is unique within its run only."""
    worker = labels.get("worker_id")
    if not worker or _INSTANCE.fullmatch(worker):
        return worker or None
    return f"{run}/worker-{worker}" if run else None


_READERS = {
    packed(".prom", ".txt"): Reader(_prometheus, SHARED, _OWN),
    (*_LINES, *packed(".json")): Reader(_answers, SHARED, _OWN),
}
find_deliveries, convert = find_and_convert(KIND, _READERS)
