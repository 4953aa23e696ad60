"""Profiles as XSpace protobuf files: planes of TPU chips and the counters of power on them, by the numbers of the public schema.

Schema: openxla/xla, third_party/tsl/tsl/profiler/protobuf/xplane.proto at f33d2e16; names of planes, lines and stats:
xla/tsl/profiler/utils/xplane_schema.cc at 02e89dc4. A file of hundreds of MB is mapped, not read: planes without a counter of
power, lines of operations and the texts of programs are jumped over. Which counters count is in counters.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from connectors.formats.protobuf_wire import FIXED64, LENGTH, VARINT, Buffer, WireError, double, fields, last_fields, signed, text
from connectors.power.counters import Plane, Profile, type_of
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, is_recorded

# by number: XSpace planes 1, hostnames 4
_SPACE = {1: LENGTH, 4: LENGTH}
# XPlane name 2, lines 3, event_metadata 4, stat_metadata 5, stats 6; entries of maps have their key in 1 and their value in 2
_NAME = {2: LENGTH}
_STATS = {6: LENGTH}
_LINES = {3: LENGTH}
_ENTRY = {1: VARINT, 2: LENGTH}
# XLine name 2, timestamp_ns 3, events 4
_LINE = {2: LENGTH, 3: VARINT}
_EVENTS = {4: LENGTH}
# XEvent metadata_id 1, offset_ps 2, duration_ps 3, stats 4, num_occurrences 5
_EVENT = {1: VARINT, 2: VARINT, 3: VARINT, 4: LENGTH, 5: VARINT}
# XStat metadata_id 1, then one of double 2, uint64 3, int64 4, str 5, bytes 6, ref 7 (the name of a stat_metadata)
_STAT = {1: VARINT, 2: FIXED64, 3: VARINT, 4: VARINT, 5: LENGTH, 6: LENGTH, 7: VARINT}
_BYTES, _REF = (5, 6), 7
_CORE = {4: VARINT}  # CoreDetails local_chip_id: openxla/xprof, plugin/xprof/protobuf/op_stats.proto at a27d00aa

_DEVICES = ("/device:", "#Chip")
_DEVICE = re.compile(r"/device:TPU:(\d{1,4})(?: SparseCore.*)?|#Chip ?(\d{1,4})(?!\d).*")
_OF_THE_SESSION = frozenset({"Task Environment", "/host:metadata"})
_POWER = re.compile(rb"power ?meter", re.I)
_VERSION = re.compile(r"[\w.+-]{1,64}", re.ASCII)
_VERSIONS = ("libtpu_version", "tpu_version", "jax_version")  # the first that is one counts
_VALUES = frozenset({"power"})
_NO_VALUES = frozenset({"performance_counter_id", "device_offset_ps", "device_duration_ps"})
_PLANE_STATS = frozenset({"device_type_string", "core_details", "profile_start_time", "profile_stop_time", *_VERSIONS})
# millions of events, of which none is a counter
_NO_COUNTERS = frozenset(
    {"XLA Ops", "XLA Modules", "Async XLA Ops", "XLA TraceMe", "Steps", "Framework Name Scope", "Framework Ops", "Source code"}
    | {"Tensor Core Sync Flag", "Sparse Core Ops", "Sparse Core Modules", "Sparse Core Steps", "Sparse Core Syncs"}
)
_MOST_SAMPLES = 10_000_000
_RECORDED_NS = 1_136_073_600 * 10**9  # 2006: a smaller time counts from the start of the session
_REMEDY = "Deliver the xplane.pb as the profiler wrote it."


@dataclass(frozen=True, slots=True)
class _Span:
    """A plane in the file."""

    place: int
    name: str
    start: int
    stop: int


def read_profile(data: Buffer, size: int, facts: KeyFacts, named: str | None, problems: Problems) -> Profile | None:
    """Read one XSpace; None where no plane of a TPU has a counter of power. `named` is the host that the file's name gives."""
    hosts: list[str] = []
    spans: list[_Span] = []
    for number, start, stop in fields(data, 0, size, _SPACE):
        if number == 4:
            hosts.append(text(data, start, stop))
        else:
            spans.append(_Span(len(spans) + 1, _name_of(data, start, stop), start, stop))
    stated: dict[str, str | float] = {}
    for span in spans:
        if span.name in _OF_THE_SESSION:
            stated |= _stated(data, span)
        elif span.name.startswith(_DEVICES) and not _DEVICE.fullmatch(span.name) and _POWER.search(data, span.start, span.stop):
            remedy = "Report the name of this plane: its counters of power name no chip that is known."
            problems.add(span.place, SampleError("unknown_chip", span.name[:100], remedy))
    metered = [span for span in spans if _DEVICE.fullmatch(span.name) and _POWER.search(data, span.start, span.stop)]
    if not metered:
        if any(_DEVICE.fullmatch(span.name) for span in spans):
            remedy = "Profile with tpu_power_trace_level 1 or 2: this profile of TPUs has no counter of power."
            problems.add(1, SampleError("no_power", None, remedy))
        return None
    started, stopped = stated.get("profile_start_time"), stated.get("profile_stop_time")
    base = int(started) if isinstance(started, int) else None
    if base is None and facts.started_at is not None:
        base = facts.started_at * 1000
    versions = (str(stated[name]) for name in _VERSIONS if name in stated)
    profile = Profile(
        base or 0,
        int(stopped) if isinstance(stopped, int) and base is not None and stopped > base else None,
        facts.run,
        facts.host or (hosts[0] if len(hosts) == 1 and hosts[0] else named),
        next(filter(_VERSION.fullmatch, versions), None),
        [],
    )
    if base is not None and not is_recorded(base // 1000):
        raise SampleError("bad_time", "profile_start_time", _REMEDY)
    reader = _Reader(data, profile, base)
    for span in metered:
        reader.plane(span)
    return profile


@dataclass(slots=True)
class _Reader:
    """Reads the counters of device planes into a profile."""

    data: Buffer
    profile: Profile
    base: int | None  # when the session started, where that is known
    count: int = 0

    def plane(self, span: _Span) -> None:
        match = _DEVICE.fullmatch(span.name)
        assert match
        wanted, names = _metadata(self.data, span)
        stated = _stated(self.data, span)
        device, chip = stated.get("device_type_string"), stated.get("core_details")
        number = int(match[1] or match[2])
        stated_chip = chip if isinstance(chip, int) and 0 <= chip < 10_000 else None
        plane = Plane(span.place, number, number if match[2] else stated_chip, type_of(str(device)) if device else None)
        for _, start, stop in fields(self.data, span.start, span.stop, _LINES):
            self._line(plane, wanted, names, start, stop)
        if plane.counters:
            self.profile.planes.append(plane)

    def _line(self, plane: Plane, wanted: dict[int, str], names: dict[int, str], start: int, stop: int) -> None:
        stated = last_fields(self.data, start, stop, _LINE)
        name, timestamp = text(self.data, *stated.get(2, (0, 0))), signed(stated.get(3, (0, 0))[0])
        if name in _NO_COUNTERS:
            return
        of_line = name if _is_meter(name) else None
        if not wanted and of_line is None:
            return
        shift: int | None = None
        for _, first, second in fields(self.data, start, stop, _EVENTS):
            found = self._event(first, second, wanted, of_line, names)
            if found is None:
                continue
            if shift is None:
                shift = self._shift(timestamp)
            counter, offset, duration, watts = found
            self.count += 1
            if self.count > _MOST_SAMPLES:
                raise WireError(f"more than {_MOST_SAMPLES} samples of power", first)
            plane.counters[counter].add(shift + offset, duration, watts)

    def _shift(self, timestamp: int) -> int:
        """Picoseconds from the profile's base to a line's start: lines count from the start of their session, or from 1970."""
        if not -(1 << 60) < timestamp < 1 << 62:
            raise SampleError("bad_time", "timestamp_ns", _REMEDY)
        if timestamp >= _RECORDED_NS:
            if not self.profile.base_ns:
                self.profile.base_ns = timestamp
            return (timestamp - self.profile.base_ns) * 1000
        if self.base is None:
            remedy = "Keep the profile's plane Task Environment, or the name of its session folder, which is its time."
            raise SampleError("missing_time", "profile_start_time", remedy)
        return timestamp * 1000

    def _event(
        self, start: int, stop: int, wanted: dict[int, str], of_line: str | None, names: dict[int, str]
    ) -> tuple[str, int, int, float] | None:
        """Counter, offset, duration and watts of a sample. A counter is named by its events, or by a line of its own."""
        id_, offset, duration, is_sum = 0, 0, 0, False
        stats = []
        for number, first, second in fields(self.data, start, stop, _EVENT):
            if number == 1:
                id_ = signed(first)
            elif number == 4:
                stats.append((first, second))
            elif number == 3:
                duration = signed(first)
            else:  # of offset and occurrences the last that is written counts, as in any choice of fields
                is_sum = number == 5
                offset = 0 if is_sum else signed(first)
        counter = wanted.get(id_, of_line)
        if counter is None or is_sum:
            return None
        watts = self._watts(stats, names)
        return None if watts is None else (counter, offset, duration, watts)

    def _watts(self, spans: list[tuple[int, int]], names: dict[int, str]) -> float | None:
        """The stat named power, else the one number that is no id and no time."""
        numbers = []
        for span in spans:
            id_, _, number, _ = _stat(self.data, *span)
            name = names.get(id_, "")
            if number is None or name in _NO_VALUES:
                continue
            if name in _VALUES:
                return number
            numbers.append(number)
        return numbers[0] if len(numbers) == 1 else None


def _name_of(data: Buffer, start: int, stop: int) -> str:
    return text(data, *last_fields(data, start, stop, _NAME).get(2, (0, 0)))


def _entries(data: Buffer, start: int, stop: int, number: int) -> Iterator[tuple[int, str]]:
    """Key and name of each entry of a plane's event_metadata (4) or stat_metadata (5)."""
    for _, first, second in fields(data, start, stop, {number: LENGTH}):
        key, name = 0, ""
        for part, one, two in fields(data, first, second, _ENTRY):
            if part == 1:
                key = signed(one)
            else:
                name = _name_of(data, one, two) or name
        yield key, name


def _is_meter(name: str) -> bool:
    """Whether a name may be a counter's. One in another unit is: it is reported."""
    return len(name) < 200 and _POWER.search(name.encode()) is not None


def _metadata(data: Buffer, span: _Span) -> tuple[dict[int, str], dict[int, str]]:
    """Names of the counters of power by id, and of the stats that say what an event's number is."""
    wanted: dict[int, str] = {}
    for key, name in _entries(data, span.start, span.stop, 4):
        wanted.pop(key, None)
        if _is_meter(name):
            wanted[key] = name
    named = ((key, name.lower()) for key, name in _entries(data, span.start, span.stop, 5))
    return wanted, {key: name for key, name in named if name in _VALUES | _NO_VALUES}


def _stated(data: Buffer, span: _Span) -> dict[str, str | float]:
    """The stats of a plane that are asked for, by name; of core_details the chip."""
    ids = {key: name for key, name in _entries(data, span.start, span.stop, 5) if name in _PLANE_STATS}
    found: dict[str, str | float] = {}
    if not ids:
        return found
    for _, start, stop in fields(data, span.start, span.stop, _STATS):
        id_, which, number, (first, second) = _stat(data, start, stop)
        if (name := ids.get(id_)) is None:
            continue
        if name == "core_details" and which in _BYTES:
            found[name] = last_fields(data, first, second, _CORE).get(4, (0, 0))[0]  # a field that is 0 is not written
        elif number is not None:
            found[name] = number
        elif which in _BYTES:
            found[name] = text(data, first, second)
        elif which == _REF:
            found[name] = next((one for key, one in _entries(data, span.start, span.stop, 5) if key == first), "")
    return found


def _stat(data: Buffer, start: int, stop: int) -> tuple[int, int, float | None, tuple[int, int]]:
    """A stat of a plane or event: the id of its name, and of its one value the field, the number in it, and value or place."""
    id_ = which = first = second = 0
    for number, one, two in fields(data, start, stop, _STAT):
        if number == 1:
            id_ = signed(one)
        else:  # of a choice of fields the last counts
            which, first, second = number, one, two
    value = double(data, first) if which == 2 else first if which == 3 else signed(first) if which == 4 else None
    return id_, which, value, (first, second)
