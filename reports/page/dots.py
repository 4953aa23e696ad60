"""Ratios on a log axis: a dot per matched pair, a stroke at their geometric mean, a line over its interval.

A ratio and its reciprocal (0.8 and 1.25) are equally far from the line of no difference, so no direction looks larger than it is.
Colours have no meaning here; modelled ratios are hollow. Every number drawn is in the tables beside it.
"""

import math
from decimal import Decimal

from reports.door import Row
from reports.page.charts import Line, Mark, Panel
from reports.page.numbers import significant

LABEL_WIDTH, VALUE_WIDTH, WIDTH, ROW_HEIGHT = 150, 122, 530, 26
ROOM = WIDTH - LABEL_WIDTH - VALUE_WIDTH
STAGGER = 3.6
LADDERS = (
    (0.8, 0.9, 1.0, 1.11, 1.25),
    (0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0),
    (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
    (0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0),
    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    (0.01, 0.1, 1.0, 10.0, 100.0),
)
MORE_IS_BETTER = ("Model FLOP utilisation", "Utilisation of held time", "Goodput")
LEGEND = (
    ("round", "a pair, billed or counted"),
    ("round hollow", "a pair, modelled"),
    ("stroke", "geometric mean of the pairs"),
    ("span", "98 % interval; of modelled ratios at the corners of the power bounds; ↑ more is better, else less"),
)


class Axis:
    """Symmetric about 1 in logarithms, wide enough for every ratio, one for all panels."""

    def __init__(self, ratios: list[float]) -> None:
        reach = max((abs(math.log(ratio)) for ratio in ratios), default=0.0)
        self._ladder = next((ladder for ladder in LADDERS if math.log(ladder[-1]) >= reach), LADDERS[-1])
        self._reach = max(reach, math.log(self._ladder[-1])) * 1.04

    def at(self, ratio: float) -> str:
        return f"{LABEL_WIDTH + (math.log(ratio) / self._reach + 1) / 2 * ROOM:.1f}"

    def line(self, n: int, measure: str, pairs: list[Row], rated: Row | None) -> Line:
        """The pairs of one figure with their mean and its interval."""
        y = n * ROW_HEIGHT + ROW_HEIGHT / 2 + 2
        is_modelled = any(pair["ratio_corner_low"] is not None for pair in pairs)
        known = sorted((pair["ratio"], str(pair["pair_key"])) for pair in pairs)
        # neighbours are drawn above and below the line in turn, so that near pairs can still be counted by eye
        lift = STAGGER if len(known) > 1 else 0.0
        dots = tuple(
            Mark(self.at(ratio), f"{y + (lift if position % 2 else -lift):.1f}", f"{pair}: {_shown(ratio)}")
            for position, (ratio, pair) in enumerate(known)
        )
        middle = rated["geometric_mean_ratio"] if rated else None
        between = ("ratio_corner_low", "ratio_corner_high") if is_modelled else ("ratio_low", "ratio_high")
        low, high = (rated[end] for end in between) if rated else (None, None)
        ends = None if low is None or high is None else (low, high)
        return Line(
            label=measure.removesuffix(" per 1M useful tokens").removesuffix(" to target").removesuffix(",")
            + (" ↑" if measure in MORE_IS_BETTER else ""),
            y=y,
            marks=dots,
            number=("" if middle is None else _shown(middle)) + (" ({}-{})".format(*map(_shown, ends)) if ends else ""),
            number_x=str(WIDTH - VALUE_WIDTH + 10),
            bounds=(self.at(ends[0]), self.at(ends[1])) if ends else None,
            median="" if middle is None else self.at(middle),
            is_modelled=is_modelled,
        )

    def panel(self, id: str, title: str, lines: tuple[Line, ...]) -> Panel:
        """One workload, with the axis below its lines."""
        axis_y = len(lines) * ROW_HEIGHT + 6
        numbers = "; ".join(f"{line.label}: {line.number or 'each pair in the table'}" for line in lines)
        return Panel(
            id=id,
            title=title,
            description=f"Log axis, 1 is no difference. Ratios with their intervals: {numbers}. The numbers are in the tables.",
            unit="ratio of matched pairs, log axis",
            width=WIDTH,
            height=axis_y + 36,
            lines=lines,
            ticks=tuple(Mark(self.at(step), "", f"{step:g}", css="one" if step == 1.0 else "grid") for step in self._ladder),
            axis_y=axis_y,
            one=LABEL_WIDTH + ROOM / 2,
        )


def _shown(ratio: float) -> str:
    return significant(Decimal(repr(ratio)))
