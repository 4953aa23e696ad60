"""SQL that a forger wrote, at the door: it reaches no file and no setting, ends in time, and answers in plain types."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from reports.door import Door, DoorError, TooLongError, lock, settings, time_limit
from reports.publication import open_folder, opened_door

FORGED = {
    "copies to a file": "copy (select 3 as value) to '{folder}/out.csv'",
    "attaches a file": "attach '{folder}/out.duckdb' as other",
    "installs an extension": "install httpfs",
    "loads an extension": "load httpfs",
    "creates a table": "create table marts.more as select 3 as value",
    "creates a temporary table": "create temp table fct_costs as select 3 as value",
    "replaces a table": "create or replace table marts.fct_costs as select 3 as value",
    "replaces a view": "create or replace temp view fct_costs as select 3 as value",
    "changes rows": "update marts.fct_costs set cost = 3",
    "is two statements": "select 3 as value; select 4 as value",
    "hides a second statement": "select 3 as value; copy (select 1) to '{folder}/out.csv'",
    "sets": "set threads = 1",
    "resets": "reset threads",
    "has a pragma": "pragma database_list",
    "calls": "call pragma_version()",
    "prepares": "prepare one as select 1",
    "begins": "begin",
    "explains": "explain analyze select 1",
    "describes": "describe marts.fct_costs",
    "shows": "show all tables",
    "summarises": "summarize marts.fct_costs",
    "exports": "export database '{folder}/out'",
    "is nothing": "",
    "is a remark": "-- select 3",
    "is no SQL": "select select",
    "reads a file as a table": "select * from '/etc/passwd'",
    "reads a text": "select * from read_text('/etc/passwd')",
    "reads a blob": "select * from read_blob('/etc/passwd')",
    "reads CSV in a subquery": "select (select count(*) from read_csv('/etc/passwd')) as value",
    "reads CSV in a common table expression": "with a as (from read_csv('/etc/passwd')) select 3 as value from a",
    "lists files": "select * from glob('/*')",
    "sniffs": "select * from sniff_csv('/etc/passwd')",
    "reads Parquet's metadata": "select * from parquet_metadata('{folder}/marts/fct_costs.parquet')",
    "asks the environment": "select getenv('HOME') as value",
    "lists settings": "select * from duckdb_settings()",
    "asks a setting": "select main.CURRENT_SETTING('temp_directory') as value",
    "writes to the log": "select write_log('forged') as value",
    "lists open files": "select file from Pragma_Database_List",
    "lists DuckDB's own tables": "with a as (select sql as value from sqlite_master) from a",
    "lists secrets": "select * from duckdb_secrets()",
    "turns logging on": "select * from enable_logging(storage = 'file', storage_config = {{'path': '{folder}/log'}})",
    "runs a text": "select * from query('select 3 as value')",
    "reads a table by its text": "select * from query_table('marts.fct_costs')",
    "reads a variable of Python": "select * from FORGED",
    "reads another database": "select * from system.main.duckdb_tables",
    "reads another schema": "select * from information_schema.tables",
    "has a parameter": "select $1 as value",
    "gives a list": "select [1, 2] as value",
    "gives a struct": "select {{'a': 1}} as value",
    "gives bytes": "select '3'::blob as value",
    "gives a text for a number": "select '3' as value",
    "gives a date for a number": "select date '2026-07-01' as value",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pack's tables, as Parquet."""
    (tmp_path / "marts").mkdir()
    costs = "select range as cost, 'run-' || range as training_run_id from range(1000)"
    duckdb.sql(f"copy ({costs}) to '{tmp_path}/marts/fct_costs.parquet'")
    return tmp_path


@pytest.fixture
def door(folder: Path) -> Iterator[Door]:
    with opened_door(folder) as (_, found):
        yield found


@pytest.mark.parametrize("what", FORGED)
def test_sql_that_is_no_question_about_the_tables_is_refused(what: str, folder: Path, door: Door) -> None:
    before = sorted(folder.rglob("*"))
    with pytest.raises((DoorError, duckdb.Error)):
        door.rows(FORGED[what].format(folder=folder), numbers=["value"])
    assert sorted(folder.rglob("*")) == before, "nothing was written"
    assert door.rows("select sum(cost) as value from marts.fct_costs", numbers=["value"]) == [{"value": 499500}]


@pytest.mark.parametrize(
    "sql",
    [
        "select sum(cost) as value from marts.fct_costs",
        "with a as (from marts.fct_costs) select count(*) as value from a;",
        "select max(n) as value from (select unnest([1, 2]) as n) cross join range(3)",
        "select value from (values (1, 'x')) as rows (value, name) order by value -- a remark",
    ],
)
def test_one_select_over_the_tables_is_answered(sql: str, door: Door) -> None:
    assert len(door.rows(sql, numbers=["value"])) == 1


def test_a_cross_join_that_never_ends_is_ended_and_nothing_more_is_asked(folder: Path) -> None:
    begun = time.monotonic()
    with opened_door(folder) as (connection, _):
        door = Door(connection, seconds=0.5)
        with pytest.raises(TooLongError, match=r"0\.5 seconds"):
            door.rows("select count(*) as value from range(10000000000) as a, range(10000000000) as b where a.range < b.range")
        with pytest.raises(TooLongError, match="no more is asked"):
            door.rows("select 1 as value")
    assert time.monotonic() - begun < 20


def test_an_answer_of_endless_rows_is_ended(folder: Path) -> None:
    with opened_door(folder) as (connection, _), pytest.raises(DoorError):
        Door(connection, seconds=2).rows("select a.cost from marts.fct_costs as a, range(1000000000000) as b")


def test_what_needs_more_than_its_memory_is_answered_behind_the_lock(tmp_path: Path) -> None:
    file, config = str(tmp_path / "pack.duckdb"), settings(tmp_path / "spill", "200MB")
    with duckdb.connect(file, config=config) as connection:
        connection.execute("create table large as select repeat('x', 200) || range as t from range(2000000)")
    sql = "select count(*) as value from (select t, row_number() over (order by t desc) as r from large) where r % 2 = 0"
    with duckdb.connect(file, read_only=True, config=config) as connection:
        lock(connection)
        assert Door(connection).rows(sql) == [{"value": 1000000}]


def test_a_time_limit_that_is_not_reached_changes_nothing() -> None:
    with duckdb.connect() as connection:
        with time_limit(connection, 30):
            assert connection.execute("select 1").fetchone() == (1,)
        with time_limit(connection, None):
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_pack_is_asked_through_the_door_also_by_our_own_pages(folder: Path) -> None:
    with open_folder(folder) as publication:
        assert publication.rows("select count(*) as n from marts.fct_costs") == [{"n": 1000}]
        for sql in ("create temp table x as select 1", "select * from read_text('/etc/passwd')"):
            with pytest.raises(DoorError):
                publication.rows(sql)
            with pytest.raises(DoorError):
                publication.arrow(sql)
