"""A date, month, quarter, source or partition of the command line that cannot be: exit 2, what is wrong and how to write it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dagster_project.cli import app

QUARTERLY = ["report", "quarterly", "--quarter"]
COMPARE = ["report", "compare"]
FOCUS, ACTIVITY = ["export", "focus"], ["export", "activity"]
MISTYPED = {
    "a month of 13": (["refresh", "--months", "2026-13"], "'2026-13' is no range of months. Write it as 2026-04"),
    "a year of no calendar": (["refresh", "--months", "0000-01"], "'0000-01' is no range of months"),
    "the last month of all": (["refresh", "--months", "9999-12"], "'9999-12' is no range of months"),
    "a range that ends before it begins": (["refresh", "--months", "2026-05..2026-04"], "Write it as 2026-04..2026-05"),
    "years ahead": (["refresh", "--months", "2031-01..2032-12"], "nothing of 2031-01, 2031-02, 2031-03 and 21 more to build"),
    "a source that is not there": (["refresh", "--only", "nosuch"], "there is no source 'nosuch'"),
    "a quarter of five": ([*QUARTERLY, "2026Q5"], "'2026Q5' is not a quarter. Write a year, Q and 1 to 4, for example 2026Q3"),
    "a quarter of nothing": ([*QUARTERLY, "9999Q4"], "Nothing is published of 9999Q4: there "),
    "a wrong quarter as of a day": ([*QUARTERLY, "2026Q5", "--as-of", "2026-10-01"], "'2026Q5' is not a quarter"),
    "no time": ([*QUARTERLY, "2026Q3", "--as-of", "soon"], "'soon' is not a time (--as-of). Write it as 2026-10-10T00:00:00Z"),
    "before all time": ([*QUARTERLY, "2026Q3", "--as-of", "0001-01-01T00:00:00+14:00"], "is not a time (--as-of)"),
    "what will be known": ([*QUARTERLY, "2026Q3", "--as-published", "2031-01-01"], "--as-published 2031-01-01 is in the future"),
    "no day": ([*COMPARE, "--to", "2026-06-31"], "--to '2026-06-31' is not a day. Write it like 2026-10-01"),
    "a first day of no year": ([*COMPARE, "--to", "0001-01-01"], "--to '0001-01-01' is not a day"),
    "a last day before the first": (
        [*COMPARE, "--from", "2026-06-01", "--to", "2026-05-01"],
        "as in --from 2026-04-01 --to 2026",
    ),
    "a day for a month": ([*FOCUS, "--from", "2026-06-01"], "--from '2026-06-01' is no month. Write it like 2026-04"),
    "no month after it": ([*FOCUS, "--to", "9999-12"], "--to '9999-12' is no month"),
    "no month before it": ([*ACTIVITY, "--to", "0000-01"], "--to '0000-01' is no month"),
    "a last month before the first": ([*FOCUS, "--from", "2026-04", "--to", "2026-03"], "Write --from 2026-03 --to 2026-04"),
    "bills years ahead": ([*FOCUS, "--from", "2031-01"], "focus_1_4 has no row of these months. It has "),
    "activity years ago": ([*ACTIVITY, "--to", "2019-01"], "activity_data has no row of these months. It has "),
    "restatements of no quarter": (["restatements", "--quarter", "2026Q5"], "'2026Q5' is not a quarter"),
    "restatements of nothing": (["restatements", "--quarter", "9999Q4"], "no report of 9999Q4 was issued. Issue one with"),
    "a figure of no quarter": (
        ["trace", "--figure", "2026Q5/glance/effective_cost"],
        "No table '2026Q5' is published, and a quarter is written like 2026Q3",
    ),
    "accepting of no source": (["accept", "nosuch", "2026-04"], "there is no source 'nosuch'"),
    "accepting of no partition": (["accept", "runs", "2099-04"], "runs 2099-04 names no delivery that is held back"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTYPED.values(), ids=MISTYPED)
def test_what_names_nothing_ends_with_2_and_says_how_to_write_it(arguments: list[str], message: str, config: Path) -> None:
    before = (config.parent / "home" / "published" / "trainledger.duckdb").read_bytes()
    result = CliRunner().invoke(app, [*arguments, "--config", str(config)])
    shown = " ".join(result.stderr.split())
    assert result.exit_code == 2, shown
    assert message in shown and "Traceback" not in shown and result.stdout == ""
    assert (config.parent / "home" / "published" / "trainledger.duckdb").read_bytes() == before
    assert not (config.parent / "home" / "asof").exists(), "nothing is built for a question that has no answer"
