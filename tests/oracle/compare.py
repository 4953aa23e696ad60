"""Hold a published file against the oracle: every key and every amount, to the last digit.

Returns sentences, not a verdict with a tolerance. Reads the file with DuckDB, read-only.
"""

from decimal import Decimal
from pathlib import Path

import duckdb

from .oracle import Tables

_CELL = ("source_name", "provider_name", "payer_account_id", "sub_account_id", "service_code", "region_id", "usage_month")
_RECONCILED_CELL = ("provider_name", "payer_account_id", "sub_account_id", "service_code", "region_id", "usage_month")

KEYS: dict[str, tuple[str, ...]] = {
    "fct_run_cell_costs": ("training_run_id", *_CELL, "billing_currency", "cost_component", "attribution_rule"),
    "fct_residual_costs": (*_CELL, "billing_currency", "cost_component", "accelerator_type", "reason"),
    "fct_training_run_costs": ("training_run_id", "usage_month", "billing_currency", "cost_component", "attribution_rule"),
    "fct_prepaid": ("provider_name", "payer_account_id", "commitment_id", "usage_month", "billing_currency"),
    "fct_run_cell_emissions": ("training_run_id", *_CELL, "provider_model_version"),
    "fct_residual_emissions": (*_CELL, "provider_model_version", "reason"),
    "fct_training_run_emissions": ("training_run_id", "usage_month", "provider_name"),
    "fct_training_run_emissions_versions": ("training_run_id", "usage_month", "provider_name", "provider_model_version"),
    "fct_training_run_energy": ("training_run_id", "usage_month"),
    "fct_training_run_water": ("training_run_id", "usage_month"),
    "fct_training_run_emissions_modelled": ("training_run_id", "usage_month", "region_id", "factor_set_id"),
    "fct_reconciliation": (*_RECONCILED_CELL, "measure", "unit_or_currency", "provider_model_version", "method", "source_name"),
}


def _without_version(identity: tuple) -> tuple:
    """A bill has no model version; whether that is shown by null or by empty text is the contract's affair, not an amount."""
    return tuple(
        None if name == "provider_model_version" and value == "" else value
        for name, value in zip(KEYS["fct_reconciliation"], identity, strict=True)
    )


def published_rows(connection: duckdb.DuckDBPyConnection, table: str, measures: list[str]) -> dict[tuple, dict]:
    key = KEYS[table]
    columns = ", ".join([*key, *measures])
    rows = {}
    for record in connection.execute(f"select {columns} from marts.{table}").fetchall():
        identity = record[: len(key)] if table != "fct_reconciliation" else _without_version(record[: len(key)])
        if identity in rows:
            raise AssertionError(f"{table} has the key {identity} twice")
        rows[identity] = dict(zip(measures, record[len(key) :], strict=True))
    return rows


def _described(table: str, key: tuple) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(KEYS[table], key, strict=True))


def _amounts(row: dict) -> str:
    filled = ", ".join(f"{name}={value:f}" for name, value in row.items() if isinstance(value, Decimal) and value)
    return filled or "all zero or unknown"


def table_differences(table: str, oracle: dict[tuple, dict], published: dict[tuple, dict]) -> list[str]:
    def order(key: tuple) -> tuple:
        return tuple(str(value) for value in key)

    found = []
    for key in sorted(oracle.keys() - published.keys(), key=order):
        found.append(f"{table}: not published: {_described(table, key)} ({_amounts(oracle[key])})")
    for key in sorted(published.keys() - oracle.keys(), key=order):
        found.append(f"{table}: unknown to the oracle: {_described(table, key)} ({_amounts(published[key])})")
    for key in sorted(oracle.keys() & published.keys(), key=order):
        for measure, expected in oracle[key].items():
            value = published[key][measure]
            if value != expected:
                found.append(f"{table}: {_described(table, key)}: {measure} is {value}, the oracle says {expected}")
    return found


def differences(published: Path, tables: Tables) -> list[str]:
    """One sentence per row or amount that is not the same on both sides."""
    found = []
    with duckdb.connect(str(published), read_only=True) as connection:
        for table, oracle in tables.items():
            key = set(KEYS[table])
            if oracle:
                measures = list(dict.fromkeys(name for row in oracle.values() for name in row))
            else:
                described = connection.execute(f"describe marts.{table}").fetchall()
                measures = [name for name, kind, *_ in described if kind.startswith("DECIMAL") and name not in key]
            rows = published_rows(connection, table, measures)
            found += table_differences(table, oracle, rows)
    return found


def report(found: list[str], at_most: int = 40) -> str:
    more = f"\n... and {len(found) - at_most} more" if len(found) > at_most else ""
    return f"{len(found)} differences\n" + "\n".join(found[:at_most]) + more
