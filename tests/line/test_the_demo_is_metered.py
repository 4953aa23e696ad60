"""What meters read beside runs of the demo, against truth.json: the windows of profiles, and how far bounds shrink by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home/published/trainledger.duckdb"), read_only=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def power(demo_home: Path) -> dict[str, Any]:
    return json.loads((demo_home / "truth.json").read_text())["power"]


def read_of(power: dict[str, Any], name: str) -> tuple[list[tuple[str, int]], int, Fraction]:
    """Devices, their seconds together and the total of the runs whose ids begin so."""
    readings = [reading for run, stated in power.items() if run.startswith(name) for reading in stated["readings"]]
    total = sum((Fraction(*amount) for *_, amount in readings), Fraction(0))
    return [(host, device) for host, device, *_ in readings], sum(seconds for _, _, seconds, _ in readings), total


def busy_watts(power: dict[str, Any], name: str) -> Fraction:
    """Of each host the lower median of its chips, of each workload the median of its hosts, of these the mean, an eighth more.

    The caption runs are of three workloads, the others of one.
    """
    workloads: dict[str, list[Fraction]] = {}
    for run, stated in power.items():
        if run.startswith(name):
            by_host: dict[str, list[Fraction]] = {}
            for host, _, seconds, joules in stated["readings"]:
                by_host.setdefault(host, []).append(Fraction(*joules) / seconds)
            medians = [sorted(watts)[(len(watts) - 1) // 2] for watts in by_host.values()]
            workloads.setdefault(run if name == "caption-tpu-" else name, []).extend(medians)
    return Fraction(9, 8) * sum(map(median, workloads.values())) / len(workloads)


@pytest.mark.parametrize(
    ("type_", "software", "runs", "workloads", "promised"),
    [("v4", "", "ranker-on-tpu-", 1, None), ("v5e", "0.0.31", "caption-tpu-", 3, 0.95)],
)
def test_watts_are_calibrated_from_the_windows_of_the_profiles(
    published, power, type_: str, software: str, runs: str, workloads: int, promised: float | None
) -> None:
    """Six runs of one workload have seeded bounds, three runs of three workloads bounds with a promise."""
    devices, seconds, _ = read_of(power, runs)
    row = published.execute(
        "select window_count, host_count, workload_count, coverage_promised, refused_reason, chip_hours, busy_w, idle_w, mean_w"
        " from marts.fct_power_calibration where accelerator_type = ? and sdk_version = ? and source_kind = 'xprof'"
        " order by valid_from_month desc limit 1",
        [type_, software],
    ).fetchone()
    assert row[:5] == (len(devices), len({host for host, _ in devices}), workloads, promised, None)
    assert Fraction(row[5]) == Fraction(seconds, 3600)
    assert row[6] == pytest.approx(float(busy_watts(power, runs)), abs=1e-5)
    assert row[7:] == (None, None)  # nobody profiled a chip that did not work: idle is the catalogue's, and there is no mean


def test_one_run_of_one_machine_is_no_calibration(published) -> None:
    rows = published.execute(
        "select accelerator_type, run_count, workload_count, refused_reason from marts.fct_power_calibration"
        " where refused_reason is not null"
    ).fetchall()
    assert rows == [("p5.48xlarge", 1, 1, "too_few_workloads")]


def test_bounds_of_profiled_runs_are_visibly_narrower(published) -> None:
    """TPU v5e: 82 to 232 W at full power are what nobody published; three workloads on three hosts are within a third."""
    widths = dict(
        published.execute(
            "select power_confidence, median(chip_energy_kwh_high / chip_energy_kwh_low) from marts.fct_training_run_energy"
            " join marts.dim_training_runs using (training_run_id)"
            " where accelerator_type = 'v5e' and usage_month = date '2026-09-01' and telemetry_coverage_ratio = 1 group by all"
        ).fetchall()
    )
    assert widths.keys() == {"assumed", "calibrated"}
    assert widths["calibrated"] < 2.3 < 2.5 < widths["assumed"]


def energy_of(published: duckdb.DuckDBPyConnection, run: str) -> dict[str, Any]:
    [row] = published.execute("from marts.fct_training_run_energy where training_run_id = ?", [run]).fetchall()
    return dict(zip([column[0] for column in published.description], row, strict=True))


def test_what_nvidia_smi_read_is_the_energy_of_its_gpus(published, power) -> None:
    """Every minute of eight GPUs was metered: 5 % by NVML, and of points a minute apart a quarter less, half as much more."""
    devices, _, joules = read_of(power, "ranker-gpu-01")
    row = energy_of(published, "ranker-gpu-01")
    assert len(devices) == 8 and row["energy_basis"] == row["power_confidence"] == "measured"
    assert abs(Fraction(row["chip_energy_kwh"]) - joules / 3_600_000) < Fraction(1, 10**9)
    low, high = (float(row[f"chip_energy_kwh{end}"] / row["chip_energy_kwh"]) for end in ("_low", "_high"))
    assert (low, high) == (pytest.approx(0.7, abs=1e-3), pytest.approx(1.55, abs=1e-3))
    assert row["energy_kwh_measured"] == row["facility_energy_kwh"]


def test_a_drivers_share_lies_between_the_catalogues_idle_and_full_power(published, power) -> None:
    """A Trainium2 chip: 150 W and 350 W times the share; 115 W of host beside it; then network and PUE."""
    _, seconds, full = read_of(power, "distill-trn2-01")
    row = energy_of(published, "distill-trn2-01")
    joules = (150 + 115) * seconds + 350 * full
    around = Fraction(row["facility_energy_kwh"]) / Fraction(row["chip_host_energy_kwh"])
    assert float(row["energy_kwh_driver_power"]) == pytest.approx(float(joules / 3_600_000 * around), abs=1e-7)
    assert 0 < row["energy_kwh_utilisation_model"] < row["energy_kwh_driver_power"] / 100  # seconds that no roll-up is of


def test_what_a_rack_metered_is_the_chip_with_its_host(published, power) -> None:
    [(_, device)], _, joules = read_of(power, "distill-trn2-02")
    row = energy_of(published, "distill-trn2-02")
    around = Fraction(row["facility_energy_kwh"]) / Fraction(row["chip_host_energy_kwh"])
    assert device is None
    assert float(row["energy_kwh_measured"]) == pytest.approx(float(joules / 3_600_000 * around), abs=1e-7)
    # points of a PDU, and network and storage of 2 to 10 %
    ends = float(row["it_energy_kwh_high"] / row["it_energy_kwh_low"])
    assert ends == pytest.approx(1.52 * 1.1 / (0.73 * 1.02), rel=0.01)
