"""Gates: what a build must pass before anyone may read it, kept as rows of ops.gate_results.

A gate is a dbt data test, `dbt.models` (every model was built), or a rule by which deliveries were judged when they landed. This
module turns results into rows, keeps them with the build, and refuses a build of which an expected gate is absent or failed.
What the tests ask is in dbt/, what the rules are in landing/judging.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dagster_project.base.failures import GateError
from dagster_project.landing.judging.rules import EVERY_ONE_JUDGED, RULES, lacks_verdict
from dagster_project.warehouse.nodes import SHOWN_ROWS, NodeResult, rows_as_text
from dagster_project.warehouse.raw_tables import insert

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election

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


def delivery_gates(election: Election) -> list[GateResult]:
    """One gate for each rule, with the deliveries that do not meet it, and one for the judging itself, which alone is expected.

    A delivery that does not meet a rule is a warning, as a dbt test of severity warn is: recorded and shown.
    """
    judged = [(one.generation, one.contents.verdict) for one in election.members if one.contents.verdict]
    missing = [one.generation for one in election.members if lacks_verdict(one.source, one.contents)]
    found = [GateResult(EVERY_ONE_JUDGED, not missing, len(missing), ", ".join(one.path for one in missing[:3]) or None)]
    for rule in RULES:
        rows = [
            {"source_name": generation.source, "partition": generation.partition, "found": verdict.failed[rule.name]}
            for generation, verdict in judged
            if rule.name in verdict.failed
        ]
        found.append(GateResult(rule.gate, not rows, len(rows), f"warning: {rows_as_text(rows)}" if rows else None))
    return found


def record(connection: duckdb.DuckDBPyConnection, build_id: str, results: Iterable[GateResult]) -> None:
    """Write gate rows of a build; a gate that runs again replaces its row."""
    connection.execute(OPS_DDL)
    rows = [(build_id, *astuple(result)) for result in results]
    names = [name for _, name, *_ in rows]
    connection.begin()  # one commit, and one wait for the disk, instead of two for each gate
    connection.execute("delete from ops.gate_results where build_id = ? and gate in (select unnest(?))", [build_id, names])
    insert(connection, "ops.gate_results", rows)
    connection.commit()


def require_all_passed(connection: duckdb.DuckDBPyConnection, build_id: str, expected: Set[str]) -> None:
    """Raise GateError, naming the first gates and their first failing rows, unless every expected gate of the build passed."""
    rows = connection.execute("select gate, passed, failing_rows, detail from ops.gate_results where build_id = ?", [build_id])
    found = {row[0]: GateResult(*row) for row in rows.fetchall()}
    asked = [found.get(gate) or GateResult(gate, False, 0, "no result: the gate was not reached") for gate in sorted(expected)]
    failed = [gate for gate in asked if not gate.passed]
    if not failed:
        return
    failed.sort(key=lambda gate: (gate.failing_rows == 0, gate.gate not in found))  # those that show rows come first
    shown = "\n".join(
        f"  gate {gate.gate}: "
        + (f"{gate.failing_rows} failing, first: " if gate.failing_rows else "")
        + (gate.detail or "no detail")
        for gate in failed[:SHOWN_ROWS]
    )
    more = f"\n  and {len(failed) - SHOWN_ROWS} more" if len(failed) > SHOWN_ROWS else ""
    error = GateError(
        f"Build {build_id} is not published: {len(failed)} of its gates did not pass:\n{shown}{more}\nThe last publication stays",
        remedy="Correct the cause (source, record or model) and run `trainledger refresh` again.",
    )
    error.gates = tuple(gate.gate for gate in failed)
    raise error


def unpublished_reports(connection: duckdb.DuckDBPyConnection, build_id: str) -> dict[str, str]:
    """Report models that the build's publication goes without, each with the reason."""
    found = connection.execute(
        "select gate, coalesce(detail, '') from ops.gate_results where build_id = ? and starts_with(gate, ?) and not passed"
        " order by gate",
        [build_id, REPORT],
    ).fetchall()
    return {gate.removeprefix(REPORT): detail for gate, detail in found}


def absent_lines(absent: Mapping[str, str]) -> list[str]:
    """A line for each report table that a publication goes without."""
    return [f"Report table {table} is not published, the ledger is: {reason}" for table, reason in absent.items()]


def without_reports(absent: Mapping[str, str]) -> GateError:
    """Why a refresh that published the ledger ends with exit code 1 all the same."""
    error = GateError("\n".join(absent_lines(absent)), remedy="Correct the model or its test, then refresh again.")
    error.gates = tuple(f"{REPORT}{table}" for table in absent)
    return error


def close_build(connection: duckdb.DuckDBPyConnection, build_id: str, finished_at: datetime, outcome: str) -> None:
    """Note how a build ended: published, gates_failed."""
    connection.execute(
        "update ops.builds set finished_at = ?, outcome = ? where build_id = ?",
        [finished_at.replace(tzinfo=None), outcome, build_id],
    )
