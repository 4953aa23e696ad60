"""Every number of a publication, walked by its class: sums of contributions, and rows that have no business there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from math import isclose
from pathlib import Path

import duckdb

from dagster_project.base.failures import TrainledgerError
from dagster_project.base.sql import literal, quoted
from dagster_project.evidence.tracing.command import read_of_parts
from dagster_project.evidence.tracing.endings import ENDINGS
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.evidence.tracing.rules import Rule, Traced, traced
from dagster_project.evidence.tracing.walk import ATTRIBUTIONS, MONEY, PARTS, WEIGHT, Walk, columns_of, relation, show_parts
from dagster_project.settings import load_settings
from dagster_project.warehouse.home import Home
from tests import nightly

DIVIDED = {
    "bill": "bill",
    "carbon": "carbon",
    "energy": "energy",
}  # endings that give each number to the last digit, and the kind of their rows
WITHOUT_ROWS = {"constant", "issued"}
FIRST_STEPS = 100  # numbers of which a commit asks the first step; nightly asks that of all
DRAWN, ALL = 5, 200  # numbers that are walked all the way down


@contextmanager
def opened(home: Path, config: Path) -> Iterator[tuple[Home, duckdb.DuckDBPyConnection]]:
    """A publication whose pages are tables, so that each is worked out once."""
    site = home / "published"
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'; attach ':memory:' as published")
        connection.execute(f"attach {literal(str(site / 'trainledger.duckdb'))} as asked (read_only)")
        for schema in ("marts", "ops", "pages"):
            connection.execute(f"create schema published.{schema}")
            named = "select table_name from information_schema.tables where table_catalog = 'asked' and table_schema = ?"
            for (table,) in connection.execute(named, [schema]).fetchall():
                if schema != "pages" or table in traced():
                    place = f"{schema}.{quoted(table)}"
                    connection.execute(f"create table published.{place} as from asked.{place}")
        of_home = Home.of(load_settings(config))
        show_parts(connection, {name: read_of_parts(connection, of_home, name, site / "parquet") for name in PARTS})
        yield of_home, connection


class OneStep(Walk):
    """A walk that ends behind its first step: where each step holds of all rows, so does every walk."""

    def follow(self, name: str, column: str, rows: str, depth: int = 0) -> None:
        if depth == 0:
            super().follow(name, column, rows)


def faults(home: Path, config: Path, seed: int = 1) -> list[str]:
    """What does not hold: of the first step of numbers of every row, of drawn walks down, of endings in landed rows."""
    found: list[str] = []
    with opened(home, config) as (of_home, connection):
        landed, columns = Landed(connection, of_home), columns_of(connection)
        numbers = [(table, column) for table in traced().values() if table.name in columns for column in table.numbers]
        for table, column in nightly.drawn(FIRST_STEPS, numbers):
            found += _faults_of(connection, columns, table, column, OneStep)
        for table, column in random.Random(seed).sample(numbers, ALL if nightly.IS_NIGHTLY else DRAWN):
            found += _faults_of(connection, columns, table, column, Walk)
        # and where a walk ends, all rows of a table end: so by each step every number of every row does
        seen = set[tuple[str, str]]()
        for table, column in numbers:
            for rule in table.of(column):
                ending = rule.terms[0].of if rule.kind in ("landed", "lookup") else ""
                if ending and (ending in DIVIDED or (table.name, ending) not in seen):
                    seen.add((table.name, ending))
                    found += _faults_of_ending(landed, table.name, column, ending, rule.when)
    return found


def statistics_that_differ(home: Path, config: Path, seed: int, count: int | None = None) -> list[str]:
    """Statistics of drawn models that the statement, or what the rule states, does not give again of the listed inputs."""
    with opened(home, config) as (_, connection):
        columns = columns_of(connection)
        chosen = random.Random(seed)
        made = [
            (table, [(column, rule) for column in table.numbers for rule in table.of(column) if rule.kind == "statistic"])
            for table in traced().values()
            if table.name in columns
        ]
        models = [(table, statistics) for table, statistics in made if statistics]
        drawn = models if count is None else chosen.sample(models, count)
        walk = Walk(connection, lambda *_: None, columns)
        return [
            f"{table.name}.{column}: {fault}"
            for table, statistics in drawn
            for column, rule in [chosen.choice(statistics)]
            if (fault := _not_given_again(walk, table, column, rule, chosen.random()))
        ]


def _not_given_again(walk: Walk, table: Traced, column: str, rule: Rule, chosen: float) -> str | None:
    """Why a statistic of a row is not given again by its inputs."""
    connection, name = walk.connection, quoted(column)
    found = f"{relation(table.name)} where {name} is not null and ({rule.when})"
    (rows,) = connection.execute(f"select count(*) from {found}").fetchone() or (0,)
    if not rows:
        return None
    connection.execute("attach ':memory:' as listed; create schema listed.marts; create schema listed.ops")
    try:
        place = f"order by {', '.join(map(quoted, table.key))} limit 1 offset {int(chosen * rows)}"
        connection.execute(f"create table listed.own as select * from {found} {place}")
        for term in (*rule.terms, *rule.inputs):
            of, schema = traced()[term.of], "ops" if traced()[term.of].schema == "ops" else "marts"
            joined = walk.joined(table, term, "listed.own", walk.columns[table.name])
            read = f"select distinct p.* from {joined}"
            there = f"listed.{schema}.{quoted(of.name)}"
            connection.execute(f"create table if not exists {there} as {read} limit 0; insert into {there} {read}")
        stated = connection.execute(f"select {name} from listed.own").fetchone()
        connection.execute("use listed")
        if rule.gives:
            listed = quoted(rule.terms[0].of)
            given = connection.execute(f"with p as (from marts.{listed}) {rule.gives}").fetchone()
        else:
            made_by = "report_pages" if table.schema == "pages" else "report_statements"
            asked = f"select statement from published.ops.{made_by} where model = ?"
            [(statement,)] = connection.execute(asked, [table.name]).fetchall()
            same = " and ".join(f"made.{key} is not distinct from own.{key}" for key in map(quoted, table.key)) or "true"
            given = connection.execute(f"select made.{name} from ({statement}) as made semi join own on {same}").fetchone()
        is_same = given and stated and None not in (*given, *stated) and isclose(given[0], stated[0], rel_tol=1e-9, abs_tol=1e-9)
        return None if is_same else f"{stated} is given again as {given}"
    except duckdb.Error as error:
        return str(error)
    finally:
        connection.execute("use memory; detach listed")


def _faults_of(
    connection: duckdb.DuckDBPyConnection, columns: dict[str, set[str]], table: Traced, column: str, kind: type[Walk]
) -> Iterator[str]:
    """Walk all rows of a column: what divides an amount must have been given all of it."""
    ended: list[Decimal] = []

    def end(ending: str, name: str, of_column: str, rows: str) -> None:
        (amount,) = connection.execute(f"select sum(amount_) from {rows}").fetchone() or (None,)
        if name != ATTRIBUTIONS or of_column != WEIGHT:
            ended.append(amount or Decimal(0))

    connection.execute("begin")
    try:
        walk = kind(connection, end, columns)
        walk.follow(table.name, column, walk.rows_of(table.name, "true", column))
        asked = sum((_asked(connection, table.name, column, rule) for rule in table.of(column)), Decimal(0))
        kinds = {step.kind for step in walk.steps}
        is_whole = (
            kind is Walk
            and kinds <= {"sum", "share", "energy", "landed", "lookup", "input"}
            and kinds & {"sum", "share", "energy"}
        )
        if is_whole and sum(ended) != asked:
            yield f"{table.name}.{column}: {asked} ends in rows that contribute {sum(ended)}"
    except TrainledgerError as error:
        yield f"{table.name}.{column}: {error}"
    finally:
        connection.execute("rollback")


def _asked(connection: duckdb.DuckDBPyConnection, name: str, column: str, rule: Rule) -> Decimal:
    """What a column is of all rows where a rule holds, in the unit of its terms."""
    of_rule = f"select sum(cast({quoted(column)} as {MONEY})) from {relation(name)} where {rule.when}"
    (asked,) = connection.execute(of_rule).fetchone() or (None,)
    return (asked or Decimal(0)) * max((term.per for term in rule.terms if rule.kind != "energy"), default=1)


def _faults_of_ending(landed: Landed, name: str, column: str, ending: str, when: str) -> Iterator[str]:
    """What is behind all rows of a table: that there is something, and where it is divided their sum and that it counts."""
    connection = landed.connection
    connection.execute("delete from origins")
    condition = f"{quoted(column)} <> 0 and ({when})"
    rows = f"select *, cast({quoted(column)} as {MONEY}) as amount_ from {relation(name)} as own where {condition}"
    connection.execute(f"create or replace temp table drawn as {rows}")
    try:
        ENDINGS[ending](landed, name, column, "drawn")
    except TrainledgerError as error:
        yield f"{name}.{column}: {error}"
        return
    some, any_ = connection.execute("select (select count(*) from drawn), (select count(*) from origins)").fetchone() or (0, 0)
    if some and not any_ and ending not in WITHOUT_ROWS:
        yield f"{name}.{column}: nothing is behind {some} rows, by {ending}"
    if ending not in DIVIDED:
        return
    asked, found = connection.execute(
        "select (select coalesce(sum(amount_), 0) from drawn),"
        f" (select coalesce(sum(contribution), 0) from origins where kind in ('{DIVIDED[ending]}', 'weight'))"
    ).fetchone() or (0, 0)
    if asked != found:
        yield f"{name}.{column}: landed rows contribute {found} of {asked}"
    stray = connection.execute("""select source_name, object, first_row from origins
        anti join (from published.ops.dim_deliveries where is_elected) as counted
            on origins.source_name = counted.source_name and origins.delivery_content_hash = counted.content_hash
        where kind in ('bill', 'carbon') limit 1""").fetchone()
    if stray:
        yield f"{name}.{column}: {stray} is of a delivery that does not count"
    versions = connection.execute("""select distinct source_name, usage_month, regexp_extract(detail, 'model version (.*)$', 1)
        from origins where kind = 'carbon'
        except select source_name, usage_month, provider_model_version from published.marts.fct_run_cell_emissions
        except select source_name, usage_month, provider_model_version from published.marts.fct_residual_emissions""").fetchall()
    if versions:
        yield f"{name}.{column}: {versions[0]} is a model version that was superseded"
