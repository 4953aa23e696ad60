"""`trainledger sql`: reads the published file, all of its digits, and nothing else."""

import csv
import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from run_side_kit import ROWS, TABLES, identity, publish, write_build

from dagster_project.base.failures import UsageError
from dagster_project.commands.query import Format, answer, digests


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published file, to be read only."""
    folder = tmp_path_factory.mktemp("query")
    publish(write_build(folder / "build.duckdb", ROWS), folder / "published", TABLES, identity("build-1"))
    return folder / "published" / "trainledger.duckdb"


def ask(file: Path, sql: str, form: Format) -> str:
    """The answer as text."""
    with redirect_stdout(io.StringIO()) as out:
        answer(file, sql, form)
    return out.getvalue()


def test_exact_numbers_keep_their_digits_in_every_format(file: Path) -> None:
    sql = "select training_run_id, effective_cost, list_cost from fct_costs order by 2 desc limit 2"
    assert list(csv.reader(io.StringIO(ask(file, sql, Format.csv)))) == [
        ["training_run_id", "effective_cost", "list_cost"], ["b", "2.500000000000", ""], ["a", "1.000000000001", ""],
    ]  # fmt: skip
    assert json.loads(ask(file, sql, Format.json))[1] == {
        "training_run_id": "a",
        "effective_cost": "1.000000000001",
        "list_cost": None,
    }
    table = ask(file, sql, Format.table).splitlines()
    assert table[-1] == "(2 rows)" and "1.000000000001" in table[3] and "–" in table[3]


def test_parquet_keeps_the_types(file: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    answer(file, "select * from fct_costs", Format.parquet, tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 3 and str(table.schema.field("effective_cost").type) == "decimal128(38, 12)"


@pytest.mark.parametrize(
    "sql",
    [
        "create table marts.x as select 1",
        "delete from fct_costs",
        "copy fct_costs to '{folder}/never.csv'",
        "select * from read_text('{folder}/PUBLICATION.json')",
        "attach '{folder}/never.duckdb'",
        "set enable_external_access = true",
        "select * from nowhere",
    ],
)
def test_nothing_is_written_and_no_other_file_is_read(file: Path, sql: str) -> None:
    before = file.read_bytes()
    with pytest.raises(UsageError, match="the query does not run"):
        ask(file, sql.format(folder=file.parent), Format.csv)
    assert file.read_bytes() == before and not list(file.parent.glob("never*"))


@pytest.mark.parametrize("sql", ["", "  ", "-- only a remark", ";"])
def test_a_query_that_asks_nothing_is_refused_by_name(file: Path, sql: str) -> None:
    with pytest.raises(UsageError, match="returns no rows"):
        ask(file, sql, Format.csv)


@pytest.mark.parametrize(
    "sql", ["select 1 as a; select 2 as b", "select 1 as a;\n-- two\nselect 2 as b;", "select 1; drop table x"]
)
def test_two_statements_are_one_too_many(file: Path, sql: str) -> None:
    with pytest.raises(UsageError, match=r"this is 2 statements, .* begins with: .*(select 2|drop table x)"):
        ask(file, sql, Format.csv)


@pytest.mark.parametrize(
    "sql", ["select 1 as a;", "/* one; */ select 1 as a -- two; three", "select 1 as a ; ; -- end", "select ';' as a"]
)
def test_a_trailing_semicolon_and_remarks_are_no_second_statement(file: Path, sql: str) -> None:
    assert ask(file, sql, Format.csv).startswith("a\n")


def test_a_pivot_that_finds_its_columns_is_one_statement(file: Path) -> None:
    sql = "pivot fct_costs on training_run_id using count(*) group by list_cost order by 1;"
    assert ask(file, sql, Format.csv).startswith("list_cost,a,")


@pytest.mark.parametrize("form", [Format.csv, Format.parquet])
def test_an_answer_that_cannot_be_written_names_its_place(file: Path, tmp_path: Path, form: Format) -> None:
    with pytest.raises(UsageError, match=r"cannot be written: .* \(.*nowhere/answer\)\. Give a place"):
        answer(file, "select 1 as a", form, tmp_path / "nowhere" / "answer")


def test_a_file_that_is_no_published_one_is_named(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no database at all, whatever its name may be")
    with pytest.raises(UsageError, match=r"no published file: .*notes\.txt"):
        digests(other)


def test_before_the_first_publication_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing is published yet .*Run `trainledger refresh` first"):
        ask(tmp_path / "trainledger.duckdb", "select 1", Format.csv)


def test_digests_name_every_table_of_the_marts(file: Path) -> None:
    assert [(found.table, found.rows) for found in digests(file)] == [("dim_things", 2), ("fct_costs", 3)]
