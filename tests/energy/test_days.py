"""int_device_minutes is built by day: of the samples whose files reach a day its rows are what they are of all samples."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from dagster_project.landing.deriving.controls import SAMPLES_BY_DAY
from dagster_project.warehouse.statements import Statement, needed, statements
from tests.energy import raw_tables
from tests.energy.scenario import NEURON

MODEL, STAGED = "intermediate.int_device_minutes", "staging.stg_neuron_monitor__samples"
MONTH, DAYS = date(2026, 7, 1), [date(2026, 7, day) for day in (1, 2, 3, 30, 31)]
ODD = [
    0,
    60,
    61,
    600,
    3_600,
    100_000,
    250_000,
]  # seconds of documents: of no length, of longer than a minute, of longer than a day


def minutes_of(connection: duckdb.DuckDBPyConnection, statement: Statement, days: list[date]) -> list[tuple]:
    """The rows of some days, as the statement has them of the samples that lie in schema raw."""
    names = ", ".join(f"date '{day}'" for day in days)
    return connection.execute(f"from ({statement.sql}) where usage_day in ({names}) order by all").fetchall()


def drawn(draw: random.Random) -> list[tuple]:
    """Samples of devices about midnight and the ends of a month: in their order, and the more out of it the higher the number."""
    found = []
    for device, odd in enumerate([0.0, 0.0, 0.01, 0.03, 0.2]):
        slips = [0, 1, -400_000, 300_000] if device else [0]
        for day in [MONTH, *DAYS[1:], date(2026, 8, 1)]:
            midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 raw times are UTC without a zone
            for place in range(-40, 40):
                if draw.random() < odd:
                    continue
                end = midnight + timedelta(seconds=5 * place, microseconds=draw.choice(slips))
                length = timedelta(seconds=draw.choice(ODD) if draw.random() < odd else draw.choice([5, 5, 5.4, 4.8]))
                use = None if draw.random() < odd / 4 else round(draw.random(), 3)
                found.append(("i-1", device, end - length, end, use))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_of_a_day_are_the_same_whether_one_day_is_built_or_all(tmp_path: Path, seed: int) -> None:
    made = {one.relation: one for one in needed(statements(tmp_path), [MODEL])}
    with duckdb.connect(str(tmp_path / "build.duckdb")) as connection:
        connection.execute("set TimeZone = 'UTC'; create schema staging")
        raw_tables.create(connection)
        raw_tables.insert(connection, "months", usage_month=MONTH)
        line = raw_tables.Line(connection, datetime(2026, 8, 2))  # noqa: DTZ001
        line.samples(NEURON, drawn(random.Random(f"days|{seed}")))
        connection.execute(made[STAGED].whole())
        whole = minutes_of(connection, made[MODEL], DAYS)
        assert any(row[-1] for row in whole), "some are minutes"
        assert any(not row[-1] for row in whole), "some are single samples"
        of_days = []
        first, last = (SAMPLES_BY_DAY.keys[name] for name in ("first_reached", "last_reached"))
        connection.execute("create table all_samples as from raw.neuron_monitor")
        for day in DAYS:  # each sample is a file of its own: the least that a day may be built of
            reaching = f"from all_samples where date '{day}' between {first} and {last}"
            connection.execute(f"create or replace table raw.neuron_monitor as {reaching}")
            of_days += minutes_of(connection, made[MODEL], [day])
        assert sorted(of_days, key=repr) == sorted(whole, key=repr)
