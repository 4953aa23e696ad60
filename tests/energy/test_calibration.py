"""Calibrated watts of a month come from its windows and those of the twelve months before, whatever is loaded later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from tests.energy import coverage
from tests.energy.conftest import Marts

pytestmark = pytest.mark.slow

SEED = 20261122
MONTHS = [date(2025 + number // 12, number % 12 + 1, 1) for number in range(30)]
LONGER = "metered_us = metered_us + 1000000, metered_uw_us = metered_uw_us + mean_uw * 1000000"


@pytest.fixture
def model(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The model as a full build runs it, over windows of thirty months that are drawn."""
    with duckdb.connect() as connection:
        coverage.calibrations(connection, tmp_path)
        connection.executemany("insert into raw.months values (?)", [[month] for month in MONTHS])
        draw = random.Random(SEED)
        for month in MONTHS:
            for number in range(draw.randint(1, 12)):
                kind, workload = draw.choice(["idle", "busy", "busy", "other", "unknown"]), draw.choice(["w1", "w2", "w3"])
                row = (draw.choice("ab"), draw.choice(["", "2.0"]), draw.choice(["h1", "h2", "h3"]), draw.randint(350, 400))
                connection.execute(
                    "insert into intermediate.int_power_windows by name select ? as usage_month, ? as accelerator_type,"
                    " ? as sdk_version, 'xprof' as source_kind, 0.25 as unmetered_share, ? as host, ? as workload,"
                    " workload || ? as training_run_id, ? * 86400000000 as window_from_us,"
                    " window_from_us + 900000000 as window_to_us,"
                    " 900000000 as metered_us, w * 1000000 * 900000000::decimal(38, 0) as metered_uw_us, w * 1000000 as mean_uw,"
                    " ? as window_class from (select ?::decimal(9, 0) as w)",
                    [month, *row[:3], workload, number, number, kind, row[3]],
                )
        yield connection


def by_month(connection: duckdb.DuckDBPyConnection) -> dict[date, list[tuple[object, ...]]]:
    rows = connection.execute("from calibrations order by all").fetchall()
    return {month: [row for row in rows if row[0] == month] for month in MONTHS}


def test_windows_of_a_month_move_it_and_the_twelve_after_it_and_no_earlier_one(model: duckdb.DuckDBPyConnection) -> None:
    before, draw = by_month(model), random.Random(SEED)
    assert all(before[month] for month in MONTHS[12:]), "every type and software has enough windows in a year"
    for place in draw.sample(range(12, len(MONTHS)), 6):
        model.execute("begin")
        model.execute(f"update intermediate.int_power_windows set {LONGER} where usage_month = ?", [MONTHS[place]])
        found = by_month(model)
        moved = [month for month in MONTHS if found[month] != before[month]]
        assert moved == MONTHS[place : place + 13], f"seed {SEED}: windows of {MONTHS[place]} changed"
        model.execute("rollback")
        model.execute("begin")
        model.execute("delete from intermediate.int_power_windows where usage_month > ?", [MONTHS[place]])  # not loaded yet
        found = by_month(model)
        assert all(found[month] == before[month] for month in MONTHS[: place + 1]), f"seed {SEED}: after {MONTHS[place]}"
        model.execute("rollback")


def test_the_order_in_which_windows_come_changes_nothing(model: duckdb.DuckDBPyConnection) -> None:
    before = by_month(model)
    model.execute(
        "create or replace table intermediate.int_power_windows as from intermediate.int_power_windows order by random()"
    )
    assert by_month(model) == before


def watt_hours(marts: Marts, run: str) -> list[Decimal]:
    row = marts.energy(run)
    return [row[f"chip_energy_kwh{end}"] * 1000 for end in ("_low", "", "_high")]


def test_a_run_of_the_same_type_and_software_takes_calibrated_watts_and_no_other_run(marts: Marts) -> None:
    # one chip for an hour at half use: the example of docs/methodology/energy.md
    assert watt_hours(marts, "calibrated") == [Decimal("167.321"), Decimal("222.75"), Decimal("278.179")]
    for run in ("other-software", "no-software"):
        assert watt_hours(marts, run) == [Decimal(175), Decimal(247), Decimal(335)]
    stated = {run: marts.energy(run)["power_confidence"] for run in ("calibrated", "other-software", "no-software")}
    assert stated == {"calibrated": "calibrated", "other-software": "assumed", "no-software": "assumed"}


def test_time_that_was_not_seen_takes_the_measured_mean_between_idle_and_full(marts: Marts) -> None:
    # as much time at 94.5 W as at 351 W is 222.75 W in the mean
    assert watt_hours(marts, "calibrated-unseen") == [Decimal("77.51"), Decimal("222.75"), Decimal("444.868")]
    assert marts.energy("calibrated-unseen")["energy_basis"] == "time_model"


def test_what_was_calibrated_is_published_with_what_it_rests_on(marts: Marts) -> None:
    [row] = marts.rows(
        "select * from marts.fct_power_calibration where valid_from_month = date '2026-07-01' and sdk_version = 'libtpu-0.1'"
    )
    assert (row["accelerator_type"], row["source_kind"]) == ("v6e", "xprof")
    counts = [row[f"{name}_count"] for name in ("window", "host", "run", "workload")]
    assert (counts, row["chip_hours"]) == ([36, 3, 6, 6], Decimal("1.8"))
    assert [row[f"{name}_w"] for name in ("idle", "mean", "busy")] == [94.5, 222.75, 351]
    assert (round(row["spread_w"], 3), row["coverage_promised"], row["refused_reason"]) == (60.939, 0.95, None)
    assert (str(row["first_measured_at"]), str(row["last_measured_at"])) == ("2026-07-02 00:00:00", "2026-07-07 01:03:00")


def test_readings_that_no_record_holds_are_together_one_workload_of_no_run(marts: Marts) -> None:
    """August: 600 W on the same hosts, which nobody holds; with July's windows they are a seventh workload."""
    [row] = marts.rows(
        "select * from marts.fct_power_calibration where valid_from_month = date '2026-08-01' and sdk_version = 'libtpu-0.1'"
    )
    assert (row["workload_count"], row["run_count"], row["window_count"]) == (7, 6, 54)
    assert row["busy_w"] == pytest.approx(1.125 * (6 * 312 + 600) / 7, abs=1e-6)
