"""Counters of power in a profile: which of them meter which rail of which chip, and what their samples prove of a time.

A counter holds its value until its next sample. Where the firmware averages a rail over several timescales (PL1 to PL4), one of
them counts, or the rail would be added up four times. A window of a chip is a time in which each of its rails is known. How
planes or JSON are read is not known here.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import lt
from typing import NamedTuple

from connectors.formats.tpu_names import tpu_type_of
from connectors.power.readings import Owner, Reading, document_hash_of
from connectors.telemetry.samples import Problems, SampleError, is_recorded

_METER = re.compile(
    r"(?P<rail>.*?)\s*\b(?:(?P<spi>SPI(?: Sampler)?)|FW|Firmware)?\s*Power ?Meter(?:\s+PL(?P<level>\d{1,2}))?"
    r"\s*(?:\((?P<unit>[^)]*)\))?(?:\s+(?P<core>\d{1,3}))?\s*:?\s*",
    re.I,
)
_WHOLE = frozenset({"", "total", "chip", "package", "board"})
_LONGEST = 200  # characters of a name; those of operations can be longer
_MOST = 1e8  # watts
_SECOND = 10**12
_HOUR = 3600 * _SECOND
_MICROSECOND = 10**6
_REMEDY = "Profile with tpu_power_trace_level 1 or 2 for a second or more, and deliver the xplane.pb as it was written."

Piece = tuple[int, int, float]  # start, end, watts


class Meter(NamedTuple):
    """What a counter reads, by its name: `VDD Core FW Power Meter PL1(W)` is the firmware's first average of the rail Core."""

    meter: str
    rail: str | None  # None: the whole chip
    level: int


@dataclass(slots=True)
class Samples:
    """Samples of one counter: picoseconds since their profile's base, how long each lasted (0: not known), watts."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    durations: array[int] = field(default_factory=lambda: array("q"))
    watts: array[float] = field(default_factory=lambda: array("d"))

    def add(self, start: int, duration: int, watts: float) -> None:
        """Take a sample; a figure that no meter reads is unknown from there to the next."""
        if not -(1 << 62) < start < 1 << 62 or not 0 <= duration < 1 << 62:
            raise SampleError("bad_time", "offset_ps", _REMEDY)
        self.starts.append(start)
        self.durations.append(duration)
        self.watts.append(watts if 0 <= watts < _MOST else math.nan)

    def ordered(self) -> list[tuple[int, int, float]]:
        """By time, each once; of several at one instant the greatest figure is the last, which counts."""
        rows = [*zip(self.starts, self.durations, self.watts, strict=True)]
        if all(map(lt, self.starts, self.starts[1:])):
            return rows  # as profilers write them
        rows.sort(key=lambda row: (row[0], not math.isnan(row[2]), row[2], row[1]))
        return [row for row, after in pairwise(rows) if row[0] != after[0]] + rows[-1:]

    def digest(self) -> str:
        """Equal for the same samples in any order."""
        return hashlib.sha256(repr(self.ordered()).encode()).hexdigest()


@dataclass(slots=True)
class Plane:
    """A device plane: its place in the file from 1, the number in its name, its chip where it names it, its counters by name."""

    place: int
    number: int
    chip: int | None
    type: str | None
    counters: dict[str, Samples] = field(default_factory=lambda: defaultdict(Samples))


@dataclass(slots=True)
class Profile:
    """What one file holds: the moment its times count from, when the session ended, whose it is, and its planes."""

    base_ns: int
    end_ns: int | None
    run: str | None
    host: str | None
    sdk_version: str | None
    planes: list[Plane]


# of these generations a plane is a TensorCore or a chiplet, and a chip has two
_TWO_PLANES = frozenset({"v2", "v3", "v7x"})


def meter_of(name: str) -> Meter | None:
    """Read a counter's name; None for a counter of something else, SampleError for power in a unit that is not watts."""
    match = _METER.fullmatch(name) if len(name) < _LONGEST else None
    if not match:
        return None
    if match["unit"] is not None and match["unit"].strip() not in ("W", "w"):
        raise SampleError("wrong_unit", name[:100], "Counters of power are read in watts, as XProf names them: (W).")
    rail = re.sub(r"^VDD\s+", "", match["rail"].strip(), flags=re.I)
    whole = rail.lower() in _WHOLE
    named = None if whole else " ".join(filter(None, (rail, match["core"])))
    return Meter("xprof_spi" if match["spi"] else "xprof_firmware", named, int(match["level"] or 0))


def type_of(device: str) -> str | None:
    """The accelerator type that a profile names. JAX calls a v5p "TPU v5", beside "TPU v5 lite"."""
    found = tpu_type_of(device)
    return "v5p" if found == "v5" else found


def check_host(host: str | None, run: str | None) -> None:
    """Refuse a reading of no host and no run."""
    if not host and not run:
        raise SampleError("missing_host", None, "Keep the file's name, which is its host, or put host= or run= into the key.")


def readings_of(profile: Profile, problems: Problems) -> Iterator[Reading]:
    """Rows of each chip and meter: one for each rail and window."""
    check_host(profile.host, profile.run)
    for (chip, meter), (planes, rails) in sorted(_rails(profile, problems).items()):
        owner = Owner(profile.host, profile.run, next(filter(None, (plane.type for plane in planes)), None))
        end = None if profile.end_ns is None else (profile.end_ns - profile.base_ns) * 1000
        pieces = {rail: pieces_of(samples.ordered(), end) for rail, samples in rails.items()}
        rows = []
        for start, stop in _windows([*map(_covered, pieces.values())], profile.base_ns * 1000):
            first, last = ((profile.base_ns * 1000 + time) // _MICROSECOND for time in (start, stop))
            if not (is_recorded(first) and is_recorded(last)):
                raise SampleError("bad_time", "timestamp_ns", _REMEDY)
            for rail, of_rail in sorted(pieces.items(), key=lambda pair: pair[0] or ""):
                watts = mean_of(of_rail, start, stop)
                # the same window in another file, or read again, is the same observation
                digest = document_hash_of(profile.host, chip, meter, rail, first, last, watts)
                place = (digest, planes[0].place, *owner, chip, first, last, meter)
                rows.append(Reading(*place, watts, component=rail, sdk_version=profile.sdk_version, is_sampled=True))
        yield from rows
        if not rows:
            problems.add(planes[0].place, SampleError("no_window", f"TPU:{chip} {meter}", _REMEDY))


def pieces_of(samples: list[tuple[int, int, float]], end: int | None) -> list[Piece]:
    """What each sample proves: its watts until the next one, unless its duration ended more than a second before that.

    The last one holds for its duration, else to the end of the session where that is known, but no longer than two samples
    before it were apart: a buffer that was full is no proof of what came after it.
    """
    pieces = []
    for (start, duration, watts), (after, _, _) in pairwise(samples):
        own = start + duration if duration else after
        pieces.append((start, after if after - own <= _SECOND else own, watts))
    if samples:
        start, duration, watts = samples[-1]
        longest = max((after[0] - before[0] for before, after in pairwise(samples)), default=0)
        hold = duration or (0 if end is None else min(longest, max(end - start, 0)))
        pieces.append((start, start + hold, watts))
    return [piece for piece in pieces if piece[0] < piece[1] and not math.isnan(piece[2])]


def mean_of(pieces: list[Piece], start: int, stop: int) -> float:
    """Mean watts of a window that the pieces cover: watts times time, over time."""
    first = max(bisect_right(pieces, start, key=lambda piece: piece[0]) - 1, 0)
    parts = []
    for index in range(first, len(pieces)):
        since, until, watts = pieces[index]
        if since >= stop:
            break
        parts.append(watts * (min(until, stop) - max(since, start)))
    return math.fsum(parts) / (stop - start)


def _rails(profile: Profile, problems: Problems) -> dict[tuple[int, str], tuple[list[Plane], dict[str | None, Samples]]]:
    """The counter that counts for each rail, by chip and meter."""
    found: dict[tuple[int, str], dict[str | None, dict[int, dict[int, Samples]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    planes: dict[tuple[int, str], list[Plane]] = defaultdict(list)
    for plane in sorted(profile.planes, key=lambda one: (one.number, one.place)):
        chip = plane.chip
        if chip is None:
            chip = plane.number // 2 if plane.type in _TWO_PLANES else plane.number
        for name, samples in plane.counters.items():
            with problems.left_out(plane.place):
                if meter := meter_of(name):
                    key = (chip, meter.meter)
                    levels = found[key][meter.rail][meter.level]
                    levels[plane.number] = _joined(levels.get(plane.number), samples)
                    planes[key].append(plane)
    return {key: (planes[key], _chosen(rails)) for key, rails in found.items()}


def _joined(one: Samples | None, other: Samples) -> Samples:
    """Planes of one name are one timeline, as lines of one id are."""
    if one is None:
        return other
    return Samples(one.starts + other.starts, one.durations + other.durations, one.watts + other.watts)


def _chosen(rails: dict[str | None, dict[int, dict[int, Samples]]]) -> dict[str | None, Samples]:
    """Of each rail its lowest level: the average over the longest time, of which no part of the time is left out."""
    chosen: dict[str | None, Samples] = {}
    for rail, levels in rails.items():
        by_plane = levels[min(levels)]
        # the same series on both planes of a chip is one meter of the chip; two series are a meter of each of its dies
        different = {samples.digest(): number for number, samples in sorted(by_plane.items(), reverse=True)}
        for number in sorted(different.values()):
            name = rail if len(different) == 1 else f"{rail or 'whole'} TPU:{number}"
            chosen[name] = by_plane[number]
    return chosen


def _covered(pieces: Iterable[Piece]) -> list[tuple[int, int]]:
    """The times that pieces in order cover, as few as there are gaps between them."""
    covered: list[tuple[int, int]] = []
    for start, stop, _ in pieces:
        if covered and start <= covered[-1][1]:
            covered[-1] = (covered[-1][0], max(stop, covered[-1][1]))
        else:
            covered.append((start, stop))
    return covered


def _windows(covered: Sequence[list[tuple[int, int]]], base: int) -> Iterator[tuple[int, int]]:
    """Times in which every rail is known, in whole microseconds of the clock, none longer than a clock hour."""
    edges = [edge for start, stop in chain.from_iterable(covered) for edge in ((start, 1), (stop, -1))]
    known = since = 0
    for time, step in sorted(edges):
        if known == len(covered):  # until here all were known
            first = -(-(base + since) // _MICROSECOND) * _MICROSECOND
            last = (base + time) // _MICROSECOND * _MICROSECOND
            while first < last:
                until = min(last, (first // _HOUR + 1) * _HOUR)
                yield first - base, until - base
                first = until
        known += step
        since = time
