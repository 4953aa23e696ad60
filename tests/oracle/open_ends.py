"""An end that no record states, decided inside each month: next holding, last sample, first hour that is not billed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from .google_lines import GoogleLine
from .lines import Line
from .machines import bare
from .months import bounds, by_month, month_after, month_of
from .records import CUSTOM_JOB, STILL_HELD, Runs, Window
from .samples import Sample

_HOUR = 3_600_000_000


@dataclass(frozen=True)
class Stretch:
    """Billed hours without a gap between them, and how much of that time was billed."""

    start: int
    end: int
    billed: int


Times = dict[tuple[str, date], dict[tuple[str, str], list[Stretch]]]  # machine and month -> provider and payer -> in order


def _names(line: Line | GoogleLine) -> set[str]:
    if isinstance(line, Line):
        return {name for name in (line.resource_id, *line.of_cluster) if name}
    jobs = (CUSTOM_JOB.search(name) for name in (line.resource_name, line.global_name))
    return line.held_names | {job[0] for job in jobs if job}


def billed_times(lines: Iterable[Line | GoogleLine]) -> Times:
    """Under another payer a name is another machine, whose gaps are its own."""
    found: dict[tuple[str, date, tuple[str, str]], dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for line in lines:
        if line.is_usage and not line.is_unused and line.component == "accelerator":
            end = min(line.end, month_after(line.usage_month))
            billed = line.usage_us if line.usage_us != line.end - line.start else end - line.start
            for name in _names(line):
                found[name, line.usage_month, (line.provider_name, line.payer_account_id)][line.start, end] += billed
    times: Times = defaultdict(dict)
    for (name, month, payer), intervals in found.items():
        stretches: list[Stretch] = []
        for (start, end), amount in sorted(intervals.items()):
            billed = min(amount, end - start)  # one interval may be billed in several rows
            if stretches and start <= stretches[-1].end:
                last = stretches.pop()
                start, end, billed = last.start, max(end, last.end), last.billed + billed
            stretches.append(Stretch(start, end, min(billed, end - start)))
        times[name, month][payer] = stretches
    return times


def _own_samples(window: Window, samples: Iterable[Sample], runs: Runs) -> dict[date, tuple[int, int]]:
    """First and last instant of the run's own samples, by month."""
    found: dict[date, tuple[int, int]] = {}
    for sample in (sample for sample in samples if not sample.is_filled):
        if sample.run_key and window.run not in runs.ambiguous and runs.of_tag(sample.run_key) == window.run:
            for month, start, end in by_month(sample.start, sample.end):
                if end > window.start:
                    first, last = found.get(month, (start, end))
                    found[month] = min(first, start), max(last, end)
    return found


def _last_of_node(window: Window, month_end: int, samples: Iterable[Sample], beside: list[Window]) -> int | None:
    """Of samples of the node that carry no run's key and lie at no time that another run held it."""
    ends = [
        min(sample.end, month_end)
        for sample in samples
        if bare(sample.host_id or "") == bare(window.resource_id) and not sample.run_key
        and sample.start < month_end and sample.end > window.start
        and not sample.is_filled and not any(other.start < sample.end and other.end > sample.start for other in beside)
    ]  # fmt: skip
    return max(ends, default=None)


def _decided(window: Window, everybody: list[Window], samples: list[Sample], runs: Runs, times: Times) -> Iterable[Window]:
    """Windows with an end in their month; one that keeps its open end is of a month in which nobody knows."""
    own, first_month = _own_samples(window, samples, runs), month_of(window.start)
    beside = [other for other in everybody if other.run != window.run and other.end != STILL_HELD]
    for month in sorted({first_month, *own}):
        month_end = bounds(month)[1]
        start = window.start if month == first_month else own[month][0]
        last = own[month][1] if month in own else None
        if month == first_month:
            of_node = _last_of_node(window, month_end, samples, beside)
            last = max((each for each in (last, of_node) if each is not None), default=None)
        follows = min((other.start for other in everybody if start < other.start < month_end), default=None)
        unbilled = min(
            (
                stretch.end
                for stretches in times.get((window.resource_id, month), {}).values()
                for stretch in stretches
                if stretch.start <= start + _HOUR and start < stretch.end < month_end
            ),
            default=None,
        )
        end = min((each for each in (follows, last, unbilled) if each is not None), default=STILL_HELD)
        yield replace(window, start=start, end=end)


def decide_open_ends(runs: Runs, samples: list[Sample], times: Times) -> None:
    """Closes the open windows of the records, or puts them with the unknown."""
    for resource_id, windows in runs.windows.items():
        closed = [window for window in windows if window.end != STILL_HELD]
        for window in windows:
            if window.end == STILL_HELD:
                for found in _decided(window, windows, samples, runs, times):
                    (runs.unknown if found.end == STILL_HELD else closed).append(found)
        runs.windows[resource_id] = sorted(closed, key=lambda each: (each.start, each.end, each.run, each.chips or -1))
