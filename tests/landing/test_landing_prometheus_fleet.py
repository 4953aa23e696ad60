"""A day of a thousand machines at steps of a minute, from a real Prometheus: landed in at most 2 GB of memory."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.landing.kit import Organisation
from tests.prometheus import prometheus, write_blocks

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

ROOT = Path(__file__).resolve().parents[2]
NODES, GPUS, STEPS = 1000, 8, 1440
START = int(dt.datetime(2026, 4, 1, tzinfo=dt.UTC).timestamp())
LIMIT = 2 << 30  # bytes


def fleet() -> Iterator[str]:
    """Eight GPUs and a BMC to a machine, whose watts go up and down by a few; scraped each minute."""
    draw, times = random.Random(23), [START + 60 * at + 30 for at in range(STEPS)]
    for metric, watts, labels in (
        ("DCGM_FI_DEV_POWER_USAGE", 400, [f'gpu="{gpu}",UUID="GPU-{gpu}",instance_type="p5.48xlarge"' for gpu in range(GPUS)]),
        ("ipmi_dcmi_power_consumption_watts", 4000, ['job="bmc"']),
    ):
        yield f"# TYPE {metric} gauge"
        for node in range(NODES):
            for own in labels:
                head = f'{metric}{{instance_id="i-{node:017x}",{own}}} '
                noise = draw.choices(range(100), k=STEPS)
                yield "\n".join(f"{head}{watts + more} {at}" for at, more in zip(times, noise, strict=True))


def main(folder: Path, location: str) -> None:
    """Land the day in a process of its own."""
    begun = time.monotonic()
    made = Organisation(folder, {"name": "metrics", "kind": "prometheus", "location": location, "look_back_days": 1})
    line = made.line
    results = line.land_all(line.plan())
    line.landing.end_engine()
    of_worker = resource.getrusage(resource.RUSAGE_CHILDREN)
    stated = {
        "outcomes": [one.outcome for one in results],
        "rows": sum(one.contents.rows for one in results if one.contents),
        "landed_bytes": sum(each.size for one in results if one.generation for each in one.generation.objects),
        "seconds": round(time.monotonic() - begun, 1),
        "cpu_seconds": round(time.process_time() + of_worker.ru_utime + of_worker.ru_stime, 1),
        "peak_bytes": int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) << 10,
    }
    print(json.dumps(stated))


def test_a_day_of_a_thousand_machines_is_landed_in_two_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-02T02:00:00Z")
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    data = write_blocks(tmp_path / "server", fleet()).parent
    written = resource.getrusage(resource.RUSAGE_CHILDREN)
    with prometheus(data) as server:
        command = [
            sys.executable,
            "-m",
            "tests.landing.test_landing_prometheus_fleet",
            str(tmp_path / "line"),
            f"prom+http://{server.address}",
        ]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        seen, peak = psutil.Process(process.pid), 0
        while process.poll() is None:
            try:
                peak = max(peak, sum(one.memory_info().rss for one in (seen, *seen.children(recursive=True))))
            except psutil.NoSuchProcess:
                continue
            time.sleep(0.05)
        assert process.stdout is not None
        stated = json.loads(process.stdout.read())
        of_server = psutil.Process(server.process.pid).cpu_times()
    print(
        f"{stated}; peak of all its processes {peak >> 20} MiB; CPU of the server {of_server.user + of_server.system:.0f} s, "
        f"of promtool {written.ru_utime - begun.ru_utime:.0f} s"
    )
    assert stated["outcomes"] == ["landed", "landed"]
    assert stated["rows"] == NODES * (GPUS + 1) * STEPS
    assert peak < LIMIT


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
