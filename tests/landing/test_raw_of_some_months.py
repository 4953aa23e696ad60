"""Schema raw of a build of some months: it opens the files that these months are made of, and keeps what every build reads."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import pytest

from tests.landing.kit import Organisation, bill_line, write_run

APRIL, MAY = dt.date(2026, 4, 1), dt.date(2026, 5, 1)


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """Two months of bills and a run in April."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "runs", "kind": "training_runs"})
    for month in ("2026-04", "2026-05"):
        organisation.deliver([bill_line(1.0, day=f"{month}-01")], at="2026-06-02", month=month)
    write_run(tmp_path / "exports/runs/a.run.json", "a", at="2026-06-02")
    organisation.refresh()
    return organisation


def test_a_build_of_one_month_opens_the_bills_of_that_month_alone(organisation: Organisation) -> None:
    line = organisation.line
    with duckdb.connect() as con:
        line.create_raw(con, line.elect(), [MAY])
        files = con.execute("select source_object from raw.landed_files where source_name = 'cur'").fetchall()
        assert ["BILLING_PERIOD=2026-05" in name for (name,) in files] == [True]
        months = "select distinct line_item_usage_start_date::date from raw.aws_cur"
        assert con.execute(months).fetchall() == [(MAY,)]
        of_bills = "select sum(value_count) from raw.measure_totals where kind = 'aws_cur' and measure = 'row_count'"
        assert con.execute(of_bills).fetchall() == [(1,)]


def test_run_records_are_read_once_and_follow_what_is_elected(organisation: Organisation) -> None:
    runs = organisation.folder / "exports/runs"
    with duckdb.connect() as con:
        organisation.line.create_raw(con, organisation.line.elect(), [APRIL])
        con.execute("update raw.training_runs set team = 'kept'")  # a row that is read again would not have it
        write_run(runs / "b.run.json", "b", at="2026-06-03", team="new")
        assert told(organisation, con) == {("a", "kept"), ("b", "new")}
        write_run(runs / "a.run.json", "a", at="2026-06-04", team="second word")
        assert told(organisation, con) == {("a", "second word"), ("b", "new")}
        (runs / "b.run.json").unlink()
        rows = told(organisation, con)
        con.execute("drop table raw.training_runs; drop table raw.landed_files")
        assert told(organisation, con) == rows, "rows that were kept are those of all files"


def told(organisation: Organisation, con: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """Runs and teams after one more refresh."""
    organisation.refresh()
    line = organisation.line
    line.create_raw(con, line.elect(), [APRIL])
    return set(con.execute("select recorded_id, team from raw.training_runs where part = 'run'").fetchall())
