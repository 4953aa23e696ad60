"""What a build runs of a project's statements: what can give other rows, and nothing else. The rows are those of a full build."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.warehouse import runner, statements
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.statements import Statement
from tests import warm
from tests.line.kit import NOW, published_bytes, query, tree, write_small_exports
from tests.oracle.builders import Exports, run

pytestmark = pytest.mark.slow
Change = Callable[[Statement], Statement]


class Organisation:
    """A small organisation; `nodes` are what its last refresh ran or left as it was."""

    def __init__(self, folder: Path) -> None:
        self.exports: Exports = write_small_exports(folder)
        self.home = folder / "home"
        self.nodes: list[NodeResult] = []
        self.change: Change = lambda statement: statement
        self.count = 0

    def refresh(self, *more: str, expected: int = 0) -> str:
        """One refresh and what it printed."""
        self.nodes.clear()
        done = warm.run_trainledger("refresh", "--config", self.exports.folder / "trainledger.yaml", *more, now=NOW)
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout + done.stderr

    def one_more_run(self) -> None:
        self.count += 1
        self.exports.runs(run(f"run-more-{self.count}", ("i-idle", "2026-04-02T04:00:00Z", "2026-04-02T05:00:00Z", None)))

    def became(self, *statuses: str) -> set[str]:
        return {node.name for node in self.nodes if node.status in statuses}

    def gates(self) -> list[tuple]:
        return query(self.home, "select gate, passed, failing_rows from ops.gate_results order by all")

    def assert_full_build_is_equal(self) -> None:
        """The bytes and gates of the publication are those of a full build, after which everything is new."""
        found, gates = published_bytes(self.home), self.gates()
        self.refresh("--full")
        assert not self.became("unchanged")
        assert (published_bytes(self.home), self.gates()) == (found, gates)


@pytest.fixture(scope="module")
def organisation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Organisation]:
    found = Organisation(tmp_path_factory.mktemp("what a build runs"))
    run_all, lay_out = runner.run, statements.statements

    def noted(*arguments: Any, **named: Any) -> Iterator[NodeResult]:
        for node in run_all(*arguments, **named):
            found.nodes.append(node)
            yield node

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run", noted)
        patch.setattr(statements, "statements", lambda home: [found.change(one) for one in lay_out(home)])
        found.refresh()
        assert not found.became("unchanged")
        yield found


@pytest.fixture(autouse=True)
def _as_the_project_is(organisation: Organisation) -> Iterator[None]:
    """Each test may change statements for itself."""
    yield
    organisation.change = lambda statement: statement


def changed(name: str, **values: Any) -> Change:
    return lambda statement: replace(statement, **values) if statement.name == name else statement


def only_rows(name: str, condition: str) -> Change:
    return lambda one: replace(one, sql=f"select * from (\n{one.sql}\n) where {condition}") if one.name == name else one


def test_a_run_record_builds_what_it_can_move_and_nothing_else(organisation: Organisation) -> None:
    organisation.one_more_run()
    organisation.refresh()
    untouched, built = organisation.became("unchanged"), organisation.became("success", "pass")
    # its machine is in segments now, which its bill is grouped by
    assert {"int_gcp_lines", "int_carbon_cells", "emission_factors", "stg_aws_cur__line_items"} <= untouched
    assert {"int_run_holdings", "fct_training_run_costs", "assert_every_run_month_is_shown"} <= built
    sql = "select detail from ops.gate_results where gate = 'dbt.assert_no_emission_is_negative'"
    [(detail,)] = query(organisation.home, sql)
    assert "assert_no_emission_is_negative" not in untouched or detail.startswith("unchanged since 2")
    organisation.assert_full_build_is_equal()


def test_a_test_that_is_not_run_again_has_its_last_result_with_the_build_that_found_it(organisation: Organisation) -> None:
    sql = "select distinct detail from ops.gate_results where detail like 'unchanged since%'"
    [(build_id,)] = query(organisation.home, "select build_id from ops.builds")
    assert query(organisation.home, sql) == []
    for _ in range(2):
        organisation.one_more_run()
        organisation.refresh()
        assert (f"unchanged since {build_id}",) in query(organisation.home, sql)


def test_where_a_model_comes_out_as_it_was_the_wave_ends(organisation: Organisation) -> None:
    organisation.change = only_rows("int_carbon_rows", "true")
    organisation.one_more_run()  # else nothing is to be built at all
    organisation.refresh()
    assert "int_carbon_rows" in organisation.became("success")
    assert "int_carbon_cells" in organisation.became("unchanged")


def test_a_changed_statement_builds_its_table_and_what_reads_it(organisation: Organisation) -> None:
    organisation.change = only_rows("int_carbon_rows", "false")
    organisation.one_more_run()
    organisation.refresh()
    assert {"int_carbon_rows", "int_carbon_cells"} <= organisation.became("success")
    assert "int_aws_lines" in organisation.became("unchanged")
    organisation.change = lambda statement: statement
    organisation.one_more_run()
    organisation.refresh()
    assert {"int_carbon_rows", "int_carbon_cells"} <= organisation.became("success")
    organisation.assert_full_build_is_equal()


@pytest.mark.parametrize(
    ("model", "added", "broken"),
    [
        ("int_comparison_pairs", "no_such_column", {"rpt_comparison_pairs", "rpt_trainium_vs_tpu"}),  # a table that they read
        ("run_summary", "1e9::decimal(18, 6) * 1e9::decimal(18, 6) as too_large", {"run_summary"}),  # a view
    ],
)
def test_a_report_model_that_fails_is_reported_and_stops_no_fact(
    model: str, added: str, broken: set[str], organisation: Organisation, tmp_path: Path
) -> None:
    organisation.change = lambda one: replace(one, sql=f"select *, {added} from (\n{one.sql}\n)") if one.name == model else one
    organisation.one_more_run()
    printed = organisation.refresh(expected=1)
    assert "Published build" in printed
    assert f"Report table {min(broken)} is not published, the ledger is: " in printed
    record = json.loads((organisation.home / "published" / "PUBLICATION.json").read_bytes())
    assert broken <= record["absent"].keys()
    assert not record["absent"].keys() & (record["tables"].keys() | {"fct_training_run_costs", "dim_training_runs"})
    sql = f"select training_run_id from dim_training_runs where training_run_id = 'run-more-{organisation.count}'"
    assert query(organisation.home, sql), "the facts of this build are published"
    gates = "select gate from ops.gate_results where starts_with(gate, 'dbt.report.') and not passed"
    assert {gate for (gate,) in query(organisation.home, gates)} == {f"dbt.report.{table}" for table in record["absent"]}
    assert not query(organisation.home, f"select 1 from duckdb_views() where view_name in {(*broken, '')}")
    report = ("report", "quarterly", "--quarter", "2026Q2", "--config", organisation.exports.folder / "trainledger.yaml")
    done = warm.run_trainledger(*report, "--out", tmp_path / "report", now=NOW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Report table {min(broken)}" in organisation.refresh(expected=1), "a refresh without news reports it again"
    organisation.change = lambda statement: statement
    organisation.one_more_run()
    organisation.refresh()
    assert "absent" in json.loads((organisation.home / "published" / "PUBLICATION.json").read_bytes())
    organisation.assert_full_build_is_equal()


def test_a_failed_test_of_a_report_model_keeps_that_model_alone_from_readers(organisation: Organisation) -> None:
    [name] = [
        one.name for one in statements.statements(organisation.home) if one.name.startswith("unique_together_rpt_lost_work")
    ]
    organisation.change = changed(name, sql="select 'AWS' as provider, 3 as difference")
    organisation.one_more_run()
    organisation.refresh(expected=1)
    record = json.loads((organisation.home / "published" / "PUBLICATION.json").read_bytes())
    assert [*record["absent"]] == ["rpt_lost_work"]
    assert record["absent"]["rpt_lost_work"].startswith(f'{name}: [{{"provider": "AWS"')
    assert "rpt_break_even" in record["tables"]


def test_a_test_with_rows_stops_the_publication_shows_them_and_leaves_out_what_is_below(organisation: Organisation) -> None:
    organisation.change = changed("assert_every_cell_adds_up", sql="select 'AWS' as provider, 3 as difference")
    before, under_way = tree(organisation.home / "published"), organisation.home / "building.json"
    organisation.one_more_run()
    printed = organisation.refresh(expected=1)
    assert 'gate dbt.assert_every_cell_adds_up: 1 failing, first: [{"provider": "AWS", "difference": 3}]' in printed
    assert "Traceback" not in printed
    assert tree(organisation.home / "published") == before and under_way.exists()
    organisation.change = lambda statement: statement
    organisation.refresh()
    assert tree(organisation.home / "published") != before and not under_way.exists()
    assert "int_run_holdings" in organisation.became("unchanged"), "what was built before the refusal is kept"


def test_a_statement_that_fails_is_named_with_the_engines_words_and_what_is_made_of_it_is_left_out(
    organisation: Organisation,
) -> None:
    organisation.change = only_rows("fct_training_run_costs", "error('does not work') is null")
    organisation.one_more_run()
    printed = organisation.refresh(expected=1)
    assert "fct_training_run_costs error: Invalid Input Error: does not work" in printed
    skipped = {node.name: node.detail for node in organisation.nodes if node.status == "skipped"}
    assert skipped["int_report_windows"] == "skipped: fct_training_run_costs was not built"
    assert skipped["rpt_quarterly_disclosure"] == "skipped: int_disclosure_figures was not built"


def test_a_warning_is_recorded_and_stops_nothing(organisation: Organisation) -> None:
    [name, *_] = [one.name for one in statements.statements(organisation.home) if not one.blocks]
    organisation.change = changed(name, sql="select 'i-1' as resource_id from range(2)")
    organisation.one_more_run()
    organisation.refresh()
    [(rows, detail)] = query(organisation.home, f"select failing_rows, detail from ops.gate_results where gate = 'dbt.{name}'")
    assert (rows, json.loads(detail)) == (2, [{"resource_id": "i-1"}] * 2)


@pytest.mark.parametrize("more", [(), ("--full",)], ids=["of one delivery", "of everything"])
def test_a_build_that_was_interrupted_goes_on_behind_its_last_table(
    more: tuple[str, ...], organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_months, whole = Statement.of_months, Statement.whole

    def interrupted(as_before: Callable[..., str]) -> Callable[..., str]:
        def of(statement: Statement, *arguments: Any) -> str:
            if statement.name == "fct_training_run_costs":
                raise KeyboardInterrupt
            return as_before(statement, *arguments)

        return of

    organisation.one_more_run()
    with monkeypatch.context() as patch:
        patch.setattr(Statement, "of_months", interrupted(of_months))
        patch.setattr(Statement, "whole", interrupted(whole))
        organisation.refresh(*more, expected=130)
    done = organisation.became("success")
    assert "int_run_holdings" in done
    organisation.refresh()
    assert done <= organisation.became("unchanged")
    assert "fct_training_run_costs" in organisation.became("success")
    if not more:
        organisation.assert_full_build_is_equal()


def test_too_little_memory_is_a_matter_of_the_machine(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> str:
        raise duckdb.OutOfMemoryException("failed to allocate")

    organisation.one_more_run()
    with monkeypatch.context() as patch:
        patch.setattr(Statement, "of_months", too_large)
        printed = organisation.refresh(expected=2)
    [line] = [line for line in printed.splitlines() if line.startswith("trainledger:")]
    assert "the memory of this machine is used up" in line


def test_the_months_of_a_table_are_those_that_are_asked_and_rows_of_several_are_replaced_with_them() -> None:
    sql = "select usage_month from raw.build_months /* whole */ union from raw.months /* end of whole */"
    table = Statement("model.t", "t", "by_month", "marts", sql, ("raw.build_months",))
    assert table.replaced(["2026-05-01", "2026-04-01"]) == "usage_month in (date '2026-04-01', date '2026-05-01')"
    assert replace(table, also_replaced="is_sum").replaced(["2026-04-01"]) == "(usage_month in (date '2026-04-01') or is_sum)"
    assert "raw.months" in table.whole()
    assert "raw.months" not in table.of_months(["2026-04-01"])
