"""The figures of a report that rest on some rows: those that its SQL gives otherwise, or no more, on all other rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from reports.page.numbers import plain
from reports.publication import Row
from reports.tracing.figures import figure_id, headline_id, row_key, tables_of
from reports.tracing.proof import ALL, Prover


def changed_figures(prover: Prover, record: Mapping[str, Any], conditions: Mapping[str, str]) -> list[str]:
    """Ids of figures that change when the rows that meet a condition, by table, are taken away."""
    without = {table: f"({condition}) is not true" for table, condition in conditions.items()}
    found = []
    for figure in record["figures"]:
        before, after = _both(prover, figure["sql"], without)
        if before != after and [row.get("value") for row in before] != [row.get("value") for row in after]:
            found.append(headline_id(record, figure))
    for table in tables_of(record):
        before, after = _both(prover, table["sql"], without)
        if before == after:
            continue
        names = row_key(table)
        left = {_key(row, names): row for row in after}
        for row in before:
            other = left.get(_key(row, names), {})
            changed = [
                column["id"]
                for column in table["columns"]
                if column["id"] not in names and row[column["id"]] != other.get(column["id"])
            ]
            found += [
                figure_id((record["quarter"], table["id"]), [plain(row[name]) for name in names], column) for column in changed
            ]
    return found


def _both(prover: Prover, sql: str, without: Mapping[str, str]) -> tuple[list[Row], list[Row]]:
    """The answer on all rows and on those that are left; twice the same where the query reads none of the tables."""
    tables = prover.tables(sql)
    if not any(table in without for table in tables):
        return [], []
    before = prover.whole(sql)
    try:
        after = prover.rows(sql, {table: without.get(table, ALL) for table in tables})
    except duckdb.Error:  # it cannot be answered without them
        after = []
    prover.show_all(tables)
    return before, after


def _key(row: Row, names: list[str]) -> tuple[str | None, ...]:
    return tuple(plain(row[name]) for name in names)
