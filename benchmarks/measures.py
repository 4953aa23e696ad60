"""What a measure is: its name, unit and goal, and what was read. families/ has those that `python -m benchmarks` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

AT_MOST, AT_LEAST = "at most", "at least"


@dataclass(frozen=True, slots=True)
class Spec:
    """One line of the table of goals. Where a reading has a floor the goal is a ratio to it, else a value in `unit`."""

    name: str
    title: str
    unit: str
    goal: float | None = None
    direction: str = AT_MOST
    needs_full_size: bool = False  # a quick run shows a figure and judges nothing


@dataclass(slots=True)
class Reading:
    """What was measured; `more` is kept beside it (wall_s, bytes_written, rows ...)."""

    value: float
    floor: float | None = None
    peak_mb: float | None = None
    more: dict[str, Any] = field(default_factory=dict)
    is_broken: str | None = None  # a promise beside the figure that did not hold, such as: something was written
    is_kept: bool | None = None  # where the goal is no figure: that it completed


class CannotMeasure(Exception):
    """Why there is no figure on this machine or for this product."""


Read = Callable[["Any"], Iterator[tuple[str, Reading]]]


@dataclass(frozen=True, slots=True)
class Family:
    """Measures that share their preparation. `read` yields each as it is known; the rest gets the reason for which it ended."""

    name: str
    specs: tuple[Spec, ...]
    read: Read


def row(spec: Spec, reading: Reading | None, reason: str | None, *, is_quick: bool) -> dict[str, Any]:
    """One entry of results/latest.json: the six promised keys first."""
    if reading is None:
        shown = dict.fromkeys(("value", "floor", "ratio"), None) | {"goal": spec.goal, "met": None, "peak_mb": None}
        return {"name": spec.name, **shown, "title": spec.title, "unit": spec.unit, "direction": spec.direction, "reason": reason}
    ratio = None if not reading.floor else reading.value / reading.floor
    met, why = judge(spec, reading, ratio, is_quick=is_quick)
    return {
        "name": spec.name,
        "value": round(reading.value, 4),
        "floor": None if reading.floor is None else round(reading.floor, 4),
        "ratio": None if ratio is None else round(ratio, 3),
        "goal": spec.goal,
        "met": met,
        "peak_mb": reading.peak_mb,
        "title": spec.title,
        "unit": spec.unit,
        "direction": spec.direction,
        "reason": why,
        "is_quick": is_quick,
        **reading.more,
    }


def judge(spec: Spec, reading: Reading, ratio: float | None, *, is_quick: bool) -> tuple[bool | None, str | None]:
    if reading.is_broken:
        return False, reading.is_broken
    if is_quick and spec.needs_full_size:
        return None, "quick: a smaller input than the goal is about"
    if spec.goal is None:
        return reading.is_kept, None if reading.is_kept else "no goal: shown beside the others"
    judged = reading.value if ratio is None else ratio
    return (judged <= spec.goal if spec.direction == AT_MOST else judged >= spec.goal), None
