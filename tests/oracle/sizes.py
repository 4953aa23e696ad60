"""How many chips a TPU VM has: it is sold with 1, 4 or 8, and what is billed for full intervals shows which, month by month."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from fractions import Fraction

from . import facts as facts_of_aws
from . import google_facts as facts
from .google_clusters import wider_name
from .google_lines import QUANTITY, GoogleLine
from .hyperpod import is_together
from .lines import Line
from .months import bounds, by_month
from .records import STILL_HELD, Runs, Window, is_job

SIZES = (1, 4, 8)
FOUR_CHIPS_A_UNIT = ("v2", "v3", "v4")
SOLD_IN_SIZES = ("v5e", "v6e")
HOUR_UNITS = ("", "h", "hour", "hours")
_HOUR = 3_600_000_000
Sizes = dict[date, dict[str, int]]


def _is_full(start: int, end: int, times: set[tuple[int, int]], windows: Iterable[Window]) -> bool:
    """Billed just before and just after as well, or held by one record all the time."""
    if any(each_end == start for _, each_end in times) and any(each_start == end for each_start, _ in times):
        return True
    return any(window.start <= start and end <= window.end < STILL_HELD for window in windows)


def _snapped(chips: Fraction) -> int:
    """Billed amounts are rounded: a hundredth over a size is that size. More than 8 chips are a slice."""
    return next((size for size in SIZES if chips <= size * Fraction(101, 100)), int(chips + Fraction(1, 2)))


def _of_a_sole_holder(windows: list[Window]) -> int | None:
    """The recorded chips of machines that are sold in sizes and never had two windows at a time."""
    if not all(window.accelerator_type in SOLD_IN_SIZES and window.chips is not None for window in windows):
        return None
    for window in windows:
        for other in windows:
            if window is not other and window.start < other.end and other.start < window.end:
                return None
    if any(window.chips % 1 for window in windows):
        return None  # of a chip that is shared
    chips = max(window.chips for window in windows)
    return chips if 0 < chips <= SIZES[-1] else None


def sizes_of(lines: Iterable[GoogleLine], aws_lines: Iterable[Line], runs: Runs) -> Sizes:
    """Sizes that evidence shows; what is missing here has that of its type."""
    billed: dict[tuple[date, str], dict[tuple[int, int], Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for line in lines:
        is_tpu = line.generation != "" or (line.component == "accelerator" and facts.is_tpu(line.sku))
        if line.is_usage and not line.is_unused and is_tpu and line.pricing_unit in HOUR_UNITS:
            unit = 4 if line.generation in FOUR_CHIPS_A_UNIT else 1
            for name in line.held_names:
                billed[line.usage_month, name][line.start, line.end] += Fraction(line.pricing_units * unit, 10**QUANTITY)
    sizes: Sizes = defaultdict(dict)
    for (month, name), amounts in billed.items():
        full = [
            hours * _HOUR / (end - start)
            for (start, end), hours in amounts.items()
            if end > start and _is_full(start, end, set(amounts), runs.windows.get(name, ()))
        ]
        if full and max(full) > 0:
            # a pool has any number of chips
            sizes[month][name] = max(1, int(max(full) + Fraction(1, 2))) if wider_name(name) else _snapped(max(full))
    for line in aws_lines:
        for name in filter(is_together, line.of_cluster if line.machine_us else ()):
            chips = Fraction(line.machine_us * facts_of_aws.chips_of(line.instance_type), line.end - line.start)
            sizes[line.usage_month][name] = max(sizes[line.usage_month].get(name, 1), int(chips + Fraction(1, 2)))
    for month, names in _held_by_month(runs).items():
        for name in names:
            if name not in sizes[month] and not is_job(name):
                first, last = bounds(month)
                of_month = [window for window in runs.windows[name] if window.start < last and window.end > first]
                if chips := _of_a_sole_holder(of_month):
                    sizes[month][name] = chips
    return sizes


def _held_by_month(runs: Runs) -> dict[date, set[str]]:
    found: dict[date, set[str]] = defaultdict(set)
    for name, windows in runs.windows.items():
        for window in windows:
            for month, *_ in by_month(window.start, window.start + 1 if window.end == STILL_HELD else window.end):
                found[month].add(name)
    return found
