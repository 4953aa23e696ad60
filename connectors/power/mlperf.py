"""MLPerf power logs by the official rule: the mean of a node's power window, over the time that the run took.

Rule: mlcommons/logging, result_summarizer.py, `_compute_power_node` and `_compute_power_sw`, read 2026-11-22 at 7bbf792. The
power window begins before the run and ends after it; the rule takes its mean as that of the run. So the reading of a node covers
the run, from run_start to run_stop. A switch is an estimate by data sheet; readings in its log do not count (ADR 0055).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from connectors.deliveries import Delivery
from connectors.errors import ExportContentError, Place
from connectors.formats.mllog import Event, Log, count_of, read_system
from connectors.formats.text_lines import TextFile
from connectors.layouts.mlperf_results import results_of
from connectors.power.readings import MOST_WATTS, NODE, Owner, Reading, document_hash_of
from connectors.stores import ObjectInfo
from connectors.telemetry.samples import is_recorded

METER, SWITCH = "mlperf", "switch"
_MS = 1000  # microseconds
_REMEDY = "Deliver the log as the benchmark wrote it; see docs/sources/power_meters.md."


def mean_of(log: Log) -> tuple[Fraction, int, int] | None:
    """The mean watts over the power window before losses are taken off, and the window in milliseconds; None where the log has no
    window or no reading in it.
    """
    start, stop, last = None, None, None
    total = Fraction(0)
    previous = 0
    for event in sorted(log.events, key=lambda one: one.time_ms):
        if event.key == "power_measurement_start":
            start = previous = event.time_ms
        elif event.key == "power_measurement_stop":
            # a stop that is not after the start is none: Supermicro's logs of v4.0 repeat the start there
            stop = event.time_ms if start is not None and event.time_ms > start else stop
        elif event.key == "power_reading" and start is not None and stop is None and event.number is not None:
            total += event.number * (event.time_ms - previous)
            previous = last = event.time_ms
    if start is None or last is None:
        return None
    end = stop or last
    return (total / (end - start), start, end) if end > start else None


def efficiency_of(events: Iterable[Event]) -> Fraction:
    """What reaches the machine of what the meter reads: 1 where the log does not say. The last one counts, as in the rule."""
    found = [event.number for event in events if event.key == "conversion_eff" and event.number is not None]
    return found[-1] if found else Fraction(1)


class ResultReader:
    """The readings of one result, and remarks for what is not as it should be."""

    def __init__(self, delivery: Delivery, files: dict[str, Path], store_uri: str) -> None:
        self._files, self._uri = files, store_uri
        (self._result,) = results_of(delivery.objects)
        self.remarks: list[ExportContentError] = []

    def readings(self, *_: object) -> Iterator[Reading]:
        """A row for each node and switch."""
        result = self._result
        if result.log is None:
            remedy = "Add <benchmark>/result_K.txt: without run_start and run_stop the rule gives no energy."
            what = "there is no log of the run beside this power log"
            raise self._error(result.objects[0], "missing_result_log", what, remedy)
        window = self._window(result.log)
        for info in result.nodes.values():
            yield self._reading(window, 1, result.node_of(info), None, self._node(info, window))
        for info in result.switches.values():
            line, watts = self._switch(info)
            yield self._reading(window, line, None, SWITCH, watts)
        stated = count_of(read_system(self._files[result.system.key]) if result.system else {}, "number_of_nodes")
        if stated and len(result.nodes) < stated:
            what = f"{len(result.nodes)} of {stated} nodes have a power log; the others count by the model"
            self._remark(result.objects[0], "nodes_without_meter", what, line=None)

    def _window(self, info: ObjectInfo) -> tuple[int, int]:
        log = self._read(info)
        times = [event.time_ms for event in map(log.first, ("run_start", "run_stop")) if event]
        if len(times) < 2 or times[0] >= times[1] or not all(is_recorded(time * _MS) for time in times):
            remedy = "Deliver the log of a run that ended; without its length the rule gives no energy."
            what = "run_start and a later run_stop are not both in this log"
            raise self._error(info, "missing_run_window", what, remedy, column_name="run_stop")
        return times[0], times[1]

    def _reading(
        self, window: tuple[int, int], line: int, host: str | None, component: str | None, watts: float | None
    ) -> Reading:
        (start, stop), run = window, self._result.name
        digest = document_hash_of(run, start, stop, line, host, component, watts)
        place = (digest, line, *Owner(host, run), None, start * _MS, stop * _MS, METER)
        return Reading(*place, watts, boundary=NODE, component=component)

    def _node(self, info: ObjectInfo, window: tuple[int, int]) -> float | None:
        log = self._read(info)
        mean = mean_of(log)
        if mean is None:
            self._remark(info, "no_power_window", "it has no power_measurement_start with readings after it: unknown, not 0")
            return None
        watts, start, end = mean
        if end <= window[0] or start >= window[1]:
            what = "its power window lies outside the run; the rule takes its mean nevertheless"
            self._remark(info, "power_window_elsewhere", what)
        return self._watts(info, watts * efficiency_of(log.events))

    def _switch(self, info: ObjectInfo) -> tuple[int, float | None]:
        log = self._read(info)
        estimate = log.first("interconnect_power_est")
        if estimate is None or estimate.number is None:
            what = "it has no interconnect_power_est; readings of a switch do not count by the rule"
            self._remark(info, "switch_without_estimate", what)
            return 1, None
        # the rule stops reading at the estimate: an efficiency behind it does not count
        before = log.events[: log.events.index(estimate)]
        return estimate.line, self._watts(info, estimate.number * efficiency_of(before))

    def _watts(self, info: ObjectInfo, watts: Fraction) -> float | None:
        """Watts as read; what no meter reads is unknown, with a remark."""
        if 0 <= watts < MOST_WATTS:
            return float(watts)
        self._remark(info, "wrong_power", "its mean is not the watts of a machine: unknown, not 0")
        return None

    def _read(self, info: ObjectInfo) -> Log:
        log = Log.read(TextFile(self._files[info.key], info.key, f"{self._uri}/{info.key}"))
        if log.broken:
            self._remark(info, "bad_json", f"{len(log.broken)} lines marked :::MLLOG cannot be read", log.broken[0])
        return log

    def _remark(self, info: ObjectInfo, reason: str, what: str, line: int | None = 1) -> None:
        self.remarks.append(self._error(info, reason, what, _REMEDY, row_number=line))

    def _error(self, info: ObjectInfo, reason: str, what: str, remedy: str, **place: Any) -> ExportContentError:
        place_ = Place(info.key, **place)
        return ExportContentError(f"{self._uri}/{info.key}: {what}.", place=place_, reason=reason, remedy=remedy)
