"""A fuzzer over every connector: damaged exports through listing, landing and the typed reading that every later step uses.

Each damaged file lands, is refused by name or is quarantined; nothing else happens, no surprise is left over, and a good source
beside it always lands. The seed of each damage is in the message of a failure. Of the 5,000 of `make nightly PART=drawn` a
commit draws 50 in a row.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.registry import KINDS, connector_for
from dagster_project.landing.deriving.typed_select import parts_select
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import land_all, make_plan
from tests import nightly
from tests.connectors.prices import price
from tests.connectors.test_connector_prometheus import asked
from tests.landing.kit import Organisation, bill_line, carbon_row, write_points, write_profile, write_samples

pytestmark = pytest.mark.slow

ALL, FEW = 5000, 50
RUNS = int(os.environ.get("TRAINLEDGER_FUZZ_RUNS") or (ALL if nightly.IS_NIGHTLY else FEW))
FIRST_SEED = int(os.environ.get("TRAINLEDGER_FUZZ_SEED") or (1 if RUNS > FEW else 1 + nightly.seed() % (ALL // FEW) * FEW))
FOUND = (2238,)  # seeds that once found something: here a column that ends before its file, without an error of its reader
AT = "2026-05-02"
HOSTILE = [
    "",
    "\x00",
    "0001-01-01T00:00:00Z",
    "9999-12-31",
    "-1",
    "1e999",
    "NaN",
    "9" * 400,
    "a" * 5000,
    "\u2028",
    '"',
    "[" * 3000,
]
LIMIT = 1 << 20  # KiB: 1 GB


def write_good(folder: Path) -> Organisation:
    """A source of every kind, and one good bill that is never touched."""
    names = {
        "aws_cur": "cur",
        "aws_focus": "aws-focus",
        "aws_carbon": "carbon",
        "gcp_billing": "google",
        "gcp_focus": "focus",
        "gcp_carbon": "google-carbon",
        "gcp_prices": "prices",
    }
    sources = [{"name": names.get(kind, kind), "kind": kind} for kind in KINDS]
    made = Organisation(folder, *sources, {"name": "good", "kind": "aws_cur"})
    made.deliver([bill_line(number, number=number) for number in range(1, 30)], at=AT)
    made.deliver([bill_line(1.5, bill_payer_account_id="000000000099")], at=AT, source="good")
    made.deliver_aws_focus([bill_line(2.5), bill_line(3.5)], at=AT, BillingAccountId="000000000098")
    made.deliver_carbon([carbon_row(0.25), carbon_row(1.5)], at=AT)
    made.deliver_google("2026-04-01", {}, {"cost": 2.5}, at=AT)
    made.deliver_focus("2026-04-01", {}, {"cost": 2.5}, at=AT)
    made.deliver_google_carbon("2026-04", {}, at=AT)
    made.deliver_prices("2026-04-01", price(), price("TPU7x running in Americas", "12", "us-west1", "us-east1"), at=AT)
    exports = folder / "exports"
    node = {"resource_id": "i-1", "accelerator_type": "trn1.32xlarge", "chips": 16, "started_at": "2026-04-01T00:00:00Z"}
    attempt = {"attempt_id": 1, "state": "failed", "ended_at": "2026-04-02T00:00:00Z", "nodes": [node]}
    record = {"training_run_id": "run-a", "tokens": 5, "model_flops": 1e20, "tags": {"team": "x"}, "attempts": [attempt]}
    (exports / "training_runs/a.run.json").write_text(json.dumps(record))
    write_samples(exports / "neuron_monitor/run=a/2026-04-01T00:00:00Z.jsonl", "2026-04-01T00:00:05Z", at=AT)
    write_points(exports / "tpu_monitoring/run=a/points.json", "2026-04-01T00:01:00Z", at=AT)
    (exports / "tpu_monitoring/a.prom").write_text('duty_cycle{make="cloud-tpu",accelerator_id="n-0"} 50 1775001600000\n')
    write_profile(exports / "xprof/plugins/profile/s/host-1.xplane.pb", at=AT)
    (exports / "neuron_power/host=i-1").mkdir()
    (exports / "neuron_power/host=i-1/neuron0.txt").write_text(
        "POWER_STATUS_VALID,1775001600,0.00,2.00,1.50\nPOWER_STATUS_VALID,1775001660,0.00,2.00,1.50\n"
    )
    (exports / "gpu_monitoring/host=i-2").mkdir()
    (exports / "gpu_monitoring/host=i-2/a.prom").write_text(
        'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 300 1775001600000\nDCGM_FI_DEV_POWER_USAGE{gpu="0"} 310 1775001630000\n'
    )
    (exports / "power_meters/rack.csv").write_text("time,host,meter,watts\n1775001600,i-1,pdu,3000\n1775001660,i-1,pdu,3100\n")
    metrics = [asked("DCGM_FI_DEV_POWER_USAGE", ({"gpu": "0", "node": "i-3"}, [(1, 300), (2, 310)]))]
    (exports / "prometheus/a.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in metrics))
    (exports / "wandb/run=a").mkdir()
    (exports / "wandb/run=a/events.jsonl").write_text('{"_timestamp": 1775001600.0, "system.gpu.0.powerWatts": 300.0}\n')
    (exports / "fx_rates/rates.csv").write_text("rate_date,base_currency,quote_currency,rate\n2026-04-01,EUR,USD,1.1\n")
    return made


def flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 3, 20])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def swapped(data: bytes, draw: random.Random) -> bytes:
    """Put a hostile text where some word is."""
    at = draw.randrange(len(data))
    return data[:at] + draw.choice(HOSTILE).encode() + data[at + draw.randrange(12) :]


def damaged_table(path: Path, draw: random.Random) -> None:
    """A column with another name, another type or hostile values."""
    table = pq.read_table(path, partitioning=None)
    place = draw.randrange(table.num_columns)
    name, values = table.column_names[place], table.column(place)
    count = len(values)
    hostile: list[Callable[[], tuple[str, Any]]] = [
        lambda: (draw.choice(["_file", "file_row_number", name.upper(), "x\x00y", ""]), values),
        lambda: (name, pa.array([draw.choice(HOSTILE) for _ in range(count)])),
        lambda: (name, pa.array([draw.choice([2**63 - 1, -(2**63), 0])] * count, pa.timestamp(draw.choice(["ms", "us", "ns"])))),
        lambda: (name, pa.array([draw.choice([float("nan"), float("inf"), 1e300, -0.0])] * count)),
        lambda: (name, pa.array([b"\xff\xfe"] * count, pa.binary()).cast(pa.string(), safe=False)),
        lambda: (name, pa.nulls(count)),
        lambda: (name, pa.array([{"a": 1}] * count)),
    ]
    new_name, column = draw.choice(hostile)()
    changed = table.set_column(place, new_name, column)
    if draw.random() < 0.3:
        changed = changed.append_column(draw.choice(["_file", "file_row_number", name.title()]), pa.nulls(count, pa.string()))
    pq.write_table(changed, path, compression=draw.choice(["none", "snappy"]), use_dictionary=draw.random() < 0.5)


def damage(path: Path, draw: random.Random) -> None:
    if path.suffix == ".parquet" and draw.random() < 0.6:
        damaged_table(path, draw)
    elif data := path.read_bytes():
        path.write_bytes(draw.choice([flipped, flipped, cut, swapped])(data, draw))


def fuzz(good: Organisation, kept: Path) -> Counter[str]:
    """Damage one file after the other and land it beside the good bill; what became of the deliveries."""
    exports = good.folder / "exports"
    shutil.copytree(exports, kept)
    files = sorted(path.relative_to(kept) for path in kept.rglob("*") if path.is_file() and "good" not in path.parts)
    outcomes: Counter[str] = Counter()
    line = good.line
    for seed in (*FOUND, *range(FIRST_SEED, FIRST_SEED + RUNS)):
        draw = random.Random(seed)
        file = files[seed % len(files)]
        shutil.copyfile(kept / file, exports / file)
        damage(exports / file, draw)
        stated = f"seed {seed}, {file}"
        shutil.rmtree(good.folder / "home" / "landing", ignore_errors=True)
        touched = [source for source in good.settings.sources if source.name in (file.parts[0], "good")]
        landed = land_all(line.landing, make_plan(touched, good.settings.base, line.landing))
        assert [one.outcome for one in landed if one.source == "good"] == ["landed"], stated
        for one in landed:
            outcomes[one.outcome] += 1
            assert one.outcome in ("landed", "refused"), f"{stated}: {one.error!r} {one.error and one.error.__cause__!r}"
            if one.outcome == "landed" and one.contents and one.source != "good":
                read_whole(good, one)
        shutil.copyfile(kept / file, exports / file)
    return outcomes


def own_peak() -> int:
    """KiB that this process held at most. Not ru_maxrss: a child begins with what its parent held when it was started."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])


def main(folder: Path) -> None:
    """The fuzzer as a process of its own: what other tests of a worker needed before is no matter of the damaged files."""
    outcomes = fuzz(write_good(folder), folder.with_name("kept"))
    print(json.dumps({"outcomes": outcomes, "peak": own_peak(), "cpu_seconds": round(time.process_time())}))


def test_no_damaged_file_stops_a_refresh(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.landing.test_landing_fuzz", str(tmp_path / "organisation")]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    stated = json.loads(done.stdout)
    print(f"seeds {FIRST_SEED} to {FIRST_SEED + RUNS - 1}: {stated}")
    assert sum(stated["outcomes"].values()) >= RUNS
    assert stated["peak"] < LIMIT


def read_whole(good: Organisation, one: Any) -> None:
    """As the raw view and a person's query would: every declared column of every row."""
    landing = open_landing(good.settings)
    parts = [(str(landing.part_path(one.generation, one.contents, part)), part.columns) for part in one.contents.parts]
    with duckdb.connect(":memory:") as con:
        con.execute(f"SELECT * FROM ({parts_select(connector_for(one.generation.kind).SCHEMA, parts)})").arrow()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
