"""Landing a month from S3 beside a plain parallel download of the same objects, from a server on this machine.

The server is a process of its own, whose work is not counted. Landing does more than download: it checks and hashes each file
and takes its control totals.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.homes import Bench, Home, Product, cpu, in_turns, peak
from benchmarks.measures import CannotMeasure, Family, Reading, Spec
from benchmarks.process import Run, run

COPY = Path(__file__).resolve().parents[1] / "peers/s3_copy.py"
ROWS = 1_000_000
SPECS = (
    Spec("landing_s3", "landing a month of 1 M rows from a local S3 server, net / plain parallel download, net", "CPU s", 1.3),
    Spec("landing_s3_wall", "the same in wall time: both wait for one server", "s"),
    Spec("landing_s3_over_local", "what landing from S3 costs more than from a folder / plain parallel download, net", "CPU s"),
)


def read_landing(bench: Bench) -> Iterator[tuple[str, Reading]]:
    with _server() as endpoint:
        keys = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
        environment = {
            "AWS_ENDPOINT_URL_S3": endpoint,
            **keys,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
        }
        full, none = (_home(bench, rows, environment) for rows in (ROWS, 0))

        def land(home: Home) -> Run:
            home.forget()
            return home.land()

        def download(home: Home) -> Run:
            target = home.folder / "download"
            shutil.rmtree(target, ignore_errors=True)
            return run([sys.executable, COPY, "down", home.folder.name, target], home.folder, environment)

        local, local_none = (bench.bill("folder", rows) for rows in (ROWS, 0))
        for home in (local, local_none):
            _only_the_bill(home)
        steps = [(land, full), (land, none), (download, full), (download, none), (land, local), (land, local_none)]
        runs = in_turns(bench.rounds, *(lambda step=step, home=home: step(home) for step, home in steps))
    landed, landed_none, plain, plain_none, folder, folder_none = runs
    ours, least = cpu(landed) - cpu(landed_none), cpu(plain) - cpu(plain_none)
    yield "landing_s3", Reading(ours, least, peak(landed), {"bytes_written": landed[-1].bytes_written})
    walls = [min(one.wall_s for one in runs) for runs in (landed, landed_none, plain, plain_none)]
    yield "landing_s3_wall", Reading(walls[0] - walls[1], walls[2] - walls[3])
    yield "landing_s3_over_local", Reading(ours - (cpu(folder) - cpu(folder_none)), least)


def _home(bench: Bench, rows: int, environment: dict[str, str]) -> Home:
    """A home whose bill is in a bucket of the folder's name; without run records and carbon."""
    made = bench.bill("s3", rows)
    home = Home(made.folder, made.now, Product(bench.product.tree), environment)
    bucket = home.folder.name
    _only_the_bill(home, f"s3://{bucket}")
    run([sys.executable, COPY, "up", bucket, home.folder / "exports/bench-cur"], home.folder, environment)
    return home


def _only_the_bill(home: Home, location: str | None = None) -> None:
    """Take run records and carbon out of the configuration, and move the bill to `location`."""
    configuration = home.folder / "trainledger.yaml"
    others = ("kind: training_runs", "kind: aws_carbon")
    kept = [line for line in configuration.read_text().splitlines() if not any(other in line for other in others)]
    text = "\n".join(kept).replace(f"{home.folder}/exports/bench-cur", location or f"{home.folder}/exports/bench-cur")
    configuration.write_text(text + "\n")


@contextmanager
def _server() -> Iterator[str]:
    """moto's S3 server in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise CannotMeasure("no S3 server here: moto comes with the extra `test`")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


FAMILIES = (Family("landing", SPECS, read_landing),)
