"""The figures of a report that rest on some rows: those that its SQL gives otherwise, or no more, on all other rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb

from reports.door import Row
from reports.page.numbers import plain
from reports.tracing.figures import VALUE, figure_id, headline_id, row_key, tables_of
from reports.tracing.proof import ALL, Prover


@contextmanager
def without(prover: Prover, conditions: Mapping[str, str], statements: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Report tables made anew without the rows that meet a condition. Gives, by table, the condition of what is left."""
    left = {table: f"({condition}) is not true" for table, condition in conditions.items()}
    waiting = {f"marts.{name}": text for name, text in statements.items()}
    made: dict[str, str] = {}
    try:
        while waiting:
            ready = [name for name, text in waiting.items() if not (set(prover.tables(text)) - {name}) & waiting.keys()]
            for name in ready or list(waiting):
                text = waiting.pop(name)
                tables = [table for table in prover.tables(text) if table != name]
                if any(table in left for table in tables):
                    made[name] = f"without_{name.partition('.')[2]}"
                    _make(prover, made[name], text, {table: left.get(table, ALL) for table in tables})
                    left[name] = ALL
                    prover.instead[name] = made[name]
        prover.instead.clear()
        yield left | {f"made {name}": source for name, source in made.items()}
    finally:
        prover.instead.clear()
        prover.show_all(prover.columns)


def _make(prover: Prover, name: str, text: str, conditions: Mapping[str, str]) -> None:
    """Make a report table of some rows; where its statement cannot be run on them it is empty: no figure of it is the same."""
    for table, condition in conditions.items():
        prover.show(table, condition)
    try:
        prover.connection.execute(f"create or replace temp table {name} as {text}")
    except duckdb.OutOfRangeException:
        prover.connection.execute(f"create or replace temp table {name} as select * from ({text}) where false")


def changed_figures(prover: Prover, record: Mapping[str, Any], left: Mapping[str, str]) -> list[str]:
    """Ids of the figures that are others on what `without` leaves."""
    found = []
    for figure in record["figures"]:
        before, after = _both(prover, figure["sql"], left)
        if [row.get(VALUE) for row in before] != [row.get(VALUE) for row in after]:
            found.append(headline_id(record, figure))
    for table in tables_of(record):
        before, after = _both(prover, table["sql"], left)
        if before == after:
            continue
        names = row_key(table)
        others = {_key(row, names): row for row in after}
        for row in before:
            other = others.get(_key(row, names), {})
            measures = [column["id"] for column in table["columns"] if column["id"] not in names]
            place = (record["quarter"], table["id"])
            key = [plain(row[name]) for name in names]
            found += [figure_id(place, key, column) for column in measures if row[column] != other.get(column)]
    return found


def _both(prover: Prover, sql: str, left: Mapping[str, str]) -> tuple[list[Row], list[Row]]:
    """The answer on all rows and on those that are left; twice nothing where the query reads none of the tables."""
    tables = prover.tables(sql)
    if not any(table in left for table in tables):
        return [], []
    before = prover.whole(sql)
    try:
        prover.instead |= {table: left[f"made {table}"] for table in tables if f"made {table}" in left}
        after = prover.rows(sql, {table: left.get(table, ALL) for table in tables})
    except duckdb.Error:  # it cannot be answered without them
        after = []
    finally:
        prover.instead.clear()
        prover.show_all(tables)
    return before, after


def _key(row: Row, names: list[str]) -> tuple[str | None, ...]:
    return tuple(plain(row[name]) for name in names)
