"""Which pairs were registered in time: the built statements on raw rows, with files in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_project.warehouse.statements import needed, statements
from tests.energy import raw_tables

NOON = datetime.fromisoformat("2026-07-01T12:00")
HOUR = timedelta(hours=1)
RELATION = "intermediate.int_comparison_registrations"
STAGED = ("staging.stg_user_inputs__comparison_plans", "staging.stg_training_runs__registrations")
RUNS = """create table marts.dim_training_runs (
    training_run_id varchar, workload_key varchar, pair_key varchar, accelerator_family varchar, started_at timestamp)"""
Registered = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registered]:
    """Rows of the model by pair, of some runs and some files."""
    sqls = [one.whole() for one in needed(statements(tmp_path_factory.mktemp("home")), [*STAGED])]
    [model] = [one for one in statements(tmp_path_factory.mktemp("home")) if one.relation == RELATION]
    with duckdb.connect() as connection:
        connection.execute(
            "attach ':memory:' as build; use build; create schema staging; create schema intermediate; create schema marts"
        )
        raw_tables.create(connection)
        connection.execute(RUNS)
        for sql in sqls:
            connection.execute(sql)

        def rows(runs: list[dict[str, Any]], files: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
            for table in ("marts.dim_training_runs", "raw.user_inputs", "raw.training_runs", "raw.registration_files"):
                connection.execute(f"delete from {table}")
            for run in runs:
                names = ", ".join(run)
                connection.execute(
                    f"insert into marts.dim_training_runs ({names}) values ({', '.join('?' for _ in run)})", [*run.values()]
                )
            for file in files:
                raw_tables.insert(connection, "registration_files", **file["file"])
                raw_tables.insert(connection, file["table"], **file["row"])
            found = connection.execute(model.sql)
            names = [column[0] for column in found.description]
            return {row[1]: dict(zip(names, row, strict=True)) for row in found.fetchall()}

        yield rows


def run(pair: str, family: str, started_at: datetime | None, name: str = "", workload: str = "w") -> dict[str, Any]:
    """A run of a pair."""
    run_id = name or f"{pair}-{family}"
    values = (run_id, workload, pair, family, started_at)
    return dict(zip(("training_run_id", "workload_key", "pair_key", "accelerator_family", "started_at"), values, strict=True))


def file(table: str, name: str, published_at: datetime, evidence: str, row: dict[str, Any]) -> dict[str, Any]:
    """A file of one row, as landing gives it to dbt."""
    of_file = {"_source_name": table, "_source_object": name, "_row_number": 1, "_published_at": published_at}
    landed = {"source_name": table, "source_object": name, "evidence_of_time": evidence}
    return {"table": table, "file": landed, "row": of_file | row}


def plan(pattern: str, published_at: datetime, pairs: int = 100, evidence: str = "object_store", **more: Any) -> dict[str, Any]:
    """A plan of fixed work, from July on."""
    row = {"kind": "comparison_plan", "key": "w", "pair_key": pattern, "value": pairs, "unit": "pairs", "source": "team"}
    of_work = {"promise": "fixed_work", "tokens": 1000, "valid_from": date(2026, 7, 1)}
    name = f"{pattern}-{published_at:%d%H%M}.plan.csv"
    return file("user_inputs", name, published_at, evidence, row | of_work | more)


def registration(pair: str, published_at: datetime, evidence: str = "object_store") -> dict[str, Any]:
    """What a recorder wrote when a run of the pair started."""
    row = {"part": "registration", "record_system": "registration", "recorded_id": f"run-of-{pair}"}
    name = f"{pair}-{published_at:%d%H%M}.registered.json"
    return file("training_runs", name, published_at, evidence, row | {"workload_key": "w", "pair_key": pair})


PAIR = [run("p-1", "trainium", NOON), run("p-1", "tpu", NOON + 24 * HOUR)]


@pytest.mark.parametrize(
    ("published_at", "is_registered"),
    [
        (NOON - 240 * HOUR, True),
        (NOON + 25 * HOUR, True),  # an hour after the side that starts later
        (NOON + 25 * HOUR + timedelta(microseconds=1), False),
    ],
)
@pytest.mark.parametrize("of", [plan, registration])
def test_a_file_is_in_time_until_an_hour_after_the_later_sides_first_start(
    registered: Registered, of: Callable[..., dict[str, Any]], published_at: datetime, is_registered: bool
) -> None:
    row = registered(PAIR, [of("p-1", published_at)])["p-1"]
    assert row["is_registered"] is is_registered
    assert row["registered_by"] == ({plan: "plan", registration: "recorder"}[of] if is_registered else "none")
    assert row["registered_at"] == (published_at if is_registered else None)


def test_a_second_launch_moves_no_start_and_a_pair_of_one_side_is_registered_by_its_start(registered: Registered) -> None:
    again = run("p-1", "tpu", NOON + 100 * HOUR, "again")
    late = registration("p-1", NOON + 50 * HOUR)
    assert not registered([*PAIR, again], [late])["p-1"]["is_registered"]
    assert not registered(PAIR[:1], [late])["p-1"]["is_registered"]
    assert registered([PAIR[0], again], [late])["p-1"]["is_registered"]  # the other side had not started yet
    assert not registered([run("p-1", "tpu", None)], [late])["p-1"]["is_registered"]


def test_the_earliest_file_in_time_is_named_with_whose_time_it_has(registered: Registered) -> None:
    files = [plan("p-*", NOON), registration("p-1", NOON - HOUR, "file_time"), registration("p-1", NOON + HOUR)]
    row = registered(PAIR, files)["p-1"]
    assert (row["registered_by"], row["registered_at"], row["evidence_of_time"]) == ("recorder", NOON - HOUR, "file_time")
    both = registered(PAIR, [plan("p-*", NOON, evidence="file_time"), registration("p-1", NOON)])["p-1"]
    assert (both["registered_by"], both["evidence_of_time"]) == ("recorder", "object_store")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [("p-1", {"p-1"}), ("p-*", {"p-1", "p-10", "p-é"}), ("*", {"p-1", "p-10", "p-é", "q%_"}), ("q%_", {"q%_"}), ("p%", set())],
)
def test_a_star_at_the_end_is_any_text_and_every_other_sign_is_itself(
    registered: Registered, pattern: str, named: set[str]
) -> None:
    runs = [run(pair, "trainium", NOON) for pair in ("p-1", "p-10", "p-é", "q%_")]
    rows = registered([*runs, run("p-7", "tpu", NOON, workload="v")], [plan(pattern, NOON)])
    assert {pair for pair, row in rows.items() if row["is_registered"]} == named


def test_a_plan_is_of_the_pairs_that_start_first_and_none_of_before_its_first_day(registered: Registered) -> None:
    runs = [run(f"p-{day}", side, NOON + day * 24 * HOUR) for day in (3, 1, 2) for side in ("trainium", "tpu")]
    before = [run("p-0", "trainium", NOON - 13 * HOUR), run("p-0", "tpu", NOON)]
    rows = registered([*before, *runs], [plan("p-*", NOON - 999 * HOUR, pairs=2)])
    assert {pair for pair, row in rows.items() if row["is_registered"]} == {"p-1", "p-2"}


def test_a_plans_promise_is_its_workloads_and_one_that_came_too_late_is_none_for_a_registered_pair(
    registered: Registered,
) -> None:
    def promise(*files: dict[str, Any]) -> Any:
        row = registered(PAIR, [*files])["p-1"]
        return row["planned_tokens"] and int(row["planned_tokens"])

    late = plan("p-*", NOON + 90 * HOUR, tokens=3000)
    assert promise() is None
    assert promise(plan("p-*", NOON), late) == 1000
    assert promise(late) == 3000  # the pair is not registered: what it is compared by may be stated later
    assert promise(late, registration("p-1", NOON)) is None
    assert promise(plan("other-*", NOON, tokens=2000), registration("p-1", NOON)) == 2000
    assert promise(plan("other-*", NOON - HOUR, tokens=2000), plan("p-*", NOON)) == 1000


FILES = st.lists(
    st.builds(
        lambda of, name, hours, evidence: of(name, NOON + hours * HOUR, evidence=evidence),
        st.sampled_from([plan, registration]),
        st.sampled_from(["p-1", "p-2", "q-1"]),
        st.integers(-2, 30),
        st.sampled_from(["object_store", "file_time"]),
    ),
    max_size=6,
    unique_by=lambda one: one["row"]["_source_object"],
)
RUNS_OF_PAIRS = st.lists(
    st.builds(
        lambda pair, side, hours: run(pair, side, NOON + hours * HOUR, f"{pair} {side} {hours}"),
        st.sampled_from(["p-1", "p-2", "q-1"]),
        st.sampled_from(["trainium", "tpu"]),
        st.integers(0, 30),
    ),
    min_size=1,
    max_size=8,
)


@given(runs=RUNS_OF_PAIRS, files=FILES, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_pair_is_registered_whatever_the_order_of_files_and_never_loses_it_to_a_later_file(
    registered: Registered, runs: list[dict[str, Any]], files: list[dict[str, Any]], data: st.DataObject
) -> None:
    rows = registered(runs, files)
    for pair, row in rows.items():
        sides = [
            [one["started_at"] for one in runs if one["pair_key"] == pair and one["accelerator_family"] == family]
            for family in ("trainium", "tpu")
        ]
        until = max(min(starts) for starts in sides if starts) + HOUR
        times = [one["row"]["_published_at"] for one in files if pair in (one["row"].get("pair_key"),)]
        assert row["registered_at"] == min((time for time in times if time <= until), default=None)
        assert row["is_registered"] is (row["registered_at"] is not None)
    assert registered(data.draw(st.permutations(runs)), data.draw(st.permutations(files))) == rows
    late = registration("p-1", NOON + 500 * HOUR)
    assert {pair: row["registered_at"] for pair, row in registered(runs, [*files, late]).items()} == {
        pair: row["registered_at"] for pair, row in rows.items()
    }
