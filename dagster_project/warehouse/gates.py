"""Gates: what a build must pass before anyone may read it, kept as rows of ops.gate_results.

A gate is a dbt data test, `dbt.models` (every model was built), or a rule by which deliveries were judged (verdicts.py). This
module turns results into rows, keeps them with the build, and refuses a build of which an expected gate is absent or failed.
What the tests ask is in dbt/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dagster_project.base.failures import GateError
from dagster_project.warehouse.nodes import SHOWN_ROWS, NodeResult

if TYPE_CHECKING:
    import duckdb

MODELS_GATE = "dbt.models"
REPORT = "dbt.report."  # and the name of a report model that is not published, as it could not be built or a test of it failed
OPS_DDL = """
create schema if not exists ops;
create table if not exists ops.builds (
    build_id varchar not null, started_at timestamp not null, finished_at timestamp, fingerprint varchar not null,
    code_version varchar not null, is_full boolean not null, months varchar not null, outcome varchar not null
);
create table if not exists ops.gate_results (
    build_id varchar not null, gate varchar not null, passed boolean not null, failing_rows bigint not null, detail varchar
);
"""


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate; `detail` shows the first failing rows or the error."""

    gate: str
    passed: bool
    failing_rows: int
    detail: str | None = None


def is_blocking(node: Mapping[str, Any]) -> bool:
    """Whether a data test is of severity error."""
    return str(node["config"].get("severity", "error")).lower() == "error"


def expected_dbt_gates(manifest: dict[str, Any], reports: Set[str] = frozenset()) -> set[str]:
    """Names of every gate that a build must pass. A test of severity warn is recorded, not expected.

    Nor is one of `reports` (unique ids of models): the ledger's facts do not wait for a page.
    """
    tests = [node for node in manifest["nodes"].values() if node["resource_type"] == "test"]
    of_facts = [node for node in tests if not (reports and reports & {*node["depends_on"]["nodes"]})]
    return {MODELS_GATE, *(f"dbt.{node['name']}" for node in of_facts if is_blocking(node))}


def dbt_gates(nodes: Iterable[NodeResult], reports: Set[str] = frozenset()) -> list[GateResult]:
    """Turn what became of a build's nodes into gates: one for all models and seeds together, one for each test.

    Of models `reports` are left out; each that is not sound has a gate by itself (report_models.py).
    """
    nodes = list(nodes)
    found = [GateResult(f"dbt.{node.name}", node.is_sound, node.failures, node.detail) for node in nodes if node.is_test]
    broken = broken_models(node for node in nodes if node.unique_id not in reports)
    found.append(GateResult(MODELS_GATE, not broken, len(broken), "; ".join(broken[:SHOWN_ROWS]) or None))
    return sorted(found, key=lambda gate: gate.gate)


def broken_models(nodes: Iterable[NodeResult]) -> list[str]:
    """Models and seeds that were not built, what is broken before what was skipped because of it."""
    broken = [f"{node.name} {node.detail}" for node in nodes if not (node.is_test or node.is_sound)]
    return sorted(broken, key=lambda text: " skipped: " in text)


def record(connection: duckdb.DuckDBPyConnection, build_id: str, results: Iterable[GateResult]) -> None:
    """Write gate rows of a build; a gate that runs again replaces its row."""
    connection.execute(OPS_DDL)
    rows = [(build_id, result.gate, result.passed, result.failing_rows, result.detail) for result in results]
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    connection.begin()  # one commit, and one wait for the disk, instead of two for each gate
    connection.execute("delete from ops.gate_results where build_id = ? and gate in (select unnest(?))", [build_id, columns[1]])
    connection.execute(f"insert into ops.gate_results select {', '.join(['unnest(?)'] * len(columns))}", columns)
    connection.commit()


def failed_gates(connection: duckdb.DuckDBPyConnection, build_id: str, expected: Iterable[str]) -> list[GateResult]:
    """Expected gates that did not pass, the absent ones among them; those that show rows come first."""
    found = {
        gate: GateResult(gate, passed, failing_rows, detail)
        for gate, passed, failing_rows, detail in connection.execute(
            "select gate, passed, failing_rows, detail from ops.gate_results where build_id = ?", [build_id]
        ).fetchall()
    }
    absent = "no result: the gate was not reached"
    failed = [found.get(gate) or GateResult(gate, False, 0, absent) for gate in sorted(set(expected))]
    return sorted((gate for gate in failed if not gate.passed), key=lambda gate: (gate.failing_rows == 0, gate.gate not in found))


def require_all_passed(connection: duckdb.DuckDBPyConnection, build_id: str, expected: Iterable[str]) -> None:
    """Raise GateError, naming the first gates and their first failing rows, unless every expected gate of the build passed."""
    failed = failed_gates(connection, build_id, expected)
    if not failed:
        return
    shown = "\n".join(
        f"  gate {gate.gate}: "
        + (f"{gate.failing_rows} failing, first: " if gate.failing_rows else "")
        + (gate.detail or "no detail")
        for gate in failed[:SHOWN_ROWS]
    )
    more = f"\n  and {len(failed) - SHOWN_ROWS} more" if len(failed) > SHOWN_ROWS else ""
    raise GateError(
        f"Build {build_id} is not published: {len(failed)} of its gates did not pass:\n{shown}{more}\nThe last publication stays",
        remedy="Correct the cause (source, record or model) and run `trainledger refresh` again.",
    )


def unpublished_reports(connection: duckdb.DuckDBPyConnection, build_id: str) -> dict[str, str]:
    """Report models that the build's publication goes without, each with the reason."""
    found = connection.execute(
        "select gate, coalesce(detail, '') from ops.gate_results where build_id = ? and starts_with(gate, ?) and not passed"
        " order by gate",
        [build_id, REPORT],
    ).fetchall()
    return {gate.removeprefix(REPORT): detail for gate, detail in found}


def close_build(connection: duckdb.DuckDBPyConnection, build_id: str, finished_at: datetime, outcome: str) -> None:
    """Note how a build ended: published, gates_failed."""
    connection.execute(
        "update ops.builds set finished_at = ?, outcome = ? where build_id = ?",
        [finished_at.replace(tzinfo=None), outcome, build_id],
    )
