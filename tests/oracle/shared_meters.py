"""A meter of several machines, divided among them: what a machine was read at itself, and of the rest by the model's watts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

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
    """The parts of machines that have no reading of their own."""
    if not meters:
        return
    of_host: dict[str, dict[str, list[Piece]]] = defaultdict(lambda: defaultdict(list))
    for one in readings:
        if one.meter != "codecarbon":
            of_host[one.host_id][one.meter].append((one.start, one.end, one.power))
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
                    for machine, part in _parts(power, own, weights).items():
                        yield NodeReading(machine, left, right, part, _RANKS["shared"], "shared")


def _parts(power: int, own: dict[str, int | None], weights: dict[str, Fraction | None]) -> dict[str, int]:
    others = [machine for machine, read in own.items() if read is None]
    left = power - sum(read or 0 for read in own.values())
    if left < 0 or not others or any(not weights[machine] for machine in others):
        return {}
    whole = sum(weights[machine] for machine in others)
    exact = {machine: Fraction(left) * weights[machine] / whole for machine in others}
    parts = {machine: int(part) for machine, part in exact.items()}
    for machine in sorted(others, key=lambda one: (parts[one] - exact[one], one))[: left - sum(parts.values())]:
        parts[machine] += 1
    return parts


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


def _weight(name: str, chips: dict[int, dict[str, list[Piece]]], holds: list[Hold], start: int, end: int) -> Fraction | None:
    power, count = power_of(name), chips_of(name)
    if power is None or power.host is None:
        return None
    read = [mean for by_meter in chips.values() if (mean := _mean(by_meter, start, end)) is not None]
    edges = {(max(hold.start, start), min(hold.end, end)) for hold in holds if hold.start < end and hold.end > start}
    busy, reached = 0, start
    for left, right in sorted(edges):
        busy += max(right - max(left, reached), 0)
        reached = max(reached, right)
    idle = min(power.idle["mid"], power.mean)
    modelled = FULL * count * (power.mean * busy + idle * (end - start - busy)) // (end - start)
    return FULL * power.host["mid"] * count + (sum(read) if len(read) >= count else modelled)
