"""MLPerf power logs by the official rule: the mean of a node's power window, over the time that the run took.

Rule: mlcommons/logging, result_summarizer.py, `_compute_power_node` and `_compute_power_sw`, read 2026-11-22 at 7bbf792. The
power window begins before the run and ends after it; the rule takes its mean as that of the run. So the reading of a node covers
the run, from run_start to run_stop. A switch is an estimate by data sheet; readings in its log do not count (ADR 0055).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from connectors.deliveries import Delivery, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.mllog import Log, count_of, read_system
from connectors.formats.text_lines import TextFile
from connectors.layouts.mlperf_results import Result, results_of
from connectors.power.readings import MOST_WATTS, NODE, Owner, Reading, document_hash_of
from connectors.stores import ObjectInfo
from connectors.telemetry.samples import is_recorded

METER, SWITCH = "mlperf", "switch"
_MS = 1000  # microseconds


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean watts of a node's power window before losses are taken off, with the window in milliseconds."""

    watts: Fraction
    from_ms: int
    to_ms: int


def mean_of(log: Log) -> Mean | None:
    """The mean over the power window; None where the log has no window or no reading in it."""
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
    return Mean(total / (end - start), start, end) if end > start else None


def efficiency_of(log: Log) -> Fraction:
    """What reaches the machine of what the meter reads: 1 where the log does not say. The last one counts, as in the rule."""
    found = [event.number for event in log.events if event.key == "conversion_eff" and event.number is not None]
    return found[-1] if found else Fraction(1)


def _is_window(start_ms: int, stop_ms: int) -> bool:
    return start_ms < stop_ms and is_recorded(start_ms * _MS) and is_recorded(stop_ms * _MS)


class ResultReader:
    """The readings of one result, and remarks for what is not as it should be."""

    def __init__(self, delivery: Delivery, files: dict[str, Path], store_uri: str) -> None:
        self._delivery, self._files, self._uri = delivery, files, store_uri
        (self._result,) = results_of(delivery.objects)
        self.remarks: list[Refusal] = []

    def readings(self, *_: object) -> Iterator[Reading]:
        """A row for each node and switch."""
        result = self._result
        if result.log is None:
            key = result.objects[0].key
            raise ExportContentError(
                f"{self._uri}/{key}: there is no log of the run beside this power log.",
                place=Place(key),
                reason="missing_result_log",
                remedy="Add <benchmark>/result_K.txt: without run_start and run_stop the rule gives no energy.",
            )
        start, stop = self._window(result.log)
        rows = [
            *(self._node(result, info, (start, stop)) for info in result.nodes.values()),
            *map(self._switch, result.switches.values()),
        ]
        self._check_nodes(result)
        for line, host, component, watts in rows:
            digest = document_hash_of(result.name, start, stop, line, host, component, watts)
            place = (digest, line, *Owner(host, result.name), None, start * _MS, stop * _MS, METER)
            yield Reading(*place, watts, boundary=NODE, component=component)

    def _window(self, info: ObjectInfo) -> tuple[int, int]:
        log = self._read(info)
        start, stop = log.first("run_start"), log.first("run_stop")
        if start is None or stop is None or not _is_window(start.time_ms, stop.time_ms):
            raise ExportContentError(
                f"{self._uri}/{info.key}: run_start and a later run_stop are not both in this log.",
                place=Place(info.key, column_name="run_stop"),
                reason="missing_run_window",
                remedy="Deliver the log of a run that ended; without its length the rule gives no energy.",
            )
        return start.time_ms, stop.time_ms

    def _node(self, result: Result, info: ObjectInfo, window: tuple[int, int]) -> tuple[int, str, None, float | None]:
        log, machine = self._read(info), result.node_of(info)
        mean = mean_of(log)
        if mean is None:
            self._remark(info, 1, "no_power_window", "it has no power_measurement_start with readings after it: unknown, not 0")
            return 1, machine, None, None
        if mean.to_ms <= window[0] or mean.from_ms >= window[1]:
            self._remark(
                info, 1, "power_window_elsewhere", "its power window lies outside the run; the rule takes its mean nevertheless"
            )
        return 1, machine, None, self._watts(info, mean.watts * efficiency_of(log))

    def _switch(self, info: ObjectInfo) -> tuple[int, None, str, float | None]:
        log = self._read(info)
        estimate = log.first("interconnect_power_est")
        if estimate is None or estimate.number is None:
            self._remark(
                info,
                1,
                "switch_without_estimate",
                "it has no interconnect_power_est; readings of a switch do not count by the rule",
            )
            return 1, None, SWITCH, None
        # the rule stops reading at the estimate: an efficiency behind it does not count
        before = Log(log.events[: log.events.index(estimate)])
        return estimate.line, None, SWITCH, self._watts(info, estimate.number * efficiency_of(before))

    def _watts(self, info: ObjectInfo, watts: Fraction) -> float | None:
        """Watts as read; what no meter reads is unknown, with a remark."""
        if 0 <= watts < MOST_WATTS:
            return float(watts)
        self._remark(info, 1, "wrong_power", "its mean is not the watts of a machine: unknown, not 0")
        return None

    def _check_nodes(self, result: Result) -> None:
        system = read_system(self._files[result.system.key]) if result.system else {}
        stated = count_of(system, "number_of_nodes")
        if stated and len(result.nodes) < stated:
            what = f"{len(result.nodes)} of {stated} nodes have a power log; the others count by the model"
            self._remark(result.objects[0], None, "nodes_without_meter", what)

    def _read(self, info: ObjectInfo) -> Log:
        log = Log.read(TextFile(self._files[info.key], info.key, f"{self._uri}/{info.key}"))
        if log.broken:
            self._remark(info, log.broken[0], "bad_json", f"{len(log.broken)} lines marked :::MLLOG cannot be read")
        return log

    def _remark(self, info: ObjectInfo, line: int | None, reason: str, what: str) -> None:
        remedy = "Deliver the log as the benchmark wrote it; see docs/sources/power_meters.md."
        place = Place(info.key, row_number=line)
        error = ExportContentError(f"{self._uri}/{info.key}: {what}.", place=place, reason=reason, remedy=remedy)
        self.remarks.append(refusal_of(self._delivery, error))
