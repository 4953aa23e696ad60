"""A build file whose raw rows are made larger: money, energy, tokens and hours times a factor, the bill in another currency.

The statements of a build then run on it as they are, so a product or square that has no room for such amounts is found by name.
Gates that compare raw rows with the files as they landed fail on it, and are no matter here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import duckdb

from dagster_project.publishing.digest import literal, quoted
from dagster_project.warehouse import runner, states
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.statements import Statement

MONEY = ("_cost", "cost_at_list", "cost_at_effective_price_default", "credit_amount", "_fee", "_commitment", "_to_date")
MASSES = ("_emissions_value", "scope1", "scope2_", "scope3", "total_location_based", "total_market_based")
ENERGY = ("power_w", "counter_j", "energy_j", "energy_mj")
TOKENS = ("tokens", "model_flops", "device_flops", "effective_flops")
HOURS = ("usage_amount",)
CURRENCIES = ("line_item_currency_code", "currency", "billing_currency", "pricing_currency")
GREATEST = 9_000_000_000_000_000_000  # that a BIGINT of a file may be


def _is_one(name: str, kinds: Sequence[str]) -> bool:
    return any(kind in name for kind in kinds)


def enlarge(connection: duckdb.DuckDBPyConnection, factor: int, money: int = 1, currency: str | None = None) -> None:
    """Put a view before every raw table: amounts times `factor`, money times `factor * money`, all in `currency`."""
    relations = connection.execute(
        "select table_name, table_type from information_schema.tables where table_schema = 'raw' order by all"
    ).fetchall()
    for table, kind in relations:
        columns = {name: of_type for name, of_type, *_ in connection.execute(f"describe raw.{quoted(table)}").fetchall()}
        if "_source_object" not in columns:
            continue
        changed = dict(_changed(columns, factor, factor * money, currency))
        if not changed:
            continue
        what = "view" if kind == "VIEW" else "table"
        connection.execute(f"alter {what} raw.{quoted(table)} rename to {quoted(f'{table}_as_landed')}")
        listed = ", ".join(f"{text} as {quoted(name)}" for name, text in changed.items())
        connection.execute(
            f"create view raw.{quoted(table)} as select * replace ({listed}) from raw.{quoted(f'{table}_as_landed')}"
        )


def _changed(columns: dict[str, str], factor: int, money: int, currency: str | None) -> Iterator[tuple[str, str]]:
    """The columns that are made larger, and how."""
    for name, of_type in columns.items():
        own = name.removesuffix("__text")
        by = money if _is_one(own, MONEY) else factor if _is_one(own, (*MASSES, *ENERGY, *TOKENS, *HOURS)) else 1
        if own in ("power_w", "chips"):  # together they are energy: a thousand times the watts of as many times the chips
            by = min(factor, 1_000) if own == "power_w" else factor // min(factor, 1_000)
        if name in CURRENCIES and currency:
            yield name, f"case when {quoted(name)} is not null then {literal(currency)} end"
        elif by != 1 and of_type == "BIGINT":
            yield name, f"case when {quoted(name)} <= {GREATEST} // {by} then {quoted(name)} * {by} else {quoted(name)} end"
        elif by != 1 and of_type == "DOUBLE":
            yield name, f"{quoted(name)} * {by}"
        elif by != 1 and name != own and of_type == "VARCHAR":
            yield name, f"cast(cast({quoted(name)} as double) * {by} as varchar)"


def run_all(connection: duckdb.DuckDBPyConnection, every: Sequence[Statement], months: Sequence[str]) -> list[NodeResult]:
    """Run every model and test of all months, whatever was built before; no failing test keeps another from running."""
    states.forget(connection, every)
    asked = [replace(one, blocks=False) for one in every]
    build: Any = SimpleNamespace(build_id="enlarged", is_forced=True, months=list(months), turned=[])
    return list(runner.run(asked, build, connection))
