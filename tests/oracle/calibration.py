"""Watts of chips by what was metered: windows of a month and the twelve before it, for runs of the same type and software.

Whole microwatts and microseconds; bounds in whole milliwatts, rounded outwards.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from .months import month_of
from .records import STILL_HELD, Runs, Window
from .samples import FULL, NO_GAP, Sample
from .seeds import LEVELS, Calibrated, unmetered_share

_HOUR = 3_600 * FULL
_LEAST = 100_000  # parts per million: no bound is nearer
_WINDOWS, _HOSTS = 20, 3
_REACH = 12  # months before


@dataclass(frozen=True)
class Chip:
    host: str
    device: int
    kind: str
    hour: int


@dataclass(frozen=True)
class MeteredWindow:
    month: date
    type_and_software: tuple[str, str]
    kind: str
    share: Fraction  # not metered
    host: str
    time: int
    energy: int  # microwatts times microseconds
    use: int | None

    @property
    def power(self) -> int:
        return self.energy // self.time


def metered_windows(samples: list[Sample], runs: Runs) -> Iterator[MeteredWindow]:
    by_meter: dict[Chip, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    watched: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.power is not None and unmetered_share(sample.meter) is not None:
            kind = "xprof" if sample.meter.startswith("xprof") else "gpu_monitoring"
            chip = Chip(sample.host_id, sample.device, kind, (sample.end - 1) // _HOUR * _HOUR)
            by_meter[chip][sample.meter].append(sample)
        elif sample.use is not None and not sample.is_filled:
            watched[sample.host_id, sample.device].append(sample)
    for chip, meters in by_meter.items():
        meter = min(meters, key=lambda name: (unmetered_share(name), name))
        for stretch in _stretches(meters[meter], is_sampled=chip.kind == "xprof"):
            time = sum(end - start for start, end, _ in stretch)
            keys = {sample.run_key for *_, sample in stretch}
            place = _recorded(chip, keys.pop() if len(keys) == 1 else None, runs)
            if time and place:
                energy = sum(sample.power * (end - start) for start, end, sample in stretch)
                use = _use(stretch, time, watched[chip.host, chip.device])
                month = month_of(chip.hour)
                yield MeteredWindow(month, place, chip.kind, unmetered_share(meter), chip.host, time, energy, use)


def _stretches(readings: Iterable[Sample], *, is_sampled: bool) -> list[list[tuple[int, int, Sample]]]:
    """Each instant once; a profile of its own after a gap."""
    found: list[list[tuple[int, int, Sample]]] = []
    reached: int | None = None
    for sample in sorted(set(readings), key=lambda each: (each.start, each.end, each.power)):
        if reached is None or (is_sampled and sample.start > reached + NO_GAP):
            found.append([])
        start = sample.start if reached is None else max(sample.start, reached)
        found[-1].append((start, max(sample.end, start), sample))
        reached = max(sample.end, reached or sample.end)
    return found


def _use(stretch: list[tuple[int, int, Sample]], time: int, watched: list[Sample]) -> int | None:
    """The readings' own, else that of the monitor; a chip that only lived was idle."""
    if all(sample.use is not None for *_, sample in stretch):
        return sum(sample.use * (end - start) for start, end, sample in stretch) // time
    first, last = min(sample.start for *_, sample in stretch), max(sample.end for *_, sample in stretch)
    near = {each for each in watched if each.start < last and each.end > first}
    lit = [(min(each.end, last) - max(each.start, first), each.use) for each in near if not each.is_life]
    if not lit:
        return 0 if near else None
    return sum(length * use for length, use in lit) // sum(length for length, _ in lit)


def _recorded(chip: Chip, run_key: str | None, runs: Runs) -> tuple[str, str] | None:
    """Type and software by the records of the machine, or of the run that is named; two of either are none."""
    named = runs.of_tag(run_key) if run_key else None
    everything = (window for windows in runs.windows.values() for window in windows)
    if named in {window.run for windows in runs.windows.values() for window in windows}:
        held = [window for window in everything if window.run == named]
    else:
        held = [window for window in runs.windows.get(chip.host, ()) if _counts(window, chip)]
    held = [window for window in held if window.start < chip.hour + _HOUR and window.end > chip.hour]
    held = [window for window in held if window.run not in runs.ambiguous]
    types = {window.accelerator_type for window in held} - {None}
    software = {runs.software.get(window.run, "") for window in held}
    return (types.pop(), software.pop()) if len(types) == len(software) == 1 else None


def _counts(window: Window, chip: Chip) -> bool:
    return window.end != STILL_HELD or month_of(window.start) == month_of(chip.hour)


def calibrated_watts(samples: list[Sample], runs: Runs) -> dict[tuple[date, str, str], Calibrated]:
    """By month, type and software, for every month in which windows count."""
    groups: dict[tuple[date, str, str], dict[str, list[MeteredWindow]]] = defaultdict(lambda: defaultdict(list))
    for window in metered_windows(samples, runs):
        for ahead in range(_REACH + 1):
            number = window.month.year * 12 + window.month.month - 1 + ahead
            month = date(number // 12, number % 12 + 1, 1)
            groups[month, *window.type_and_software][window.kind].append(window)
    found = {}
    for key, kinds in groups.items():
        enough = [
            (max(each.share for each in windows), -len(windows), kind)
            for kind, windows in kinds.items()
            if len(windows) >= _WINDOWS
            and len({each.host for each in windows}) >= _HOSTS
            and sum(each.time for each in windows) >= _HOUR
        ]
        if enough:
            share, _, kind = min(enough)
            found[key] = _calibrated(kinds[kind], share)
    return found


def _mean(windows: list[MeteredWindow]) -> int | None:
    return sum(each.energy for each in windows) // sum(each.time for each in windows) if windows else None


def _calibrated(windows: list[MeteredWindow], share: Fraction) -> Calibrated:
    busy = [each for each in windows if each.use is not None and each.use >= 900_000]
    idle = _mean([each for each in windows if each.use is not None and each.use < 50_000])
    behind = busy or windows
    levels: dict[int, list[MeteredWindow]] = defaultdict(list)
    for window in behind:
        levels[(window.power + FULL // 2) // FULL].append(window)
    low, high = (_at(levels, len(behind), tenths) for tenths in (1, 9))
    full = _mean(busy) if busy else high
    spread = -(-FULL * ((high - low) // 2) // full)
    below, above = min(max(spread, _LEAST), FULL), max(spread + int(share * FULL), _LEAST)

    def levels_of(power: int) -> dict[str, Fraction]:
        milliwatts = (power + 500) // 1000
        ends = (milliwatts * (FULL - below) // FULL, milliwatts, -(-milliwatts * (FULL + above) // FULL))
        return {level: Fraction(end, 1000) for level, end in zip(LEVELS, ends, strict=True)}

    mean = Fraction((_mean(windows) + 500) // 1000, 1000)
    return Calibrated(None if idle is None else levels_of(idle), levels_of(full), mean)


def _at(levels: dict[int, list[MeteredWindow]], count: int, tenths: int) -> int:
    """The mean of the whole watts at which so many tenths of the windows are reached."""
    reached = 0
    for watts in sorted(levels):
        reached += len(levels[watts])
        if 10 * reached >= tenths * count:
            return _mean(levels[watts])
    raise AssertionError("no window")
