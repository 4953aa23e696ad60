"""Verdicts on invented pairs: the published SELECT of rpt_trainium_vs_tpu, with rows in place of the three things it decides on.

Nothing of the statistics is written again here: pairs, medians and residual shares go in between the marks of the statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import Any

import duckdb

WINDOW = "date '2026-01-01' as window_start, date '2027-01-01' as window_end"
SHARES = "select " + WINDOW + ", {} as trainium_residual_share, {} as tpu_residual_share"
PAIR = {
    "workload_key": "w",
    "kpi": "cost_per_run_to_target",
    "factor_view": "chip",
    "place": "a",
    "basis_class": "modelled",
    "is_power_assumed": False,
    "log_ratio": 0.0,
    "log_ratio_low": None,
    "log_ratio_high": None,
}
TYPES = {"is_power_assumed": "boolean", **dict.fromkeys(("log_ratio", "log_ratio_low", "log_ratio_high"), "decimal(18, 12)")}
PAIRS = f"""select {WINDOW}, workload_key, kpi, factor_view, '' as setting, 'decides' as use, place as trainium_accelerator_type,
    '' as trainium_region_id, '' as tpu_accelerator_type, '' as tpu_region_id, basis_class, is_power_assumed,
    log_ratio, log_ratio_low, log_ratio_high
    from temp.invented"""
MEDIANS = f"""select distinct {WINDOW}, workload_key, kpi, factor_view, 1e0 as trainium_median, 1e0 as tpu_median
    from temp.invented"""


def between(statement: str, mark: str, text: str) -> str:
    """The statement with other text between two of its comments."""
    head, _, rest = statement.partition(f"/* {mark} */")
    _, end, tail = rest.partition(f"/* end of {mark} */")
    assert end, f"the statement has no {mark}"
    return f"{head}{text}{tail}"


def verdicts(connection: duckdb.DuckDBPyConnection, shares: tuple[str, str] = ("0e0", "0e0")) -> str:
    """The SELECT that decides about the rows of temp.invented."""
    found = connection.execute("select statement from ops.report_statements where model = 'rpt_trainium_vs_tpu'").fetchone()
    assert found
    statement = between(between(str(found[0]), "pairs", PAIRS), "medians", MEDIANS)
    return between(statement, "residual shares", SHARES.format(*shares))


def empty(connection: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f"{name} {TYPES.get(name, 'varchar')}" for name in PAIR)
    connection.execute(f"create or replace temp table invented ({columns})")


def pairs(ratios: Iterable[float], **more: Any) -> list[dict[str, Any]]:
    """One pair per ratio; `bounds` is high over low of both sides, the figure in the geometric middle."""
    apart = log(more.pop("bounds", 0) or 1)
    rows = [PAIR | more | {"log_ratio": log(ratio)} for ratio in ratios]
    if apart:
        rows = [row | {"log_ratio_low": row["log_ratio"] - apart, "log_ratio_high": row["log_ratio"] + apart} for row in rows]
    return rows


def decided(connection: duckdb.DuckDBPyConnection, *rows: dict[str, Any], shares: tuple[str, str] = ("0e0", "0e0")) -> list[Any]:
    """Rows as dicts of (workload, KPI, view): what the published statement states of these pairs."""
    empty(connection)
    connection.executemany(
        f"insert into temp.invented values ({', '.join('?' * len(PAIR))})", [list(row.values()) for row in rows]
    )
    answer = connection.execute(f"select * from ({verdicts(connection, shares)}) order by workload_key, kpi, factor_view")
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
