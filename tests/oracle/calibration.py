"""Watts of chips by what was metered: windows of a month and the twelve before it, for runs of the same type and software.

Whole microwatts and microseconds, halves cut; bounds in whole milliwatts, rounded outwards.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from .months import month_of
from .records import STILL_HELD, Runs, Window
from .samples import FULL, NO_GAP, Sample
from .seeds import LEVELS, Calibrated, calibration_term, power_of, seed_rows, t_two_sided, unmetered_share

_HOUR = 3_600 * FULL
_DAY = 24 * _HOUR
_WORKLOADS, _RUNS = 3, 5  # of as many days
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
    run: str | None
    workload: str | None  # None: two in one hour
    start: int

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
            held = _held(chip, keys.pop() if len(keys) == 1 else None, runs)
            place = _type_and_software(held, runs)
            if time and place:
                energy = sum(sample.power * (end - start) for start, end, sample in stretch)
                use = _use(stretch, time, watched[chip.host, chip.device])
                month = month_of(chip.hour)
                start = min(sample.start for *_, sample in stretch)
                named = {window.run for window in held}
                trained = {runs.workloads.get(run, "") for run in named}
                yield MeteredWindow(
                    month, place, chip.kind, unmetered_share(meter), chip.host, time, energy, use,
                    named.pop() if len(named) == 1 else None, trained.pop() if len(trained) == 1 else None, start,
                )  # fmt: skip


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


def _held(chip: Chip, run_key: str | None, runs: Runs) -> list[Window]:
    """What records hold the machine in that hour, or hold for the run that is named."""
    named = runs.of_tag(run_key) if run_key else None
    everything = (window for windows in runs.windows.values() for window in windows)
    if named in {window.run for windows in runs.windows.values() for window in windows}:
        held = [window for window in everything if window.run == named]
    else:
        held = [window for window in runs.windows.get(chip.host, ()) if _counts(window, chip)]
    held = [window for window in held if window.start < chip.hour + _HOUR and window.end > chip.hour]
    return [window for window in held if window.run not in runs.ambiguous]


def _type_and_software(held: list[Window], runs: Runs) -> tuple[str, str] | None:
    """Two of either are none."""
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
        candidates = [
            (watts.confidence != "calibrated", max(each.share for each in windows), -len(windows), kind, watts)
            for kind, windows in kinds.items()
            if sum(each.time for each in windows) >= _HOUR and (watts := _calibrated(key[1], windows))
        ]
        if candidates:
            found[key] = min(candidates, key=lambda each: each[:4])[4]
    return found


def _calibrated(accelerator_type: str, windows: list[MeteredWindow]) -> Calibrated | None:
    """None where it is refused."""
    known = [each for each in windows if each.use is not None]
    busy = [each for each in known if each.use >= 900_000]
    by_workload = _by_workload(busy, _at_half_of_the_time)
    full = _middle(by_workload)
    if not full or _apart(by_workload):
        return None
    share = max(each.share for each in windows)
    with_rails = lambda power: None if power is None else power * (2 * FULL + int(share * FULL)) // (2 * FULL)  # noqa: E731
    if not _within_band(accelerator_type, with_rails(full)):
        return None
    runs = {each.run for each in busy} - {None}
    days = {each.start // _DAY for each in busy if each.run is not None}
    is_promised = len(by_workload) >= _WORKLOADS
    if not is_promised and (len(runs) < _RUNS or len(days) < _RUNS):
        return None
    idle_hosts = _by_workload([each for each in known if each.use < 50_000], _at_half_of_the_time)
    is_busy_alone = len(busy) == len(known)
    means = _by_workload(known, _mean)
    idle = with_rails(_middle(idle_hosts))
    run_half, idle_half = _halves(by_workload, float(share), _count_hosts(by_workload), _count_hosts(idle_hosts))
    return Calibrated(
        None if idle is None else _levels(idle, idle_half),
        _levels(with_rails(full), run_half),
        None if is_busy_alone else Fraction((with_rails(_middle(means)) + 500) // 1000, 1000),
        "calibrated" if is_promised else "assumed",
    )


ByWorkload = dict[str, dict[str, int]]  # workload -> host -> microwatts


def _by_workload(windows: list[MeteredWindow], of_host: Callable[[list[MeteredWindow]], int]) -> ByWorkload:
    groups: dict[tuple[str, str], list[MeteredWindow]] = defaultdict(list)
    for window in windows:
        if window.workload is not None:
            groups[window.workload, window.host].append(window)
    found: ByWorkload = defaultdict(dict)
    for (workload, host), theirs in groups.items():
        found[workload][host] = of_host(theirs)
    return found


def _mean(windows: list[MeteredWindow]) -> int:
    return sum(each.energy for each in windows) // sum(each.time for each in windows)


def _at_half_of_the_time(windows: list[MeteredWindow]) -> int:
    """The mean of the whole watts at which half of the time is reached."""
    levels: dict[int, list[MeteredWindow]] = defaultdict(list)
    for window in windows:
        levels[(window.power + FULL // 2) // FULL].append(window)
    reached, total = 0, sum(each.time for each in windows)
    for watts in sorted(levels):
        reached += sum(each.time for each in levels[watts])
        if 2 * reached >= total:
            return _mean(levels[watts])
    raise AssertionError("no window")


def _median(values: Iterable[int]) -> int:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2


def _middle(by_workload: ByWorkload) -> int | None:
    medians = [_median(hosts.values()) for hosts in by_workload.values()]
    return sum(medians) // len(medians) if medians else None


def _apart(by_workload: ByWorkload) -> bool:
    return any(
        Fraction(max(hosts.values()) - min(hosts.values()), _median(hosts.values())) > calibration_term("host_range")
        for hosts in by_workload.values()
        if _median(hosts.values())
    )


def _count_hosts(by_workload: ByWorkload) -> int:
    return len({host for hosts in by_workload.values() for host in hosts})


def _within_band(accelerator_type: str, power: int) -> bool:
    catalogue = power_of(accelerator_type)
    if catalogue is None:
        return True
    [times] = [row["value"] for row in seed_rows("power_doubts") if row["doubt"] == "chip_most_share_of_full"]
    most = catalogue.full["high"] * Fraction(times)
    return catalogue.idle["low"] * FULL <= power <= most * FULL


def _halves(by_workload: ByWorkload, share: float, hosts: int, idle_hosts: int) -> tuple[int, int]:
    """Half widths of a run's full power and of idle power, in parts per million."""
    between, host, meter, z = (
        float(calibration_term(name)) for name in ("between_workloads", "between_hosts", "meter_error", "normal_quantile")
    )
    count, rails = len(by_workload), (share / (2 + share)) ** 2
    values = [(_median(of_hosts.values()) + 500) // 1000 for of_hosts in by_workload.values()]
    mean = Fraction(sum(values), count)
    variance = between**2
    if count >= _WORKLOADS:
        variance = (variance + float(sum((value / mean - 1) ** 2 for value in values))) / count
    t = float(t_two_sided(min(max(count, _WORKLOADS), 40)))
    run = t**2 * variance * (1 + 1 / count) + z**2 * (meter**2 + host**2 * (1 + 1 / hosts)) + rails
    idle = z**2 * (meter**2 + host**2 * (1 + 1 / max(idle_hosts, 1))) + rails
    return math.floor(math.sqrt(run) * FULL + 0.5), math.floor(math.sqrt(idle) * FULL + 0.5)


def _levels(power: int, half: int) -> dict[str, Fraction]:
    milliwatts = (power + 500) // 1000
    ends = (milliwatts * (FULL - min(half, FULL)) // FULL, milliwatts, -(-milliwatts * (FULL + half) // FULL))
    return {level: Fraction(end, 1000) for level, end in zip(LEVELS, ends, strict=True)}
