"""What a run held of which no record names a machine in a month: time and chips of the rows with its tag."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import floor

from .facts import chips_of
from .google_lines import QUANTITY, GoogleLine
from .holdings import Hold
from .ladder import Part, billed_time, in_its_month
from .lines import Line
from .months import by_month
from .records import Runs, Window
from .sizes import FOUR_CHIPS_A_UNIT, HOUR_UNITS

_HOUR = 3_600_000_000
_ROUNDED = Fraction(1, 100)  # a hundredth over a number is that number
Machine = tuple[date, str, str, str, str]  # month, run, name, region, type


def _placed_months(runs: Runs) -> set[tuple[str, date]]:
    """Where a record names a machine of a run; an end that it does not state reaches no further month, unless a sample does."""
    spans = [(window.run, window.start, window.end) for held in runs.windows.values() for window in held]
    spans += [(window.run, window.start, window.start) for window in runs.unknown]
    return {(run, month) for run, start, end in spans for month, *_ in by_month(start, max(end, start + 1))}


def months_of_pods_alone(parts: Iterable[Part], runs: Runs) -> set[tuple[str, date]]:
    """Where a bill shows what the pods of a run cost, and no record a machine of it: what it held is unknown, and not nothing."""
    known = _placed_months(runs)
    return {
        (part.run, part.line.usage_month) for part in parts
        if part.rule == "split_allocation" and part.component == "accelerator" and part.line.is_usage
        and not getattr(part.line, "is_host", False)
    } - known  # fmt: skip


def name_of(line: Line | GoogleLine) -> str:
    place = f"{line.sub_account_id}/locations/{line.region_id}/"
    if isinstance(line, Line):
        return line.resource_id or place
    return min(line.machines, default=line.resource_name or line.global_name.rsplit("/", 1)[-1] or place)


def _amount(line: Line | GoogleLine, chips: int) -> Fraction | None:
    """Microseconds of a machine of AWS, of a chip of Google Cloud; what a correction takes back is negative."""
    if isinstance(line, Line):
        return Fraction(billed_time(line) * (-1 if line.weight < 0 else 1))
    unit = 4 if line.generation in FOUR_CHIPS_A_UNIT else 1
    return Fraction(line.pricing_units * unit * _HOUR, 10**QUANTITY) if line.pricing_unit in HOUR_UNITS else None


def tagged_lines(parts: Iterable[Part], runs: Runs) -> list[tuple[str, Line | GoogleLine]]:
    """Parts of one row that are of one run are its pods on one machine: it holds the chips of them together."""
    known = _placed_months(runs)
    found = [
        (part.run, part.line) for part in parts
        if part.rule == "tag" and part.component == "accelerator" and part.line.is_usage
        and not getattr(part.line, "is_host", False)
        and (part.run, part.line.usage_month) not in known
        and getattr(part.line, "chip_share", 1) > 0
    ]  # fmt: skip
    of_pods: dict[tuple[str, str, int], list[Line]] = defaultdict(list)
    for run, line in found:
        if isinstance(line, Line) and line.allocation == "pod":
            of_pods[run, line.source_object, line.row_number].append(line)
    together = [
        (run, replace(lines[0], chip_share=sum((line.chip_share for line in lines), Fraction(0))))
        for (run, *_), lines in of_pods.items()
    ]
    return [*((run, line) for run, line in found if getattr(line, "allocation", "") != "pod"), *together]


def tag_windows(lines: Iterable[tuple[str, Line | GoogleLine]]) -> Iterator[tuple[date, Window]]:
    """An interval that is billed in part is held from its beginning; as many at a time as the fullest interval shows."""
    billed: dict[tuple[Machine, bool, int | None], dict[tuple[int, int], list[Fraction | None]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for run, line in lines:
        name, is_aws = name_of(line), isinstance(line, Line)
        machine = line.usage_month, run, name, line.region_id, line.instance_type
        chips = _chips(line) if is_aws else 1
        key = machine, is_aws and name.startswith("i-"), chips
        if in_its_month(line) > line.start:
            billed[key][line.start, in_its_month(line)].append(_amount(line, chips or 1))
    for (machine, is_one, chips), intervals in billed.items():
        month, run, name, _, kind = machine
        amounts: dict[tuple[int, int], Fraction | None] = {}
        for (start, end), found in intervals.items():
            amount = None if None in found else sum(found)
            amounts[start, end] = min(amount, Fraction(end - start)) if is_one and amount is not None else amount
        amounts = {at: amount for at, amount in amounts.items() if amount is None or amount > 0}
        count = max((_at_a_time(at, amount) for at, amount in amounts.items()), default=1)
        is_known = chips is not None and None not in amounts.values()
        for (start, end), amount in amounts.items():
            until = end if amount is None else min(end, start + floor(amount / count))
            if until > start:
                yield month, Window(run, name, start, until, chips * count if is_known else None, kind or None)


def _chips(line: Line) -> Fraction | int | None:
    """Of the machine, or what a pod of it asked for, in whole millionths."""
    chips = chips_of(line.instance_type)
    if chips is None or line.chip_share == 1:
        return chips
    return Fraction(floor(chips * line.chip_share * 10**6 + Fraction(1, 2)), 10**6)


def _at_a_time(at: tuple[int, int], amount: Fraction | None) -> int:
    full = Fraction(at[1] - at[0])
    return 1 if amount is None else max(1, floor(amount / full + 1 - _ROUNDED))


def tag_holds(windows: Iterable[tuple[date, Window]]) -> Iterator[Hold]:
    """Cut where a run comes or goes. A machine has the chips that tags hold together, so none of them is free."""
    machines: dict[tuple[date, str], list[Window]] = defaultdict(list)
    for month, window in windows:
        machines[month, window.resource_id].append(window)
    for (month, name), held in machines.items():
        for left, right in pairwise(sorted({edge for window in held for edge in (window.start, window.end)})):
            now: dict[str, list[Window]] = defaultdict(list)
            for window in held:
                if window.start <= left and window.end >= right:
                    now[window.run].append(window)
            together = sum(window.chips or 0 for each in now.values() for window in each)
            for run, each in now.items():
                kinds = {window.accelerator_type for window in each}
                kind = kinds.pop() if len(kinds) == 1 else None
                promised, is_known = sum(window.chips or 0 for window in each), all(window.chips is not None for window in each)
                of_machine = max(min(chips_of(window.accelerator_type) or 0, window.chips or 0) for window in each)
                yield Hold(
                    run, name, month, left, right, kind, promised, Fraction(1), together, len(now), is_known, of_machine
                )  # fmt: skip
