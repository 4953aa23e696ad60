"""The answer to `trace --figure`: the figure, the tables on its way, what is behind it, and the first rows of each kind."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from dagster_project.base.failures import GateError
from dagster_project.base.sql import rows_by_name
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.walk import Walk, condition_of_key, relation
from reports.page.numbers import plain
from reports.pages import chosen_by
from reports.quarter import Quarter, is_year
from reports.tracing.figures import Figure, FigureError

AGAIN = "Was it published again? Then render the report again."
SHOWN = 10  # rows of each kind that are printed; --out has all
WORDS = {
    "sum": "is the sum of",
    "share": "is a part of the sum of",
    "ratio": "is one over the other of",
    "energy": "is, divided once, the sum of",
    "statistic": "is given by its table's statement from",
    "lookup": "is stated by",
    "landed": "comes from landed rows",
    "decided": "was decided by",
}


def walked(walk: Walk, figure: Figure) -> tuple[str | None, str]:
    """Follow a figure down, and give its value and class. FigureError where the tables have it not, or have another value."""
    if figure.column not in walk.columns.get(figure.model, ()):
        raise FigureError(f"{figure.id}: table {figure.model} has no column {figure.column!r}.")
    condition, value = _condition(walk, figure), row_of(walk, figure)[figure.column]
    if figure.is_printed and plain(value) != figure.value:
        raise FigureError(f"The published tables have {plain(value)} for {figure.id}, the report prints {figure.value}. {AGAIN}")
    walk.follow(figure.model, figure.column, walk.rows_of(figure.model, condition, figure.column))
    kind = walk.steps[0].kind if walk.steps else "sum"
    if kind in ("sum", "share", "energy") and value and len(walk.steps) == 1:
        raise GateError(f"{figure.id} is {plain(value)}, and no row gives it", remedy="Refresh, and render the report again.")
    return plain(value), kind


def row_of(walk: Walk, figure: Figure) -> dict[str, Any]:
    """The row that has a figure. FigureError where there is none, or more."""
    rows = rows_by_name(walk.connection.execute(f"select * from {relation(figure.model)} where {_condition(walk, figure)}"))
    if len(rows) != 1:
        raise FigureError(f"The published tables have {len(rows)} rows of {figure.id}. {AGAIN}")
    return rows[0]


def _condition(walk: Walk, figure: Figure) -> str:
    return " and ".join([condition_of_key(figure.key), *_chosen(walk.connection, figure)])


def _chosen(connection: duckdb.DuckDBPyConnection, figure: Figure) -> list[str]:
    """How a table of a report takes rows of its page, for its quarter."""
    if not figure.quarter:
        return []
    printed = connection.execute("select printed from published.ops.report_pages where model = ?", [figure.model]).fetchone()
    entry = json.loads(printed[0]).get(figure.table, {}) if printed else {}
    if is_year(figure.quarter):
        return chosen_by(entry, {"fiscal_year": figure.quarter, "reports": f"{figure.quarter}-"})
    return chosen_by(entry, Quarter.parse(figure.quarter).arguments)


def answer_of(connection: duckdb.DuckDBPyConnection, asked: str, figure: Figure, value: str | None, walk: Walk) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "figure": asked,
        "value": value,
        "model": figure.model,
        "column": figure.column,
        "row": dict(figure.key),
        "sql": figure.sql or None,
        "class": walk.steps[0].kind if walk.steps else None,
        "steps": [step.record for step in walk.steps],
        "behind": origins.summary(connection),
        "first": origins.first(connection, SHOWN),
    }


def figure_text(document: dict[str, Any]) -> str:
    """The answer for people."""
    lines = [f"{document['figure']} = {document['value'] if document['value'] is not None else 'no value'}"]
    for step in document["steps"]:
        total = f" = {plain(step['total'])}" if step["total"] is not None and step["kind"] not in ("input", "counted") else ""
        words = WORDS.get(step["kind"], step["kind"])
        column = f".{step['column']}" if step["column"] else ""
        lines.append(f"{'  ' * (step['depth'] + 1)}{step['rows']} x {step['table']}{column}{total}: {words}")
    lines += ["behind them:"]
    for one in document["behind"]:
        gives = f", {one['measure']} {plain(one['contribution'])}" if one["contribution"] is not None else ""
        lines.append(f"  {one['kind']} rows: {one['rows']} in {one['objects']} objects, behind {one['of_table']}{gives}")
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
    gives = f" gives {row['contribution']}" if row["contribution"] is not None else ""
    who = row["training_run_id"] or (f"residual {row['reason']}" if row["reason"] else "")
    rule = f" by {row['attribution_rule']}," if row["attribution_rule"] else ""
    share = f"{rule} share {row['share']}" if rule or row["share"] else ""
    hashes = [f"delivery {row['delivery_content_hash'][:16]}"] if row["delivery_content_hash"] else []
    hashes += [f"sha256 {row['object_sha256'][:16]}"] if row["object_sha256"] else []
    to = f" -> {who}{share}" if who else ""
    end = f" ({', '.join(hashes)})" if hashes else ""
    detail = f": {row['detail']}" if row["detail"] else ""
    return f"{row['kind']} {row['source_name']} {row['object']}{rows}{amount}{to}{gives}{end}{detail}"
