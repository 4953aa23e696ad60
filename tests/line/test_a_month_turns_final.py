"""A month turns final by the clock alone: its status is written again, and nothing else of it is built.

Unless a record holds a machine for longer than its bill has it: a final bill cuts the time beyond, so energy moves.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.commands.refreshing import refresh
from dagster_project.warehouse.statements import Statement
from tests.landing.kit import Organisation, bill_line, write_run
from tests.line.kit import published_bytes
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
NODE = "i-0123456789abcdef0"
HELD_AS_BILLED, HELD_LONGER = "2026-04", "2026-05"
# tables that say whether a month is final; of a month that only turned final no other table is touched. Without totals that a
# provider states by itself, none is compared with a final bill
OF_STATUS = {"int_bill_months", "int_held_slices", "int_run_months", "fct_training_run_costs", "fct_training_run_emissions"}


def organisation_of_two_months(folder: Path) -> Organisation:
    """Two invoiced hours of a node a month. In May its record states three."""
    kinds = {"cur": "aws_cur", "runs": "training_runs"}
    organisation = Organisation(folder, *({"name": name, "kind": kind} for name, kind in kinds.items()))
    for month, hours in ((HELD_AS_BILLED, 2), (HELD_LONGER, 3)):
        lines = [
            bill_line(
                number=at,
                bill_invoice_id="invoice",
                bill_billing_period_start_date=dt.datetime.fromisoformat(f"{month}-01"),
                line_item_usage_start_date=dt.datetime.fromisoformat(f"{month}-02T{at:02d}:00:00"),
                line_item_usage_end_date=dt.datetime.fromisoformat(f"{month}-02T{at + 1:02d}:00:00"),
                resource_tags={},
            )
            for at in range(2)
        ]
        organisation.deliver(lines, at="2026-06-02", month=month)
        node = {"resource_id": NODE, "accelerator_type": "trn1.32xlarge", "started_at": f"{month}-02T00:00:00Z"}
        held = node | {"ended_at": f"{month}-02T{hours:02d}:00:00Z"}
        write_run(folder / f"exports/runs/{month}.run.json", f"run-{month}", at="2026-06-02", nodes=[held])
    return organisation


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Organisation:
    """Both months were preliminary when they were published."""
    organisation = organisation_of_two_months(tmp_path_factory.mktemp("turned"))
    with pytest.MonkeyPatch.context() as patch, without_dagster():
        patch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
        assert refresh(organisation.settings, say=print).exit_code == 0
    return organisation


def test_of_a_month_that_turns_final_only_the_status_is_built_and_it_is_what_a_full_build_gives(
    turned: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-08-01T00:00:00Z")
    home, written, of_months = turned.settings.home, list[tuple[str, str]](), Statement.of_months

    def noted(statement: Statement, months: list[str], *days: Any) -> str:
        written.extend((month, statement.name) for month in months)
        return of_months(statement, months, *days)

    monkeypatch.setattr(Statement, "of_months", noted)
    with without_dagster():
        done = refresh(turned.settings, say=print)
        assert done.build
        build = done.build
        assert not build.is_full
        assert (build.turned, build.months) == (["2026-04-01"], ["2026-05-01"]), "in May the final bill cuts an hour"
        assert {name for month, name in written if month == f"{HELD_AS_BILLED}-01"} == OF_STATUS
        published = published_bytes(home)
        refresh(turned.settings, full=True, say=print)
        assert published_bytes(home) == published
    with duckdb.connect(str(home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        status = "select usage_month::text, status from marts.fct_training_run_costs order by all"
        assert connection.execute(status).fetchall() == [("2026-04-01", "final"), ("2026-05-01", "final")]
        hours = "select usage_month::text, reserved_chip_hours::int from marts.fct_training_run_energy order by all"
        assert connection.execute(hours).fetchall() == [("2026-04-01", 32), ("2026-05-01", 32)]
