"""The answer to `trace --figure`: the figure with its proof, what is behind it, counted, and the first rows of each kind."""

from __future__ import annotations

from typing import Any

import duckdb

from dagster_project.base.failures import GateError
from dagster_project.evidence.tracing import origins
from reports.tracing.figures import Figure
from reports.tracing.proof import Proof

SHOWN = 10  # rows of each kind that are printed; --out has all


def require_rows(proof: Proof) -> Proof:
    """GateError where no row gives the figure."""
    if proof.is_of_nothing:
        remedy = "Its SQL states the figure by itself. Render the report again and compare both."
        raise GateError(f"{proof.of}: {proof.sentence} of the ledger", remedy=remedy)
    return proof


def answer_of(connection: duckdb.DuckDBPyConnection, asked: str, figure: Figure, proof: Proof) -> dict[str, Any]:
    """The answer for programs."""
    shown = [one for one in proof.rows if one.count]
    return {
        "figure": asked,
        "value": proof.value,
        "column": figure.column,
        "row": dict(figure.key),
        "sql": figure.sql,
        "proof": proof.sentence,
        "rows": [{"table": one.table, "count": one.count, "where": one.condition.replace("published.", "")} for one in shown],
        "behind": origins.summary(connection),
        "first": origins.first(connection, SHOWN),
    }


def figure_text(document: dict[str, Any]) -> str:
    """The answer for people: the figure with its proof, then what is behind it, counted, and the first rows of each kind."""
    lines = [f"{document['figure']} = {document['value'] if document['value'] is not None else 'no value'}"]
    lines += [f"  {document['proof']}"]
    lines += [f"    {row['count']} x {row['table']} where {row['where']}" for row in document["rows"]]
    lines += ["behind them:"]
    for one in document["behind"]:
        lines.append(f"  {one['kind']} rows: {one['rows']} in {one['objects']} objects, behind {one['of_table']}")
    lines += [f"  {_line(row)}" for row in document["first"]]
    if document.get("out"):
        lines.append(f"all {document['out_rows']} are in {document['out']}")
    elif any((one["rows"] or 0) > SHOWN for one in document["behind"]):
        lines.append(f"of each kind the first {SHOWN} are shown; --out FILE has all")
    return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    numbers = {row["first_row"], row["last_row"]} - {None}
    rows = f":{'-'.join(str(number) for number in sorted(numbers))}" if numbers else ""
    amount = f" {row['amount']} {row['unit']}" if row["amount"] is not None else ""
    who = row["training_run_id"] or (f"residual {row['reason']}" if row["reason"] else "")
    rule = f" by {row['attribution_rule']}," if row["attribution_rule"] else ""
    share = f"{rule} share {row['share']}" if rule or row["share"] else ""
    hashes = [f"delivery {row['delivery_content_hash'][:16]}"] if row["delivery_content_hash"] else []
    hashes += [f"sha256 {row['object_sha256'][:16]}"] if row["object_sha256"] else []
    to = f" -> {who}{share}" if who else ""
    end = f" ({', '.join(hashes)})" if hashes else ""
    detail = f": {row['detail']}" if row["detail"] else ""
    return f"{row['kind']} {row['source_name']} {row['object']}{rows}{amount}{to}{end}{detail}"
