"""Gates: what dbt and the suites found becomes rows, and only a build that passed every expected gate may be published."""

from pathlib import Path

import duckdb
import pytest
from run_side_kit import NOW

from dagster_project.base.failures import GateError
from dagster_project.warehouse import builds, gates
from dagster_project.warehouse.gates import GateResult
from dagster_project.warehouse.nodes import node_results

TEST = {"resource_type": "test", "config": {"severity": "ERROR"}}
MANIFEST = {
    "nodes": {
        "model.t.fct": {"unique_id": "model.t.fct", "name": "fct", "resource_type": "model", "config": {}},
        "test.t.adds_up.1": {"unique_id": "test.t.adds_up.1", "name": "adds_up", **TEST},
        "test.t.not_null.2": {"unique_id": "test.t.not_null.2", "name": "not_null", **TEST},
        "test.t.looks_odd.3": {
            "unique_id": "test.t.looks_odd.3", "name": "looks_odd", "resource_type": "test", "config": {"severity": "warn"},
        },
    }
}  # fmt: skip


def result(unique_id: str, status: str, **more: object) -> dict[str, object]:
    """One entry of run_results.json."""
    return {"unique_id": unique_id, "status": status, "failures": None, "message": None, "compiled_code": None, **more}


@pytest.fixture
def build(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    """A build file with the tables of gates."""
    connection = duckdb.connect(str(tmp_path / "build.duckdb"))
    builds.open_build(connection, builds.Build("b1", NOW.isoformat(), "f", "c", {}, [], True))
    return connection


def test_a_test_of_severity_warn_is_recorded_and_not_expected(build: duckdb.DuckDBPyConnection) -> None:
    assert gates.expected_dbt_gates(MANIFEST) == {"dbt.models", "dbt.adds_up", "dbt.not_null"}
    found = gates.dbt_gates(node_results(MANIFEST, {"results": [result("test.t.looks_odd.3", "warn", failures=2)]}, build))
    assert GateResult("dbt.looks_odd", False, 2, None) in found


def test_a_failed_test_shows_its_first_rows_with_every_digit(build: duckdb.DuckDBPyConnection) -> None:
    sql = "select 'run-' || i as training_run_id, cast('0.000000000001' as decimal(38, 12)) as difference from range(5) as t (i)"
    found = gates.dbt_gates(
        node_results(MANIFEST, {"results": [result("test.t.adds_up.1", "fail", failures=5, compiled_code=sql)]}, build)
    )
    failed = next(gate for gate in found if gate.gate == "dbt.adds_up")
    assert (failed.passed, failed.failing_rows) == (False, 5)
    assert '{"training_run_id": "run-0", "difference": "0.000000000001"}' in str(failed.detail)
    assert "run-3" not in str(failed.detail)


def test_a_broken_model_fails_the_gate_of_models_before_those_it_made_skip(build: duckdb.DuckDBPyConnection) -> None:
    results = [
        result("model.t.after", "skipped"),
        result("model.t.fct", "error", message="Binder Error:\n column x"),
        result("test.t.adds_up.1", "skipped"),
    ]
    found = {gate.gate: gate for gate in gates.dbt_gates(node_results(MANIFEST, {"results": results}, build))}
    assert found["dbt.models"].failing_rows == 2
    assert str(found["dbt.models"].detail).startswith("fct error: Binder Error: column x; after skipped")
    assert not found["dbt.adds_up"].passed


def test_a_build_is_refused_with_the_gate_and_its_first_rows(build: duckdb.DuckDBPyConnection) -> None:
    gates.record(build, "b1", [GateResult("dbt.models", True, 0), GateResult("dbt.adds_up", False, 7, '[{"run": "a"}]')])
    with pytest.raises(
        GateError, match=r'(?s)2 of its gates.*gate dbt\.adds_up: 7 failing, first: \[{"run": "a"}\].*last publication stays'
    ) as error:
        gates.require_all_passed(build, "b1", ["dbt.models", "dbt.adds_up", "dbt.not_null"])
    assert "dbt.not_null: no result: the gate was not reached" in str(error.value)
    assert error.value.exit_code == 1


def test_only_rows_of_this_build_count(build: duckdb.DuckDBPyConnection) -> None:
    gates.record(build, "b0", [GateResult("dbt.models", True, 0)])
    with pytest.raises(GateError):
        gates.require_all_passed(build, "b1", ["dbt.models"])


def test_a_gate_that_runs_again_replaces_its_row(build: duckdb.DuckDBPyConnection) -> None:
    gates.record(build, "b1", [GateResult("dbt.models", False, 1)])
    gates.record(build, "b1", [GateResult("dbt.models", True, 0)])
    gates.require_all_passed(build, "b1", ["dbt.models"])
    assert build.execute("select count(*) from ops.gate_results").fetchone() == (1,)
