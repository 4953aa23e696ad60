"""An hour of machines whose recorder wrote neuron-monitor's documents, and the same hour as a recorder that reduces wrote it.

Clocks slip, documents are missing, drivers fail and machines stand idle. One run holds each machine, and its monitor begins and
ends within it, so the figures are the same to the last digit.
"""

from __future__ import annotations

import json
import random
import tempfile
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from tests.connectors.neuron import document, read, runtime
from tests.energy.raw_tables import Line
from tests.energy.scenario import CHIP, END, NEURON, START
from trainledger_recorder.reducing import Reducer, wrapped

MACHINES, WAYS = 8, ("raw", "reduced")


def run_of(number: int, way: str) -> str:
    return f"hour-{number}-{way}"


def write(line: Line) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(MACHINES):
            for way in WAYS:
                host = f"i-hour-{number}-{way}"
                line.run(run_of(number, way), "AWS", (host, CHIP, 1, START, END))
                key = f"host={host}/{way}.jsonl"
                lines = _lines(number, host, is_reduced=way == "reduced")
                result = read(Path(folder) / host, content=b"".join(lines), key=key)
                assert not result.refusals
                _insert(line, result.parts[0].path)


def _lines(number: int, host: str, *, is_reduced: bool) -> list[bytes]:
    reducer, found = Reducer(), list[bytes]()
    stamped: dict[str, Any] = {}
    for end, one in _documents(random.Random(f"reduced|{number}"), number):
        collected = (START + end).replace(tzinfo=UTC).isoformat(timespec="milliseconds")
        stamped = {"collected_at": collected, "host": {"resource_id": host}}
        text = json.dumps(one).encode()
        found += (part for _, part in reducer.add(text, stamped)) if is_reduced else [wrapped(text, stamped)]
    return [*found, *(part for _, part in reducer.rest(stamped))]


def _documents(draw: random.Random, number: int) -> list[tuple[timedelta, dict[str, Any]]]:
    """Every five seconds but for a minute at each end; on odd machines some are missing, failed or without processes."""
    slip = (0, 3, 40, 300)[number // 2]
    found = []
    for second in range(65, 3540, 5):
        end = timedelta(seconds=second, milliseconds=draw.randint(-slip, slip))
        shares = [
            runtime(draw.uniform(0, 80), draw.uniform(0, 100), error="driver" if number % 2 and draw.random() < 0.01 else "")
        ]
        if number % 2 and (draw.random() < 0.01 or 1200 < second < 1500):
            shares = []
        if not (number % 2 and draw.random() < 0.02):
            found.append((end, document(*shares)))
    return found


def _insert(line: Line, path: Path) -> None:
    meta = {name: value for name, value in line.meta(NEURON).items() if name != "_row_number"}
    landed = ", ".join(f"? as {name}" for name in meta)
    rows = f"select *, row_number() over () as _row_number, {landed} from read_parquet('{path}')"
    line.connection.execute(f"insert into raw.{NEURON} by name {rows}", [*meta.values()])
