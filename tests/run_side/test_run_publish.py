"""Publication: whole or not at all, the same bytes for the same rows, unchanged files the same files on disk."""

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from run_side_kit import ROWS, TABLES, identity, publish, write_build

from dagster_project.publishing import parts
from dagster_project.publishing.publish import COMMIT_RECORD, FILE_NAME

APRIL, MAY = "fct_costs/usage_month=2026-04.parquet", "fct_costs/usage_month=2026-05.parquet"


def published(tmp_path: Path, rows: list[tuple[str, str, str]] = ROWS, build_id: str = "build-1") -> Path:
    """Publish a small build; returns the readers' folder."""
    publish(write_build(tmp_path / "build.duckdb", rows, build_id), tmp_path / "published", TABLES, identity(build_id))
    return tmp_path / "published"


def hashes(folder: Path) -> dict[str, str]:
    """sha256 of every Parquet file by its name below `parquet`."""
    root = folder / "parquet"
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*.parquet")}


def test_readers_find_tables_with_types_nullability_and_words(tmp_path: Path) -> None:
    folder = published(tmp_path)
    with duckdb.connect(str(folder / FILE_NAME), read_only=True) as connection:
        columns = connection.execute(
            "select column_name, data_type, is_nullable, comment from duckdb_columns()"
            " where schema_name = 'marts' and table_name = 'fct_costs' order by column_index"
        ).fetchall()
        assert columns == [
            ("training_run_id", "VARCHAR", False, None),
            ("usage_month", "DATE", False, None),
            ("effective_cost", "DECIMAL(38,12)", False, "What the run cost's share was."),
            ("list_cost", "DECIMAL(38,12)", True, None),
        ]
        assert connection.execute("select comment from duckdb_tables() where table_name = 'fct_costs'").fetchone() == (
            "One row per run and month.",
        )
        rows = connection.execute("select training_run_id, strftime(usage_month, '%m') from marts.fct_costs").fetchall()
        assert rows == [("a", "04"), ("b", "04"), ("a", "05")]  # by month, then in the order of the key


def test_every_table_is_found_by_its_bare_name_also_when_the_file_is_attached_to_another(tmp_path: Path) -> None:
    file = published(tmp_path) / FILE_NAME
    with duckdb.connect(str(file), read_only=True) as connection:
        assert connection.execute("select count(*) from fct_costs").fetchone() == (3,)
        views = connection.execute("select view_name from duckdb_views() where schema_name = 'main' and not internal order by 1")
        assert views.fetchall() == [("dim_things",), ("fct_costs",)]
    with duckdb.connect() as connection:
        connection.execute(f"attach '{file}' as ledger (read_only)")
        assert connection.execute("select count(*) from ledger.fct_costs").fetchone() == (3,)


def test_ops_names_the_contract_and_its_sections_with_the_version_that_brought_them(tmp_path: Path) -> None:
    with duckdb.connect(str(published(tmp_path) / FILE_NAME), read_only=True) as connection:
        found = connection.execute("select contract_version, section, since_version from ops.contract").fetchall()
    assert (2, "house", "0.3.0") in found


def test_ops_speaks_of_the_published_build_only(tmp_path: Path) -> None:
    folder = published(tmp_path)
    with duckdb.connect(str(folder / FILE_NAME), read_only=True) as connection:
        assert connection.execute("select build_id from ops.builds").fetchall() == [("build-1",)]
        assert connection.execute("select build_id, gate, passed from ops.gate_results").fetchall() == [
            ("build-1", "dbt.models", True)
        ]
        assert connection.execute("select count(*) from ops.dim_deliveries").fetchone() == (0,)


def test_the_commit_record_names_every_file_with_its_hash(tmp_path: Path) -> None:
    folder = published(tmp_path)
    record = json.loads((folder / COMMIT_RECORD).read_text())
    assert record["build_id"] == "build-1" and record["fingerprint"] == "f" and record["units"] == {"AWS/2026-04": "1"}
    assert record["parquet"] == hashes(folder)
    assert set(record["parquet"]) == {APRIL, MAY, "dim_things/all.parquet"}
    assert record["rows"] == {"dim_things": 2, "fct_costs": 3} and set(record["tables"]) == {"dim_things", "fct_costs"}


def test_row_order_of_the_build_changes_no_byte_and_no_digest(tmp_path: Path) -> None:
    one, other = published(tmp_path / "one"), published(tmp_path / "other", list(reversed(ROWS)))
    assert hashes(one) == hashes(other)
    assert json.loads((one / COMMIT_RECORD).read_text())["tables"] == json.loads((other / COMMIT_RECORD).read_text())["tables"]


def test_what_did_not_change_is_the_same_file_on_disk(tmp_path: Path) -> None:
    folder = published(tmp_path)
    april, may = (folder / "parquet" / APRIL).stat(), (folder / "parquet" / MAY).stat()
    published(tmp_path, [*ROWS[:2], ("a", "2026-05-01", "4")], "build-2")
    assert (folder / "parquet" / APRIL).stat().st_ino == april.st_ino
    assert (folder / "parquet" / MAY).stat().st_ino != may.st_ino
    assert list(folder.glob(f"{parts.PREFIX}*")) == [folder / f"{parts.PREFIX}build-2"]


def test_a_month_that_went_away_leaves_no_file(tmp_path: Path) -> None:
    published(tmp_path)
    assert MAY not in hashes(published(tmp_path, ROWS[:2], "build-2"))


def test_an_open_reader_keeps_its_version(tmp_path: Path) -> None:
    folder = published(tmp_path)
    with (folder / FILE_NAME).open("rb") as reader:
        before = hashlib.sha256((folder / FILE_NAME).read_bytes()).hexdigest()
        published(tmp_path, ROWS[:1], "build-2")
        assert hashlib.sha256(reader.read()).hexdigest() == before
    with duckdb.connect(str(folder / FILE_NAME), read_only=True) as connection:
        assert connection.execute("select count(*) from marts.fct_costs").fetchone() == (1,)


@pytest.mark.parametrize("step", ["_write", "swap_parts", "durable.write_json"])
def test_killed_between_two_steps_readers_have_whole_files_and_the_next_publication_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    folder = published(tmp_path)
    first = (folder / COMMIT_RECORD).read_text()

    def dies(*_: object) -> None:
        raise SystemExit(step)

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(f"dagster_project.publishing.publish.{step}", dies)
        published(tmp_path, ROWS[:1], "build-2")
    assert (folder / COMMIT_RECORD).read_text() == first  # not done: the next refresh builds again
    with duckdb.connect(str(folder / FILE_NAME), read_only=True) as connection:
        assert connection.execute("select count(*) from marts.fct_costs").fetchone()[0] in (1, 3)
    assert hashes(folder)  # the link points at a whole folder
    published(tmp_path, ROWS[:1], "build-3")
    whole = {"trainledger.duckdb", "PUBLICATION.json", "parquet", ".parquet-build-3", "docs", "ledger"}
    assert {path.name for path in folder.iterdir()} == whole


@pytest.mark.parametrize("step", ["swap_parts", "durable.write_json", "remove_old_parts"])
def test_the_page_shows_how_to_hold_one_version_at_every_moment_of_a_publication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Between two renames the file is the new one, and the link or the record may be the old one's."""
    page = (Path(__file__).resolve().parents[2] / "docs/operations.md").read_text()
    recipe = page.partition("### Holding one version")[2].partition("```python\n")[2].partition("```")[0]
    recipe = recipe.replace("fct_training_run_costs", "fct_costs")  # the one this small publication has
    published(tmp_path)
    monkeypatch.chdir(tmp_path)
    held: list[dict[str, Any]] = []

    def meanwhile(*_: object) -> None:
        held.append({})
        exec(recipe, held[-1])
        raise SystemExit(step)

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(f"dagster_project.publishing.publish.{step}", meanwhile)
        published(tmp_path, ROWS[:1], "build-2")
    [reader] = held
    assert reader["build"] == "build-2" and reader["files"] == reader["table"] and len(reader["table"]) == 1
    published(tmp_path, ROWS, "build-3")
    assert reader["ledger"].execute("from fct_costs").fetchall() == reader["table"]  # still its version
    with pytest.raises(duckdb.IOException):
        reader["ledger"].execute("from 'published/.parquet-build-2/fct_costs/*.parquet'")


def test_a_table_without_rows_is_one_typed_empty_file(tmp_path: Path) -> None:
    folder = published(tmp_path, [])
    with duckdb.connect() as connection:
        empty = connection.execute(
            "select count(*), typeof(any_value(effective_cost)) from read_parquet(?)",
            [str(folder / "parquet/fct_costs/all.parquet")],
        )
        assert empty.fetchone() == (0, "DECIMAL(38,12)")


def test_a_published_table_that_the_build_lacks_is_named(tmp_path: Path) -> None:
    build = write_build(tmp_path / "build.duckdb")
    with duckdb.connect(str(build)) as connection:
        connection.execute("drop table marts.dim_things")
    with pytest.raises(LookupError, match=r"marts\.dim_things"):
        publish(build, tmp_path / "published", TABLES, identity("build-1"))
    assert not (tmp_path / "published" / FILE_NAME).exists()
