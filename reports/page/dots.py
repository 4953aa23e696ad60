"""Ratios on a log axis: a dot per matched pair, a stroke at their median, a line over the bounds of a modelled median.

A ratio and its reciprocal stand equally far from the line of no difference, so no direction looks larger than it is. Colour says
nothing here; modelled ratios are hollow. Every number drawn is in the tables of section 2.
"""

import math
from dataclasses import dataclass
from decimal import Decimal

from reports.page.charts import Chart
from reports.page.numbers import significant
from reports.publication import Row
from reports.sections.side_by_side import MEASURES

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


class _Axis:
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


def _line(n: int, label: str, key: str, is_modelled: bool, pairs: list[Row], median: Row | None, axis: _Axis) -> DotLine:
    y = n * ROW_HEIGHT + ROW_HEIGHT / 2 + 2
    known = sorted((pair[f"{key}_ratio"], str(pair["pair_key"])) for pair in pairs if pair[f"{key}_ratio"] is not None)
    # neighbours stand above and below the line, so that near pairs are still counted by eye
    lift = STAGGER if len(known) > 1 else 0.0
    dots = tuple(
        Dot(axis.at(ratio), f"{y + (lift if position % 2 else -lift):.1f}", f"{pair}: {_shown(ratio)}")
        for position, (ratio, pair) in enumerate(known)
    )
    middle = median["ratio_median"] if median else None
    ends = (median["ratio_low"], median["ratio_high"]) if median and is_modelled else (None, None)
    number = f"{_shown(middle)}" if middle is not None else ""
    if None not in ends:
        number += f" ({_shown(ends[0])}-{_shown(ends[1])})"
    return DotLine(
        label,
        f"{y:.1f}",
        f"{y + 4:.1f}",
        dots,
        axis.at(middle) if middle is not None else "",
        (axis.at(ends[0]), axis.at(ends[1])) if None not in ends else None,
        is_modelled,
        number,
    )


def _shown(ratio: float) -> str:
    return significant(Decimal(repr(ratio)))


def ratio_chart(pairs: tuple[Row, ...], medians: tuple[Row, ...]) -> tuple[Chart, ...]:
    """A panel per workload with pairs; the first row, useful tokens, shows how well the pairs are matched."""
    workloads = sorted({str(pair["workload_key"]) for pair in pairs})
    rows = [("Useful tokens", "useful_tokens", "", False), *((m.short, m.key, m.words, m.is_modelled) for m in MEASURES)]
    values = [value for pair in pairs for key, value in pair.items() if key.endswith("_ratio") and value is not None]
    bounds = [row[end] for row in medians for end in ("ratio_low", "ratio_high") if row[end] is not None]
    axis, panels = _Axis([*values, *bounds]), []
    for n, workload in enumerate(workloads):
        own = [pair for pair in pairs if pair["workload_key"] == workload]
        rated = [row for row in medians if row["workload_key"] == workload and row["pair_count"]]
        # in two currencies a measure has two medians: then none is drawn
        by_measure = {row["measure"]: row for row in rated if sum(row["measure"] == other["measure"] for other in rated) == 1}
        present = [row for row in rows if any(pair[f"{row[1]}_ratio"] is not None for pair in own)]
        lines = tuple(
            _line(position, label, key, is_modelled, own, by_measure.get(words), axis)
            for position, (label, key, words, is_modelled) in enumerate(present)
        )
        count = f"{len(own)} matched pair{'s' if len(own) > 1 else ''}"
        said = "; ".join(f"{line.label}: {line.number or 'each pair in the table'}" for line in lines)
        panels.append(
            DotPanel(
                f"dots-{n}",
                f"TPU ÷ Trainium, per run: {workload}, {count}",
                f"Log axis, 1 is no difference. Median ratios: {said}. Descriptive; the numbers are in the tables.",
                "ratio of matched pairs, log axis",
                axis.ticks,
                lines,
            )
        )
    return (Chart("TPU ÷ Trainium, per run", tuple(panels), LEGEND, 2, "dots"),) if panels else ()
