"""Publication by parts: what did not change is taken from the last publication, and a change is never missed."""

import hashlib
import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest
from run_side_kit import ROWS, TABLES, identity, publish, write_build

from dagster_project.publishing import last, parts
from dagster_project.publishing import publish as publishing
from dagster_project.publishing.digest import table_digest
from dagster_project.publishing.publish import COMMIT_RECORD, FILE_NAME

APRIL, MAY = "fct_costs/usage_month=2026-04.parquet", "fct_costs/usage_month=2026-05.parquet"
THINGS = "dim_things/all.parquet"
MAY_ROWS = [*ROWS[:2], ("a", "2026-05-01", "4"), ("c", "2026-05-01", "5")]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Parquet files that are written, not kept, from here on."""
    names: list[str] = []
    write = parts.Parts.write

    def noted(self: parts.Parts, *of: Any) -> Path:
        path = write(self, *of)
        names.append("/".join(path.parts[-2:]))
        return path

    monkeypatch.setattr(parts.Parts, "write", noted)
    return names


class Home:
    """A build file and its publications."""

    def __init__(self, root: Path) -> None:
        self.root, self.published, self.count = root, root / "published", 0

    def publish(self, rows: list[tuple[str, str, str]], *built: date, change: str = "", full: bool = False) -> dict[str, Any]:
        self.count += 1
        name = f"build-{self.count}"
        build = write_build(self.root / "build.duckdb", rows, name)
        if change:
            with duckdb.connect(str(build)) as connection:
                connection.execute(change)
        return publish(build, self.published, TABLES, identity(name), None if full else built)

    def rows(self) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.published / FILE_NAME), read_only=True) as connection:
            return connection.execute("from fct_costs").fetchall()

    def assert_as_from_nothing(self, record: dict[str, Any]) -> None:
        """Rows, digests and bytes are those of a first publication of the same build; digests are those of the file's rows."""
        clean = Home(self.root / f"clean-{self.count}")
        expected = publish(self.root / "build.duckdb", clean.published, TABLES, identity(record["build_id"]))
        for said in ("tables", "rows", "parts", "parquet"):
            assert record[said] == expected[said]
        assert sorted(map(str, self.rows())) == sorted(map(str, clean.rows()))
        files = {path: path.read_bytes() for path in (self.published / "parquet").rglob("*.parquet")}
        root = self.published / "parquet"
        assert {str(at.relative_to(root)): hashlib.sha256(data).hexdigest() for at, data in files.items()} == record["parquet"]
        with duckdb.connect(str(self.published / FILE_NAME), read_only=True) as connection:
            assert {name: table_digest(connection, "marts", name).digest for name in record["tables"]} == record["tables"]
            assert connection.execute("select build_id from ops.builds").fetchall() == [(record["build_id"],)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    one = Home(tmp_path)
    one.publish(ROWS, full=True)
    return one


def test_only_the_month_that_was_built_is_sorted_hashed_and_written(home: Home, written: list[str]) -> None:
    april = (home.published / "parquet" / APRIL).stat().st_ino
    record = home.publish(MAY_ROWS, date(2026, 5, 1))
    assert written == [MAY]
    assert (home.published / "parquet" / APRIL).stat().st_ino == april
    home.assert_as_from_nothing(record)


def test_months_that_were_built_and_came_out_as_they_were_are_not_written_again(home: Home, written: list[str]) -> None:
    for rows, expected in ((ROWS, []), ([], ["fct_costs/all.parquet"]), ([], []), (ROWS, [APRIL, MAY])):
        record = home.publish(rows, date(2026, 4, 1), date(2026, 5, 1))
        assert written == expected
        home.assert_as_from_nothing(record)
        written.clear()


def test_the_columns_of_all_tables_are_asked_for_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(publishing, "catalog_of", lambda file: asked.append(file) or last.catalog_of(file))
    monkeypatch.setattr(
        publishing, "table_digest", lambda *given: table_digest(*given) if given[4] else pytest.fail("asked again, for one table")
    )
    home.publish(MAY_ROWS, date(2026, 5, 1))
    assert len(asked) == 1


def test_a_row_that_changed_in_a_month_that_was_not_built_is_published(home: Home, written: list[str]) -> None:
    """A status, an idle share: what a mart joins may change while the month itself is not built again."""
    record = home.publish([("a", "2026-04-01", "1.000000000002"), *ROWS[1:]])
    assert written == [APRIL]
    home.assert_as_from_nothing(record)


def test_rows_of_the_published_version_are_not_read_again_unless_someone_changed_the_file(
    home: Home, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(publishing, "contents", lambda *given: asked.append(given[1]) or last.contents(*given))
    state = "create table ops.node_states as select 'marts.fct_costs' as node, '{}' as version"
    for version, rows, months in (("one", ROWS, [APRIL, MAY]), ("one", ROWS, []), ("two", MAY_ROWS, [MAY])):
        asked.clear()
        record = home.publish(rows, date(2026, 4, 1), date(2026, 5, 1), change=state.format(version))
        assert any("fct_costs" in relation for relation in asked) == (version != "one" or bool(months))
        assert written == [name for name in months if version != "one"]
        home.assert_as_from_nothing(record)
        written.clear()
    with duckdb.connect(str(home.published / FILE_NAME)) as connection:
        connection.execute("update marts.fct_costs set effective_cost = 99 where usage_month = date '2026-04-01'")
    record = home.publish(MAY_ROWS, change=state.format("two"))
    assert written == [APRIL]
    home.assert_as_from_nothing(record)


def test_months_that_came_and_went_and_changed_words_of_a_dimension_are_published(home: Home, written: list[str]) -> None:
    change = "update marts.dim_things set ratio = 0.2 where thing_id = 'x'"
    record = home.publish([*ROWS[:2], ("a", "2026-06-01", "7")], date(2026, 6, 1), change=change)
    assert sorted(written) == [THINGS, "fct_costs/usage_month=2026-06.parquet"]
    home.assert_as_from_nothing(record)


def test_a_full_build_takes_nothing_from_before(home: Home, written: list[str]) -> None:
    home.assert_as_from_nothing(home.publish(ROWS, full=True))
    assert {APRIL, MAY, THINGS} <= set(written)


def test_rows_or_bytes_that_someone_changed_in_the_publication_do_not_stay(home: Home, written: list[str]) -> None:
    with duckdb.connect(str(home.published / FILE_NAME)) as connection:
        connection.execute("update marts.fct_costs set effective_cost = 99 where usage_month = date '2026-04-01'")
    may = home.published / "parquet" / MAY
    may.write_bytes(may.read_bytes()[:-1])
    record = home.publish(ROWS)
    assert sorted(written) == [APRIL, MAY]
    home.assert_as_from_nothing(record)


@pytest.mark.parametrize("names", [["build_id", "sha256"], ["code_version"], ["publisher"]])
def test_a_publication_of_other_code_or_of_another_record_lends_nothing(home: Home, written: list[str], names: list[str]) -> None:
    record = json.loads((home.published / COMMIT_RECORD).read_text())
    (home.published / COMMIT_RECORD).write_text(json.dumps(record | dict.fromkeys(names, "other")))
    home.publish(ROWS)
    assert {APRIL, MAY, THINGS} <= set(written)


def test_a_file_that_grew_to_twice_its_size_is_copied_row_by_row_and_digests_stay(
    home: Home, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "MOST_GROWTH", 0)
    monkeypatch.setattr(publishing, "_copy_bytes", lambda *_: pytest.fail("the holes were copied"))
    record = home.publish(MAY_ROWS, date(2026, 5, 1))
    assert written == [MAY]
    home.assert_as_from_nothing(record)
    with duckdb.connect(str(home.published / FILE_NAME), read_only=True) as connection:
        words = connection.execute("select comment from duckdb_columns() where schema_name = 'marts'").fetchall()
    assert ("What the run cost's share was.",) in words


def test_the_file_stays_within_a_bound_however_often_a_month_is_replaced(home: Home) -> None:
    many = [(f"run-{at}", f"2026-0{1 + at % 4}-01", str(at)) for at in range(16)]
    first = home.publish(many, full=True)
    for at in range(8):
        home.publish([(run, month, str(at)) for run, month, _ in many], date(2026, 1 + at % 4, 1))
    assert (home.published / FILE_NAME).stat().st_size <= 2 * publishing.MOST_GROWTH * first["whole_bytes"]


def test_where_a_month_lies_in_the_file_changes_no_byte_of_its_parquet(tmp_path: Path) -> None:
    """Parquet cuts row groups at 122,880 rows as they come; a month that begins inside a block of 2,048 rows must not show it."""
    home = Home(tmp_path)
    rows = [*ROWS[:2], ("a", "2026-05-01", "4")]
    large = "insert into marts.fct_costs select 'run-' || i, date '2026-05-01', i, null from range(130000) as t(i)"
    home.publish(rows[:2], full=True)
    record = home.publish(rows, date(2026, 5, 1), change=large)
    home.assert_as_from_nothing(record)
    (tmp_path / "other").mkdir()
    alone = Home(tmp_path / "other").publish(rows[2:], change=large, full=True)
    assert alone["parquet"][MAY] == record["parquet"][MAY]


def test_sums_of_hashes_tell_every_change_of_a_row_and_no_order() -> None:
    connection = duckdb.connect()
    connection.execute("create table t (usage_month date, name varchar, cost decimal(38, 12))")
    columns = [("usage_month", "DATE"), ("name", "VARCHAR"), ("cost", "DECIMAL(38,12)")]
    seen = []
    for rows in ("('a', 1), ('b', 2)", "('a', 2), ('b', 1)", "('a', 1)", "('a', 1), ('b', null)", "('b', 1), (null, 2)"):
        connection.execute(f"delete from t; insert into t select date '2026-04-01', * from (values {rows})")
        seen.append(last.contents(connection, "t", columns)["2026-04"])
    assert len(set(seen)) == len(seen)
    connection.execute("delete from t; insert into t select date '2026-04-01', * from (values ('b', 2), ('a', 1))")
    assert last.contents(connection, "t", columns)["2026-04"] == seen[0]


def without_links(published: Path, how: str) -> None:
    """What a copy of a home has instead of the link to the published Parquet."""
    link = published / "parquet"
    target = link.resolve()
    link.unlink()
    if how == "followed":  # rsync -L, a file system without links
        shutil.copytree(target, link)
    elif how == "text":  # a zip whose reader knows no links
        link.write_text(target.name)


@pytest.mark.parametrize("how", ["left out", "followed", "text"])
def test_a_home_that_was_copied_without_its_links_publishes_and_has_them_again(home: Home, how: str) -> None:
    home.publish(ROWS)
    without_links(home.published, how)
    home.assert_as_from_nothing(home.publish(MAY_ROWS))
    assert (home.published / "parquet").is_symlink()
    assert len([*home.published.glob(".parquet-*")]) == 1


@pytest.mark.parametrize("how", ["left out", "followed", "text"])
def test_the_link_is_made_again_where_nothing_is_published(home: Home, how: str) -> None:
    record = home.publish(ROWS)
    without_links(home.published, how)
    parts.mend_link(home.published, record["build_id"])
    home.assert_as_from_nothing(record)
    assert (home.published / "parquet").is_symlink()
    assert len([*home.published.glob(".parquet-*")]) == 1
    shutil.rmtree((home.published / "parquet").resolve())
    parts.mend_link(home.published, record["build_id"])  # without its folder the next publication writes it
    home.assert_as_from_nothing(home.publish(MAY_ROWS))
