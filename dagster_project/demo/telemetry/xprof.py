"""XProf's profiles of TPU runs, `plugins/profile/<session>/<host>.xplane.pb`: five minutes of power of two rails of each chip.

An XSpace is written by the field numbers of the public schema. A counter's sample is an event with its watts as a stat.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from dagster_project.demo.clock import HOUR, MICRO
from dagster_project.demo.files import put
from dagster_project.demo.gcp.fleet import nodes_of
from dagster_project.demo.organisation import CAPTIONS, RANK_ON
from dagster_project.demo.simulation import Hold, Run, World
from dagster_project.demo.telemetry.observed import chips_of
from dagster_project.demo.telemetry.power import Metered

SAMPLES, SPACING = 20, 15  # of a session, seconds apart
RAILS = {1: "VDD Core SPI Sampler Power Meter (W)", 2: "HBM SPI Sampler Power Meter (W)"}
# about the mean watts of the two rails of a slice's first chip, invented; every further one draws two more
WATTS = {RANK_ON.workload_key: (89, 36)} | {
    each.workload_key: watts for each, watts in zip(CAPTIONS, ((101, 44), (94, 41), (109, 46)), strict=True)
}
DEVICES = {"v4": "TPU v4", "v5e": "TPU v5 lite"}
POWER, TYPE, STARTED, STOPPED, VERSION = 1, 2, 3, 4, 5
STATS = {POWER: "power", TYPE: "device_type_string", STARTED: "profile_start_time", STOPPED: "profile_stop_time"}
STATS |= {VERSION: "libtpu_version"}
SECOND_NS = 10**9
SECOND_PS = 10**12


def write_profiles(root: Path, worlds: Iterable[World], metered: Metered) -> None:
    for world in worlds:
        held = {node.instance_id for node in nodes_of(world)}
        for run in world.runs:
            for hold in run.attempts[-1].holds:
                if run.workload.workload_key in WATTS and hold.resource_id in held:
                    _write_session(root, run, hold, metered)


def watts_of(workload_key: str, chip: int, sample: int) -> tuple[int, int]:
    """Whole watts of Core and HBM, so that a window's joules are whole as well."""
    core, memory = WATTS[workload_key]
    return core + 2 * chip + (sample * 7 + chip * 3) % 9 - 4, memory + (sample + chip) % 5 - 2


def _write_session(root: Path, run: Run, hold: Hold, metered: Metered) -> None:
    start = hold.start // MICRO + HOUR
    length = SAMPLES * SPACING
    planes = [_task(start, start + length, run.workload.libtpu_version)]
    for chip in range(chips_of(run, hold)):
        planes.append(_chip(run.workload.workload_key, hold.instance_type, chip, start))
        joules = sum(sum(watts_of(run.workload.workload_key, chip, sample)) for sample in range(SAMPLES)) * SPACING
        metered.add(run, "xprof", hold.resource_id, chip, length, joules)
    content = b"".join(_bytes(1, plane) for plane in planes) + _text(4, hold.resource_id)
    session = datetime.fromtimestamp(start, UTC).strftime("%Y_%m_%d_%H_%M_%S")
    folder = root / run.run_id / "plugins/profile" / session
    put(folder / f"{hold.resource_id}.xplane.pb", content, start + length + 120)


def _task(start: int, end: int, version: str | None) -> bytes:
    """The plane that shows when the session was, and with which libtpu."""
    stats = [_stat(STARTED, start * SECOND_NS), _stat(STOPPED, end * SECOND_NS)]
    if version:
        stats.append(_number(1, VERSION) + _text(5, version))
    return _plane("Task Environment", {}, stats, [])


def _chip(workload_key: str, kind: str, chip: int, start: int) -> bytes:
    """A chip's plane: a line with the samples of both rails."""
    events = (
        _number(1, rail)
        + _number(2, sample * SPACING * SECOND_PS)
        + _number(3, SPACING * SECOND_PS)
        + _bytes(4, _number(1, POWER) + _double(2, float(watts)))
        for sample in range(SAMPLES)
        for rail, watts in zip(RAILS, watts_of(workload_key, chip, sample), strict=True)
    )
    line = _number(1, 1) + _text(2, "Power") + _number(3, start * SECOND_NS) + b"".join(_bytes(4, event) for event in events)
    return _plane(f"/device:TPU:{chip}", RAILS, [_number(1, TYPE) + _text(5, DEVICES[kind])], [line])


def _plane(name: str, events: dict[int, str], stats: list[bytes], lines: list[bytes]) -> bytes:
    """An XPlane; the entries of its maps name events and stats by number."""
    named = ((4, key, text) for key, text in events.items())
    maps = [*named, *((5, key, text) for key, text in STATS.items())]
    entries = (_bytes(field, _number(1, key) + _bytes(2, _number(1, key) + _text(2, text))) for field, key, text in maps)
    return _text(2, name) + b"".join([*(_bytes(3, line) for line in lines), *entries, *(_bytes(6, stat) for stat in stats)])


def _stat(number: int, value: int) -> bytes:
    return _number(1, number) + _number(3, value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())
