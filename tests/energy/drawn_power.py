"""Hours of one chip with drawn readings of several meters, each hour told in four ways by four runs: the figures are the same.

As told; every reading cut into pieces; copies in other files, in any order; and both.
"""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from tests.energy.raw_tables import Line, insert
from tests.energy.scenario import CHIP, END, NEURON, START

STORIES = 10
WAYS = ("plain", "split", "copied", "both")
SECOND = timedelta(seconds=1)


class Reading(NamedTuple):
    table: str
    first: int  # second of the hour
    last: int
    figures: dict[str, Any]


def stories(seed: int = 11) -> dict[str, list[Reading]]:
    draw = random.Random(seed)
    return {f"story-{number}": _story(draw) for number in range(STORIES)}


def _story(draw: random.Random) -> list[Reading]:
    """Readings that overlap, leave gaps, and reach over the ends of the hour."""
    found = []
    for table, meter, name, choices in (
        (NEURON, None, "utilisation_ratio", (0.0, 0.25, 0.5, 1.0, None)),
        ("neuron_power", "neuron_sysfs", "power_ratio", (0.0, 0.18, 0.6, None)),
        ("xprof", "xprof_firmware", "power_w", (5, 77.5, 130, None)),
        ("gpu_monitoring", "nvml", "power_w", (60, 100, None)),
    ):
        at = draw.randrange(-200, 900)
        while at < 3700:
            long = draw.choice([1, 60, 300, 700])
            figures = {name: draw.choice(choices)} | ({} if meter is None else {"meter": meter})
            found.append(Reading(table, at, at + long, figures))
            at += long + draw.choice([0, 0, -30, 40, 900])
    return found


def told(readings: list[Reading], way: str, draw: random.Random) -> list[Reading]:
    found = list(readings)
    if way in ("split", "both"):
        found = [piece for reading in found for piece in _pieces(reading, draw)]
    if way in ("copied", "both"):
        found += [reading for reading in found if draw.random() < 0.4]
        draw.shuffle(found)
    return found


def _pieces(reading: Reading, draw: random.Random) -> list[Reading]:
    inner = {draw.randrange(reading.first, reading.last) for _ in range(2)} - {reading.first}
    edges = [reading.first, *sorted(inner), reading.last]
    return [reading._replace(first=first, last=last) for first, last in pairwise(edges)]


def write(line: Line) -> None:
    draw = random.Random(12)
    for name, readings in stories().items():
        for way in WAYS:
            run = f"{name}-{way}"
            line.run(run, "AWS", (f"i-{run}", CHIP, 1, START, END))
            for reading in told(readings, way, draw):
                _write(line, f"i-{run}", reading)


def _write(line: Line, host: str, reading: Reading) -> None:
    values: dict[str, Any] = {
        "host_id": host,
        "device_index": 0,
        "sample_start": START + reading.first * SECOND,
        "sample_end": START + reading.last * SECOND,
        "document_hash": f"{host}-{reading}",
        "is_idle_by_absence": False,
        "evidence": "measured" if reading.table == NEURON else "power",
    }
    if reading.table != NEURON:
        # a version of its own: no machine calibrates another's watts
        values |= {"boundary": "chip", "is_sampled": False, "sdk_version": f"of {host} alone"}
    insert(line.connection, reading.table, **values, **reading.figures, **line.meta(reading.table))


def integral_kwh(readings: list[Reading]) -> float:
    """The chip's hour second by second: watts, else the greatest share, else use, else the mean of the type."""
    return sum(_watts([each for each in readings if each.first <= second < each.last]) for second in range(3600)) / 3_600_000


def _watts(now: list[Reading]) -> float:
    known = [
        [each.figures[name] for each in now if each.figures.get(name) is not None]
        for name in ("power_w", "power_ratio", "utilisation_ratio")
    ]
    if known[0]:
        return max(known[0])
    return 43 + max(known[1] or known[2]) * 99 if known[1] or known[2] else 121
