"""What is made of telemetry is built by day, and whichever hours arrive in which order it is what a clean build makes of them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from itertools import islice
from pathlib import Path

import duckdb
import pytest

from dagster_project.landing.deriving.controls import SAMPLES_BY_DAY
from dagster_project.warehouse import runner, states
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.statements import Statement, needed, statements
from dagster_project.warehouse.states import State
from tests.energy import drawn_days, raw_tables
from tests.energy.drawn_days import Delivery
from tests.energy.raw_tables import Line
from tests.energy.scenario import NEURON

pytestmark = pytest.mark.slow
WANTED = [
    "intermediate.int_run_region_energy",
    "intermediate.int_idle_energy_shares",
    "intermediate.int_telemetry_conflicts",
    "marts.fct_telemetry_matches",
]
BY_DAY = (NEURON, drawn_days.POWER)  # kinds of which a build reads the days that changed
ARRIVALS = 6
There = dict[Delivery, int]  # the deliveries that count, and which telling of each
FIRST, LAST = (SAMPLES_BY_DAY.keys[name] for name in ("first_reached", "last_reached"))


def source_of(one: Delivery) -> str:
    return f"{one.host}-{one.day}-{one.window}"


def whole_raw(connection: duckdb.DuckDBPyConnection, there: There) -> None:
    """Schema raw as it is when these deliveries count."""
    raw_tables.create(connection)
    for table in ("months", "build_months"):
        raw_tables.insert(connection, table, usage_month=drawn_days.MONTH)
    line = Line(connection, datetime(2026, 8, 2))  # noqa: DTZ001
    drawn_days.write_runs(line)
    for one, telling in sorted(there.items(), key=lambda item: str(item)):
        one.write(line, telling)
    connection.execute("update raw.neuron_monitor set document_hash = document_hash || _source_name")
    for table in (drawn_days.POWER, drawn_days.WALL):  # each delivery is a file of its own, whatever else is there
        first = f"(select min(_row_number) from raw.{table} as one where one._source_name = read._source_name)"
        places = f"_source_object = _source_name, _row_number = _row_number - {first}"
        connection.execute(f"update raw.{table} as read set {places}")


def days_of(connection: duckdb.DuckDBPyConnection, kind: str, sources: Collection[str]) -> set[date]:
    """The days of the month that samples of some sources of a kind reach, as landing notes them."""
    listed = ", ".join(f"'{source}'" for source in ["", *sources])
    asked = f"select unnest(generate_series({FIRST}, {LAST}, interval 1 day)) from raw.{kind} where _source_name in ({listed})"
    days = {day.date() for (day,) in connection.execute(asked).fetchall()}
    return {day for day in days if day.replace(day=1) == drawn_days.MONTH}


def build(file: Path, made: list[Statement], there: There, before: There | None = None) -> list[NodeResult]:
    """Build on a file what deliveries make, after those that it was built of before: only the days that differ are read."""
    last = before or {}
    changed = {source_of(one) for one in there.keys() | last.keys() if there.get(one) != last.get(one)}
    version = f"{sorted(map(str, there.items()))}"
    with duckdb.connect(str(file)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        whole_raw(connection, last)
        reached = {kind: days_of(connection, kind, changed) for kind in BY_DAY}
        whole_raw(connection, there)
        for kind, of_last in reached.items():
            left = days_of(connection, kind, {source_of(one) for one in there})
            for day in sorted(of_last | days_of(connection, kind, changed)):
                raw_tables.insert(connection, "build_days", kind=kind, usage_day=day, version=version if day in left else "")
            if before is not None:  # the view has the files of these days alone
                read = f"exists (select 1 from raw.build_days where kind = '{kind}' and usage_day between {FIRST} and {LAST})"
                connection.execute(f"delete from raw.{kind} where not {read}")
        states.read(connection)
        tables = connection.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
        versions = {name: version if name in (*BY_DAY, drawn_days.WALL) else "" for (name,) in tables}
        states.write(connection, [State(f"raw.{name}", "", "", of) for name, of in versions.items()])
        begun = Build(f"build of {version}", "", "", "", {}, [str(drawn_days.MONTH)], is_full=before is None)
        found = list(runner.run(made, begun, connection))
    broken = [f"{node.name} {node.detail}" for node in found if node.status not in ("success", "unchanged")]
    assert not broken, "\n".join(broken)
    return found


def rows_of(file: Path, made: list[Statement]) -> dict[str, list[str]]:
    """The rows of every table by month, by its name."""
    with duckdb.connect(str(file), read_only=True) as connection:
        tables = [one.relation for one in made if one.kind == "by_month"]
        return {one: [repr(row) for row in connection.execute(f"from {one} order by all").fetchall()] for one in tables}


@pytest.mark.parametrize("seed", range(2))
def test_whichever_hours_arrive_in_which_order_the_rows_are_those_of_a_clean_build(tmp_path: Path, seed: int) -> None:
    made = needed(statements(tmp_path), WANTED)
    before: There | None = None
    for number, there in enumerate(islice(drawn_days.drawn(f"days of energy|{seed}"), ARRIVALS)):
        build(tmp_path / "build.duckdb", made, there, before)
        before = there
        if number % 2:
            clean = tmp_path / f"clean {number}"
            clean.mkdir()
            build(clean / "build.duckdb", made, there)
            by_day, whole = rows_of(tmp_path / "build.duckdb", made), rows_of(clean / "build.duckdb", made)
            assert len(whole["intermediate.int_run_region_energy"]) == 8
            assert whole["intermediate.int_device_ranks"], "on some days more chips are seen than are held"
            assert whole["intermediate.int_point_times"] and whole["intermediate.int_moment_spreads"], "moments are read"
            assert any("True" in row for row in whole["intermediate.int_matched_days"]), "samples lie over midnight"
            for table, rows in whole.items():
                assert by_day[table] == rows, table


def test_a_new_hour_writes_its_day_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = needed(statements(tmp_path), WANTED)
    there = {Delivery(host, day, 3): 1 for host in ("i-change", "algo-1") for day in (3, 4, 5)}
    build(tmp_path / "build.duckdb", made, there)
    written: dict[str, Collection[str] | None] = {}
    of_months = Statement.of_months

    def noted(one: Statement, months: Collection[str], days: Collection[str] | None = None) -> str:
        written[one.name] = days
        return of_months(one, months, days)

    monkeypatch.setattr(Statement, "of_months", noted)
    build(tmp_path / "build.duckdb", made, there | {Delivery("i-change", 4, 3): 2}, there)
    by_day = {one.name for one in made if one.by_day}
    assert {name for name in written if name in by_day} >= {"int_device_minutes", "int_node_samples", "int_node_device_spans"}
    assert {name for name in written if name in by_day} >= {"int_power_samples", "int_metered_power", "int_matched_days"}
    assert {name: days for name, days in written.items() if name in by_day and days != ["2026-07-04"]} == {}
