"""Machines that one run holds twice: several recorders of one attempt see one machine, and a run inside another has its chips.

Written from docs/sources/training_runs.md, sections Identity and Traps.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from .facts import chips_of
from .records import Record, Runs, Window

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def attempt_name(attempt_id: str | None) -> str | None:
    """What names an attempt whichever machine wrote it: no number, and all that are called by their start are one name."""
    if attempt_id is None or re.fullmatch(r"[0-9']*", attempt_id):
        return None
    return "" if _STAMP.fullmatch(attempt_id) else attempt_id


def recorded_once(name: str, records: Iterable[Record]) -> set[Window]:
    """Windows of a run's own records: those of recorders, each in a file of its own, are one where they overlap."""
    found: set[Window] = set()
    seen: dict[tuple, list[tuple[int, int, int | None]]] = {}
    for record in records:
        recorder = attempt_name(record.attempt_of_node) if len(record.holdings) == 1 else None
        for resource, start, end, chips, kind, count in record.holdings:
            if recorder is None:
                found.add(Window(name, resource, start, end, chips, kind, count))
            else:
                seen.setdefault((recorder, resource, kind), []).append((start, end, chips))
    for (_, resource, kind), times in seen.items():
        together: list[tuple[int, int, int | None]] = []
        for start, end, chips in sorted(times, key=lambda time: time[:2]):
            if together and start < together[-1][1]:
                first, last, most = together.pop()
                together.append((first, max(last, end), None if chips is None or most is None else max(chips, most)))
            else:
                together.append((start, end, chips))
        found |= {Window(name, resource, *time, kind) for time in together}
    return {window for window in found if window.start < window.end}


def _chips(window: Window) -> int | None:
    chips = window.chips if window.chips is not None else chips_of(window.accelerator_type)
    return None if chips is None else chips * window.node_count


def leave_inner_runs_their_chips(runs: Runs) -> None:
    """While a run inside another holds chips of its machine, the other has the rest of them."""
    for resource, windows in runs.windows.items():
        inner = [one for one in windows if one.run in runs.parents and one.run not in runs.ambiguous]
        left = [
            piece
            for window in windows
            for piece in _pieces(window, [one for one in inner if runs.parents[one.run] == window.run])
        ]
        runs.windows[resource] = sorted(left, key=lambda each: (each.start, each.end, each.run, each.chips or -1))


def _pieces(window: Window, inner: list[Window]) -> list[Window]:
    inside = [one for one in inner if one.start < window.end and one.end > window.start]
    edges = {edge for one in inside for edge in (one.start, one.end) if window.start < edge < window.end}
    pieces = []
    for start, end in pairwise(sorted({window.start, window.end, *edges})):
        now = [_chips(one) for one in inside if one.start <= start and one.end >= end]
        own = _chips(window)
        chips = window.chips
        if now:
            chips = 0 if own is None or None in now else max(own - sum(chip for chip in now if chip is not None), 0)
        if not now or chips:
            pieces.append(replace(window, start=start, end=end, chips=chips))
    return pieces
