"""What is summed up of a delivery's rows: in one reading, and with one digest for equal rows whatever bytes hold them."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.formats.parquet import pq as arrow_parquet
from connectors.formats.schema import Column, Number, Schema, Text, TextMap
from dagster_project.landing.deriving.derive import physical_columns
from dagster_project.landing.deriving.one_reading import Asked, read_once, sums
from tests.landing.kit import Organisation, bill_line

SCHEMA = Schema((Column("line", Text), Column("tags", TextMap, spread=True), Column("cost", Number), Column("resource", Text)))
LINES: list[dict[str, Any]] = [
    {"line": "a", "tags": {"run": "r1", "team": "x"}, "cost": 1.5, "resource": "i-1"},
    {"line": "a", "tags": {"run": "r2", "team": None}, "cost": 1.5, "resource": "i-2"},
    {"line": "b", "tags": {}, "cost": None, "resource": None},
]


def digest(folder: Path, *files: Iterable[dict[str, Any]]) -> str:
    """The digest of some files' rows; a map may be a list of pairs."""
    written = {}
    with duckdb.connect() as con:
        for number, rows in enumerate(files):
            path, listed = folder / f"{number}.parquet", list(rows)
            columns = {}
            for name in dict.fromkeys(name for row in listed for name in row):
                values = [row.get(name) for row in listed]
                values = [list(value.items()) if isinstance(value, dict) else value for value in values]
                columns[name] = pa.array(values, pa.map_(pa.string(), pa.string()) if name == "tags" else None)
            pq.write_table(pa.table(columns), path)
            written[str(path)] = physical_columns(con, path)
        read_once(con, SCHEMA, [written], Asked(), {})
        return sums(con, SCHEMA, {})[0].digest


def changed(number: int, **values: Any) -> list[dict[str, Any]]:
    """The lines with one of them changed."""
    return [line | values if index == number else line for index, line in enumerate(LINES)]


def test_equal_rows_in_another_order_in_other_files_and_with_other_columns_have_one_digest(tmp_path: Path) -> None:
    expected = digest(tmp_path, LINES)
    assert digest(tmp_path, reversed(LINES)) == expected
    assert digest(tmp_path, LINES[2:], LINES[:2]) == expected
    assert digest(tmp_path, [dict(reversed(line.items())) | {"unknown": 7} for line in LINES]) == expected
    assert digest(tmp_path, LINES[:2], [{"line": "b"}]) == expected  # a column that is not there is one without a value


def test_an_equal_map_in_another_order_gives_the_same_digest(tmp_path: Path) -> None:
    turned = [line | {"tags": list(reversed(line["tags"].items()))} for line in LINES]
    assert digest(tmp_path, turned) == digest(tmp_path, LINES)
    assert digest(tmp_path, changed(2, tags=None)) == digest(tmp_path, LINES)  # nothing is reported with either
    spread = [{k: v for k, v in line.items() if k != "tags"} | {"tags_run": line["tags"].get("run")} for line in LINES]
    inside = [line | {"tags": {k: v for k, v in line["tags"].items() if k == "run"}} for line in LINES]
    assert digest(tmp_path, spread) == digest(tmp_path, inside)


@pytest.mark.parametrize(
    "other",
    [
        LINES[:2],
        [*LINES, LINES[0]],
        changed(0, cost=1.25),
        changed(0, tags={"run": "r1"}),
        changed(0, tags={"run": "x", "team": "r1"}),
        changed(0, tags={"run": "r1", "team": None}),
        changed(1, tags={"run": "r2"}),
        changed(2, tags={"": ""}),
        changed(2, resource=""),
        # what belongs to one row is in the other
        [LINES[0] | {"tags": LINES[1]["tags"]}, LINES[1] | {"tags": LINES[0]["tags"]}, LINES[2]],
        [LINES[0] | {"resource": "i-2"}, LINES[1] | {"resource": "i-1"}, LINES[2]],
    ],
)
def test_any_other_rows_give_another_digest(tmp_path: Path, other: list[dict[str, Any]]) -> None:
    assert digest(tmp_path, other) != digest(tmp_path, LINES)


def test_equal_pairs_in_a_map_do_not_cancel_out(tmp_path: Path) -> None:
    """No provider should write one key twice; where one does, two such maps are still two."""
    twice = [digest(tmp_path, changed(2, tags=[(key, "1"), (key, "1")])) for key in ("p", "q")]
    assert twice[0] != twice[1]


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    return Organisation(tmp_path)


def test_a_landed_bill_is_opened_once_by_its_connector(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, original = [], arrow_parquet.ParquetFile
    monkeypatch.setattr(arrow_parquet, "ParquetFile", lambda path, **options: opened.append(path) or original(path, **options))
    organisation.deliver([bill_line()], at="2026-05-02")
    assert [landed.outcome for landed in organisation.refresh()] == ["landed"]
    assert len(opened) == 1


def bytes_read() -> int:
    """What this process has read of files so far."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])


@pytest.mark.skipif(sys.platform != "linux", reason="the counters are Linux's")
def test_the_bytes_of_a_bill_are_read_when_they_are_fetched_and_once_more(organisation: Organisation) -> None:
    """Numbers and times are checked before, by columns of their own."""
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()  # what is imported is read by now
    drawn = random.Random(7)
    ids = [hashlib.sha512(drawn.randbytes(8)).hexdigest() for _ in range(20_000)]
    organisation.deliver([bill_line() | {"identity_line_item_id": one} for one in ids], at="2026-05-03")
    size = sum(path.stat().st_size for path in (organisation.folder / "exports").rglob("*.parquet"))
    line = organisation.line
    plan, before = line.plan(), bytes_read()
    assert [landed.outcome for landed in line.land_all(plan)] == ["landed"]
    assert size > 2 << 20
    assert bytes_read() - before < 2.3 * size
