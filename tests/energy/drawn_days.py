"""Hours of telemetry about two midnights that come in a drawn order, come again in other words, or are withdrawn.

Five machines: one that a run of no known end holds, one of which two runs hold parts, one whose chips carry the keys of two runs,
the two of a managed job that names none, and one on which one run ends and the next begins at midnight.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tests.energy.raw_tables import Line
from tests.energy.scenario import CHIP, NEURON, NODE

MONTH, DAYS = date(2026, 7, 1), range(3, 7)
SECOND = timedelta(seconds=1)
JOB = "arn:aws:sagemaker:us-east-1:1:training-job/job"
HOSTS = ("i-open", "i-parts", "i-keys", "i-change", "algo-1")
WINDOWS = [(-180, -60), (-60, 0), (0, 90), (21_600, 21_690)]  # seconds from a midnight
# machines whose driver states its power: by minutes alone, and at moments too; a wall's meter reads moments of one of them
BY_MINUTES, AT_MOMENTS, AT_THE_WALL = ("i-change", "i-open", "i-parts"), ("i-open", "i-parts"), "i-parts"
POWER, WALL = "neuron_power", "power_meters"


def at(day: int, second: float = 0.0) -> datetime:
    return datetime(2026, 7, day) + timedelta(seconds=second)  # noqa: DTZ001 raw times are UTC without a zone


@dataclass(frozen=True)
class Delivery:
    """Samples of one machine about one midnight, in one of several tellings; telling 0 is that it was withdrawn."""

    host: str
    day: int
    window: int

    def rows(self, telling: int) -> list[tuple]:
        """Samples that slip by up to a third of a second, with gaps, over midnight and short of it."""
        draw = random.Random(f"{self}|{telling}")
        begin, end = WINDOWS[self.window]
        found = []
        for device in range(1 if self.host == "i-change" else 3):
            slip = draw.choice([0, 1, 300_000, -300_000])
            for second in range(begin, end, 5):
                if draw.random() < 0.06:
                    continue
                start = at(self.day, second) + timedelta(microseconds=draw.randint(0, abs(slip)) * (1 if slip > 0 else -1))
                length = draw.choice([5, 5, 5, 5.4, 4.7, 12])
                use = None if draw.random() < 0.02 else round(draw.random(), 6)
                found.append((self.host, device, start, start + length * SECOND, use))
        if draw.random() < 0.2:  # one document that covers far more than a day
            found.append((self.host, 0, at(self.day, -100_000), at(self.day, end), 0.25))
        return found

    def key(self) -> str | None:
        keys = {"i-keys": f"key-{'ab'[self.window % 2]}", "algo-1": "job", "i-open": "open" if self.window % 2 else None}
        return keys.get(self.host)

    def write(self, line: Line, telling: int) -> None:
        if not telling:
            return
        source = f"{self.host}-{self.day}-{self.window}"
        line.samples(NEURON, self.rows(telling), key=self.key(), source=source)
        draw = random.Random(f"power|{self}|{telling}")
        if self.host in BY_MINUTES:
            line.power(POWER, self.minutes(draw), "neuron_sysfs", source, run_key=self.key())
        if self.host in AT_MOMENTS:
            line.power(POWER, self.moments(draw), "neuron_observer", source, run_key=self.key())
        if self.host == AT_THE_WALL:
            seconds = range(*WINDOWS[self.window], 30)
            read = [(self.host, None, None, at(self.day, second), draw.choice([20, 900, 3_000])) for second in seconds]
            line.power(WALL, read[: draw.randint(0, 9)], "pdu", source)

    def minutes(self, draw: random.Random) -> list[tuple]:
        """The driver's share of full power by minutes, which slip: some lie over midnight; one row covers a day and more."""
        begin, end = WINDOWS[self.window]
        slip = draw.choice([0, 0, 20, -20])
        devices = range(1 if self.host == "i-change" else 3)
        starts = [(device, second + slip) for device in devices for second in range(begin, end, 60)]
        found = [(device, second, second + 60) for device, second in starts if draw.random() < 0.9]
        if draw.random() < 0.1:
            found.append((1, begin - 100_000, end))
        return [
            (self.host, device, at(self.day, start), at(self.day, stop), None, {"power_ratio": round(draw.random(), 3)})
            for device, start, stop in found
        ]

    def moments(self, draw: random.Random) -> list[tuple]:
        """Its share at moments some twenty seconds apart, or a single one in a day."""
        begin, end = WINDOWS[self.window]
        seconds = [second + draw.choice([0, 0, 3]) for second in range(begin, end, draw.choice([20, 20, 200]))]
        return [
            (self.host, device, None, at(self.day, second), None, {"power_ratio": round(draw.random(), 3)})
            for device in (3, 4)
            for second in seconds
            if draw.random() < 0.9
        ]


def drawn(seed: str) -> Iterator[dict[Delivery, int]]:
    """What is there after each arrival: of some deliveries a telling."""
    draw = random.Random(seed)
    every = [Delivery(host, day, window) for host in HOSTS for day in DAYS for window in range(len(WINDOWS))]
    there = {one: 1 for one in every if draw.random() < 0.5}
    yield dict(there)
    while True:
        if draw.random() < 0.25:  # a source has nothing of a day any more
            host, day = draw.choice(HOSTS), draw.choice(DAYS)
            there = {one: told for one, told in there.items() if (one.host, one.day) != (host, day)}
        else:
            for one in draw.sample(every, draw.randint(1, 3)):
                there[one] = draw.randint(1, 3)
        yield dict(there)


def write_runs(line: Line) -> None:
    first, last = at(DAYS[0], 1_000), at(DAYS[-1], 30_000)
    line.run("open", "AWS", ("i-open", NODE, 16, first, None))
    line.run("part-a", "AWS", ("i-parts", NODE, 1, first, last))
    line.run("part-b", "AWS", ("i-parts", NODE, 1, at(4), last))
    line.run("key-a", "AWS", ("i-keys", NODE, 1, first, last))
    line.run("key-b", "AWS", ("i-keys", NODE, 4, first, last))
    line.job("job", "sagemaker", JOB, (NODE, 16, 2), start=first, end=last)
    line.run("change-a", "AWS", ("i-change", CHIP, 1, first, at(5)))
    line.run("change-b", "AWS", ("i-change", CHIP, 1, at(5), at(5, 60)))
