"""One hostile delivery never stops the others: it lands right, or is refused by name; a surprise is reported and tried again."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_project.base.failures import MachineError, machine_failure
from dagster_project.landing.deriving.derive import Deriver
from dagster_project.landing.fetching import Fetched
from tests.landing.kit import Organisation, bill_line, set_time

CUR = {"name": "cur", "kind": "aws_cur"}
OTHER = {"name": "other", "kind": "aws_cur"}
RUNS = {"name": "runs", "kind": "training_runs"}
AT = "2026-05-02"


def bill(folder: Path) -> Path:
    return next((folder / "exports" / "cur").rglob("*.parquet"))


def replaced(old: bytes, new: bytes) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new))

    return spoil


def with_column(name: str, values: list[Any], kind: pa.DataType) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        table = pq.read_table(path, partitioning=None)
        place = table.schema.get_field_index(name)
        column = pa.array(values, kind)
        table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
        pq.write_table(table, path, compression="none", use_dictionary=False)

    return spoil


def an_organisation(folder: Path, spoil: Callable[[Path], None]) -> Organisation:
    organisation = Organisation(folder, CUR, OTHER)
    for source in ("cur", "other"):
        payer = "000000000017" if source == "cur" else "000000000018"
        organisation.deliver(
            [bill_line(1.5, line_item_usage_type="UsageTypeX", bill_payer_account_id=payer)], at=AT, source=source
        )
    table = pq.read_table(bill(folder), partitioning=None)
    pq.write_table(table, bill(folder), compression="none", use_dictionary=False, store_schema=False)
    spoil(bill(folder))
    set_time(bill(folder), AT)
    return organisation


TIMES = {
    "year-1": [dt.datetime(1, 1, 1)],
    "year-9999": [dt.datetime(9999, 12, 31)],
    "last-microsecond": [2**63 - 1],
}


@pytest.mark.parametrize(
    ("spoil", "column", "reason"),
    [
        pytest.param(replaced(b"UsageTypeX", b"UsageType\xff"), "line_item_usage_type", "bad_encoding", id="no-utf-8"),
        pytest.param(replaced(b"line_item_product_code", b"line_item_product\xffcode"), None, "truncated", id="footer-name"),
        *(
            pytest.param(with_column(name, value, pa.timestamp("us")), name, "wrong_type", id=f"{name}-{case}")
            for case, value in TIMES.items()
            for name in ("line_item_usage_start_date", "line_item_usage_end_date")
        ),
    ],
)
def test_a_damaged_bill_is_refused_by_name_and_the_other_source_lands(
    tmp_path: Path, spoil: Callable[[Path], None], column: str | None, reason: str
) -> None:
    organisation = an_organisation(tmp_path, spoil)
    refused, landed = sorted(organisation.refresh(), key=lambda one: one.source)
    assert (refused.outcome, landed.outcome) == ("refused", "landed")
    assert refused.refusal is not None
    [why] = refused.refusal.refusals
    assert (why.reason, why.column_name) == (reason, column)
    assert bill(tmp_path).name in why.message
    assert organisation.raw("select count(*) from raw.aws_cur") == [(1,)]


@pytest.mark.parametrize("name", ["_file", "file_row_number", "_FILE", "filename", "Line_Item_Unblended_Cost", "_row_number"])
def test_a_column_with_a_name_of_the_reader_s_own_changes_nothing(tmp_path: Path, name: str) -> None:
    organisation = an_organisation(tmp_path, with_column(name, ["mine"], pa.string()))
    assert organisation.outcomes() == {"landed": 2}
    [[cost, number]] = organisation.raw(
        "select line_item_unblended_cost, _row_number from raw.aws_cur where _source_name = 'cur'"
    )
    assert (cost, number) == (1.5, 1)


def record(**attempt: Any) -> dict[str, Any]:
    node = {"resource_id": "i-1", "accelerator_type": "trn1.32xlarge", "chips": 16}
    return {"training_run_id": "run-a", "provider_name": "AWS", "attempts": [{"nodes": [node], **attempt}]}


@pytest.mark.parametrize("zero", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_a_run_that_starts_at_the_zero_time_has_no_start(tmp_path: Path, zero: str) -> None:
    organisation = Organisation(tmp_path, RUNS)
    (tmp_path / "exports/runs/a.run.json").write_text(json.dumps(record(started_at=zero)))
    [refused] = organisation.refresh()
    assert refused.refusal is not None
    assert [(one.reason, one.column_name) for one in refused.refusal.refusals] == [
        ("missing_value", "attempts[0].nodes[0].started_at")
    ]


@pytest.mark.parametrize("end", ["9999-12-31T23:59:59Z", "2262-04-11T23:47:16.854775807Z", "0001-01-01T00:00:00Z"])
def test_a_run_that_ends_never_is_open(tmp_path: Path, end: str) -> None:
    organisation = Organisation(tmp_path, RUNS)
    (tmp_path / "exports/runs/a.run.json").write_text(json.dumps(record(started_at="2026-04-01T00:00:00Z", ended_at=end)))
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.raw("select ended_at from raw.training_runs where part = 'attempt'") == [(None,)]


@pytest.mark.parametrize("start", ["2005-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "0002-01-01T00:00:00Z"])
def test_a_run_in_a_year_without_clouds_is_refused(tmp_path: Path, start: str) -> None:
    organisation = Organisation(tmp_path, RUNS)
    (tmp_path / "exports/runs/a.run.json").write_text(json.dumps(record(started_at=start)))
    [refused] = organisation.refresh()
    assert refused.refusal is not None
    assert "outside the years 2006 to 2099" in refused.refusal.refusals[0].message


def test_a_surprise_stops_its_delivery_alone_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    organisation = Organisation(tmp_path, CUR, OTHER)
    for source in ("cur", "other"):
        organisation.deliver([bill_line(1.5)], at=AT, source=source)
    derive = Deriver.derive

    def surprised(self: Deriver, fetched: list[Fetched]) -> Any:
        if "/cur/" in f"/{fetched[0].store_uri}/":
            raise KeyError("nobody thought of this")
        return derive(self, fetched)

    monkeypatch.setattr(Deriver, "derive", surprised)
    unreadable, landed = sorted(organisation.refresh(), key=lambda one: one.source)
    assert (unreadable.outcome, landed.outcome) == ("unreadable", "landed")
    assert unreadable.error is not None
    assert unreadable.error.reason == "unreadable"
    assert str(unreadable.error) == "cur: metadata/BILLING_PERIOD=2026-04/cur-Manifest.json cannot be read (KeyError)."
    monkeypatch.undo()
    assert organisation.outcomes() == {"landed": 1}


def test_a_landed_delivery_that_surprises_new_code_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    organisation = Organisation(tmp_path, CUR)
    organisation.deliver([bill_line(1.5)], at=AT)
    organisation.refresh()
    for path in (tmp_path / "home" / "cache").rglob("*.json"):
        path.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(Deriver, "derive", lambda *_: 1 / 0)
        election = organisation.line.elect()
        assert [one.refusals[0].reason for one in election.refusals] == ["unreadable"]
    assert organisation.line.elect().refusals == ()  # no standing refusal


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), duckdb.OutOfMemoryException("Out of Memory Error")])
def test_memory_that_one_delivery_wants_is_that_delivery_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    organisation = Organisation(tmp_path, CUR, OTHER)
    for source in ("cur", "other"):
        organisation.deliver([bill_line(1.5)], at=AT, source=source)
    derive = Deriver.derive

    def greedy(self: Deriver, fetched: list[Fetched]) -> Any:
        if "/cur/" in f"/{fetched[0].store_uri}/":
            raise error
        return derive(self, fetched)

    monkeypatch.setattr(Deriver, "derive", greedy)
    costly, landed = sorted(organisation.refresh(), key=lambda one: one.source)
    assert (costly.outcome, landed.outcome) == ("unreadable", "landed")
    assert costly.error is not None
    assert (costly.error.reason, costly.error.source_object) == (
        "too_costly",
        "metadata/BILLING_PERIOD=2026-04/cur-Manifest.json",
    )
    monkeypatch.undo()
    assert organisation.outcomes() == {"landed": 1}  # no standing refusal


class Spoilt:
    """A file of which the disk gives no byte."""

    def __init__(self, file: Any, number: int) -> None:
        self.file, self.number = file, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Spoilt:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, *_: int) -> bytes:
        raise OSError(self.number, os.strerror(self.number))  # reads name no file


def spoilt(monkeypatch: pytest.MonkeyPatch, folder: Path, number: int, *, opens: bool) -> None:
    """Files below a folder cannot be read, or not even be opened."""
    whole = Path.open

    def opened(self: Path, mode: str = "r", *more: Any, **options: Any) -> Any:
        if not self.is_relative_to(folder) or "r" not in mode:
            return whole(self, mode, *more, **options)
        if not opens:
            raise OSError(number, os.strerror(number), str(self))
        return Spoilt(whole(self, mode, *more, **options), number)

    monkeypatch.setattr(Path, "open", opened)


@pytest.mark.parametrize("number", [errno.EIO, errno.EPERM, errno.EACCES, errno.ESTALE])
@pytest.mark.parametrize("opens", [True, False], ids=["read", "open"])
def test_a_file_of_a_source_that_the_disk_does_not_give_is_its_source_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, opens: bool
) -> None:
    organisation = Organisation(tmp_path, RUNS, OTHER)
    organisation.deliver([bill_line(1.5)], at=AT, source="other")
    (tmp_path / "exports/runs/a.run.json").write_text(json.dumps(record(started_at="2026-04-01T00:00:00Z")))
    spoilt(monkeypatch, tmp_path / "exports/runs", number, opens=opens)
    landed, unreadable = sorted(organisation.refresh(), key=lambda one: one.source)
    assert (unreadable.outcome, landed.outcome) == ("unreadable", "landed")
    assert unreadable.error is not None and unreadable.error.source_object == "a.run.json"
    assert os.strerror(number) in unreadable.error.message and "room" not in unreadable.error.remedy


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_landed_file_that_the_disk_does_not_give_is_the_machine_s_and_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The same error while the copy in the home is read: nothing is wrong with the delivery, so nothing is recorded of it."""
    organisation = Organisation(tmp_path, RUNS)
    (tmp_path / "exports/runs/a.run.json").write_text(json.dumps(record(started_at="2026-04-01T00:00:00Z")))
    spoilt(monkeypatch, tmp_path / "home", number, opens=False)
    with pytest.raises(MachineError, match=os.strerror(number)):
        organisation.refresh()
    monkeypatch.undo()
    assert organisation.outcomes() == {"landed": 1}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE])
def test_what_the_machine_lacks_ends_the_refresh_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    organisation = Organisation(tmp_path, CUR)
    organisation.deliver([bill_line(1.5)], at=AT)

    def full(*_: Any) -> Any:
        raise OSError(number, os.strerror(number), str(tmp_path / "home" / "file"))

    monkeypatch.setattr(Deriver, "derive", full)
    with pytest.raises(MachineError, match=rf"{os.strerror(number)} \({tmp_path}/home/file, \d+ bytes free\)"):
        organisation.refresh()


def test_sqlite_and_duckdb_say_it_in_words_and_a_value_in_a_file_has_no_meaning(tmp_path: Path) -> None:
    import sqlite3

    full = "IO Error: Could not write file: No space left on device"
    for error in (sqlite3.OperationalError("database or disk is full"), duckdb.IOException(full), MemoryError()):
        failure = machine_failure(error, tmp_path)
        assert failure is not None and f"({tmp_path}, " in str(failure)
    assert machine_failure(duckdb.ConversionException("'No space left on device' is no number")) is None
