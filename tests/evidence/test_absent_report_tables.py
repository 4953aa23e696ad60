"""A report model that cannot be built again is named, and the rest is compared: by `verify --from-landing` and `restatements`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dagster_project.evidence import layout
from dagster_project.evidence.checking import verify_pack
from dagster_project.warehouse import gates, statements
from tests.evidence.forger import forging
from tests.evidence.kit import LATER, MONTHS, bill, record
from tests.oracle.builders import Exports
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow


@contextmanager
def broken(model: str) -> Iterator[None]:
    """A statement of this model that no delivery can be built by."""
    known = statements.statements

    def changed(home: Path) -> list[statements.Statement]:
        every = known(home)
        return [replace(one, sql=f"select *, no_such_column from (\n{one.sql}\n)") if one.name == model else one for one in every]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(statements, "statements", changed)
        yield


def test_verify_names_the_table_that_cannot_be_built_again_and_compares_the_others(issued: Path, pack: Path) -> None:
    with broken("rpt_lost_work"):
        done = run_trainledger("verify", pack, "--from-landing", issued / "home", now=LATER)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "data/marts/rpt_lost_work.parquet is not compared: it cannot be built of these deliveries: error: " in done.stdout
    tables = json.loads((pack / "issue.json").read_bytes())["build"]["tables"]
    assert "2026Q2-1 is, as far as it could be compared, as it was issued: " in done.stdout
    assert f"{len(tables) - 1} tables rebuilt from the landing" in done.stdout


def test_verify_refuses_a_ledger_that_cannot_be_built_again(issued: Path, pack: Path) -> None:
    with broken("fct_training_run_costs"):
        done = run_trainledger("verify", pack, "--from-landing", issued / "home", now=LATER)
    assert done.returncode == 1 and "fct_training_run_costs cannot be built of these deliveries" in done.stderr


def test_restatements_name_the_table_that_cannot_be_built_and_compare_the_other_figures(home: Path) -> None:
    exports = Exports(home.parent)
    bill(exports, MONTHS[-1], 23.0, "2026-08-05")  # two causes: the step between them was never built
    record(exports, MONTHS[-1], "2026-08-06", until="10:30:00")
    assert run_trainledger("refresh", "--config", home, now=LATER).returncode == 0
    recorded = home.parent / "home" / "reports" / "restatements.jsonl"
    with broken("rpt_quarterly_disclosure"):
        done = run_trainledger("restatements", "--config", home, now=LATER)
    assert done.returncode == 1, done.stdout + done.stderr
    named = (
        "Figures of rpt_quarterly_disclosure are not compared, the others are: it cannot be built of these deliveries: error: "
    )
    assert named in done.stderr
    assert "2026Q2/glance/effective_cost: was 129.000000000000, is 120.500000000000" in done.stdout
    assert "/datapoints/" not in recorded.read_text() and "/glance/effective_cost" in recorded.read_text()
    whole = run_trainledger("restatements", "--config", home, now=LATER)
    assert whole.returncode == 0 and "/datapoints/" in recorded.read_text(), "nothing of the broken step was kept"
    with broken("rpt_quarterly_disclosure"):
        assert run_trainledger("restatements", "--config", home, now=LATER).returncode == 0, "nothing is to be built"


def test_what_a_publication_went_without_is_derived_from_its_gates_and_nobody_calls_a_table_absent(copied_pack: Path) -> None:
    assert starts_with_report_gates(layout.ABSENT)
    issue = copied_pack / "issue.json"
    assert json.loads(issue.read_bytes())["build"]["absent"] == {}
    forging.changed_json(issue, lambda document: document["build"].update(absent={"rpt_lost_work": "it could not be built"}))
    forging.listed_again(copied_pack)
    assert verify_pack(copied_pack).differences == [
        "issue.json: the report tables that it calls absent are not those whose gate did not pass"
    ]


def starts_with_report_gates(sql: str) -> bool:
    """The small wheel knows no gates by their code, so their prefix is written there a second time."""
    return f"'{gates.REPORT}'" in sql
