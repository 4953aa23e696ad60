"""A meter of several machines, divided among them: what a machine was read at itself, and of the rest by the model's watts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil, floor

from .facts import chips_of
from .holdings import Hold
from .months import by_month
from .power import _RANKS, NodeReading
from .samples import FULL, Sample
from .seeds import power_of

Piece = tuple[int, int, int]  # start, end, microwatts


def divide(
    meters: dict[str, list[str]], readings: Iterable[NodeReading], samples: Iterable[Sample], holds: Iterable[Hold]
) -> Iterator[NodeReading]:
    """The parts of machines that have no reading of their own: by the model, and at its least beside neighbours at their most."""
    if not meters:
        return
    of_host: dict[str, dict[str, list[Piece]]] = defaultdict(lambda: defaultdict(list))
    ends: dict[tuple[str, int, int, int], tuple[int, int]] = {}
    for one in readings:
        if one.meter != "codecarbon":
            of_host[one.host_id][one.meter].append((one.start, one.end, one.power))
            ends[one.host_id, one.start, one.end, one.power] = one.low, one.high
    of_chip: dict[str, dict[int, dict[str, list[Piece]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for sample in samples:
        if sample.power is not None:
            of_chip[sample.host_id][sample.device][sample.meter].append((sample.start, sample.end, sample.power))
    held: dict[str, list[Hold]] = defaultdict(list)
    for hold in holds:
        held[hold.resource_id].append(hold)
    for meter, machines in meters.items():
        for read_by in of_host[meter].values():
            for start, end, power in read_by:
                for month, left, right in by_month(start, end):
                    types = {machine: _types(held[machine], month) for machine in machines}
                    together = {name for names in types.values() for name in names}
                    own, weights = {}, {}
                    for machine in machines:
                        own[machine] = _mean(of_host[machine], left, right)
                        name = max(types[machine], default=None) or (together.copy().pop() if len(together) == 1 else None)
                        weights[machine] = name and _weight(name, of_chip[machine], held[machine], left, right)
                    total = power, *ends[meter, start, end, power]
                    for machine, read in _parts(total, own, weights).items():
                        yield NodeReading(machine, left, right, *read, _RANKS["shared"], "shared")


def _parts(
    total: tuple[int, int, int], own: dict[str, int | None], weights: dict[str, tuple[Fraction, ...] | None]
) -> dict[str, tuple[int, int, int]]:
    others = [machine for machine, read in own.items() if read is None]
    left, least, most = (power - sum(read or 0 for read in own.values()) for power in total)
    if left < 0 or not others or any(not weights[machine] for machine in others):
        return {}
    sums = [sum(weights[machine][at] for machine in others) for at in range(3)]
    exact = {machine: Fraction(left) * weights[machine][0] / sums[0] for machine in others}
    parts = {machine: int(part) for machine, part in exact.items()}
    for machine in sorted(others, key=lambda one: (parts[one] - exact[one], one))[: left - sum(parts.values())]:
        parts[machine] += 1
    found = {}
    for machine in others:
        _, low, high = weights[machine]
        at_least, at_most = Fraction(max(least, 0)) * low / (low + sums[2] - high), most * high / (high + sums[1] - low)
        found[machine] = parts[machine], floor(at_least), ceil(at_most)
    return found


def _mean(by_meter: dict[str, list[Piece]], start: int, end: int) -> int | None:
    """Of what was read through the whole of a time, in whole microwatts; of several meters the greatest."""
    means = []
    for pieces in by_meter.values():
        inside = [(min(right, end) - max(left, start), power) for left, right, power in pieces if left < end and right > start]
        if sum(time for time, _ in inside) >= end - start:
            means.append(sum(time * power for time, power in inside) // (end - start))
    return max(means, default=None)


def _types(holds: list[Hold], month: object) -> set[str]:
    return {hold.accelerator_type for hold in holds if hold.month == month and hold.accelerator_type}


def _weight(
    name: str, chips: dict[int, dict[str, list[Piece]]], holds: list[Hold], start: int, end: int
) -> tuple[Fraction, ...] | None:
    """Microwatts of the model for the machine: as used, at the least and at the most."""
    power, count = power_of(name), chips_of(name)
    if power is None or power.host is None:
        return None
    read = [mean for by_meter in chips.values() if (mean := _mean(by_meter, start, end)) is not None]
    edges = {(max(hold.start, start), min(hold.end, end)) for hold in holds if hold.start < end and hold.end > start}
    busy, reached = 0, start
    for left, right in sorted(edges):
        busy += max(right - max(left, reached), 0)
        reached = max(reached, right)
    watts = {
        "mid": (power.mean, min(power.idle["mid"], power.mean)),
        "low": (power.idle["low"], power.idle["low"]),
        "high": (power.full["high"], power.idle["high"]),
    }
    return tuple(
        FULL * power.host[level] * count
        + (sum(read) if len(read) >= count else FULL * count * (held * busy + free * (end - start - busy)) // (end - start))
        for level, (held, free) in watts.items()
    )
