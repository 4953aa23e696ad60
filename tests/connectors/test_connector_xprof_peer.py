"""The public package's own reader sees the planes, lines, events and counters that ours sees."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from connectors.formats.protobuf_wire import LENGTH, fields, text
from connectors.power.xplane import read_profile
from connectors.telemetry.samples import KeyFacts, Problems
from tests.connectors.test_connector_xprof import CORE, HBM, profile, real_and_chip
from tests.connectors.test_connector_xprof_damaged import event, field, parts_of
from tests.connectors.xspaces import counter, device, space_of

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(os.environ.get("TRAINLEDGER_XPROF_PEER") or ROOT / ".venv-xprof-peer")


@pytest.fixture(scope="module")
def peer() -> Path:
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        reason = f"{ENVIRONMENT.name} is missing: `make xprof-peer` makes it"
        (pytest.fail if os.environ.get("CI") == "1" else pytest.skip)(reason)
    return python


def busy() -> Any:
    """Chips, both kinds of counters, two counters on one line, and a host's threads."""
    space = space_of(10)
    threads = space.planes.add(name="/host:CPU")
    counter(threads, "ThreadpoolListener::Region", [(0.5, 1), (0.75, 2)])
    for number in range(2):
        plane = device(space, number)
        line = counter(plane, CORE, [(0, 100), (0.25, 200.125), (0.5, 150)])
        counter(plane, HBM, [(0.1, 20), (0.3, 1 / 3)], line=line)
        counter(plane, "HBM SPI Sampler Power Meter(W)", [(1e-5 * sample, 40 + sample) for sample in range(50)], durations=True)
        line.timestamp_ns = 123_456 * number
    return space


def our_lines(content: bytes) -> list[tuple[str, list[tuple[str, int]]]]:
    """Name of each plane, and name and number of events of each of its lines, by the product's walk over the wire format."""
    planes = []
    for _, start, stop in fields(content, 0, len(content), {1: LENGTH}):
        name = "".join(text(content, *span) for _, *span in fields(content, start, stop, {2: LENGTH}))
        lines = []
        for _, first, second in fields(content, start, stop, {3: LENGTH}):
            of_line = "".join(text(content, *span) for _, *span in fields(content, first, second, {2: LENGTH}))
            lines.append((of_line, sum(1 for _ in fields(content, first, second, {4: LENGTH}))))
        planes.append((name, lines))
    return planes


def our_counters(content: bytes) -> dict[tuple[int, str], list[tuple[float, float, float]]]:
    found = read_profile(content, len(content), KeyFacts(None, None, None), None, Problems())
    assert found
    return {
        (plane.place, name): [
            (start / 1000, duration / 1000, watts)
            for start, duration, watts in zip(samples.starts, samples.durations, samples.watts, strict=True)
        ]
        for plane in found.planes
        for name, samples in plane.counters.items()
    }


@pytest.mark.parametrize(
    "content",
    [
        busy().SerializeToString(),
        profile(durations=True).SerializeToString(),
        real_and_chip(),
        # of a field twice the last, unknown ones passed over
        event(field(99, LENGTH, b"x"), field(2, 0, b"\x07"), *parts_of(), field(77, 0, b"\x05")),
    ],
    ids=["chips and threads", "lengths", "a real one of JAX", "unknown and repeated fields"],
)
def test_the_public_packages_reader_agrees_on_planes_lines_and_counters(tmp_path: Path, peer: Path, content: bytes) -> None:
    path = tmp_path / "host-1.xplane.pb"
    path.write_bytes(content)
    script = Path(__file__).with_name("xprof_peer.py")
    planes = json.loads(subprocess.run([peer, script, path], check=True, capture_output=True, text=True).stdout)
    assert our_lines(content) == [
        (plane["name"], [(line["name"], len(line["events"])) for line in plane["lines"]]) for plane in planes
    ]
    counters = defaultdict(list)
    for place, plane in enumerate(planes, 1):
        for line in plane["lines"]:
            for name, start, duration, stats in line["events"]:
                if "Power Meter" in name:
                    counters[place, name].append((start, duration, stats["power"]))
    assert our_counters(content) == counters and counters
