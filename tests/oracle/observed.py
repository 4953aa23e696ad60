"""What telemetry saw of the chips runs held: per node the parts are the whole, so every chip is somebody's once or free."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import date
from fractions import Fraction
from itertools import chain, pairwise

from .holdings import Hold
from .months import bounds, by_month
from .records import Runs, Window, is_job
from .samples import FULL, NO_GAP, Device, Heard, Sample, Span, machines_of, spans_within, without_gaps

Host = tuple[str, int]
Place = tuple[Device, str | None]  # and the run whose monitor gave the number, if it shows that run's chips alone


def _places(sample: Sample, held: list[tuple[str, Window]]) -> list[str]:
    """Where the run of a host that no record names was then: of resources held at one time the first."""
    now = [item for item in held if item[1].start - NO_GAP < sample.end and item[1].end + NO_GAP > sample.start]
    return [
        place for place, window in now
        if not any(other < place and at.start < window.end and at.end > window.start for other, at in now)
    ]  # fmt: skip


class Telemetry:
    """Samples by machine, each with the run to which it is keyed; an unknown key is none."""

    def __init__(self, samples: Iterable[Sample], runs: Runs) -> None:
        held: dict[str, list[tuple[str, Window]]] = defaultdict(list)
        for resource_id, windows in sorted(runs.windows.items()):
            for window in windows:
                held[window.run].append((resource_id, window))
        self.by_machine: dict[str, list[tuple[Sample, str | None]]] = defaultdict(list)
        for sample in samples:
            run = runs.of_tag(sample.run_key) if sample.run_key else None
            # names of runs and machines are those of the month
            now = [runs.held_between(*bounds(month)) for month, *_ in by_month(sample.start, sample.end)]
            resources, known = (set().union(*(names[place] for names in now)) for place in (0, 1))
            run = run if run in known else None
            for place in _places(sample, held[run]) if run is not None and sample.host_id not in resources else ():
                self.by_machine[place].append((sample, run))
            if run is None or sample.host_id in resources:
                self.by_machine[sample.host_id].append((sample, run))


@dataclass
class Node:
    """A machine in a month: what was heard of its devices, and how many chips each of its hosts has."""

    resource_id: str
    holds: list[Hold]
    devices: dict[Device, list[Heard]]
    is_partial: bool  # idle chips are left out by its telemetry
    # by run: use, energy, driver's share and known time
    used: dict[str, dict[Place, tuple[int, ...]]] = field(default_factory=lambda: defaultdict(dict))

    def shown_under(self, run: str) -> int:
        """Chips that the samples with a run's key number."""
        found = [[each.sample.is_life for each in heard if each.run == run] for heard in self.devices.values()]
        return max(sum(is_life in kinds for kinds in found) for is_life in (True, False)) if found else 0

    def machine_of(self, device: Device) -> tuple[Host, int, int]:
        """The machine that a sign of life is of, and its chips: of a slice under one name one of several."""
        host = device[:2]
        size = max(hold.machine_chips for hold in self.holds)
        whole = max((hold.node_chips or 0) for hold in self.holds)
        is_one = whole <= 8 and any(hold.accelerator_type in ("v5e", "v6e") for hold in self.holds)
        if host != (self.resource_id, 0) or not size or is_one:
            return host, 0, self.chips_of(host)
        size = min(size, whole)
        return host, device[2] // size, size

    def chips_of(self, host: Host) -> int:
        if host == (self.resource_id, 0):
            return max((hold.node_chips or 0) for hold in self.holds)
        own = [heard for device, heard in self.devices.items() if device[:2] == host]
        numbers = [sum(any(each.sample.is_life is is_life for each in heard) for heard in own) for is_life in (True, False)]
        return max(*numbers, *(hold.machine_chips for hold in self.holds))


def _node(resource_id: str, month: date, holds: list[Hold], samples: list[tuple[Sample, str | None]]) -> Node:
    start, end = bounds(month)
    near = [each for each in samples if each[0].start < end + NO_GAP and each[0].end > start - NO_GAP]
    found = machines_of(near, is_job=is_job(resource_id))
    devices = {device: without_gaps(of_device) for device, of_device in found.items()}
    return Node(resource_id, holds, devices, any(sample.is_partial for sample, _ in near))


@dataclass(frozen=True)
class Seen:
    observed: Fraction  # chip-microseconds
    busy: Fraction  # of them, at full use
    filled: Fraction = Fraction(0)  # short silences, unobserved
    filled_busy: Fraction = Fraction(0)
    metered: Fraction = Fraction(0)  # of what was observed, the time whose watts are known
    joules: Fraction = Fraction(0)  # in watt-microseconds
    driven: Fraction = Fraction(0)  # the time of which only a driver's share of full power is
    driven_busy: Fraction = Fraction(0)  # at that share
    powered_busy: Fraction = Fraction(0)  # the use of both, on which no energy rests
    watched: Fraction = Fraction(0)  # of what was observed, the time whose use was seen
    joules_low: Fraction = Fraction(0)  # by what meters may be off
    joules_high: Fraction = Fraction(0)
    driven_low: Fraction = Fraction(0)
    driven_high: Fraction = Fraction(0)

    def read(self, level: str) -> tuple[Fraction, Fraction]:
        """What meters read of chips, and the share that drivers state, at a level."""
        return {
            "low": (self.joules_low, self.driven_low),
            "mid": (self.joules, self.driven_busy),
            "high": (self.joules_high, self.driven_high),
        }[level]

    def __add__(self, other: "Seen") -> "Seen":
        return Seen(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(Seen)))

    def times(self, part: Fraction) -> "Seen":
        return Seen(*(getattr(self, each.name) * part for each in fields(Seen)))


NOTHING = Seen(Fraction(0), Fraction(0))


def _counted(spans: Iterable[Span], length: int, idle_beside: int = 0) -> Seen:
    spans = [span for span in spans if span.is_known]
    seen, filled = ([span.use or 0 for span in spans if span.is_filled is wanted] for wanted in (False, True))
    metered = [span for span in spans if span.power is not None]
    driven = [span for span in spans if span.power is None and span.driver is not None]
    beside = [span.use or 0 for span in spans if span.has_power]
    watched = [span for span in spans if span.use is not None and not span.is_filled]

    def total(figures: Iterable[int]) -> Fraction:
        return Fraction(sum(figures) * length, FULL)

    return Seen(
        Fraction((len(seen) + idle_beside) * length), total(seen), Fraction(len(filled) * length), total(filled),
        Fraction(len(metered) * length), total(span.power for span in metered),
        Fraction(len(driven) * length), total(span.driver for span in driven), total(beside),
        Fraction((len(watched) + idle_beside) * length),
        total(span.power_low for span in metered), total(span.power_high for span in metered),
        total(span.driver_low for span in driven), total(span.driver_high for span in driven),
    )  # fmt: skip


@dataclass
class Together:
    """All who hold a node between two instants in which nothing changes hands."""

    node: Node
    holds: list[Hold]

    def __post_init__(self) -> None:
        first = self.holds[0]
        self.start, self.end = first.start, first.end
        self.is_too_much = any(hold.part < 1 for hold in self.holds)
        # a chip of which runs hold parts is one that they use
        self.places = first.node_chips if self.is_too_much else math.ceil(sum(hold.promised for hold in self.holds))
        self.are_told_apart = len(self.holds) > 1 and not self.is_too_much
        runs = {hold.run for hold in self.holds}
        own = {hold.run for hold in self.holds if self.are_told_apart and self.node.shown_under(hold.run) <= hold.promised}
        self.spans: dict[Place, list[Span]] = {}
        for device, heard in self.node.devices.items():
            common = [each for each in heard if each.run not in own]
            self.spans[device, None] = spans_within(common, self.start, self.end, runs)
            for run in own:
                mine = [each for each in heard if each.run == run]
                self.spans[device, run] = spans_within(mine, self.start, self.end, runs)

    def owner(self, span: Span) -> str | None:
        return span.owner if self.are_told_apart else None

    def note_use(self) -> None:
        """Adds to what each run used of each device in the month."""
        for hold in self.holds:
            used = self.node.used[hold.run]
            for device, spans in self.spans.items():
                own = [span for span in spans if self.owner(span) in (None, hold.run)]
                stated = [(span.use or 0, span.power or 0, 0 if span.power is not None else span.driver or 0, 1) for span in own]
                long = [span.end - span.start if span.is_known else 0 for span in own]
                now = [sum(each[place] * length for each, length in zip(stated, long, strict=True)) for place in range(4)]
                used[device] = tuple(map(sum, zip(used.get(device, (0,) * 4), now, strict=True)))

    def _rank(self, place: Place) -> tuple:
        most = (-sum(self.node.used[hold.run].get(place, (0,) * 4)[number] for hold in self.holds) for number in range(4))
        (host, machine, number), run = place
        return *most, f"{host}|{machine + 1}|{number}" + (f"|{run}" if run else "")

    def _instants(self) -> Iterator[tuple[int, list[tuple[Device, Span]]]]:
        """How long, and which devices were seen then, in the order in which they count; a host has no more than its chips."""
        edges = sorted({edge for spans in self.spans.values() for span in spans for edge in (span.start, span.end)})
        order = sorted(self.spans, key=self._rank)
        hosts = {device[:2]: self.node.chips_of(device[:2]) for device, _ in self.spans}
        reading = {device: iter(self.spans[device]) for device in order}
        ahead = {device: next(reading[device], None) for device in order}
        for left, right in pairwise(edges):
            now = []
            for device in order:
                while (span := ahead[device]) is not None and span.end <= left:
                    ahead[device] = next(reading[device], None)
                if span is not None and span.start <= left:
                    now.append((device, span))
            taken: dict[Host, int] = defaultdict(int)
            chosen = []
            now = sorted(now, key=lambda each: (each[1].is_filled, not (each[1].is_measured or each[1].has_power)))
            for (device, run), span in sorted(now, key=lambda each: each[0][1] is None):
                if taken[device[:2]] < hosts[device[:2]]:
                    taken[device[:2]] += 1
                    chosen.append(((device, run), span))
            if chosen:
                yield right - left, [(place[0], span) for place, span in now if (place, span) in chosen]

    def seen(self) -> dict[Hold, Seen]:
        found = dict.fromkeys(self.holds, NOTHING)
        for length, devices in self._instants():
            own: dict[str, list[Span]] = defaultdict(list)
            rest = []
            promised = {hold.run: hold.promised for hold in self.holds}
            for _, span in devices:
                run = self.owner(span)
                if run is not None and len(own[run]) + 1 <= promised[run]:
                    own[run].append(span)
                else:
                    rest.append(span)
            taken = sum(len(spans) for spans in own.values())
            common = rest[: self.places - taken]
            silent = 0
            if self.node.is_partial:
                living = {
                    self.node.machine_of(device) for device, span in devices if not span.is_filled and not span.is_power_alone
                }
                alive = sum(chips for _, _, chips in living)
                lit = [span for span in chain(common, *own.values()) if not span.is_filled]
                silent = max(min(min(alive, self.places) - len(lit), self.places - taken - len(common)), 0)
            shared = _counted(common, length, silent)
            for hold in self.holds:
                mine = own.get(hold.run, ())
                lacks = hold.promised * hold.part if self.is_too_much else Fraction(hold.promised - len(mine))
                part = lacks / (self.places - taken) if lacks else Fraction(0)
                found[hold] += _counted(mine, length) + shared.times(part)
        return found


def observe(holds: list[Hold], telemetry: Telemetry) -> dict[Hold, Seen]:
    months: dict[tuple[str, date], list[Hold]] = defaultdict(list)
    for hold in holds:
        months[hold.resource_id, hold.month].append(hold)
    seen: dict[Hold, Seen] = {}
    for (resource_id, month), of_month in months.items():
        node = _node(resource_id, month, of_month, telemetry.by_machine.get(resource_id, []))
        times: dict[int, list[Hold]] = defaultdict(list)
        for hold in of_month:
            times[hold.start].append(hold)
        together = [Together(node, now) for now in times.values()]
        for each in together:
            each.note_use()
        for each in together:
            seen |= each.seen()
    return seen
