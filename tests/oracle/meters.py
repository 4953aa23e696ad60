"""How far a reading of power may be off: by its meter, and where it is of one moment by its sampling.

Shares are whole parts per million of the reading; neither bound is further from it than the reading itself.
"""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

from .months import bounds, month_of
from .seeds import meter_error, sampling_error

FULL = 1_000_000
_HOUR = 3_600 * FULL
_TWO_DAYS = 48 * _HOUR
Range = tuple[int, int]


def bounded(figure: int, kind: str, meter: str, sampling: Range = (0, 0)) -> Range:
    """The figure less and more, rounded outwards."""
    shares = (min(int(share * FULL) + more, FULL) for share, more in zip(meter_error(kind, meter), sampling, strict=True))
    low, high = shares
    return figure * (FULL - low) // FULL, -(-figure * (FULL + high) // FULL)


def sampling_of(spacing: int, spread: int) -> Range:
    """A seeded share by the spacing, or what neighbours show where that is more."""
    low, high = (max(int(share * FULL), spread) for share in sampling_error(Fraction(spacing, FULL)))
    return low, high


def spreads(points: Iterable[tuple[int, int]]) -> dict[int, int]:
    """By clock hour: twice the standard error of the mean of its points, from the steps between neighbours, over the mean.

    The variance of a point is half the mean square of the steps, so that of the mean is that over the number of points.
    """
    steps: dict[int, list[int]] = defaultdict(list)
    figures: dict[int, list[int]] = defaultdict(list)
    before: tuple[int, int] | None = None
    for at, figure in sorted(points):
        hour = (at - 1) // _HOUR
        figures[hour].append(figure)
        if before is not None and before[0] > bounds(month_of(at - 1))[0] - _TWO_DAYS:
            steps[hour].append(figure - before[1])
        before = at, figure
    found = {}
    for hour, of_hour in figures.items():
        squares, total = 2 * sum(step**2 for step in steps[hour]), sum(of_hour)
        # half up: floor(x + 1/2) is (floor(2x) + 1) // 2
        found[hour] = min((isqrt(4 * squares * FULL**2 // total**2) + 1) // 2, FULL) if total else 0
    return found


def spread_at(found: dict[int, int], at: int) -> int:
    return found[(at - 1) // _HOUR]
