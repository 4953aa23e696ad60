"""A query for one report, rewritten so that it answers for thousands of reports at once, none of which sees another.

How many workloads a report has decides what it claims, so worlds in one table would decide for each other, and a query for
each takes a day. Here every table gets a column `world`: each join, group, window and subquery keeps to one world. A test
compares what comes out with the query as it is, world by world.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import sqlglot
from sqlglot import exp

WORLD = "world"
Part = TypeVar("Part")


def side_by_side(sql: str, tables: Collection[str]) -> str:
    """The query over `tables` (names without schema) that have the column; others, as seeds, are the same for all worlds."""
    query = sqlglot.parse_one(sql, dialect="duckdb")
    _query(query, set(tables))
    return query.sql(dialect="duckdb")


def _query(query: exp.Expr, known: set[str], outer: str | None = None) -> bool:
    """Rewrite a query in its place; whether its rows have a world. `outer` is the world of the row that asks, in a subquery."""
    known = set(known)
    for cte in query.ctes if isinstance(query, exp.Query) else ():
        name = cte.alias
        known.add(name)  # one that reads itself has what its first part has
        if not _query(cte.this, known):
            known.discard(name)
    if isinstance(query, exp.Subquery):
        return _query(query.this, known, outer)
    if isinstance(query, exp.SetOperation):
        found = [_query(side, known, outer) for side in (query.left, query.right)]
        assert all(found) == any(found), f"one side of a union has no world: {query.sql()[:200]}"
        return found[0]
    return _select(query, known, outer) if isinstance(query, exp.Select) else False


def _select(select: exp.Select, known: set[str], outer: str | None) -> bool:
    source = select.args.get("from_") or select.args.get("from")
    world = _source(source.this, known) if source else None
    using = False
    for join in select.args.get("joins") or ():
        theirs = _source(join.this, known)
        if theirs and world:
            using = _join(join, theirs, world, using)
        world = world or theirs
    column = None if world is None else exp.column(WORLD, table=None if using else world)
    _inner(select, known, column.sql() if column is not None else outer)
    if column is None:
        return False
    if outer:
        select.where(exp.EQ(this=column.copy(), expression=exp.maybe_parse(outer)), copy=False)
        return True
    aggregates = [one for one in _own(select, exp.AggFunc) if not one.find_ancestor(exp.Window)]
    group = select.args.get("group")
    if group and not group.args.get("all"):
        group.append("expressions", column.copy())
    elif aggregates and not group:
        select.group_by(column.copy(), copy=False)
    if not any(_is_star_of(one, str(world)) for one in select.expressions):
        select.append("expressions", exp.alias_(column.copy(), WORLD))
    if (distinct := select.args.get("distinct")) and distinct.args.get("on"):
        distinct.args["on"].append("expressions", column.copy())
    return True


def _source(source: exp.Expr, known: set[str]) -> str | None:
    """The name by which a table or subquery is read, if it has a world."""
    if isinstance(source, exp.Table):
        return source.alias_or_name if source.name in known else None
    if isinstance(source, exp.Subquery):
        if not source.alias:
            source.set("alias", exp.TableAlias(this=exp.to_identifier(f"source_{id(source)}")))
        return source.alias if _query(source.this, known) else None
    return None


def _join(join: exp.Join, theirs: str, world: str, using: bool) -> bool:
    """Join within a world; whether `world` is now one column of both sides."""
    if join.args.get("using"):
        join.append("using", exp.to_identifier(WORLD))
        return True
    same = exp.EQ(this=exp.column(WORLD, table=theirs), expression=exp.column(WORLD, table=world))
    join.set("kind", None if join.args.get("kind") == "CROSS" else join.args.get("kind"))
    on = join.args.get("on")
    join.set("on", exp.and_(on, same) if on else same)
    return using


def _inner(select: exp.Select, known: set[str], world: str | None) -> None:
    """Windows keep to a world, and so do subqueries that are values or conditions."""
    for window in _own(select, exp.Window):
        if world and not window.args.get("alias"):
            window.append("partition_by", exp.maybe_parse(world))
    for query in [one for one in _own(select, exp.Query) if not isinstance(one, exp.Subquery) and not _is_source(one, select)]:
        _query(query, known, world)


def _own(select: exp.Select, kind: type[Part]) -> list[Part]:
    """What of a kind is of this SELECT, and not of a query inside it."""
    inside = (
        one
        for one in select.walk(
            prune=lambda one: one is not select and isinstance(one, exp.Query) and not isinstance(one, exp.Subquery)
        )
    )
    return [one for one in inside if one is not select and isinstance(one, kind)]


def _is_source(query: exp.Expr, select: exp.Select) -> bool:
    """Whether a query is in FROM, a join or WITH."""
    holder = query.find_ancestor(exp.From, exp.Join, exp.CTE, exp.Select)
    return isinstance(holder, exp.CTE | exp.From | exp.Join) and not _in_condition(query, holder)


def _in_condition(query: exp.Expr, holder: exp.Expr) -> bool:
    on = holder.args.get("on")
    return on is not None and any(one is query for one in on.walk())


def _is_star_of(one: exp.Expr, world: str) -> bool:
    if isinstance(one, exp.Star):
        return True
    return isinstance(one, exp.Column) and isinstance(one.this, exp.Star) and one.table == world
