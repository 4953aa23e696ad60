"""Totals by month of two published tables, in schema ops, for a quick answer to what is asked of all their rows.

A company with 12,000 cells a month has two million rows of fct_reconciliation in 36 months, and whoever asks whether everything
adds up would read them all. Nothing is decided here and no figure rests on it: these are sums of rows that passed the gates and
stay where they are. Months whose rows did not change are not read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagster_project.publishing.digest import TableDigest
from dagster_project.publishing.last import condition_of
from dagster_project.publishing.tables import ops_tables

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class MonthTotals:
    """Which rows of a mart are added up by the key of which table. `sums`: what is added up, by the name of its total."""

    of: str
    table: str
    sums: Mapping[str, str]
    where: str = "true"

    def query(self, months: str) -> str:
        """The totals of some months, in the order of months and key."""
        key = ", ".join(ops_tables()[self.table].key)
        sums = ", ".join(f"cast(sum({what}) as decimal(38, 12)) as {name}" for name, what in self.sums.items())
        rows = f"marts.{self.of} where {self.where} and ({months})"
        return f"select {key}, count(*) as row_count, {sums} from {rows} group by all order by usage_month, {key}"


RECONCILED = MonthTotals(
    "fct_reconciliation",
    "reconciled_months",
    {
        **{name: name for name in ("provider_total", "runs_total", "residual_total", "quarantined_total")},
        "difference": "abs(difference)",
    },
    where="method = 'conservation'",
)
RESIDUAL = MonthTotals(
    "fct_residual_costs",
    "residual_months",
    {name: name for name in ("billed_cost", "effective_cost", "spread_effective_cost")},
)
TOTALS = {one.of: one for one in (RECONCILED, RESIDUAL)}


def write_totals(connection: duckdb.DuckDBPyConnection, rows: TableDigest, before: Mapping[str, tuple[int, str]] | None) -> None:
    """Bring the totals of a table, if it has some, to its rows. `before`: the parts that they are of; None if there are none."""
    totals = TOTALS.get(rows.table)
    if totals is None:
        return
    place = f"ops.{totals.table}"
    if before is None:
        connection.execute(f"create or replace table {place} as {totals.query('true')}")
        return
    changed = [part for part in sorted({*before, *rows.partitions}) if before.get(part) != rows.partitions.get(part)]
    if changed:
        months = " or ".join(condition_of(part) for part in changed)
        connection.execute(f"delete from {place} where {months}")
        connection.execute(f"insert into {place} {totals.query(months)}")
