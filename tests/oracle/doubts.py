"""Which readings of power count: inside the band of their type, with all rails of it, and not below the chips of their own node.

From docs/methodology/energy.md. The limits and rails are seeds; whole microwatts and microseconds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import pairwise

from .months import bounds, month_of
from .power import NodeReading
from .records import STILL_HELD, Runs, Window
from .samples import FULL, Sample
from .seeds import seed_rows

_HOUR = 3_600 * FULL


@dataclass(frozen=True)
class Band:
    """Watts of a chip; and of a node for each of its chips, of which it has at least and at most so many."""

    chip: tuple[Fraction, Fraction]
    per_chip: tuple[Fraction, Fraction]
    chips: tuple[int, int]

    def node(self, stated: int | None) -> tuple[Fraction, Fraction]:
        fewest = (stated or 1) if self.chips[0] == 1 else self.chips[0]
        return self.per_chip[0] * fewest, self.per_chip[1] * max(self.chips[1], stated or 0)


@cache
def _bands() -> dict[str, Band]:
    """By type, by family, and of everything under ''."""
    limit = {row["doubt"]: Fraction(row["value"]) for row in seed_rows("power_doubts")}
    power = {row["accelerator_type"]: row for row in seed_rows("accelerator_power")}
    hosts = {row["accelerator_type"]: row for row in seed_rows("host_power")}
    family_of = {row["accelerator_type"]: row["accelerator_family"] for row in seed_rows("accelerator_types")}
    found, families = {}, defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for row in seed_rows("accelerator_types"):
        sizes[row["accelerator_family"]] = max(sizes[row["accelerator_family"]], int(row["chips_per_node"] or 0))
    for row in seed_rows("accelerator_types"):
        name, family = row["accelerator_type"], row["accelerator_family"]
        # a type without published watts has the widest of its family
        alike = {name} & power.keys() or {other for other in power if family_of[other] == family}
        idle = min(Fraction(power[other]["chip_power_idle_w_low"]) for other in alike)
        full = max(Fraction(power[other]["chip_power_max_w_high"]) for other in alike)
        host = max(Fraction(hosts[other]["host_power_w_high"]) / int(hosts[other]["chips_per_node"]) for other in alike)
        size = int(row["chips_per_node"] or 0)
        found[name] = Band(
            (limit["chip_least_share_of_idle"] * idle, limit["chip_most_share_of_full"] * full),
            (idle, limit["node_most_share"] * (full + host)),
            (1 if family == "tpu" else size or 1, size or sizes[family]),
        )
        families[family].append(found[name])
        families[""].append(found[name])
    return found | {family: _widest(bands) for family, bands in families.items()}


def _widest(bands: list[Band]) -> Band:
    ends = [[getattr(band, name) for band in bands] for name in ("chip", "per_chip", "chips")]
    return Band(*((min(low for low, _ in pairs), max(high for _, high in pairs)) for pairs in ends))


def band_of(name: str | None) -> Band:
    """That of a type, else of its family, else of everything."""
    bands = _bands()
    return bands.get(name or "") or bands.get(_family(name or "")) or bands[""]


def beyond_nodes() -> Fraction:
    """How much more than a machine what is stated of IT or of a facility may be."""
    return next(Fraction(row["value"]) for row in seed_rows("power_doubts") if row["doubt"] == "beyond_node_most_share")


def _family(name: str) -> str:
    ways = (("v", "tpu"), ("trn", "trainium"), ("inf", "inferentia"), ("p", "gpu"), ("g", "gpu"))
    return next((family for start, family in ways if name.startswith(start)), "")


class Judge:
    """Knows which types a machine is by the records of a month, and when somebody held it."""

    def __init__(self, runs: Runs, meters: dict[str, list[str]]) -> None:
        self._runs = runs
        self._meters = meters
        self._bands = _bands()
        self._rails: dict[tuple[str, str], set[str]] = defaultdict(set)
        for row in seed_rows("power_rails"):
            self._rails[row["accelerator_type"], row["meter"].split("_")[0]].add(row["rail"])

    def _windows(self, host: str, month: date) -> list[Window]:
        first, last = bounds(month)
        held = [window for window in self._runs.windows.get(host, ()) if window.start < last and window.end > first]
        return [window for window in held if window.end != STILL_HELD or month_of(window.start) == month]

    def _of(self, hosts: list[str], month: date, family: str) -> list[tuple[Band, int | None]]:
        windows = [window for host in hosts for window in self._windows(host, month)]
        named = [(window.accelerator_type, window.chips) for window in windows if window.accelerator_type]
        found = [(self._bands.get(name) or self._bands[_family(name)], chips) for name, chips in named]
        return found or [(self._bands[family], self._bands[family].chips[0])]

    def is_plausible(self, host: str, span: tuple[int, int], power: int, family: str, *, is_node: bool) -> bool:
        month = month_of(span[1] - 1)
        watts = Fraction(power, FULL)
        # a meter of several machines feeds at the least one that is held
        behind = self._meters.get(host, [host])
        is_held = any(window.start < span[1] and window.end > span[0] for one in behind for window in self._windows(one, month))
        of_one, of_all = (
            [band.node(chips) if is_node else band.chip for band, chips in self._of(hosts, month, family)]
            for hosts in (behind, [host])
        )
        least = min(low for low, _ in of_one) if is_held else 0
        return least <= watts <= max(high for _, high in of_all) * len(behind)

    def has_all_rails(self, sample: Sample) -> bool:
        types = {window.accelerator_type for window in self._windows(sample.host_id, month_of(sample.end - 1))}
        needed = self._rails[types.pop(), sample.meter] if len(types) == 1 else set()
        return not sample.rails or needed <= {rail.split(" ")[0] for rail in sample.rails}


def plausible_samples(samples: Iterable[Sample], judge: Judge) -> Iterator[Sample]:
    """Of chips: what is doubted keeps its use, and is nothing without one."""
    for sample in samples:
        if sample.power is None:
            yield sample
            continue
        span = (sample.end - 1 if sample.meter == "nvml" else sample.start), sample.end
        family = "gpu" if sample.meter in ("nvml", "dcgm") else "tpu"
        if judge.is_plausible(sample.host_id, span, sample.power, family, is_node=False) and judge.has_all_rails(sample):
            yield sample
        elif sample.use is not None:
            yield replace(sample, power=None, power_low=None, power_high=None)


def plausible_readings(readings: Iterable[NodeReading], samples: list[Sample], judge: Judge) -> Iterator[NodeReading]:
    """Of nodes: first whether a meter sees a part of its node, over each clock hour or longer reading; then its band."""
    by_hour: dict[tuple[str, str, int], list[NodeReading]] = defaultdict(list)
    for reading in readings:
        is_long = reading.end - reading.start > _HOUR
        hour = reading.start if is_long else (reading.end - 1) // _HOUR * _HOUR
        by_hour[reading.host_id, reading.meter, hour].append(reading)
    chips: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.power is not None and not sample.meter.startswith("xprof"):
            chips[sample.host_id].append(sample)
    for (host, _, _), near in by_hour.items():
        if _is_of_a_part(near, chips[host]):
            continue
        for reading in near:
            span = (reading.end - 1 if reading.is_point else reading.start), reading.end
            if judge.is_plausible(host, span, reading.power, "", is_node=True):
                yield reading


def _is_of_a_part(readings: list[NodeReading], chips: list[Sample]) -> bool:
    edges = sorted({edge for each in (*readings, *chips) for edge in (each.start, each.end)})
    less = 0
    for left, right in pairwise(edges):
        node = [each.power for each in readings if each.start <= left and each.end >= right]
        read: dict[int, int] = defaultdict(int)
        for each in chips:
            if each.start <= left and each.end >= right:
                read[each.device] = max(read[each.device], each.power)
        if node and read:
            less += (sum(read.values()) - max(node)) * (right - left)
    return less > 0
