"""One partition of Google's bill streamed from a BigQuery on this machine: how much memory it takes, whatever its size.

The server is a process of its own, whose work and memory are not counted. Landing does more than stream: it checks and flattens
the rows, hashes each and takes their control totals.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import generate_google
from benchmarks.homes import Bench, Home, cpu, in_turns, peak
from benchmarks.measures import CannotMeasure, Family, Reading, Spec
from benchmarks.process import Run

SERVER = Path(__file__).resolve().parents[1] / "peers/bigquery_server.py"
ROWS = 2_100_000  # wanted of the generator, which gives a little less
NAME = "gcp-table"
SPECS = (
    Spec("peak_memory_bigquery_2m", "landing one partition of 2 M wide rows from BigQuery: peak of the process tree", "MB", 1500),
    Spec("landing_bigquery", "the same: CPU of the whole command", "CPU s"),
)


def read_table(bench: Bench) -> Iterator[tuple[str, Reading]]:
    rows = ROWS // 10 if bench.is_quick else ROWS
    home = bench.bill(f"google-table-{rows}", 0)
    exports = home.folder / "table"
    if not exports.exists():
        generate_google.write_month(exports, rows)
    with _server(exports) as (rest, storage, count):
        _configure(home, rest)
        home.environment = {"TRAINLEDGER_BIGQUERY_GRPC": storage}

        def land() -> Run:
            home.forget()
            return home.land()

        [runs] = in_turns(bench.rounds, land)
    landed = home.landed_parquet(NAME)
    is_broken = None if len(landed) == 1 else f"{len(landed)} files were landed of one partition"
    most = peak(runs)
    if most is None:
        raise CannotMeasure("this system does not tell how much memory a process takes")
    more = {"rows": count, "bytes_landed": sum(Path(path).stat().st_size for path in landed)}
    yield "peak_memory_bigquery_2m", Reading(most, None, most, more, is_broken)
    yield "landing_bigquery", Reading(cpu(runs), None, most, {"wall_s": round(min(one.wall_s for one in runs), 1)})


def _configure(home: Home, rest: str) -> None:
    """Point the source at the server, whose address is another one each time."""
    configuration = home.folder / "trainledger.yaml"
    kept = [line for line in configuration.read_text().splitlines() if f"name: {NAME}" not in line]
    location = f"bq://bench-google.exports.bill, endpoint_url: '{rest}'"
    configuration.write_text("\n".join([*kept, f"  - {{name: {NAME}, kind: gcp_billing, location: {location}}}"]) + "\n")


@contextmanager
def _server(exports: Path) -> Iterator[tuple[str, str, int]]:
    """The addresses of its REST API and of its Storage API, and how many rows it has."""
    process = subprocess.Popen([sys.executable, SERVER, exports], stdout=subprocess.PIPE, text=True)
    try:
        stated = process.stdout.readline().split() if process.stdout else []
        if len(stated) != 3:
            raise CannotMeasure("the server of the table did not start")
        yield stated[0], stated[1], int(stated[2])
    finally:
        process.terminate()
        process.wait()


FAMILIES = (Family("google_table", SPECS, read_table),)
