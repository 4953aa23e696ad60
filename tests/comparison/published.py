"""The compiled models on invented rows of some of their tables: what they make of these, and of seeds and empty tables beside.

Nothing of a model is written again here: which statements must run follows from what they read. A build of empty raw tables gives
every other table its columns; worlds and cases are drawn elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import polars as pl

from dagster_project.warehouse import runner
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.statements import Statement, statements
from tests.comparison.side_by_side import WORLD, side_by_side
from tests.energy import raw_tables


def make_template(folder: Path) -> None:
    """A build of a company without any export: every table, empty, and the seeds."""
    folder.mkdir(parents=True)
    with duckdb.connect(str(folder / "build.duckdb")) as connection:
        raw_tables.create(connection)
        build = Build("b", "", "", "", {}, [], is_full=True)
        every = [one for one in statements(folder) if not one.is_test]
        broken = [f"{node.name}: {node.detail}" for node in runner.run(every, build, connection) if node.status != "success"]
    assert not broken, "\n".join(broken)


class Models:
    """The statements that lead from given tables to wanted ones, to be run on one set of invented rows after another.

    `kept` has, of a table, the condition of the rows that are kept of what the model makes.
    """

    def __init__(
        self, template: Path, given: Sequence[str], wanted: Sequence[str], kept: Mapping[str, str] | None = None
    ) -> None:
        self.kept = kept or {}
        makers = {one.name: one for one in statements(template) if not one.is_test}
        by_relation = {one.relation: one for one in makers.values()}
        self.given = [makers[name] for name in given]
        self.run: list[Statement] = []
        self.empty: list[str] = []
        made: dict[str, bool] = {one.relation: True for one in self.given}

        def is_made(relation: str) -> bool:
            """Whether a table follows from the given ones; those that do are put in the order in which they are run."""
            if relation not in made:
                one = by_relation.get(relation)
                made[relation] = bool(one) and sum(is_made(read) for read in one.reads) > 0
                if made[relation] and one:
                    self.run.append(one)
                else:
                    self.empty.append(relation)
            return made[relation]

        assert all(is_made(makers[name].relation) for name in wanted), "a wanted table reads none of the given ones"
        self.template = template / "build.duckdb"

    def decide(self, rows: Mapping[str, pl.DataFrame], *, worlds: bool = False) -> duckdb.DuckDBPyConnection:
        """A database with the given rows and all that follows from them; a column that a frame does not have is null.

        With `worlds` each given row has one, and each world is a report that sees no other.
        """
        connection = duckdb.connect()
        connection.execute(f"attach '{self.template}' as template (read_only); attach ':memory:' as build; use build")
        connection.execute("set TimeZone = 'UTC'; set threads = 2")
        every = [one.relation for one in (*self.given, *self.run)] + self.empty
        for schema in sorted({relation.partition(".")[0] for relation in every}):
            connection.execute(f"create schema if not exists {schema}")
        for relation in self.empty:
            connection.execute(f"create view {relation} as from template.{relation}")
        for one in self.given:
            connection.execute(f"create table {one.relation} as from template.{one.relation} limit 0")
            if worlds:
                connection.execute(f"alter table {one.relation} add column {WORLD} bigint")
            connection.register("frame", rows[one.name])
            connection.execute(f"insert into {one.relation} by name from frame")
        known = {one.name for one in self.given}
        for one in self.run:
            text = side_by_side(one.sql, known) if worlds else one.sql
            condition = self.kept.get(one.name, "true")
            connection.execute(f"create table {one.relation} as select * from ({text}) as made where {condition}")
            known.add(one.name)
        return connection


def table(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    """The answer as a frame."""
    return connection.execute(query).pl()
