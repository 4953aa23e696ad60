"""Means of steps from a server of metrics: watts, energy and use of GPUs, Neuron devices, TPUs and machines.

A file holds answers of query_range, each with its question or alone, as a person saved it. Answers about the same times belong
together: a GPU's counter of energy takes the place of the mean of its watts, and cores become devices. A step without a value is
a gap. An answer that the server warns of refuses the file. The mean of readings of one moment has how far apart they are, by how
many the server counted, else a step. Which of several readings counts is decided in SQL.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from connectors.errors import ExportContentError, Place
from connectors.formats.costs import spend
from connectors.formats.prometheus_json import Document, Series
from connectors.formats.schema import BigInt, optional
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import packed
from connectors.power.promql import (
    ALIVE,
    CATALOGUE,
    CORE,
    COUNTER,
    HARDWARE,
    LIMIT,
    POWER,
    QUESTIONS,
    SHARE,
    USE,
    Device,
    Observed,
    counted_of,
    is_counter,
    is_of_whole_steps,
    labels_as_read,
    metric_of,
)
from connectors.power.readings import MEASURED, MOST_WATTS, Owner, schema_of
from connectors.power.readings import POWER as POWER_ALONE
from connectors.telemetry.converting import Group, Reader, find_and_convert
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, decode_json, documents_of, is_recorded

__all__ = ["KIND", "QUESTIONS", "SCHEMA", "convert", "find_deliveries"]

KIND = "prometheus"
SCHEMA = schema_of(
    KIND,
    *optional("power_limit_mw", BigInt),  # to which the driver holds a GPU's power in the step
    *optional("spacing_us", BigInt),  # between the readings of one moment whose mean the watts are; null: they are an integral
    *optional("moment_mw", BigInt),  # the mean of such readings beside a counter, by which the power is
    power_limit_mw=0,
    spacing_us=0,
    moment_mw=0,
)

_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Save answers of /api/v1/query_range as the server gives them."
_OTHER_QUERY = (
    "Ask for the mean of a step, avg_over_time(METRIC[60s]), or for the metric itself; of a counter for last_over_time."
)
_OTHER_COUNT = "Ask for count_over_time(METRIC[60s]) with a step of the same length."
_SILENCE = 600  # seconds: over a longer one what a counter grew by is no mean of its time
_LONGEST = 3600  # seconds of a step
_MICROS = 1_000_000
_DECODER = msgspec.json.Decoder(Document)
_SHARED = ("line_number", *Owner._fields, "device_index", "boundary", "component", "meter", "is_idle_by_absence", "is_sampled")
_OWN = (
    *("document_hash", "sample_start", "sample_end", "power_w", "power_ratio", "utilisation_ratio", "evidence"),
    *("power_limit_mw", "spacing_us", "moment_mw"),
)
_Steps = dict[int, float | None]  # by the instant at which a step ends, in microseconds
_Labels = tuple[tuple[str, str], ...]


class _Asked(NamedTuple):
    """An answer that is whole, with what is known of its question."""

    number: int
    query: str | None
    step: float | None
    end: float | None
    series: list[Series]


def _groups(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Group]:
    """Rows of the answers about the same times, as soon as another time begins."""

    @lru_cache(maxsize=1 << 17)  # a series comes again with each window
    def observed(name: str, labels: _Labels) -> Observed | None:
        return CATALOGUE[name].observed(labels_as_read(dict(labels)), facts)

    window: _Window | None = None
    for asked in _answers(file, problems):
        if window is None or asked.end is None or asked.end != window.end:
            if window:
                yield from window.groups(problems)
            window = _Window(asked.end, observed)
        with problems.left_out(asked.number):
            window.take(asked, problems)
    if window:
        yield from window.groups(problems)


def _answers(file: TextFile, problems: Problems) -> Iterator[_Asked]:
    for number, text in documents_of(file, _LINES):
        with problems.left_out(number):
            try:
                found = decode_json(_DECODER, text, _REMEDY, broken="")
            except SampleError as error:
                if error.reason == "bad_json":
                    raise _incomplete(file, number, "is cut off, or is no JSON") from error
                raise
            answer = found if found.answer is None else found.answer
            if answer.warnings:
                raise _incomplete(file, number, "has a warning of the server: series are missing")
            if answer.status != "success":
                raise SampleError("error_answer", answer.error_type or "status", "Ask again: this is a refusal, not an answer.")
            if answer.data is None or answer.data.result_type != "matrix":
                raise SampleError("wrong_type", "data.resultType", _REMEDY)
            yield _Asked(number, found.query, found.step, found.end, answer.data.result)


def _incomplete(file: TextFile, number: int, what: str) -> ExportContentError:
    return ExportContentError(
        f"{file.uri}: the answer in line {number} {what}.",
        place=Place(file.key, row_number=number),
        reason="incomplete_answer",
        remedy="Ask again: a part of an answer would show the rest as idle.",
    )


class _Window:
    """What answers about the same times have, by device and figure."""

    def __init__(self, end: float | None, observed: Callable[[str, _Labels], Observed | None]) -> None:
        self.end, self.observed = end, observed
        self.found: dict[Device, dict[str, _Steps]] = {}
        self.cores: dict[Device, _Steps] = {}
        self.hardware: dict[Device, _Steps] = {}
        self.steps: dict[Device, int] = {}  # how long a step is, in microseconds
        self.moments: dict[Device, dict[tuple[str, _Labels], int]] = defaultdict(dict)  # of a series how many steps have a mean
        self.readings: dict[tuple[str, _Labels], float] = defaultdict(float)  # of which these are the means
        self.line = 0

    def take(self, asked: _Asked, problems: Problems) -> None:
        """Add the series of an answer; SampleError where they are of another function."""
        self.line = self.line or asked.number
        if asked.query is not None and (counted := counted_of(asked.query)):
            self._count(counted, asked.query, asked)
            return
        metric = None if asked.query is None else metric_of(asked.query)
        if asked.query is not None and metric is None:
            raise SampleError("other_query", asked.query[:100], _OTHER_QUERY)
        problems.is_answered |= metric in CATALOGUE and not asked.series
        step = _spacing(asked.series) if asked.step is None else _micros(asked.step)
        for one in asked.series:
            with problems.left_out(asked.number):
                name = metric or one.metric.get("__name__", "")
                observed = self.observed(name, (*one.metric.items(),)) if name in CATALOGUE else None
                if observed is None:
                    problems.pass_by(name)
                elif one.values:
                    if not (step and _MICROS <= step <= _LONGEST * _MICROS):
                        remedy = "Save two points of a series or more, a second to an hour apart."
                        raise SampleError("missing_step", "step", remedy)
                    values = _values(one, observed, step, is_counter(name))
                    if CATALOGUE[name].is_moment:
                        known = sum(value is not None for value in values.values())
                        is_mean = asked.query is not None and is_of_whole_steps(asked.query, step / _MICROS)
                        # a reading by itself is as far from the next as a step is long
                        self.moments[observed.device][name if is_mean else "", (*one.metric.items(),)] = known
                    self._add(observed, values, step)

    def _count(self, metric: str, query: str, asked: _Asked) -> None:
        """Take how many readings the server has; SampleError where it counts some of them twice."""
        if asked.step is None or not is_of_whole_steps(query, asked.step):
            raise SampleError("other_query", query[:100], _OTHER_COUNT)
        for one in asked.series:
            known = (_number(text) for _, text in one.values)
            self.readings[metric, (*one.metric.items(),)] += math.fsum(value for value in known if math.isfinite(value))

    def _spacing(self, device: Device) -> int | None:
        """How far apart the readings of a device are, of several series the most; a step where the server did not count them."""
        if device not in self.moments:
            return None
        step = self.steps[device]
        means = self.moments[device].items()
        apart = (step * known / (self.readings.get(series) or known) for series, known in means if known)
        # whole seconds: a few of a day's readings may be missing
        return min(max(round(max(apart, default=step) / _MICROS), 1) * _MICROS, step)

    def _add(self, observed: Observed, values: _Steps, step: int) -> None:
        device, figure = observed.device, observed.figure
        self.steps[device] = step
        if figure == CORE:
            kept = self.cores.setdefault(device, values)
        elif figure == HARDWARE:
            kept = self.hardware.setdefault(device, values)
        else:
            kept = self.found.setdefault(device, {}).setdefault(figure, values)
        if kept is not values:
            # two series of one device, as of a pod that changes hands: the greater figure
            for time, value in values.items():
                before = kept.get(time)
                kept[time] = value if before is None else before if value is None else max(before, value)

    def groups(self, problems: Problems) -> Iterator[Group]:
        """The rows of each device."""
        with problems.left_out(self.line):
            self._add_devices_of_cores(problems)
        for device, figures in self.found.items():
            shared = (self.line, *device.owner, device.number, device.boundary, device.component, device.meter)
            if rows := _rows(device, figures, self.steps[device], self._spacing(device)):
                yield Group((*shared, device.is_alive_only, False), (*zip(*rows, strict=True),))

    def _add_devices_of_cores(self, problems: Problems) -> None:
        """A device is the mean of all its cores; where a machine lists none, all its devices are idle."""
        listed: dict[Owner, dict[int, dict[int, list[float | None]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        for core, values in self.cores.items():
            for time, value in values.items():
                listed[core.owner][time][core.number or 0].append(value)
        known = {device.owner: device for device in self.hardware}
        for _ in listed.keys() - known.keys():
            problems.add(self.line, SampleError("missing_hardware", "neuron_hardware_info", "Keep it beside the use of cores."))
        for owner, hardware in known.items():
            count, width = hardware.number or 0, int(hardware.component or 1)
            alive, step = self.hardware[hardware], self.steps[hardware]
            spend(count * max(len(alive), len(listed[owner])))
            if any(core >= count * width for cores in listed[owner].values() for core in cores):
                problems.add(self.line, SampleError("core_out_of_range", "neuroncore", "Keep neuron_hardware_info."))
                continue
            for number in range(count):
                mine = range(number * width, (number + 1) * width)
                uses = {
                    time: _mean_of([cores[core] for core in mine if core in cores], width)
                    for time, cores in listed[owner].items()
                }
                absent: _Steps = {time: 0.0 for time in alive if time not in listed[owner]}
                for figure, steps in ((USE, uses), (ALIVE, absent)):
                    if steps:
                        device = Device(hardware.meter, owner, number, is_alive_only=figure == ALIVE)
                        self.found[device], self.steps[device] = {figure: steps}, step


def _mean_of(cores: list[list[float | None]], width: int) -> float | None:
    """The use of a device: of a core that several runtimes use together at most full; unknown where one of them is."""
    uses = [min(math.fsum(use for use in core if use is not None), 1.0) for core in cores]
    return None if any(use is None for core in cores for use in core) else round(math.fsum(uses) / width, 12)


def _values(series: Series, observed: Observed, step: int, is_growth: bool) -> _Steps:
    """The figure of each step; of a counter what it grew by since its reading before, as watts over that time."""
    read: _Steps = {}
    for seconds, text in series.values:
        value = _number(text)
        read[_micros(seconds)] = observed.read(value) if math.isfinite(value) else None
    if not all(map(is_recorded, read)):
        raise SampleError("bad_time", "values", _REMEDY)
    if not is_growth:
        return read
    grown: _Steps = {}
    known: list[tuple[int, float]] = []
    for time, reading in sorted(read.items()):
        # an exporter that looks less often than once a step repeats itself; after ten minutes it counted nothing
        if reading is not None and (not known or reading != known[-1][1] or time - known[-1][0] >= _SILENCE * _MICROS):
            known.append((time, reading))
    for (before, least), (time, most) in pairwise(known):
        watts = (most - least) * _MICROS / (time - before)
        # one that shrank was reset
        if 0 <= watts < MOST_WATTS and time - before <= max(_SILENCE * _MICROS, step):
            spend((time - before) // step)
            grown |= dict.fromkeys(range(time, before, -step), watts)
    return grown


def _rows(device: Device, figures: dict[str, _Steps], step: int, spacing: int | None) -> list[tuple[Any, ...]]:
    """A row for each step in which the device has a figure."""
    counted, gauges = figures.get(COUNTER, {}), figures.get(POWER, {})
    uses, shares = figures.get(USE) or figures.get(ALIVE, {}), figures.get(SHARE, {})
    limits = figures.get(LIMIT, {})
    digest = _digest(device)
    # where readings are further apart than steps, as of a PDU that is looked at every five minutes, each is a point
    is_point = spacing is not None and _usual_distance(gauges or shares) > step
    rows = []
    for end in dict.fromkeys((*counted, *gauges, *uses, *shares, *limits)):
        # the mean by the counter has more than what was drawn at some moments
        moment, exact = gauges.get(end), counted.get(end)
        watts = moment if exact is None else exact
        use, share = uses.get(end), shares.get(end)
        evidence = "presence" if device.is_alive_only else POWER_ALONE if use is None else MEASURED
        ratio = 0.0 if device.is_alive_only else use
        last = end - device.delay
        apart = None if is_point or (moment is None and share is None) else spacing
        beside = None if moment is None or exact is None else round(moment * 1000)
        start = None if is_point and exact is None and (watts is not None or share is not None) else last - step
        rows.append((f"{digest}{last:x}", start, last, watts, share, ratio, evidence, limits.get(end), apart, beside))
    return rows


def _usual_distance(steps: _Steps) -> int:
    """How far apart the steps with a figure usually are: the lower median."""
    ends = sorted(end for end, value in steps.items() if value is not None)
    distances = sorted(after - before for before, after in pairwise(ends))
    return distances[(len(distances) - 1) // 2] if distances else 0


@lru_cache(maxsize=1 << 16)
def _digest(device: Device) -> str:
    return hashlib.sha256(repr(device).encode()).hexdigest()[:32]


def _spacing(series: list[Series]) -> int | None:
    """The step of an answer without its question: the least time between two points of a series."""
    gaps = (_micros(after[0]) - _micros(before[0]) for one in series for before, after in pairwise(one.values))
    return min((gap for gap in gaps if gap > 0), default=None)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise SampleError("wrong_type", "values", _REMEDY) from error


def _micros(seconds: float) -> int:
    if not abs(seconds) < 1e11:
        raise SampleError("bad_time", "values", _REMEDY)
    return round(seconds * _MICROS)


find_deliveries, convert = find_and_convert(KIND, {(*_LINES, *packed(".json")): Reader(_groups, _SHARED, _OWN, SCHEMA.columns)})
