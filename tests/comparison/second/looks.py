"""One series at the end of a quarter: as it is, moved by the terms of power, and with what is missing at its extremes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log

from tests.comparison.second import clusters as formed
from tests.comparison.second.clusters import Cluster, Pair
from tests.comparison.second.power import Shifts
from tests.comparison.second.sequence import FEWEST, Totals, Values, jackknife

LACKING = 0.1
Variant = tuple[Values, float]  # a sequence and what moves it


@dataclass(frozen=True)
class Look:
    """The clusters of a series that have a value and are closed, and the pairs that lack a side."""

    clusters: tuple[Cluster, ...]
    is_primary: bool
    unreached: Collection[str] = ()  # the sides that reached nothing in a cluster that waits for it
    lacking: tuple[Pair, ...] = ()
    shifts: Shifts | None = None

    @property
    def n(self) -> int:
        return len(self.clusters)

    @cached_property
    def pairs(self) -> list[Pair]:
        return [pair for one in self.clusters for pair in one.pairs]

    @cached_property
    def values(self) -> Values:
        return self._values(self.clusters)

    def _values(self, clusters: Sequence[Cluster]) -> Values:
        found = [formed.log_value(one, is_primary=self.is_primary) for one in clusters]
        return Values(tuple(one for one in found if one is not None))

    @cached_property
    def totals(self) -> tuple[float, float, float] | None:
        """The logarithm of the ratio of totals and its interval."""
        return jackknife([one.totals() for one in self.clusters]) if self.is_primary else None

    @property
    def total(self) -> float | None:
        """The logarithm of the ratio of totals alone."""
        return sum((one.totals() for one in self.clusters), Totals()).log_ratio if self.is_primary and self.n else None

    @property
    def moved(self) -> tuple[float, ...]:
        """What the sequence is moved by, first as it is."""
        return (0.0, self.shifts.low, self.shifts.high) if self.shifts else (0.0,)

    @cached_property
    def variants(self) -> list[Variant]:
        """Every sequence that must agree, first as it is."""
        return [(values, shift) for values in (self.values, *self._at_extremes()) for shift in self.moved]

    def _at_extremes(self) -> list[Values]:
        """The values with the missing side of each lacking pair at the highest and at the lowest of its peers."""
        if self.n < FEWEST or len(self.lacking) <= LACKING * (len(self.lacking) + len(self.pairs)):
            return []
        return [self._filled(of_tpu, of_trainium) for of_tpu, of_trainium in ((max, min), (min, max))]

    def _filled(self, of_tpu, of_trainium) -> Values:  # type: ignore[no-untyped-def]
        peers = {"tpu": of_tpu(self._peers("tpu")), "trainium": of_trainium(self._peers("trainium"))}
        filled = {one.start: Cluster(one.start, one.closed_on, list(one.pairs)) for one in self.clusters}
        for pair in self.lacking:
            start = formed.half_quarter(pair["settled_at"])
            held = [one for one in self.clusters if one.is_over(start, is_primary=self.is_primary)]
            in_cluster = held[0].start if held else start
            cluster = filled.setdefault(in_cluster, Cluster(in_cluster, formed.quarter_end(in_cluster)))
            side = pair["missing_side"]
            given = {f"{side}_value": peers[side], f"{side}_total": peers[side], f"{side}_reached": 1}
            cluster.pairs.append(pair | given)
        return self._values([filled[start] for start in sorted(filled)])

    def _peers(self, side: str) -> list[float]:
        """Values of a side."""
        if not self.is_primary:
            return [pair[f"{side}_value"] for pair in self.pairs]
        reached = [pair for pair in self.pairs if pair[f"{side}_reached"]]
        return [float(pair[f"{side}_total"]) / pair[f"{side}_reached"] for pair in reached]

    # what is decided

    @property
    def direction(self) -> int:
        """The sign of the mean as it is."""
        return sign(self.values.mean) if self.n else 0

    @cached_property
    def log_e(self) -> float:
        """The least ln e of all variants; minus infinity where they are not on one side."""
        return least(self.variants)

    @cached_property
    def log_e_of_shifts(self) -> float:
        """The same without the missing figures."""
        return least([(self.values, shift) for shift in self.moved])

    @cached_property
    def is_skewed(self) -> bool:
        return self.values.is_skewed

    @property
    def is_carried_by_totals(self) -> bool:
        """Whether the ratio of totals lies wholly on the side of the mean; asked of skewed primary figures."""
        return self.totals is not None and (self.totals[2] < 0 if self.direction < 0 else self.totals[1] > 0)

    @property
    def factor(self) -> float:
        return log(8) if self.is_skewed else 0.0

    def interval(self, log_needed: float, variants: Sequence[Variant] | None = None) -> tuple[float, float]:
        """From the lowest to the highest end of all variants."""
        ends = [values.interval(log_needed, shift) for values, shift in variants or self.variants]
        return min(low for low, _ in ends), max(high for _, high in ends)


def least(variants: Sequence[Variant]) -> float:
    """ln e of the variant that has the least; minus infinity where two lie on different sides of 0."""
    signs = {sign(round(values.mean + shift, 12)) for values, shift in variants}
    found = [values.log_e(shift) for values, shift in variants]
    is_one_side = len(signs) == 1 and 0 not in signs and None not in found
    return min(one for one in found if one is not None) if is_one_side else -inf


def sign(value: float) -> int:
    return (value > 0) - (value < 0)


def lies_within(interval: tuple[float, float], difference: float) -> bool:
    return interval[0] >= -log(1 + difference) and interval[1] <= log(1 + difference)


def ratio(logarithm: float | None) -> float | None:
    """As printed: null where it is endless."""
    return None if logarithm is None or abs(logarithm) == inf else exp(logarithm)


def at(clusters: Sequence[Cluster], *, is_primary: bool, since: dt.date = dt.date.min, **more) -> Look:  # type: ignore[no-untyped-def]
    """The look over all clusters of a series that are closed, or those closed after a day."""
    values = [formed.log_value(one, is_primary=is_primary) for one in clusters]
    with_value = (one for one, value in zip(clusters, values, strict=True) if value is not None and one.closed_on > since)
    return Look(tuple(with_value), is_primary, **more)
