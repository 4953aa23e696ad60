"""Answers of Cloud Monitoring about TPU chips: how long each gauge's point speaks, and what a silence means.

Google writes no duty cycle for an idle chip, so every other metric of a chip is a sign of life of its host.
"""

import bisect
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from .exports import modified_at, moment
from .months import bounds, month_of
from .neuron import named_in, text_of
from .records import EPOCH, MICROSECOND, microseconds
from .samples import FULL, Sample

REACH = 3  # usual spacings after which a silence is a gap
WHOLE = Fraction(3, 2)  # of them a point covers all
ENOUGH = 3  # spacings of a day that make a usual one
_METRICS = ("duty_cycle", "tensorcore_utilization", "memory_bandwidth_utilization", "memory_used", "memory_total")
_RUN_LABELS = ("training_run_id", "run_id", "run")


@dataclass(frozen=True)
class Series:
    host_id: str
    device: int
    run_key: str | None
    is_use: bool
    region: str | None = field(default=None, compare=False)  # no series of its own where it changes


Points = dict[int, int | None]  # time -> parts per million


def _series_of(entry: dict, key: str) -> Series | None:
    metric = entry["metric"]["type"].rsplit("/", 1)[-1]
    if metric not in _METRICS:
        return None
    own = (entry.get("metadata") or {}).get("userLabels", {})
    labels = {**entry["resource"].get("labels", {}), **own, **entry["metric"]["labels"]}
    host, _, device = labels["accelerator_id"].rpartition("-")
    run = named_in(key, "run") or next((labels[name] for name in _RUN_LABELS if labels.get(name)), None)
    place = entry["resource"].get("labels", {})
    regions = [re.fullmatch(r"(\w+-[a-z]+[0-9]+)(-\w+)?", place.get(name, "")) for name in ("zone", "location")]
    region = next((found[1] for found in regions if found), None)
    return Series(host, int(device), run, metric == "duty_cycle", region)


def _use(value: dict, unit: str) -> int | None:
    number = Fraction(str(next(iter(value.values()))))
    scale = 1 if unit in ("1", "10^2.%", "ratio") else 100
    return min(math.floor(number * FULL / scale + Fraction(1, 2)), FULL)


def _read(location: Path, as_published: datetime | None) -> dict[Series, Points]:
    found: dict[Series, Points] = defaultdict(dict)
    for path in sorted(location.rglob("*.json*")):
        if as_published is not None and modified_at(path) > as_published:
            continue
        key, text = path.relative_to(location).as_posix(), text_of(path)
        answers = [json.loads(line) for line in text.splitlines()] if ".jsonl" in path.name else [json.loads(text)]
        for answer in answers:
            for entry in answer.get("timeSeries") or ():
                series = _series_of(entry, key)
                for point in entry["points"] if series else ():
                    at = microseconds(moment(point["interval"]["endTime"]))
                    use = _use(point["value"], entry.get("unit") or answer.get("unit") or "") if series.is_use else 0
                    found[series][at] = max(use, found[series].get(at, 0))
    return found


def _lower_median(values: list[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


class Spacings:
    """What is usual between the points of a series: in the day, else in the month, else at its host in the month."""

    def __init__(self, found: dict[Series, Points]) -> None:
        self.of_day: dict[tuple[Series, date], list[int]] = defaultdict(list)
        self.pairs: dict[Series, list[tuple[int, int]]] = {}
        self.of_host: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for series, points in found.items():
            self.pairs[series] = [(at, at - before) for before, at in pairwise(sorted(points))]
            self.of_host[series.host_id] += self.pairs[series]
            for at, spacing in self.pairs[series]:
                self.of_day[series, _day(at - 1)].append(spacing)

    def usual(self, series: Series, at: int) -> int | None:
        day = self.of_day[series, _day(at - 1)]
        if len(day) >= ENOUGH:
            return _lower_median(day)
        first, last = bounds(month_of(at - 1))
        for pairs in (self.pairs[series], self.of_host[series.host_id]):
            if near := [spacing for end, spacing in pairs if first < end <= last]:
                return _lower_median(near)
        return None


def _day(at: int) -> date:
    return (EPOCH + at * MICROSECOND).date()


def read_tpu(location: Path, as_published: datetime | None = None) -> Iterator[Sample]:
    found = _read(location, as_published)
    spacings = Spacings(found)
    signs: dict[str, set[int]] = defaultdict(set)
    for series, points in found.items():
        signs[series.host_id].update(points)
    lives = {host: sorted(times) for host, times in signs.items()}
    telling = {month_of(at - 1) for series, points in found.items() if series.is_use for at in points}
    for series, points in found.items():
        before: int | None = None
        for at in sorted(points):
            usual = spacings.usual(series, at)
            if usual is not None and (series.is_use or month_of(at - 1) in telling):
                yield from _cut(_samples(series, points[at], before, at, usual, lives[series.host_id]), at)
            before = at


def _samples(series: Series, use: int | None, before: int | None, at: int, usual: int, lived: list[int]) -> Iterator[Sample]:
    """What a point states of the time before it."""
    silence = usual if before is None else at - before
    covered = silence if silence <= WHOLE * usual else usual
    place = series.host_id, series.run_key, series.device
    yield Sample(*place, at - covered, at, use, not series.is_use, str(at), is_partial=True, region=series.region)
    was_alive = bisect.bisect_right(lived, at - silence) < bisect.bisect_right(lived, at - covered)
    if covered < silence <= REACH * usual and not was_alive:
        yield Sample(
            *place, at - silence, at - covered, use, not series.is_use, str(at), is_partial=True, is_filled=True,
            region=series.region,
        )  # fmt: skip


def _cut(samples: Iterator[Sample], at: int) -> Iterator[Sample]:
    """No month knows the points of the next one."""
    first = bounds(month_of(at - 1))[0]
    for sample in samples:
        if sample.end > first:
            yield replace(sample, start=max(sample.start, first))
