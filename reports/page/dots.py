"""Ratios on a log axis: a dot per matched pair, a stroke at their median, a line over the bounds of a modelled median.

A ratio and its reciprocal (0.8 and 1.25) are equally far from the line of no difference, so no direction looks larger than it is.
Colours have no meaning here; modelled ratios are hollow. Every number drawn is in the tables of section 2.
"""

import math
from dataclasses import dataclass
from decimal import Decimal

from reports.page.numbers import significant
from reports.publication import Row

LABEL_WIDTH, VALUE_WIDTH, WIDTH, ROW_HEIGHT = 150, 122, 530, 26
STAGGER = 3.6
LADDERS = (
    (0.8, 0.9, 1.0, 1.11, 1.25),
    (0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0),
    (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
    (0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0),
    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    (0.01, 0.1, 1.0, 10.0, 100.0),
)
LEGEND = (
    ("round", "a pair, billed or reported by the provider"),
    ("round hollow", "a pair, modelled"),
    ("stroke", "median of the pairs"),
    ("span", "bounds of a modelled median"),
)


@dataclass(frozen=True)
class Tick:
    x: str
    label: str
    is_one: bool


@dataclass(frozen=True)
class Dot:
    x: str
    y: str
    title: str


@dataclass(frozen=True)
class DotLine:
    """One measure: its dots, the median and the bounds as far as they are known."""

    label: str
    y: str
    text_y: str
    dots: tuple[Dot, ...]
    median: str
    bounds: tuple[str, str] | None
    is_modelled: bool
    number: str


@dataclass(frozen=True)
class DotPanel:
    """One workload."""

    id: str
    title: str
    description: str
    unit: str
    ticks: tuple[Tick, ...]
    lines: tuple[DotLine, ...]
    width: int = WIDTH
    label_x: int = LABEL_WIDTH - 12
    value_x: int = WIDTH - VALUE_WIDTH + 10

    @property
    def axis_y(self) -> int:
        return len(self.lines) * ROW_HEIGHT + 6

    @property
    def tick_y(self) -> int:
        return self.axis_y + 13

    @property
    def side_y(self) -> int:
        return self.axis_y + 29

    @property
    def height(self) -> int:
        return self.axis_y + 36

    @property
    def one(self) -> float:
        return LABEL_WIDTH + (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / 2


class Axis:
    """Symmetric about 1 in logarithms, wide enough for every ratio, one for all panels."""

    def __init__(self, ratios: list[float]) -> None:
        reach = max((abs(math.log(ratio)) for ratio in ratios), default=0.0)
        self._ladder = next((ladder for ladder in LADDERS if math.log(ladder[-1]) >= reach), LADDERS[-1])
        self._reach = max(reach, math.log(self._ladder[-1])) * 1.04

    def at(self, ratio: float) -> str:
        room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
        return f"{LABEL_WIDTH + (math.log(ratio) / self._reach + 1) / 2 * room:.1f}"

    @property
    def ticks(self) -> tuple[Tick, ...]:
        return tuple(Tick(self.at(step), f"{step:g}", step == 1.0) for step in self._ladder)


def dot_line(n: int, label: str, key: str, is_modelled: bool, pairs: list[Row], median: Row | None, axis: Axis) -> DotLine:
    y = n * ROW_HEIGHT + ROW_HEIGHT / 2 + 2
    known = sorted((pair[f"{key}_ratio"], str(pair["pair_key"])) for pair in pairs if pair[f"{key}_ratio"] is not None)
    # neighbours are drawn above and below the line in turn, so that near pairs can still be counted by eye
    lift = STAGGER if len(known) > 1 else 0.0
    dots = tuple(
        Dot(axis.at(ratio), f"{y + (lift if position % 2 else -lift):.1f}", f"{pair}: {_shown(ratio)}")
        for position, (ratio, pair) in enumerate(known)
    )
    middle = median["ratio_median"] if median else None
    ends = [median[end] for end in ("ratio_low", "ratio_high")] if median and is_modelled else []
    low, high = ends if ends and None not in ends else (0.0, 0.0)
    number = "" if middle is None else _shown(middle)
    if high:
        number += f" ({_shown(low)}-{_shown(high)})"
    return DotLine(
        label,
        f"{y:.1f}",
        f"{y + 4:.1f}",
        dots,
        axis.at(middle) if middle is not None else "",
        (axis.at(low), axis.at(high)) if high else None,
        is_modelled,
        number,
    )


def _shown(ratio: float) -> str:
    return significant(Decimal(repr(ratio)))
