"""Statements that dbt laid out once: later builds of months run them, and dbt has the word when something is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dagster_project.warehouse import modelling
from tests import warm
from tests.line.kit import NOW, published_bytes, query, write_small_exports
from tests.oracle.builders import Exports, run

pytestmark = pytest.mark.slow


class Organisation:
    """A small organisation with a shelf of its own for what dbt parsed; `started` are the dbt commands that its refreshes ran."""

    def __init__(self, folder: Path) -> None:
        self.exports: Exports = write_small_exports(folder)
        self.home = folder / "home"
        self.shelf = folder / "parsed"
        self.started: list[str] = []

    def kept(self) -> Path:
        [path] = self.shelf.glob("statements-*.json")
        return path

    def refresh(self, *more: str) -> list[str]:
        """The dbt commands of one refresh."""
        self.started.clear()
        done = warm.run_trainledger("refresh", "--config", self.exports.folder / "trainledger.yaml", *more, now=NOW)
        assert done.returncode == 0, done.stdout + done.stderr
        return list(self.started)

    def one_more_run(self, name: str) -> None:
        self.exports.runs(run(name, ("i-idle", "2026-04-02T04:00:00Z", "2026-04-02T05:00:00Z", None)))


@pytest.fixture(scope="module")
def patch() -> pytest.MonkeyPatch:
    with pytest.MonkeyPatch.context() as patched:
        yield patched


@pytest.fixture(scope="module")
def organisation(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Organisation:
    """After a full build and one build of a month: dbt ran both, and the second was kept."""
    found = Organisation(tmp_path_factory.mktemp("kept statements"))
    shutil.copytree(modelling.parsed_project(found.home), found.shelf, ignore=shutil.ignore_patterns("statements-*"))
    patch.setattr(modelling, "parsed_project", lambda _: found.shelf)
    run_dbt: Callable = warm.run_dbt

    def noted(arguments: list[str], *more: object, **named: object) -> object:
        found.started.append(arguments[0])
        return run_dbt(arguments, *more, **named)

    patch.setattr(warm, "run_dbt", noted)
    assert found.refresh() == ["build"]
    assert not list(found.shelf.glob("statements-*"))  # a full build has other statements
    found.one_more_run("run-d")
    assert found.refresh() == ["build"]
    return found


def test_a_build_of_months_starts_no_dbt_and_ends_in_the_bytes_of_a_full_one(organisation: Organisation) -> None:
    organisation.one_more_run("run-e")
    assert organisation.refresh() == []
    found = published_bytes(organisation.home)
    gates = query(organisation.home, "select gate, passed, failing_rows from ops.gate_results order by all")
    assert query(organisation.home, "select count(*) from fct_run_cell_costs where training_run_id = 'run-e'") != [(0,)]

    assert organisation.refresh("--full") == ["build"]
    assert published_bytes(organisation.home) == found
    assert query(organisation.home, "select gate, passed, failing_rows from ops.gate_results order by all") == gates


@pytest.mark.parametrize(
    ("name", "instead", "told"),
    [
        ("fct_training_run_costs", "select error('does not work')", "fct_training_run_costs, kept from an earlier build, failed"),
        (
            "assert_every_run_month_is_shown",
            "select 3 as failures, true as should_warn, true as should_error",
            "",
        ),  # by dbt's gate
    ],
    ids=["a broken statement", "a test with rows"],
)
def test_where_a_kept_statement_fails_dbt_builds_and_has_the_word(
    name: str, instead: str, told: str, organisation: Organisation, caplog: pytest.LogCaptureFixture
) -> None:
    before = organisation.kept().read_bytes()
    document = json.loads(before)
    next(one for one in document["statements"] if one["name"] == name)["sql"] = instead
    organisation.kept().write_text(json.dumps(document))
    organisation.one_more_run(f"run-{len(list((organisation.exports.folder / 'exports/runs').iterdir()))}")
    try:
        assert organisation.refresh() == ["build"]
    finally:
        organisation.kept().write_bytes(before)
    assert told in caplog.text
    assert query(organisation.home, "select count(*) from ops.gate_results where not passed") == [(0,)]


def test_a_warning_is_recorded_and_stops_nothing(organisation: Organisation) -> None:
    before = organisation.kept().read_bytes()
    document = json.loads(before)
    warning = next(one for one in document["statements"] if one["warning"])
    warning |= {
        "sql": "select 2 as failures, true as should_warn, false as should_error",
        "warning": "select 'i-1' as resource_id",
    }
    organisation.kept().write_text(json.dumps(document))
    organisation.one_more_run("run-warned")
    try:
        assert organisation.refresh() == []
    finally:
        organisation.kept().write_bytes(before)
    sql = f"select failing_rows, detail from ops.gate_results where gate = 'dbt.{warning['name']}'"
    [(failing_rows, detail)] = query(organisation.home, sql)
    assert (failing_rows, json.loads(detail)) == (2, [{"resource_id": "i-1"}])


@pytest.mark.parametrize(("measures", "started"), [("more", []), ("none", ["build"])])
def test_statements_serve_a_build_whose_measures_they_know(measures: str, started: list[str], organisation: Organisation) -> None:
    before = organisation.kept().read_bytes()
    document = json.loads(before)
    document["measures"] = [*document["measures"], ["gcp_billing", "cost", "Number", 12]] if measures == "more" else []
    organisation.kept().write_text(json.dumps(document))
    organisation.one_more_run(f"run-{measures}")
    try:
        assert organisation.refresh() == started
    finally:
        organisation.kept().write_bytes(before)


def test_the_months_of_a_table_are_those_of_the_build() -> None:
    from dagster_project.warehouse.builds import Build
    from dagster_project.warehouse.statements import Statement

    sql = "delete from t where usage_month in (/* months */ date '2026-01-01' /* end of months */)"
    table = Statement("model.t", "t", "by_month", "t", sql)
    shown = Statement("model.t", "t", "by_month", "t", sql, shows_status=True)
    build = Build("b", "", "", "", {}, ["2026-04-01", "2026-05-01"], False, turned=["2026-03-01"])
    only_status = Build("b", "", "", "", {}, [], False, turned=["2026-03-01"])
    assert table.of(build) == "delete from t where usage_month in (date '2026-04-01', date '2026-05-01')"
    assert shown.of(build) == "delete from t where usage_month in (date '2026-03-01', date '2026-04-01', date '2026-05-01')"
    assert table.of(only_status) is None
    assert shown.of(only_status) == "delete from t where usage_month in (date '2026-03-01')"
