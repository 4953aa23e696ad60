"""When, how large and where a machine was held comes from evidence: one organisation, one refresh, and the oracle beside it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import GoogleExports, tpu_hour, tpu_run
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
APRIL = "usage_month = date '2026-04-01'"
NINE, TWELVE = "2026-04-10T09:00:00Z", "2026-04-10T12:00:00Z"
SMALL = {f"small-{number}": 1 if number % 2 else 4 for number in range(6)}


def tpu_bill(name: str, chips: int, hours: range, wording: str, **columns: object) -> list[dict]:
    """Hours of a TPU VM on 10 April: chips as billed, 1.20 a chip."""
    usage = {"amount": chips * 3600.0, "unit": "seconds", "amount_in_pricing_units": float(chips), "pricing_unit": "hour"}
    resource = {"name": name, "global_name": f"//compute.googleapis.com/projects/1/zones/us-east5-b/instances/{name}"}
    told = {"usage": usage, "resource": resource} | columns
    return [tpu_hour(f"2026-04-10T{at:02d}:00:00", 1.2 * chips, wording, **told) for at in hours]


def small_machines(exports: GoogleExports) -> list[dict]:
    """Six small VMs that were held whole, and a full one of the same cell, held by another run."""
    rows = [row for name, chips in SMALL.items() for row in tpu_bill(name, chips, range(9, 12), "TpuV5e running in Columbus")]
    exports.runs(
        tpu_run("small", *((name, NINE, TWELVE, chips) for name, chips in SMALL.items()), kind="v5e"),
        tpu_run("full", ("full-1", NINE, TWELVE, 8), kind="v5e"),
    )
    return [*rows, *tpu_bill("full-1", 8, range(9, 12), "TpuV5e running in Columbus")]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> GoogleExports:
    exports = GoogleExports(tmp_path_factory.mktemp("evidence"))
    exports.google_bill(small_machines(exports))
    exports.config()
    return exports


@pytest.fixture(scope="module")
def home(exports: GoogleExports, trainledger: Command) -> Path:
    finished = trainledger("refresh", "--config", exports.folder / "trainledger.yaml", now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return exports.folder / "home"


def test_the_oracle_says_the_same(exports: GoogleExports, home: Path) -> None:
    found = differences(home / "published" / "trainledger.duckdb", Oracle(exports.folder / "trainledger.yaml").tables())
    assert not found, report(found)


def test_small_machines_that_were_held_whole_leave_nothing_idle(home: Path) -> None:
    idle = query(home, f"select coalesce(sum(effective_cost), 0) from marts.fct_residual_costs where reason = 'idle' and {APRIL}")
    assert idle == [(Decimal(0),)]
    energy = query(
        home,
        "select training_run_id, reserved_chip_hours, idle_share_facility_energy_kwh from marts.fct_training_run_energy"
        f" where training_run_id in ('small', 'full') and {APRIL} order by 1",
    )
    assert energy == [("full", Decimal(24), Decimal(0)), ("small", Decimal(45), Decimal(0))]
