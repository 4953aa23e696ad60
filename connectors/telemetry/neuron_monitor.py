"""neuron-monitor's JSON lines, plain or compressed: a sample per document and Neuron device, one delivery per file.

Documents carry neither time nor run. A collector wraps them and stamps its host and the time they arrived, which ends their
period; a bare document takes its host from the object's key and its time from the key's start plus the periods before it.
Utilisation is not power: what it costs in energy is decided in SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial

import msgspec

from connectors.formats.schema import Schema
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import find_file_deliveries
from connectors.telemetry.neuron_documents import Document, devices_of, period_of, run_tag_of
from connectors.telemetry.samples import (
    COLUMNS,
    KeyFacts,
    Problems,
    Sample,
    SampleError,
    convert_with,
    decode_json,
    micros_or_none,
)

KIND = "neuron_monitor"
SCHEMA = Schema(COLUMNS, remedy_page="docs/sources/neuron_monitor.md")

_REMEDY = "Deliver neuron-monitor's documents as it prints them."
_ENDINGS = tuple(f"{name}{packed}" for name in (".jsonl", ".ndjson", ".json") for packed in ("", ".gz", ".zst"))


class Host(msgspec.Struct):
    """Where a collector ran."""

    resource_id: str | None = None
    instance_type: str | None = None


class Line(Document):
    """A line: a document wrapped by a collector, or a bare one."""

    collected_at: str | None = None
    host: Host | None = None
    document: Document | None = None


_LINE = msgspec.json.Decoder(Line)
_CANONICAL = msgspec.json.Encoder(order="deterministic")


def _samples(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Sample]:
    clock = None if facts.started_at is None else facts.started_at * 1000  # nanoseconds: periods are that fine
    length = 0
    for number, text in file.lines():
        before = clock
        try:
            line = decode_json(
                _LINE, text, _REMEDY, broken="A line cut off by a crash stays lost; else deliver whole lines of JSON."
            )
            document = line.document or line
            period = period_of(document)
            if period is None:
                raise SampleError("missing_period", "period", "Keep the groups of neuron-monitor's default configuration.")
            length = round(period * 1e9)
            remedy = "Stamp documents in UTC, as 2026-04-01T00:00:00Z."
            collected = None if line.collected_at is None else micros_or_none(line.collected_at, "collected_at", remedy)
            if collected is not None:
                end = collected * 1000
                clock = None if clock is None else end  # a bare document after it goes on from there
            elif clock is None:
                remedy = "Wrap each document with collected_at, or name the object by its UTC start."
                raise SampleError("missing_time", "collected_at", remedy)
            else:
                clock = end = clock + length
            yield from _devices(line, document, facts, number, (end - length) // 1000, end // 1000)
        except SampleError as error:
            problems.add(number, error)
            if clock is not None and clock == before:
                clock += length  # a bare line that cannot be read took time too, most likely as much as the one before it


def _devices(line: Line, document: Document, facts: KeyFacts, number: int, start: int, end: int) -> Iterator[Sample]:
    host = line.host or Host()
    instance = document.instance_info
    host_id = host.resource_id or facts.host or (instance.instance_id if instance else None)
    if not host_id:
        raise SampleError("missing_host", "host.resource_id", "Name the host in the wrapper or in the key as host=<resource_id>.")
    devices = devices_of(document)
    is_idle = not document.neuron_runtime_data
    type_ = (instance.instance_type if instance else None) or host.instance_type or None
    run = facts.run or run_tag_of(document)
    # of what is read, with host and time: spelling, order of fields and other metrics do not count
    read = [getattr(document, name) for name in Document.__struct_fields__]
    digest = hashlib.sha256(_CANONICAL.encode([host_id, start, end, read])).hexdigest()
    count, evidence = len(devices), "presence" if is_idle else "measured"
    for index, (ratio, flops) in enumerate(devices):
        yield Sample(digest, number, run, host_id, index, count, start, end, ratio, evidence, is_idle, type_, flops)


find_deliveries = partial(find_file_deliveries, kind=KIND, endings=_ENDINGS)
convert = partial(convert_with, read=_samples)
