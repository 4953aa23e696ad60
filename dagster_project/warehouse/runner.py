"""Runs the statements of a build on DuckDB: those that can give other rows than lie there, one after another.

A model is left as it is where its statement is what it was, and so are the contents of all it reads, of all months: it was
written of the same, so it would be written the same. Where what it reads has changed, a table by month gets the months of the
build, which the units decide (election/units.py). Rows that come out as they were do not count as a change, and what reads them
is left as it is: there the wave ends. A table and its state are written in one transaction, so a build that was killed goes on
behind its last table. Of a table by day only the days that changed are written (days.py). Which statements there are is written
in statements.py, what a result means for a publication in gates.py.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb

from dagster_project.base.failures import machine_failure
from dagster_project.publishing.digest import quoted
from dagster_project.publishing.last import contents, reached
from dagster_project.publishing.view_files import SHOWN
from dagster_project.warehouse import days, states
from dagster_project.warehouse.nodes import NodeResult, first_rows
from dagster_project.warehouse.statements import BY_MONTH, SEED, TABLE, VIEW, Statement
from dagster_project.warehouse.states import State

if TYPE_CHECKING:
    from dagster_project.warehouse.builds import Build

SMALL_BYTES = 32_000_000  # of exports that count, compressed as they landed
# they choose rows of a table by month and are no contents of it
MONTHS_OF_BUILD = {"raw.build_months", "raw.status_months", "raw.build_days"}
CONTROLS = {
    "raw.measure_totals"
}  # worked out of deliveries as they landed: these are the contents, and are in the version of their kind
BROKEN = ("error", "fail", "skipped")


def run(
    statements: Sequence[Statement],
    build: Build,
    connection: duckdb.DuckDBPyConnection,
    *,
    threads: int = 2,
    is_the_last: bool = False,
) -> Iterator[NodeResult]:
    """Run what must be run, on two threads as dbt's profile, and yield what became of every model, seed and test as it ends.

    `is_the_last`: nothing is built on the same file after it. So no states are kept by which that would know what moved, and
    report views are laid out as tables: to find that one can be read, and to read it from another, would lay it out each time.
    """
    connection.execute(f"set TimeZone = 'UTC'; set threads = {int(os.environ.get('TRAINLEDGER_THREADS', threads))}")
    connection.execute(f"attach if not exists ':memory:' as {SHOWN}")
    runner = _Runner(build, connection, is_the_last=is_the_last)
    for schema in sorted({one.schema for one in statements if not one.is_test}):
        connection.execute(f"create schema if not exists {schema}")
    for statement in statements:
        yield runner.result(statement)
    if is_the_last:
        return
    # what moved, and which tests passed once all have been asked: one that is asked again costs little
    connection.begin()
    states.write(connection, [*runner.moved, *runner.passed])
    connection.commit()


def worth_threads(connection: duckdb.DuckDBPyConnection) -> int:
    """How many threads the deliveries that count are worth: of few rows a second one waits more than it works.

    There it costs a quarter of a refresh's processor time and saves no time on the clock; no figure depends on it.
    """
    found = connection.execute("select sum(bytes) > ? from ops.dim_deliveries where is_elected", [SMALL_BYTES]).fetchone()
    return 2 if found and found[0] else 1


def remove_others(statements: Sequence[Statement], connection: duckdb.DuckDBPyConnection) -> None:
    """Remove what another version of the project made in the schemas of the models."""
    made = {one.relation for one in statements if not one.is_test}
    schemas = {relation.partition(".")[0] for relation in made}
    for relation, kind in _relations(connection).items():
        if relation.partition(".")[0] in schemas and relation not in made:
            connection.execute(f"drop {kind} {relation}")


def _relations(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Every table and view, and which of both it is."""
    found = connection.execute(
        "select schema_name || '.' || table_name, 'table' from duckdb_tables() where not internal union all"
        " select schema_name || '.' || view_name, 'view' from duckdb_views() where not internal"
    ).fetchall()
    return dict(found)


def _rows(state: State) -> bool:
    """Whether a table has rows, by its sums."""
    return any(rows for rows, *_ in json.loads(state.sums or "")["parts"].values())


class _Runner:
    """One build: the versions of the contents so far, and what is broken."""

    def __init__(self, build: Build, connection: duckdb.DuckDBPyConnection, *, is_the_last: bool = False) -> None:
        self.build, self.is_the_last = build, is_the_last
        self.connection = connection
        self.states = states.read(connection)
        self.there = _relations(connection)
        self.makers: dict[str, Statement] = {}
        self.above: dict[str, set[str]] = {}  # of each model all models and seeds that it is made of
        self.broken: dict[str, str] = {}  # models that were not built, and why
        self.failed: list[tuple[str, set[str]]] = []  # tests that stop the build, and the models they read
        self.shown = set[str]()  # report views of which the rows are kept until the build is published
        self.filled: dict[tuple[str, str], bool] = {}  # whether a model has rows of a condition
        self.moved: list[State] = []  # beside which nothing is written: they go with the next table
        self.passed: list[State] = []

    def result(self, statement: Statement) -> NodeResult:
        """Run one statement, or say why it is not run."""
        started = time.monotonic()
        reads = {read for read in statement.reads if read in self.makers}
        above = reads.union(*(self.above[read] for read in reads))
        if not statement.is_test:
            self.makers[statement.relation], self.above[statement.relation] = statement, above
        rows: int | None = None
        detail: str | None = None
        failures = 0
        try:
            if cause := self._cause(statement, above):
                status, detail = "skipped", f"skipped: {cause}"
            elif statement.is_test:
                status, failures, detail = self._test(statement)
            else:
                status, rows = self._model(statement)
        except duckdb.Error as error:
            if machine_failure(error):
                raise
            status, detail = "error", f"error: {' '.join(str(error).split())[:500]}"
        if status in BROKEN and not statement.is_test:
            self.broken[statement.relation] = statement.name
        elif status in ("error", "fail") and statement.blocks:
            self.failed.append((statement.name, reads))
        kind = "test" if statement.is_test else "seed" if statement.kind == SEED else "model"
        seconds = time.monotonic() - started
        return NodeResult(statement.unique_id, statement.name, kind, status, seconds, rows, failures, detail)

    def _cause(self, statement: Statement, above: set[str]) -> str | None:
        """Why a statement cannot be run: what it is made of was not built, or failed a test of nothing else."""
        for relation in sorted(above & self.broken.keys()):
            return f"{self.broken[relation]} was not built"
        if not statement.is_test:
            return next((f"{test} failed" for test, reads in self.failed if reads and reads <= above), None)
        return None

    def _inputs(self, statement: Statement) -> str:
        """The contents of all that a statement reads, and the engine that runs it."""
        chosen = MONTHS_OF_BUILD | CONTROLS if statement.is_test else MONTHS_OF_BUILD if statement.kind == BY_MONTH else set()
        versions = [(read, self._version(read)) for read in statement.reads if read not in chosen]
        return states.sha256(duckdb.__version__, versions)

    def _version(self, relation: str) -> str:
        """What nobody keeps a state of may have changed."""
        state = self.states.get(relation)
        return state.version if state else self.build.build_id

    def _is_same(self, statement: Statement, key: str) -> bool:
        """Whether it is there and its statement is the one by which it was made."""
        state = self.states.get(key)
        is_there = statement.is_test or self.there.get(key) == "table"
        return is_there and state is not None and state.definition == statement.definition

    def _model(self, statement: Statement) -> tuple[str, int | None]:
        """Bring a view or table to what it is made of. Returns what became of it and, if it was written, its rows."""
        if self.is_the_last and statement.is_report and statement.kind == VIEW:
            statement = replace(statement, kind=TABLE)
        key, inputs = statement.relation, self._inputs(statement)
        if statement.kind == VIEW:
            return self._view(statement, inputs), None
        is_same, before = self._is_same(statement, key), self.states.get(key)
        if is_same and before and before.inputs == inputs and not (self.build.is_forced and statement.kind == BY_MONTH):
            return "unchanged", None
        months: list[str] | None = None  # all of them
        if is_same and statement.kind == BY_MONTH:
            months = sorted({*self.build.months, *(self.build.turned if statement.shows_status else ())})
        built_days = self._changed_days(statement, before, months) if months and statement.by_day else None
        if built_days == []:
            months = []
        # nothing of it is written, or there is nothing to write
        if is_same and before and (months == [] or (not self.build.is_forced and self._stays_empty(statement, before))):
            self._keep(replace(before, inputs=inputs))
            return "unchanged", None
        return self._write(statement, inputs, before, months, built_days)

    def _stays_empty(self, statement: Statement, before: State) -> bool:
        """Whether a table had no rows and gets none. Example: of an organisation without telemetry there is no use of a chip."""
        if not statement.empty_without or _rows(before):
            return False
        return not any(self._has_rows(*one) for one in statement.empty_without)

    def _has_rows(self, relation: str, condition: str) -> bool:
        """Whether a model that is behind us in the order has such a row, asked once, and not of one that is known to be empty."""
        state = self.states.get(relation)
        if state and state.sums and (condition == "true" or not _rows(state)):
            return _rows(state)
        if (relation, condition) not in self.filled:
            asked = f"select 1 from {relation} where {condition} limit 1"
            self.filled[relation, condition] = bool(self.connection.execute(asked).fetchall())
        return self.filled[relation, condition]

    def _view(self, statement: Statement, inputs: str) -> str:
        """A view is as new as what it reads. It is created again where a statement below it changed: columns may have."""
        key, above = statement.relation, sorted(self.above[statement.relation])
        made_of = [self.states[one].definition for one in above if one in self.states]
        definition = states.sha256(statement.definition, made_of, self._version("raw"))
        before, is_there = self.states.get(key), self.there.get(key) == "view"
        state = State(key, definition, inputs, states.sha256(statement.definition, inputs))
        if is_there and before == state:
            return "unchanged"

        def read() -> State:
            """The state of a view that can be read: an amount without room in its columns is found here, not by a reader."""
            if statement.is_report:
                self.connection.execute(f"select bit_xor(hash(view_row)) from {statement.relation} as view_row")
            return state

        if not (is_there and before and before.definition == definition):
            self._create(statement, "view", read)
            return "success"
        if statement.is_report:  # its tests and its files take the rows from here: laying a view out costs more than its rows
            self.connection.execute(f"create or replace table {SHOWN}.{quoted(statement.name)} as from {key}")
            self.shown.add(key)
        self._keep(state)
        return "success"

    def _keep(self, state: State) -> None:
        """Keep the state of what is as it lies there, though what it is made of is not what it was."""
        self.states[state.node] = state
        self.moved.append(state)

    def _write(
        self, statement: Statement, inputs: str, before: State | None, months: list[str] | None, built_days: list[str] | None
    ) -> tuple[str, int | None]:
        """Write a table, or months or days of it, and its state. The version stays where the rows are what they were."""
        was_there = statement.relation in self.there

        def state() -> State:
            made_of = self._made_of(statement, before, months) if statement.by_day else None
            if self.is_the_last:
                return State(statement.relation, statement.definition, inputs, self.build.build_id, days=made_of)
            sums = json.dumps(self._sums(statement, before, months, built_days))
            is_equal = before is not None and was_there and before.sums == sums
            version = before.version if before and is_equal else self.build.build_id
            return State(statement.relation, statement.definition, inputs, version, sums, made_of)

        written = self._create(statement, "table", state, months, built_days)
        return "success", sum(rows for rows, *_ in json.loads(written.sums)["parts"].values()) if written.sums else None

    def _changed_days(self, statement: Statement, before: State | None, months: list[str]) -> list[str] | None:
        """The days of some months that are built again of a table by day; None for all, whatever they are."""
        if statement.landed_days_of:
            return list(days.of_build(self.connection, statement.landed_days_of))
        if self.build.is_forced or before is None or before.days is None:
            return None
        now, of_months = self._days_of(statement), {month[:7] for month in months}
        last: dict[str, str] = json.loads(before.days)
        return sorted(day for day in now.keys() | last.keys() if day[:7] in of_months and now.get(day) != last.get(day))

    def _made_of(self, statement: Statement, before: State | None, months: list[str] | None) -> str | None:
        """The versions of the days that a table by day is made of once it is written, as JSON."""
        if statement.landed_days_of:
            return days.after(self.connection, statement.landed_days_of, before, is_whole=months is None)
        if self.is_the_last:
            return None
        now = self._days_of(statement)
        if months is not None and before and before.days:  # of months that no build has had since, what they were made of
            of_months = {month[:7] for month in months}
            kept = {day: version for day, version in json.loads(before.days).items() if day[:7] not in of_months}
            now = kept | {day: version for day, version in now.items() if day[:7] in of_months}
        return json.dumps(dict(sorted(now.items())))

    def _days_of(self, statement: Statement) -> dict[str, str]:
        """The version of each day of which a table by day can have rows, by the sums of what it reads."""
        reads = [(read, self.makers.get(read), self.states.get(read)) for read in statement.reads if read not in MONTHS_OF_BUILD]
        return days.versions_by_sums(
            [
                (json.loads(state.sums), maker)
                if state and state.sums and maker and maker.kind == BY_MONTH
                else (self._version(read), None)
                for read, maker, state in reads
            ]
        )

    def _create(
        self,
        statement: Statement,
        kind: str,
        state: Callable[[], State],
        months: list[str] | None = None,
        built_days: list[str] | None = None,
    ) -> State:
        """Create a view or table, or write months or days of one, and its state in one transaction."""
        relation, there = statement.relation, dict(self.there)
        self.connection.begin()
        try:
            if months is None:
                if is_there := self.there.pop(relation, None):
                    self.connection.execute(f"drop {is_there} {relation}")
                self.connection.execute(statement.whole())
                self.there[relation] = kind
            else:
                self.connection.execute(statement.of_months(months, built_days))
            made = state()
            if not self.is_the_last:
                states.write(self.connection, [*self.moved, made])
            self.connection.commit()
        except BaseException:
            self.connection.rollback()
            self.there = there
            raise
        self.states[relation] = made
        self.moved.clear()
        return made

    def _sums(
        self, statement: Statement, before: State | None, months: list[str] | None, built_days: list[str] | None
    ) -> dict[str, Any]:
        """Columns of a table, and by month, or by day, sums over the hashes of its rows: equal where the rows are.

        Of a table of which only `months` or days were written, those of others are what they were. Where others read by the days
        that rows reach, the same by these days.
        """
        relation, condition = statement.relation, "true"
        last = json.loads(before.sums) if before and before.sums and months is not None else None
        by_day = statement.by_day or statement.days

        def is_kept(part: str) -> bool:
            """Whether nothing of a part was written."""
            if last is None or not months or statement.also_replaced:
                return False
            if statement.by_day and built_days is not None:
                return part not in built_days
            return part[:7] not in {month[:7] for month in months}

        if last and months and not statement.also_replaced:
            condition = statement.replaced(months, built_days)
        if last:
            columns = last["columns"]
        else:
            columns = [(name, str(kind)) for name, kind, *_ in self.connection.execute(f"from {relation} limit 0").description]
        found: dict[str, Any] = {"columns": columns}
        written = f"(from {relation} where {condition})"
        if statement.reaches:
            by_reach = reached(self.connection, written, columns, statement.reaches, statement.by_day)
            kept = {part: sums for part, sums in last["reached"].items() if is_kept(part)} if last else {}
            found["reached"] = dict(sorted((kept | by_reach).items()))
        if statement.reaches and statement.by_day:  # a row reaches its own day
            parts = {part: sums[part] for part, sums in by_reach.items()}
        else:
            parts = contents(self.connection, written, columns, by_day)
        kept = {part: sums for part, sums in last["parts"].items() if is_kept(part)} if last else {}
        kept |= {part: sums for part, sums in parts.items() if sums[0]}
        return {**found, "parts": dict(sorted(kept.items()))}

    def _test(self, statement: Statement) -> tuple[str, int, str | None]:
        """Ask a test, unless nothing that it reads changed. Returns how it ended, its failures and their first rows."""
        key, inputs = statement.unique_id, self._inputs(statement)
        before = self.states.get(key)
        if before and self._is_same(statement, key) and before.inputs == inputs and not self.build.is_forced:
            return "unchanged", 0, f"unchanged since {before.version}"
        sql = statement.sql
        for relation in self.shown.intersection(statement.reads):
            schema, _, name = relation.partition(".")
            sql = sql.replace(f'"build"."{schema}"."{name}"', f"{SHOWN}.{quoted(name)}")
        (failures,) = self.connection.execute(f"select count(*) from (\n{sql}\n) as failing").fetchone() or (1,)
        if not failures:
            self.passed.append(State(key, statement.definition, inputs, self.build.build_id))
            return "pass", 0, None
        detail = first_rows(self.connection, statement.sql)
        return "fail" if statement.blocks else "warn", int(failures), detail
