"""Nodes of sixteen chips with drawn runs and telemetry, and what each drew in all: nothing here knows who holds which chip.

Half of the nodes are billed for two hours, so that time which no run held is theirs too; of the others only held time counts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal as D

from tests.energy.raw_tables import Line

START = datetime(2026, 7, 10, 1)  # noqa: DTZ001 raw times are UTC without a zone
MINUTE = timedelta(minutes=1)
NODE = "trn1.32xlarge"
CHIPS, MINUTES, STEP = 16, 120, 20  # of each node; minutes drawn; minutes of a sample
Stream = dict[tuple[int, int], float]  # device, sample -> use


@dataclass(frozen=True)
class DrawnNode:
    name: str
    runs: dict[str, tuple[int | None, int, int]]  # chips, first minute, last minute
    streams: dict[str | None, Stream]  # by run key
    is_billed: bool
    watts: Stream = field(default_factory=dict)  # of chips, read where they were
    wall: tuple[int, ...] = ()  # of the node, of each sample

    def integral_kwh(self) -> D:
        """Every chip at its greatest measured use, and the host, minute by minute: idle 43 W, full 142 W, host 523 W."""
        tenth_watt_minutes = sum(self._tenth_watts(minute) for minute in range(MINUTES))
        pue = D("1.15") if self.is_billed else D("1.14")
        return D(tenth_watt_minutes) / 600 / 1000 * D("1.05") * pue

    def _tenth_watts(self, minute: int) -> D:
        holders = {run for run, (_, first, last) in self.runs.items() if first <= minute < last}
        if not holders and not self.is_billed:
            return D(0)
        if self.wall:
            return D(10 * self.wall[minute // STEP])
        heard = [stream for key, stream in self.streams.items() if key is None or key in holders or not holders]
        uses = {device: max(D(str(stream[device, minute // STEP])) for stream in heard) for device in range(CHIPS)}
        known = {device: self.watts.get((device, minute // STEP)) for device in range(CHIPS)}
        chips = sum(43 + uses[device] * 99 if watts is None else D(str(watts)) for device, watts in known.items())
        return 10 * (chips + 523)


def draw_nodes(seed: int = 7, count: int = 18) -> list[DrawnNode]:
    draw = random.Random(seed)
    return [_draw(draw, f"i-drawn-{number}", number) for number in range(count)]


def _draw(draw: random.Random, name: str, number: int) -> DrawnNode:
    runs = {}
    for letter in "abcd"[: draw.randint(1, 4)]:
        first = draw.randrange(0, 100)
        runs[f"{name}-{letter}"] = draw.choice([1, 2, 4, 4, 8, 12, None]), first, draw.randint(first + 1, MINUTES)
    nobody: list[str | None] = [None]
    keys = (nobody, list(runs), nobody + list(runs))[number % 3]
    streams = {key: _stream(draw) for key in keys}
    # where no run's key separates chips, watts are of the node's own numbers
    watts = {place: draw.choice([30, 80, 120.5]) for place in streams[None] if draw.random() < 0.6} if number % 3 == 0 else {}
    wall = tuple(draw.randrange(500, 3000) for _ in range(MINUTES // STEP)) if number % 3 == 1 and number % 4 == 0 else ()
    return DrawnNode(name, runs, streams, number % 2 == 0, watts, wall)


def _stream(draw: random.Random) -> Stream:
    busy = draw.sample(range(CHIPS), draw.randint(2, CHIPS))
    return {
        (device, sample): draw.choice([0.25, 0.5, 1.0]) if device in busy else 0.0
        for device in range(CHIPS)
        for sample in range(MINUTES // STEP)
    }


def write(line: Line) -> int:
    """Puts all of them into the raw tables; how many hours they are billed for."""
    hours = 0
    for node in draw_nodes():
        for run, (chips, first, last) in node.runs.items():
            line.run(run, "AWS", (node.name, NODE, chips, START + first * MINUTE, START + last * MINUTE))
        for key, stream in node.streams.items():
            begins = {sample: START + sample * STEP * MINUTE for sample in range(MINUTES // STEP)}
            rows = [
                (node.name, device, begins[sample], begins[sample] + STEP * MINUTE, use)
                for (device, sample), use in stream.items()
            ]
            line.samples("neuron_monitor", rows, key=key)
        begins = {sample: START + sample * STEP * MINUTE for sample in range(MINUTES // STEP)}
        chips = [(node.name, device, begins[at], begins[at] + STEP * MINUTE, watts) for (device, at), watts in node.watts.items()]
        line.power("gpu_monitoring", chips, "nvml")
        read = [(node.name, None, begins[at], begins[at] + STEP * MINUTE, watts) for at, watts in enumerate(node.wall)]
        line.power("power_meters", read, "pdu")
        for hour in range(2 if node.is_billed else 0):
            line.bill_hour(node.name, NODE, START + hour * timedelta(hours=1), account=node.name)
            hours += 1
    return hours
