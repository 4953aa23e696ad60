"""Power of Neuron devices as the driver states it: sysfs as text or wrapped by a recorder, OpenTelemetry, Neuron Observer.

All state a share of full power and none states watts. Prometheus text also has the use of devices, landed beside it. What a share
means in watts, and which of several readings counts, is decided in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from connectors.formats.otlp_json import OtlpPoint, ResourceMetrics
from connectors.formats.prometheus_text import labels_of, parse_prometheus
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import packed
from connectors.power.devices import OneScrape, device_reader, owner_of
from connectors.power.neuron_exporters import METRICS, OWNER, Scrapes, Series, is_known, numbered, series_of
from connectors.power.neuron_sysfs import DRIVER_LINE, UNTIMED, PowerLine, device_in, live_line, power_line
from connectors.power.readings import COLUMNS, Owner, Reading, document_hash_of, schema_of
from connectors.telemetry.converting import find_and_convert
from connectors.telemetry.exporters import BAD_TEXT, checked_time, exported, known_series
from connectors.telemetry.samples import Host, KeyFacts, Problems, SampleError, decode_json, documents_of, micros_or_none

KIND = "neuron_power"
SCHEMA = schema_of(KIND)

_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Deliver the recorder's lines, or export requests of OpenTelemetry as JSON."
_STAMP = "Stamp lines in UTC, as 2026-04-01T00:00:00Z."


class Line(msgspec.Struct, gc=False):
    """A recorder's line around what it read in sysfs, or an export request of OpenTelemetry."""

    collected_at: str | None = None
    host: Host | None = None
    run: str | None = None
    path: str | None = None
    device: int | None = None
    text: str | None = None
    resource_metrics: list[ResourceMetrics] | None = msgspec.field(default=None, name="resourceMetrics")


_LINE = msgspec.json.Decoder(Line)


def _documents(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The lines, or the one document that a .json file may be."""
    for number, text in documents_of(file, _LINES):
        with problems.left_out(number):
            line = decode_json(_LINE, text, _REMEDY, broken="A line cut off by a crash stays lost; else deliver whole JSON.")
            if line.resource_metrics is not None:
                yield from _exported(line.resource_metrics, number, facts, problems)
            elif line.text is not None:
                yield _recorded(line, line.text, number, facts)
            else:
                raise SampleError("wrong_type", "text", _REMEDY)


def _recorded(line: Line, text: str, number: int, facts: KeyFacts) -> Reading:
    collected = None if line.collected_at is None else micros_or_none(line.collected_at, "collected_at", _STAMP)
    path = line.path or ""
    found = live_line(text, collected) if path.rstrip("/").endswith("utilization_raw") else power_line(text, collected)
    device = device_in(path) if line.device is None else line.device
    return _reading(found, owner_of(line.host, line.run, facts), device, number)


def _reading(found: PowerLine, owner: Owner, device: int | None, number: int) -> Reading:
    if device is None or not 0 <= device < 1024:
        raise SampleError("missing_device", "path", "Name the device by the path of its node, .../neuron0/..., or in the key.")
    digest = document_hash_of("neuron_sysfs", owner.host_id, owner.run_key, device, *found)
    start, end, share = found
    return Reading(digest, number, *owner, device, start, end, "neuron_sysfs", power_ratio=share)


def _exported(metrics: list[ResourceMetrics], number: int, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The points of a request; a bad one is left out by itself."""
    for metric, points in exported(metrics, _REMEDY):
        if not is_known(metric.name):
            problems.pass_by(metric.name)
            continue
        known: list[tuple[Series, OtlpPoint]] = []
        for point in points:
            with problems.left_out(number):
                if series := series_of(metric.name, point.attributes, metric.unit, facts):
                    known.append((series, point))
        for series, (_, point) in zip(numbered(known), known, strict=True):
            with problems.left_out(number):
                yield series.reading(number, point.time, point.value)


def _texts(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """Lines of sysfs between the notes of people, or what a Prometheus exporter answers."""

    series = known_series(partial(series_of, unit="", facts=facts))
    scrapes, untimed = Scrapes(), OneScrape()
    device, is_exporters, is_empty = device_in(f"/{file.key}"), ".prom" in file.key.lower(), True
    for number, raw in file.lines():
        text = raw.decode("utf-8", "replace").strip()
        is_line = DRIVER_LINE.search(text) is not None
        named = device_in(text, is_notes=not is_line)
        device = device if named is None else named
        try:
            if is_line:
                is_empty = False
                found = live_line(text, None) if "utilization_raw" in text else power_line(text, facts.started_at)
                yield _reading(found, owner_of(None, None, facts), device, number)
                continue
            point = parse_prometheus(text)
            if point is not None:
                is_empty = False
                time = point.time or facts.started_at or 0
                if point.metric in METRICS or is_known(point.metric):
                    untimed.check(point)
                if point.metric in METRICS:
                    labels = labels_of(point.labels)
                    scrapes.add(OWNER.owner(labels, facts), checked_time(time), number, point.metric, labels, point.value)
                    yield from scrapes.readings(problems, is_end=False)
                elif one := series(point.metric, point.labels):
                    yield one.reading(number, time, point.value)
                else:
                    problems.pass_by(point.metric)
        except SampleError as error:
            problems.add(number, error)
        except ValueError:
            if UNTIMED.search(text):
                is_empty = False
                problems.add(number, SampleError("missing_time", None, "Deliver the driver's whole lines, with their epoch."))
            elif is_exporters:
                problems.add(number, BAD_TEXT)
    yield from scrapes.readings(problems, is_end=True)
    if is_empty and not is_exporters:
        problems.add(1, SampleError("bad_text", None, "Deliver the lines of stats/power/utilization as the driver writes them."))


_READERS = {
    packed(".prom", ".txt", ".log"): device_reader(_texts, COLUMNS),
    (*_LINES, *packed(".json")): device_reader(_documents, COLUMNS),
}
find_deliveries, convert = find_and_convert(KIND, _READERS)
