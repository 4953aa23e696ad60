"""Half quarters of a workload, the pairs that settled in them, and the value of each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from tests.comparison.second.sequence import Totals

Pair = dict[str, Any]
PRIMARY = ("cost_per_run_to_target", "cost_per_run_of_fixed_work")


def half_quarter(moment: dt.date) -> dt.date:
    """The first day of the half quarter of a day: of the quarter, or the 16th of its second month."""
    first = dt.date(moment.year, (moment.month - 1) // 3 * 3 + 1, 1)
    second = dt.date(first.year, first.month + 1, 16)
    return second if dt.date(moment.year, moment.month, moment.day) >= second else first


def quarter_end(moment: dt.date, quarters: int = 1) -> dt.date:
    """The first day after the quarter of a day, or after further quarters."""
    months = moment.year * 12 + (moment.month - 1) // 3 * 3 + 3 * quarters
    return dt.date(months // 12, months % 12 + 1, 1)


@dataclass
class Cluster:
    """The deciding pairs of a half quarter, or of several where a side reached nothing in the first ones."""

    start: dt.date
    closed_on: dt.date
    pairs: list[Pair] = field(default_factory=list)

    def halves(self) -> set[dt.date]:
        """The half quarters that it is made of."""
        return {half_quarter(pair["settled_at"]) for pair in self.pairs}

    def totals(self) -> Totals:
        """Of all launches of all its pairs."""
        return sum((totals_of(pair) for pair in self.pairs), Totals())

    def is_over(self, half: dt.date, *, is_primary: bool) -> bool:
        """Whether a half quarter is its own: from its first to its last, and of one without a value all that follow."""
        is_open = is_primary and self.totals().unreached is not None
        return self.start <= half and (is_open or half <= max(self.halves()))


def totals_of(pair: Pair) -> Totals:
    return Totals(
        float(pair["trainium_total"]), float(pair["tpu_total"]), int(pair["trainium_reached"]), int(pair["tpu_reached"])
    )


def form(pairs: Iterable[Pair], end: dt.date, waiting: Collection[dt.date], *, is_primary: bool) -> list[Cluster]:
    """What is closed by the end of a quarter, in the order of time; one with a launch that goes on waits and is left out."""
    return [one for one in every(pairs, end, is_primary=is_primary) if not one.halves() & {*waiting}]


def unreached(pairs: Iterable[Pair], end: dt.date, waiting: Collection[dt.date]) -> set[str]:
    """The sides that have reached nothing in some cluster yet; of one that waits what was before it counts."""
    found = set[str]()
    for one in every(pairs, end, is_primary=True):
        held = min(one.halves() & {*waiting}, default=dt.date.max)
        before = [pair for pair in one.pairs if half_quarter(pair["settled_at"]) < held]
        found |= {side for side in ("trainium", "tpu") if before and not sum(pair[f"{side}_reached"] for pair in before)}
    return found


def every(pairs: Iterable[Pair], end: dt.date, *, is_primary: bool) -> list[Cluster]:
    """The same with those that wait."""
    found: dict[dt.date, Cluster] = {}
    for pair in pairs:
        start = half_quarter(pair["settled_at"])
        if quarter_end(start) <= end:
            found.setdefault(start, Cluster(start, quarter_end(start))).pairs.append(pair)
    ordered = [found[start] for start in sorted(found)]
    return joined(ordered) if is_primary else ordered


def lacking(
    pairs: Iterable[Pair], clusters: Collection[Cluster], waiting: Collection[dt.date], *, is_primary: bool
) -> list[Pair]:
    """Of pairs without a figure those that count: not in a half quarter or under a cluster that waits, or that has no value."""
    out = [one for one in clusters if one.halves() & {*waiting} or log_value(one, is_primary=is_primary) is None]
    of_halves = ((pair, half_quarter(pair["settled_at"])) for pair in pairs)
    return [
        pair
        for pair, half in of_halves
        if half not in waiting and not any(one.is_over(half, is_primary=is_primary) for one in out)
    ]


def waiting(pairs: Iterable[Pair]) -> set[dt.date]:
    """The half quarters in which a launch of a registered pair that keeps its promise goes on; of one workload."""
    kept = (pair for pair in pairs if pair["is_registered"] and pair["promise"] in ("to_target", "fixed_work"))
    running = (pair for pair in kept if pair["trainium_is_running"] or pair["tpu_is_running"])
    return {half_quarter(pair["settled_at"]) for pair in running}


def joined(ordered: Sequence[Cluster]) -> list[Cluster]:
    """Each cluster in which a side reached nothing becomes a part of the next one."""
    found: list[Cluster] = []
    for one in ordered:
        if found and found[-1].totals().unreached:
            found[-1] = Cluster(found[-1].start, one.closed_on, [*found[-1].pairs, *one.pairs])
        else:
            found.append(one)
    return found


def log_value(cluster: Cluster, *, is_primary: bool) -> float | None:
    """x of a cluster; null where a side reached nothing."""
    if is_primary:
        totals = cluster.totals()
        return None if totals.unreached else totals.log_ratio
    logs = [log_ratio(pair) for pair in cluster.pairs]
    return round(sum(logs) / len(logs), 12)


def log_ratio(pair: Pair) -> float:
    """ln of TPU over Trainium, at twelve decimals."""
    return round(log(pair["tpu_value"] / pair["trainium_value"]), 12)
