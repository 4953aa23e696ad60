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
from dagster_project.publishing.tables import PublishedTable

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class MonthTotals:
    """Which rows of a mart are added up by the key of which table. `sums`: what is added up, by the name of its total."""

    of: str
    table: PublishedTable
    sums: Mapping[str, str]
    where: str = "true"

    def query(self, months: str) -> str:
        """The totals of some months, in the order of months and key."""
        key = ", ".join(self.table.key)
        sums = ", ".join(f"cast(sum({what}) as decimal(38, 12)) as {name}" for name, what in self.sums.items())
        rows = f"marts.{self.of} where {self.where} and ({months})"
        return f"select {key}, count(*) as row_count, {sums} from {rows} group by all order by usage_month, {key}"


RECONCILED = MonthTotals(
    "fct_reconciliation",
    PublishedTable(
        "reconciled_months",
        "ops",
        ("provider_name", "usage_month", "measure", "unit_or_currency", "provider_model_version"),
        "One row per provider, month, measure, unit and model version: conservation in fct_reconciliation, its cells added up.",
        {
            "provider_name": "Cloud provider, AWS or Google Cloud.",
            "usage_month": "First day of the month in UTC.",
            "measure": "Name of the measure, for example billed_cost or provider_scope_1_kgco2e.",
            "unit_or_currency": "kgCO2e, or the currency code of the costs.",
            "provider_model_version": "Version of the provider's carbon model; empty for money. Never add two versions.",
            "row_count": "Cells that were added up.",
            "provider_total": "What the provider's files add up to.",
            "runs_total": "What runs carry.",
            "residual_total": "What no run carries.",
            "quarantined_total": "What was held back.",
            "difference": "What is left over in the cells, without their signs, so that two cells cannot hide each other: 0.",
        },
    ),
    {
        **{name: name for name in ("provider_total", "runs_total", "residual_total", "quarantined_total")},
        "difference": "abs(difference)",
    },
    where="method = 'conservation'",
)
RESIDUAL = MonthTotals(
    "fct_residual_costs",
    PublishedTable(
        "residual_months",
        "ops",
        ("provider_name", "usage_month", "billing_currency", "cost_component", "reason"),
        "One row per provider, month, currency, component and reason: the rows of fct_residual_costs, added up.",
        {
            "provider_name": "Cloud provider, AWS or Google Cloud.",
            "usage_month": "First day of the month in UTC.",
            "billing_currency": "Currency of the bill.",
            "cost_component": "What the money was for, for example accelerator or storage.",
            "reason": "Why no run carries it.",
            "row_count": "Rows that were added up.",
            "billed_cost": "On the invoice.",
            "effective_cost": "Spread over commitments.",
            "spread_effective_cost": "What of it the fully loaded view gives to runs.",
        },
    ),
    {name: name for name in ("billed_cost", "effective_cost", "spread_effective_cost")},
)
TOTALS = {one.of: one for one in (RECONCILED, RESIDUAL)}


def write_totals(connection: duckdb.DuckDBPyConnection, rows: TableDigest, before: Mapping[str, tuple[int, str]] | None) -> None:
    """Bring the totals of a table, if it has some, to its rows. `before`: the parts that they are of; None if there are none."""
    totals = TOTALS.get(rows.table)
    if totals is None:
        return
    place = f"ops.{totals.table.name}"
    if before is None:
        connection.execute(f"create or replace table {place} as {totals.query('true')}")
        return
    changed = [part for part in sorted({*before, *rows.partitions}) if before.get(part) != rows.partitions.get(part)]
    if changed:
        months = " or ".join(condition_of(part) for part in changed)
        connection.execute(f"delete from {place} where {months}")
        connection.execute(f"insert into {place} {totals.query(months)}")
