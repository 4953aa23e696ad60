"""Published views are Parquet too, for whoever reads files alone: the rows of the view, written again when they can differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars
import pytest

from dagster_project.publishing.digest import TableDigest
from dagster_project.publishing.last import Last
from dagster_project.publishing.parts import LINK, Parts
from dagster_project.publishing.tables import PublishedTable
from dagster_project.publishing.view_files import tables_behind, write_view_files

STATEMENTS = {
    "one": 'select usage_month, sum(cost) as cost from marts."fct_a" group by 1',
    "two": 'select sum(cost) as cost from marts."one"',
    "other": 'select * from marts."dim_b"',
}
VIEWS = [PublishedTable(name, "marts", (), "", {}, is_view=True) for name in STATEMENTS]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("create schema marts; create table marts.dim_b as select 1 as b")
        opened.execute("create table marts.fct_a as select date '2026-06-01' as usage_month, 2.5::decimal(38, 12) as cost")
        opened.execute("insert into marts.fct_a values (date '2026-07-01', 4)")
        for name, statement in STATEMENTS.items():
            opened.execute(f"create view marts.{name} as {statement}")
        yield opened


def digests(a: str, b: str) -> list[TableDigest]:
    parts = {"fct_a": {"2026-06": (1, a), "2026-07": (1, "same")}, "dim_b": {"all": (1, b)}}
    return [TableDigest(name, 1, "", of_table) for name, of_table in parts.items()]


def write_files(
    connection: duckdb.DuckDBPyConnection, now: list[TableDigest], folder: Path, last: Last | None
) -> tuple[dict, dict]:
    """Rows by view and part, and sha256 by name, of the files of every view in a folder."""
    parts = Parts(folder, folder.parent / LINK, last)
    return write_view_files(connection, VIEWS, now, STATEMENTS, parts), parts.hashes


def last_of(published: Path, now: list[TableDigest], written: tuple[dict, dict]) -> Last:
    """What the next publication finds, with its files below the link."""
    record = {"parts": {one.table: one.partitions for one in now}, "files": written[0], "parquet": written[1]}
    return Last(published / "trainledger.duckdb", record, is_intact=True)


def inodes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_ino for path in sorted(folder.rglob("*.parquet"))}


def test_a_view_is_made_of_the_tables_behind_the_views_it_reads() -> None:
    assert tables_behind("two", STATEMENTS) == {"one", "fct_a"}


def test_files_are_written_by_month_and_stay_while_no_table_behind_their_view_changes(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    old = tmp_path / LINK
    old.mkdir()
    written = write_files(connection, digests("a", "b"), old, None)
    assert written[0] == {"one": {"2026-06": 1, "2026-07": 1}, "two": {"all": 1}, "other": {"all": 1}}
    assert set(written[1]) == set(inodes(old))
    last = last_of(tmp_path, digests("a", "b"), written)
    connection.execute("update marts.fct_a set cost = 3 where usage_month = date '2026-06-01'; update marts.dim_b set b = 2")
    again, changed = tmp_path / "again", tmp_path / "changed"
    again.mkdir()
    changed.mkdir()
    # no table is said to have changed, so nothing is asked; then one has, and only what it is behind is written
    assert write_files(connection, digests("a", "b"), again, last) == written
    assert inodes(again) == inodes(old)
    found = write_files(connection, digests("new", "b"), changed, last)
    moved = {name for name, inode in inodes(changed).items() if inode != inodes(old)[name]}
    assert moved == {"one/usage_month=2026-06.parquet", "two/all.parquet"}
    assert found[1]["other/all.parquet"] == written[1]["other/all.parquet"]
    assert polars.read_parquet(changed / "two" / "all.parquet").item() == 7


def test_a_file_of_a_view_that_is_missing_is_written_again(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    old, new = tmp_path / LINK, tmp_path / "new"
    old.mkdir()
    new.mkdir()
    written = write_files(connection, digests("a", "b"), old, None)
    (old / "other" / "all.parquet").unlink()
    last = last_of(tmp_path, digests("a", "b"), written)
    assert write_files(connection, digests("a", "b"), new, last) == written
    assert (new / "other" / "all.parquet").is_file()


@pytest.mark.slow
def test_every_published_view_has_its_rows_in_parquet(demo_home: Path) -> None:
    published = demo_home / "trainledger-home" / "published"
    record = json.loads((published / "PUBLICATION.json").read_text())
    with duckdb.connect(str(published / "trainledger.duckdb"), read_only=True) as connection:
        views = [
            name for (name,) in connection.execute("select view_name from duckdb_views() where schema_name = 'marts'").fetchall()
        ]
        assert {"run_summary", "run_month_summary", "focus_1_4", "activity_data"} <= {*views}
        for view in views:
            files = f"read_parquet('{published / LINK / view}/*.parquet', hive_partitioning = false)"
            described = [connection.execute(f"describe from {rows}").fetchall() for rows in (f"marts.{view}", files)]
            assert [column[:2] for column in described[0]] == [column[:2] for column in described[1]]
            for one, other in ((f"marts.{view}", files), (files, f"marts.{view}")):
                assert connection.execute(f"select count(*) from (from {one} except all from {other})").fetchone() == (0,), view
            assert connection.execute(f"select count(*) from {files}").fetchone() == (sum(record["files"][view].values()),)


def test_a_file_that_is_written_again_leaves_what_readers_of_the_last_publication_hold(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    published = tmp_path / "one" / "dim_b" / "all.parquet"
    first = Parts(tmp_path / "one", tmp_path / LINK, None)
    first.folder.mkdir()
    first.write(connection, "from marts.dim_b", "dim_b", "all")
    held = published.read_bytes()
    again = Parts(tmp_path / "two", tmp_path / "one", None)
    (again.folder / "dim_b").mkdir(parents=True)
    (again.folder / "dim_b" / "all.parquet").hardlink_to(published)  # kept, until another file of its view could not be
    again.write(connection, "select 2 as b", "dim_b", "all")
    assert published.read_bytes() == held and published.stat().st_nlink == 1
    assert polars.read_parquet(again.folder / "dim_b" / "all.parquet")["b"].to_list() == [2]
