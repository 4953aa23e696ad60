"""What runs hold of a machine, cut wherever chips change hands or a month ends: in chips, and never more than the machine has."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise

from .facts import chips_of
from .months import bounds, by_month
from .records import Runs, Window, is_job


@dataclass(frozen=True)
class Hold:
    """One run on one machine over a time in which nothing changed hands."""

    run: str
    resource_id: str
    month: date
    start: int
    end: int
    accelerator_type: str | None
    promised: Fraction | int  # chips that are known, of a shared one a part
    part: Fraction  # of what was promised, where more was promised than the machine has
    node_chips: int | None
    holders: int  # runs on the machine then
    is_known: bool  # whether the chips are
    machine_chips: int = 0  # of one machine of its type, as far as that is known

    @property
    def chip_time(self) -> Fraction:
        return self.promised * self.part * (self.end - self.start)


def _type_of(windows: list[Window]) -> str | None:
    """Two types at once have no watts that stand for both."""
    types = {window.accelerator_type.removeprefix("ml.") for window in windows if window.accelerator_type}
    return types.pop() if len(types) == 1 else None


def _promised(window: Window, node_chips: int | None, size: int | None = None) -> int | None:
    """Chips not recorded are those of the machine or its type, else the whole machine as other records tell of it."""
    if window.chips is None and size is not None:
        return size
    chips = window.chips if window.chips is not None else chips_of(window.accelerator_type)
    return node_chips if chips is None else chips * window.node_count


def _machine_chips(resource_id: str, windows: list[Window], size: int | None) -> int:
    """Of a host under this name as many as its type has, unless the machine is smaller."""
    job = is_job(resource_id)
    of_type = max((window.chips if job else None) or chips_of(window.accelerator_type) or 0 for window in windows)
    return of_type if size is None else min(size, of_type or size)


def _is_known(window: Window, size: int | None) -> bool:
    return size is not None or window.chips is not None or chips_of(window.accelerator_type) is not None


def _node_chips(resource_id: str, windows: list[Window], size: int | None) -> int | None:
    """What evidence shows, else the chips of its type or the most one record states it held. A job holds whole machines."""
    if size is not None:
        return size
    if is_job(resource_id):
        together: dict[tuple, list[int | None]] = defaultdict(list)
        for window in windows:
            together[window.run, window.start, window.end].append(_promised(window, None))
        return max((sum(chips) for chips in together.values() if None not in chips), default=None)
    of_type = [chips * window.node_count for window in windows if (chips := chips_of(window.accelerator_type)) is not None]
    stated = [math.ceil(window.chips * window.node_count) for window in windows if window.chips is not None]
    return max([*of_type, *stated], default=None)


def holds_of(runs: Runs) -> Iterator[Hold]:
    """Of every machine and month; open ends are decided."""
    for resource_id, windows in runs.windows.items():
        for month in sorted({month for window in windows for month, *_ in by_month(window.start, window.end)}):
            first, last = bounds(month)
            of_month = {w: (max(w.start, first), min(w.end, last)) for w in windows if w.start < last and w.end > first}
            yield from _holds_of_month(resource_id, month, of_month, runs.sizes.get(month, {}).get(resource_id))


def _holds_of_month(resource_id: str, month: date, held_then: dict[Window, tuple[int, int]], size: int | None) -> Iterator[Hold]:
    """A name may be another machine in another month: only what was held in this one shows how large it is."""
    node_chips = _node_chips(resource_id, list(held_then), size)
    for left, right in pairwise(sorted({edge for both in held_then.values() for edge in both})):
        held: dict[str, list[Window]] = defaultdict(list)
        for window, (start, end) in held_then.items():
            if start <= left and end >= right:
                held[window.run].append(window)
        whole = sum(_promised(window, node_chips, size) or 0 for now in held.values() for window in now)
        part = Fraction(node_chips) / whole if node_chips is not None and whole > node_chips else Fraction(1)
        for run, now in held.items():
            known = [_promised(window, node_chips, size) or 0 for window in now if _is_known(window, size)]
            yield Hold(
                run, resource_id, month, left, right, _type_of(now), sum(known), part, node_chips, len(held),
                len(known) == len(now), _machine_chips(resource_id, now, size),
            )  # fmt: skip
