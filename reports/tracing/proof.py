"""The rows behind a figure, proved: the figure's own SQL, run on views of those rows alone, gives the figure again.

Which rows to try is guessed from names: the row's key, the months of the quarter, the runs of a team, the words that the SQL
compares columns with. A guess that is wrong costs nothing but time: what it leaves out changes the answer, and it is given up.
So the answer is right however the SQL was written, and only as narrow as the guesses are good.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from reports.door import MEMORY, Door, Row, lock, rows_of, settings
from reports.errors import PublicationError
from reports.page.numbers import plain
from reports.quarter import Quarter
from reports.tracing.figures import Figure, FigureError

TABLE = re.compile(r"\b(marts|ops)\s*\.\s*\"?([A-Za-z_][A-Za-z_0-9]*)\"?")
COMPARED = re.compile(r"\b([a-z_][a-z_0-9]*)\s*(?:=\s*('(?:[^']|'')*')|in\s*\(((?:\s*'(?:[^']|'')*'\s*,?)+)\))", re.I)
RUNS, RUN = "marts.dim_training_runs", "training_run_id"
MONTH = "usage_month"
ALL, NOTHING = "true", "false"


@dataclass(frozen=True)
class RowSet:
    """Some rows of a published table: those that meet every filter. No filter: all of them."""

    table: str
    filters: tuple[str, ...]
    count: int

    @property
    def condition(self) -> str:
        return _condition(self.filters)


@dataclass(frozen=True)
class Proof:
    """The rows that alone give a figure again."""

    of: str
    value: str | None
    rows: tuple[RowSet, ...]

    @property
    def sentence(self) -> str:
        sets = [
            f"{one.count} row{'' if one.count == 1 else 's'} of {one.table.partition('.')[2]}" for one in self.rows if one.count
        ]
        value = "no value" if self.value is None else self.value
        return f"proved: {' and '.join(sets)} give {value}" if sets else f"nothing is proved: {value} is given by no row"

    @property
    def is_of_nothing(self) -> bool:
        """Whether it claims an amount that no row gives: zero rows prove none."""
        return not any(one.count for one in self.rows) and bool((self.value or "").strip("0.-"))


@dataclass
class Prover:
    """A published file with views over it, by which the SQL of figures is run on fewer rows."""

    connection: duckdb.DuckDBPyConnection
    columns: Mapping[str, frozenset[str]]
    shown: dict[str, str] = field(default_factory=dict)  # what each view shows now
    instead: dict[str, str] = field(default_factory=dict)  # what is shown in place of a published table
    answers: dict[str, list[Row]] = field(default_factory=dict)  # of queries on all rows, which are asked more than once
    door: Door | None = None  # through which a report's SQL is asked

    def rows(self, sql: str, conditions: Mapping[str, str]) -> list[Row]:
        """The answer of a query on the rows that meet these conditions."""
        for table, condition in conditions.items():
            self.show(table, condition)
        return self.door.rows(sql) if self.door else rows_of(self.connection.execute(sql))

    def lock(self, seconds: float | None = None) -> None:
        """From here on no file is reached, and what is asked goes through the door: it may be SQL that came in a report."""
        if self.door is None:
            lock(self.connection)
            self.door = Door(self.connection, seconds)

    def whole(self, sql: str) -> list[Row]:
        """The answer of a query on all rows."""
        if sql not in self.answers:
            self.answers[sql] = self.rows(sql, dict.fromkeys(self.tables(sql), ALL))
        return self.answers[sql]

    def show(self, table: str, condition: str) -> None:
        """Let the view of a table have the rows that meet a condition."""
        rows = f"{self.instead.get(table, f'published.{table}')} where {condition}"
        if self.shown.get(table) != rows:
            self.connection.execute(f"create or replace view {table} as select * from {rows}")
            self.shown[table] = rows

    def show_all(self, tables: Iterable[str]) -> None:
        """Let the views have all rows again."""
        for table in tables:
            self.show(table, ALL)

    def count(self, table: str, condition: str) -> int:
        (count,) = self.connection.execute(f"select count(*) from published.{table} where {condition}").fetchone() or (0,)
        return int(count)

    def tables(self, sql: str) -> list[str]:
        """The published tables that a query reads."""
        named = dict.fromkeys(f"{schema}.{name}" for schema, name in TABLE.findall(sql))
        return [table for table in named if table in self.columns]


@contextmanager
def opened(published: Path, memory_limit: str = MEMORY) -> Iterator[Prover]:
    """A published file, read-only, and beside it in memory the views that restrict it."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="trainledger-door-") as scratch,
            duckdb.connect(config=settings(Path(scratch) / "spill", memory_limit)) as connection,
        ):
            name = str(published).replace("'", "''")
            connection.execute(f"set TimeZone = 'UTC'; attach '{name}' as published (read_only)")
            connection.execute("create schema marts; create schema ops")
            columns: dict[str, set[str]] = {}
            for schema, table, column in connection.execute(
                "select schema_name, table_name, column_name from duckdb_columns()"
                " where database_name = 'published' and schema_name in ('marts', 'ops')"
            ).fetchall():
                columns.setdefault(f"{schema}.{table}", set()).add(column)
            for table in columns:
                connection.execute(f"create view {table} as select * from published.{table}")
            yield Prover(connection, {table: frozenset(names) for table, names in columns.items()})
    except duckdb.IOException as error:
        raise PublicationError(f"{published} cannot be read as a published DuckDB file: {error}") from error


def prove(prover: Prover, figure: Figure, quarter: Quarter | None = None) -> Proof:
    """The rows that alone give a figure again. FigureError where the published file does not give it at all."""
    row = figure.row_of(prover.whole(figure.sql))
    if row is None or figure.column not in row:
        raise FigureError(f"The published file has no figure {figure.id}. Was it published again? Then render the report again.")
    wanted = row[figure.column]
    if figure.is_printed and plain(wanted) != figure.value:
        raise FigureError(
            f"The published file gives {plain(wanted)} for {figure.id}, the report prints {figure.value}: it was"
            " rendered of another"
            " publication. Render it again."
        )

    def is_same(rows: list[Row]) -> bool:
        found = figure.row_of(rows)
        return found is not None and found[figure.column] == wanted

    sets = _sets(prover, figure.sql, figure.key, quarter, is_same)
    return Proof(figure.id, plain(wanted), sets)


def narrowest(prover: Prover, statement: str, rows: str, quarter: Quarter | None = None) -> tuple[RowSet, ...]:
    """The rows that alone let a report table's statement give some rows of that table (a query of them) again."""
    described = prover.connection.execute(f"describe {statement}").fetchall()
    columns = [name for name, *_ in described]
    named = {name for name, kind, *_ in described if kind in ("VARCHAR", "DATE")}
    listed = ", ".join(f'"{name}"' for name in columns)
    wanted = prover.connection.execute(f"select {listed} from {rows} order by all").fetchall()
    sql = f"select {listed} from ({statement}) as report where ({listed}) in (select ({listed}) from wanted_rows) order by all"
    prover.connection.execute(f"create or replace temp table wanted_rows as select {listed} from {rows}")
    same = {name: plain(values[0]) for name, *values in zip(columns, *wanted, strict=True) if len(set(values)) == 1}
    key = {name: value for name, value in same.items() if value and name in named}
    return _sets(prover, sql, key, quarter, lambda found: [tuple(row.values()) for row in found] == wanted, statement)


def _sets(
    prover: Prover,
    sql: str,
    key: Mapping[str, str | None],
    quarter: Quarter | None,
    is_same: Callable[[list[Row]], bool],
    statement: str = "",
) -> tuple[RowSet, ...]:
    def holds(chosen: Mapping[str, Sequence[str]]) -> bool:
        try:
            return is_same(prover.rows(sql, {table: _condition(filters) for table, filters in chosen.items()}))
        except duckdb.Error:  # a guess may compare what cannot be compared
            return False

    tables = prover.tables(statement or sql)
    chosen = _narrowed({table: _guesses(prover, table, sql, key, quarter) for table in tables}, holds)
    prover.show_all(tables)
    return tuple(RowSet(table, tuple(filters), prover.count(table, _condition(filters))) for table, filters in chosen.items())


def _narrowed(guesses: Mapping[str, Sequence[str]], holds: Callable[[Mapping[str, Sequence[str]]], bool]) -> dict[str, list[str]]:
    """Filters by table that keep the answer: all guesses at once, else one by one; and what is not needed at all."""
    at_once = {table: list(found) for table, found in guesses.items()}
    chosen = at_once if holds(at_once) else {table: [] for table in guesses}
    for table, found in guesses.items():
        if holds(chosen | {table: [NOTHING]}):
            chosen[table] = [NOTHING]
            continue
        for guess in found:
            if guess not in chosen[table] and holds(chosen | {table: [*chosen[table], guess]}):
                chosen[table] = [*chosen[table], guess]
    return chosen


def _guesses(prover: Prover, table: str, sql: str, key: Mapping[str, str | None], quarter: Quarter | None) -> list[str]:
    """Filters that may leave all rows that a figure needs, the most telling first."""
    columns = prover.columns[table]
    found = []
    for name, value in key.items():
        same = f"cast({name} as varchar) = {_literal(value)}" if value else f"coalesce(cast({name} as varchar), '') = ''"
        if name in columns:
            found.append(same)
        elif RUN in columns and table != RUNS and name in prover.columns.get(RUNS, ()):
            found.append(f"{RUN} in (select {RUN} from published.{RUNS} where {same})")
    if quarter and MONTH in columns:
        found.append(f"{MONTH} >= date '{quarter.start}' and {MONTH} < date '{quarter.end}'")
    for name, one, several in COMPARED.findall(sql):
        if name.lower() in columns and name.lower() not in key:
            found.append(f"{name.lower()} {f'= {one}' if one else f'in ({several})'}")
    return list(dict.fromkeys(found))


def _condition(filters: Sequence[str]) -> str:
    return " and ".join(f"({one})" for one in filters) or ALL


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
