"""Where an AWS bill may carry a run id: which places and spellings are read, and which one counts when they disagree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from connectors.aws.cur import SCHEMA
from dagster_project.base.kinds import Kind
from dagster_project.election.run_tags import run_tag
from dagster_project.landing.deriving.typed_select import parts_select
from tests.connectors.bills import CSV_HEADER, csv_export, csv_line
from tests.connectors.kit import LINE, converted, rows_of, table, write_parquet

# best first: what is narrower counts before what is wider
PLACES: list[dict[str, Any]] = [
    {"resource_tags": {"user_training_run_id": "0"}},
    {"resource_tags": {"training_run_id": "1"}},
    {"tags": {"resourceTags/training_run_id": "2"}},
    {"resource_tags": {"userAttribute/training_run_id": "3"}},
    {"tags": {"userAttribute/training_run_id": "4"}},
    {"cost_category": {"training_run_id": "5"}},
    {"tags": {"costCategory/training_run_id": "6"}},
    {"tags": {"accountTag/training_run_id": "7"}},
]


def tags_of(path: Path, *keys: str) -> list[str | None]:
    """The run tag of each row of a Parquet file, as the raw view reads it."""
    columns = duckdb.sql(f"describe from read_parquet('{path}')").fetchall()
    select = parts_select(SCHEMA, [(str(path), {name: kind for name, kind, *_ in columns})])
    tag = run_tag(Kind.AWS_CUR, keys or ("training_run_id",), "typed")
    return [tag for (tag,) in duckdb.sql(f"select {tag} from ({select}) as typed order by _row_number").fetchall()]


def tags_of_rows(folder: Path, *rows: dict[str, Any], keys: tuple[str, ...] = ()) -> list[str | None]:
    bare = {name: value for name, value in LINE.items() if name != "resource_tags"}
    return tags_of(write_parquet(folder / "bill.parquet", table(*(bare | row for row in rows))), *keys)


def merged(*places: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for column, entries in (item for place in places for item in place.items()):
        row[column] = row.get(column, {}) | entries
    return row


def test_where_places_disagree_the_narrower_one_counts(tmp_path: Path) -> None:
    rows = [merged(*PLACES[at:]) for at in range(len(PLACES))]
    assert tags_of_rows(tmp_path, *rows, {}) == [*map(str, range(len(PLACES))), None]


def test_an_empty_tag_gives_way_to_the_next_place(tmp_path: Path) -> None:
    empty = [{column: dict.fromkeys(entries, "") for column, entries in place.items()} for place in PLACES]
    rows = [merged(*empty[:at], *PLACES[at:]) for at in range(len(PLACES))]
    assert tags_of_rows(tmp_path, *rows, merged(*empty)) == [*map(str, range(len(PLACES))), None]


def test_an_earlier_key_counts_before_a_later_one_whatever_their_places(tmp_path: Path) -> None:
    row = {"resource_tags": {"user_second": "second"}, "cost_category": {"first": "first"}}
    assert tags_of_rows(tmp_path, row, keys=("first", "second")) == ["first"]


@pytest.mark.parametrize(
    "spelling", ["training_run_id", "TrainingRunId", "training-run-id", "Training Run Id", "trainingRun_id", "TRAINING_RUN_ID"]
)
@pytest.mark.parametrize("configured", ["training_run_id", "TrainingRunId", "training-run-id"])
def test_keys_match_as_aws_writes_them_into_a_bill(tmp_path: Path, spelling: str, configured: str) -> None:
    rows = [{"tags": {f"resourceTags/{spelling}": "a"}}, {"cost_category": {spelling: "a"}}, {"tags": {f"user:{spelling}": "a"}}]
    assert tags_of_rows(tmp_path, *rows, keys=(configured,)) == ["a", "a", "a"]


@pytest.mark.parametrize("other", ["trainingrunid", "training_run", "my_training_run_id", "training_run_id_2"])
def test_a_key_that_aws_writes_otherwise_is_another_key(tmp_path: Path, other: str) -> None:
    assert tags_of_rows(tmp_path, {"tags": {f"resourceTags/{other}": "a"}}, {"cost_category": {other: "a"}}) == [None, None]


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("resource_tags_user_training_run_id", ("training_run_id",)),
        ("resource_tags_aws_created_by", ("aws:createdBy",)),
        ("cost_category_training_run_id", ("training_run_id",)),
    ],
)
def test_a_tag_may_be_a_column_of_its_own(tmp_path: Path, column: str, keys: tuple[str, ...]) -> None:
    rows = [{column: "run-a"}, {column: ""}, {column: None}]
    assert tags_of_rows(tmp_path, *rows, keys=keys) == ["run-a", None, None]
    assert tags_of_rows(tmp_path, *(row | {"resource_tags": {"user_x": "y"}} for row in rows), keys=keys) == ["run-a", None, None]
    csv = csv_export(tmp_path / "cur", csv_line() + ",run-a", csv_line(tags="") + ",", header=f"{CSV_HEADER},{column}")
    result = converted("aws_cur", csv, tmp_path / "landing")
    assert result.unknown_columns == ()
    assert [row[column] for row in rows_of(result)] == ["run-a", None]
    assert tags_of(result.parts[0].path, *keys)[0] == "run-a"
