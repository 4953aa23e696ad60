"""neuron-monitor's JSON lines, plain or compressed: a sample per document and Neuron device, one delivery per file.

Documents carry neither time nor run. A collector wraps them and stamps its host and the time they arrived, which ends their
period; a bare document takes its host from the object's key and its time from the key's start plus the periods before it, each
group by its own. A recorder that reduces gives a line per device and minute instead, with sums (reduced).
Utilisation is not power: what it costs in energy is decided in SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from operator import attrgetter

import msgspec

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.schema import BigInt, Schema, optional
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import packed
from connectors.telemetry.converting import Group, Reader, find_and_convert
from connectors.telemetry.neuron_devices import usual_devices
from connectors.telemetry.neuron_documents import Document, Instance, devices_of, periods_of, run_tag_of
from connectors.telemetry.reduced import Reduced, stretch_of
from connectors.telemetry.regions import region_of
from connectors.telemetry.samples import (
    COLUMNS,
    SAMPLE_MEASURES,
    Host,
    KeyFacts,
    Problems,
    SampleError,
    decode_json,
    micros_or_none,
)

KIND = "neuron_monitor"
# of a reduced minute the sum of parts per million times microseconds
COLUMNS_HERE = (*COLUMNS, *optional("used_ppm_us", BigInt))
MEASURES = SAMPLE_MEASURES | {"used_ppm_us": 0}
SCHEMA = Schema(COLUMNS_HERE, remedy_page="docs/sources/neuron_monitor.md", measures=MEASURES)

_REMEDY = "Deliver neuron-monitor's documents as it prints them."
_NO_TIME = "Wrap each document with collected_at, or name the object by its UTC start."
_NO_HOST = "Name the host in the wrapper or in the key as host=<resource_id>."
_UNCLEAR = "Wrap each document with collected_at, or give all groups of neuron-monitor's configuration one period."


class Line(Document, gc=False):
    """A line: a document wrapped by a collector, or a bare one."""

    collected_at: str | None = None
    host: Host | None = None
    document: Document | None = None
    reduced: Reduced | None = None


_LINE = msgspec.json.Decoder(Line)
_CANONICAL = msgspec.json.Encoder(order="deterministic")
_READ = attrgetter(*Document.__struct_fields__)
_SHARED = (
    *("document_hash", "line_number", "run_key", "host_id", "device_count", "sample_start", "sample_end", "evidence"),
    *("is_idle_by_absence", "accelerator_type", "region_id"),
)
_OWN = ("device_index", "utilisation_ratio", "effective_flops", "used_ppm_us")


class Clock:
    """The time of a stream whose lines carry none, in nanoseconds: periods are that fine.

    A group that came again lasted its own period since it came before. Processors every 2 s beside counters every 5 s give the
    lines 2, 4, 5, 6, 8, 10: their periods added up would be 18.
    """

    def __init__(self, now: int | None) -> None:
        self.now, self._start = now, now or 0
        self.length = 0  # of the last line
        self._came: dict[str, int] = {}  # when each group came last
        self._names: list[str] = []  # the groups of the last line

    def stamp(self, periods: dict[str, int], at: int) -> None:
        """A line with a time of its own; a bare line after it goes on from there."""
        if self.now is not None:
            self._set(periods, at, next(iter(periods.values())))

    def advance(self, periods: dict[str, int]) -> int:
        """The end of a bare line; SampleError where its groups do not agree on it."""
        if self.now is None:
            raise SampleError("missing_time", "collected_at", _NO_TIME)
        before = self.now
        came = {name: self._came.get(name, self._start) for name in periods} if self._came else {}
        # a group that did not come for longer than its period (its process had ended) does not count
        ends = [
            max(came[name] + length, before)
            for name, length in periods.items()
            if name in came and came[name] + length > before - length // 2
        ] or [before + max(periods.values())]
        is_clear = max(ends) - min(ends) <= min(periods.values()) // 2
        # where it is not, the shortest step: the lines after it must not be ahead of their time
        end = ends[0] if is_clear else min(ends)
        self._set(periods, end, end - before)
        if not is_clear:
            raise SampleError("unclear_period", "period", _UNCLEAR)
        return end

    def skip(self) -> None:
        """A bare line that cannot be read took time too, most likely as much as the one before it."""
        if self.now is not None:
            self._set(self._names, self.now + self.length, self.length)

    def _set(self, names: Iterable[str], now: int, length: int) -> None:
        self.now, self.length, self._names = now, length, list(names)
        self._came.update(dict.fromkeys(names, now))


def _groups(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
    clock = Clock(None if facts.started_at is None else facts.started_at * 1000)
    for number, text in file.lines():
        before = clock.now
        try:
            line = decode_json(
                _LINE, text, _REMEDY, broken="A line cut off by a crash stays lost; else deliver whole lines of JSON."
            )
            if line.reduced is not None:
                yield _reduced(line, line.reduced, facts, number)
                continue
            document = line.document or line
            periods = periods_of(document)
            if not periods:
                raise SampleError("missing_period", "period", "Keep the groups of neuron-monitor's default configuration.")
            length = next(iter(periods.values()))
            remedy = "Stamp documents in UTC, as 2026-04-01T00:00:00Z."
            collected = None if line.collected_at is None else micros_or_none(line.collected_at, "collected_at", remedy)
            if collected is not None:
                end = collected * 1000
                clock.stamp(periods, end)
            else:
                end = clock.advance(periods)
            yield _group(line, document, facts, number, (end - length) // 1000, end // 1000)
        except SampleError as error:
            problems.add(number, error)
            if clock.now == before:
                clock.skip()


def _group(line: Line, document: Document, facts: KeyFacts, number: int, start: int, end: int) -> Group:
    host = line.host or Host()
    instance = document.instance_info
    host_id = host.resource_id or facts.host or (instance.instance_id if instance else None)
    if not host_id:
        raise SampleError("missing_host", "host.resource_id", _NO_HOST)
    ratios, flops = usual_devices(document) or devices_of(document)
    is_idle = not document.neuron_runtime_data
    type_ = accelerator_type_of((instance.instance_type if instance else None) or host.instance_type)
    region = region_of(instance.instance_region, instance.instance_availability_zone) if instance else None
    run = facts.run or run_tag_of(document)
    # of what is read, with host and time: spelling, order of fields and other metrics do not count
    digest = hashlib.sha256(_CANONICAL.encode([host_id, start, end, _READ(document)])).hexdigest()
    count, evidence = len(ratios), "presence" if is_idle else "measured"
    shared = (digest, number, run, host_id, count, start, end, evidence, is_idle, type_, region)
    return Group(shared, (range(count), ratios, flops, [None] * count))


def _reduced(line: Line, reduced: Reduced, facts: KeyFacts, number: int) -> Group:
    host, instance = line.host or Host(), reduced.instance_info or Instance()
    host_id = host.resource_id or facts.host or instance.instance_id
    if not host_id:
        raise SampleError("missing_host", "host.resource_id", _NO_HOST)
    one = stretch_of(reduced, host_id)
    type_ = accelerator_type_of(instance.instance_type or host.instance_type)
    region = region_of(instance.instance_region, instance.instance_availability_zone)
    shared = (
        one.digest,
        number,
        facts.run,
        host_id,
        one.device_count,
        one.start,
        one.end,
        one.evidence,
        one.is_idle,
        type_,
        region,
    )
    return Group(shared, ([one.device], [one.ratio], [None], [one.used_ppm_us]))


find_deliveries, convert = find_and_convert(
    KIND, {packed(".jsonl", ".ndjson", ".json"): Reader(_groups, _SHARED, _OWN, COLUMNS_HERE)}
)
