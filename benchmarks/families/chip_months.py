"""A month of 160,000 chips by arithmetic: an hour of some nodes is landed and built, and its cost is multiplied.

Whoever runs so many has 10,000 nodes of 16 devices. An hour of neuron-monitor and of the driver's power is measured, as the
recorder writes it with `--reduce 60s` and as documents every 5 s, packed as it packs them; what a month of one bill row costs is
taken off. A look at a month of objects is not in it: see `nothing_new_20000`.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.families.node_hours import START
from benchmarks.homes import Bench, Home, cpu
from benchmarks.inputs import node_hour
from benchmarks.measures import Family, Reading, Spec
from trainledger_recorder.reducing import Reducer

CHIPS, CHIPS_OF_A_NODE, HOURS_OF_A_MONTH = 160_000, 16, 720
NODES, QUICK_NODES = 200, 50
SIZE = "a month of 160,000 chips, ten thousand times an hour of a node and 720 times"
SPECS = (
    Spec("chips_160000_minutes", f"{SIZE}: landing and building of minutes (`--reduce 60s`)", "core hours", 200),
    Spec("chips_160000_minutes_packed", f"{SIZE}: what the minutes weigh, packed", "TB", 1),
    Spec("chips_160000_documents", f"{SIZE}: landing and building of documents every 5 s", "core hours"),
    Spec("chips_160000_documents_packed", f"{SIZE}: what the documents weigh, packed", "TB"),
)


def read_chip_months(bench: Bench) -> Iterator[tuple[str, Reading]]:
    nodes = QUICK_NODES if bench.is_quick else NODES
    times = CHIPS // CHIPS_OF_A_NODE * HOURS_OF_A_MONTH / nodes
    empty = _home(bench, 0, is_reduced=False)
    least = cpu([empty.land(), empty.refresh()])
    for form in ("minutes", "documents"):
        home = _home(bench, nodes, is_reduced=form == "minutes")
        landed, built = home.land(), home.refresh()
        seconds = cpu([landed, built]) - least
        files = [path for name in ("monitor", "power") for path in (home.folder / "exports" / name).rglob("*.gz")]
        size = sum(path.stat().st_size for path in files)
        more = {"nodes": nodes, "seconds_of_the_hour": round(seconds, 2), "bytes_of_the_hour": size}
        yield f"chips_160000_{form}", Reading(seconds * times / 3600, None, built.peak_mb, more)
        yield f"chips_160000_{form}_packed", Reading(size * times / 1e12, None, None, more)


def _home(bench: Bench, nodes: int, *, is_reduced: bool) -> Home:
    """A month of one bill row beside an hour of telemetry, which is written once for each number of nodes and form."""
    home = bench.bill(f"packed-{'minutes' if is_reduced else 'documents'}-{nodes}", 0)
    kinds = (("monitor", "neuron_monitor"), ("power", "neuron_power"), ("node-runs", "training_runs"))
    folders = [home.configure(name, kind) for name, kind in kinds]
    if nodes and not any(folders[0].iterdir()):
        node_hour.write_hour(folders[0].parent, nodes, START)
        for path in sorted(folders[0].rglob("*.jsonl")):
            _pack(path, _minutes(path) if is_reduced else path.read_bytes())
        for path in sorted(folders[1].rglob("*.jsonl")):
            _pack(path, path.read_bytes())
    home.forget()
    return home


def _minutes(path: Path) -> bytes:
    """What the recorder writes of the same documents with `--reduce 60s`."""
    reducer, lines = Reducer(), list[bytes]()
    stamp: dict[str, object] = {}
    for text in path.read_bytes().splitlines():
        line = json.loads(text)
        stamp = {name: value for name, value in line.items() if name != "document"}
        lines += [reduced for _, reduced in reducer.add(json.dumps(line["document"]).encode(), stamp)]
    return b"".join([*lines, *(reduced for _, reduced in reducer.rest(stamp))])


def _pack(path: Path, content: bytes) -> None:
    """In the place of a plain file, of the same time."""
    at = path.stat().st_mtime
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(content, 6, mtime=0))
    os.utime(packed, (at, at))
    path.unlink()


FAMILIES = (Family("chip_months", SPECS, read_chip_months),)
