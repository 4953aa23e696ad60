"""Machines with a sample every few seconds, whose minutes are cut by runs, readings of power, gaps and other monitors.

Each is recorded twice: as it is, where most minutes are one row (int_device_minutes), and with a copy of every sample, where none
is. The figures are the same.
"""

from __future__ import annotations

import random
from datetime import timedelta

from tests.energy.raw_tables import Line
from tests.energy.scenario import CHIP, NEURON, START

MACHINES, SECONDS = 24, 900
WAYS = {"minutes": 1, "samples": 2}  # how often each sample is delivered
SECOND, MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)


def runs_of(number: int, way: str) -> list[str]:
    """Two runs after each other on every third machine, beside each other on every fifth, else one."""
    return [f"cut-{number}-{way}-{letter}" for letter in ("ab" if number % 3 == 0 or number % 5 == 0 else "a")]


def write(line: Line) -> None:
    for number in range(MACHINES):
        for way, copies in WAYS.items():
            _write(line, number, way, copies)


def _write(line: Line, number: int, way: str, copies: int) -> None:
    draw, host, runs = random.Random(f"minutes|{number}"), f"i-cut-{number}-{way}", runs_of(number, way)
    ends = draw.randrange(300, 600) * SECOND + draw.randrange(1_000_000) * MICROSECOND
    for run in runs:
        first = START + (ends if number % 3 == 0 and run.endswith("b") else 7 * SECOND)
        last = START + (ends if number % 3 == 0 and run.endswith("a") else SECONDS * SECOND)
        line.run(run, "AWS", (host, CHIP, 1, first, last))
    for monitor in range(1 + (number % 4 == 1)):
        rows = _samples(draw, host, 0 if monitor == 0 else 400)
        key = draw.choice([None, runs[0]])
        for _ in range(copies):
            line.samples(NEURON, rows, key=key, source=f"monitor-{monitor}")
    if number % 2:
        begins = draw.choice([0, 17.25])
        minutes = [minute for minute in range(SECONDS // 60) if draw.random() < 0.8]
        shares = [(minute, round(draw.random(), 3)) for minute in minutes]
        at = {minute: START + (60 * minute + begins) * SECOND for minute in minutes}
        rows = [(host, 0, at[minute], at[minute] + 60 * SECOND, None, {"power_ratio": share}) for minute, share in shares]
        line.power("neuron_power", rows, "neuron_sysfs")


def _samples(draw: random.Random, host: str, first: int) -> list[tuple]:
    """With clocks that slip by a millisecond or a third of a second, as a monitor's do, and a gap now and then."""
    spacing, slip = draw.choice([4, 5, 7, 20]), draw.choice([0, 1_000, 300_000])
    found = []
    for second in range(first + spacing, SECONDS + 60, spacing):
        end = START + second * SECOND
        start = end - spacing * SECOND - draw.randint(-slip, slip) * MICROSECOND
        if draw.random() < 0.98:
            found.append((host, 0, start, end, None if draw.random() < 0.005 else round(draw.random(), 6)))
    return found
