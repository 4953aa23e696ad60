"""What became of each model, seed and test of one `dbt build`: read from its results and from the build file it left."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dagster_project.publishing.digest import plain_text, rows_by_name

if TYPE_CHECKING:
    import duckdb

SHOWN_ROWS = 3
DETAIL_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class NodeResult:
    """One model, seed or test. `rows` are those of its table, null for a view; `failures` those of a test."""

    unique_id: str
    name: str
    resource_type: str
    status: str  # dbt's word: success, pass, fail, warn, error, skipped; or unchanged
    seconds: float
    rows: int | None = None
    failures: int = 0
    detail: str | None = None  # the first failing rows, or the error

    @property
    def is_sound(self) -> bool:
        """Whether it was built or passed, in this build or in the one since which nothing of it changed."""
        return self.status in ("success", "pass", "unchanged")

    @property
    def is_test(self) -> bool:
        """Whether it is a data test, and so a gate."""
        return self.resource_type == "test"


def node_results(
    manifest: dict[str, Any], run_results: dict[str, Any], connection: duckdb.DuckDBPyConnection
) -> list[NodeResult]:
    """Lay out run_results.json of one `dbt build`; failing tests show their first rows from the build file."""
    # which DuckDB keeps exactly
    sizes = connection.execute("select schema_name, table_name, estimated_size from duckdb_tables()").fetchall()
    counts = {(schema, name): count for schema, name, count in sizes}
    found = []
    for result in run_results["results"]:
        node = manifest["nodes"].get(result["unique_id"]) or {}
        kind, status = node.get("resource_type", ""), result["status"]
        detail = None
        if kind == "test" and status in ("fail", "warn"):
            detail = first_rows(connection, result.get("compiled_code"))
        elif status not in ("success", "pass"):
            detail = f"{status}: {_one_line(result.get('message'))}"
        found.append(
            NodeResult(
                unique_id=result["unique_id"],
                name=node.get("name", result["unique_id"].split(".")[-1]),
                resource_type=kind,
                status=status,
                seconds=float(result.get("execution_time") or 0),
                rows=counts.get((node.get("schema", ""), node.get("alias") or node.get("name", ""))),
                failures=result.get("failures") or 0,
                detail=detail,
            )
        )
    return found


def _one_line(text: str | None) -> str:
    return " ".join((text or "no message").split())[:500]


def first_rows(connection: duckdb.DuckDBPyConnection, sql: str | None) -> str | None:
    """The first rows of a failed test as JSON text, in the query's own column names."""
    if not sql:
        return None
    return rows_as_text(rows_by_name(connection.execute(f"select * from (\n{sql}\n) as failing limit {SHOWN_ROWS}")))


def rows_as_text(rows: Sequence[dict[str, Any]]) -> str:
    """A few rows as JSON text of bounded length; exact numbers keep their digits."""
    return json.dumps(list(rows)[:SHOWN_ROWS], default=plain_text, ensure_ascii=False)[:DETAIL_LIMIT]
