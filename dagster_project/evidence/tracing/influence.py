"""From rows of a table to the rows of tables and pages that are made of them: the rules of a walk, the other way.

Sums, shares, integrals and weights are followed, and ratios of what they give; counts, statistics and loose shares are not: of
these a row is an input, and no part. A row whose amount is 0 is a part of nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_project.base.sql import quoted
from dagster_project.evidence.tracing.rules import OWN, Rule, Term, Traced, traced
from dagster_project.evidence.tracing.walk import PARTS, Walk, relation
from dagster_project.publishing.digest import plain_text
from reports.page.numbers import plain
from reports.tracing.figures import IN_SQL, VALUE, figure_id, headline_id, row_key, tables_of

Index = dict[tuple[str, ...], list[tuple[int, str | None]]]


@dataclass
class Influence:
    """What is made of some rows. Of each table and column: the rows of the table, numbered."""

    walk: Walk
    found: dict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    _copies: dict[str, str] = field(default_factory=dict)
    _indexes: dict[tuple[str, tuple[str, ...]], Index] = field(default_factory=dict)

    def begin(self, name: str, rows: str) -> None:
        """Rows of a table, with every number of theirs that is not 0. Of attributions no others are read."""
        self.walk.require(name)
        if name in PARTS:
            copied = f"select *, row_number() over () as row_ from ({rows})"
            self.walk.connection.execute(f"create or replace temp table copy_{name} as {copied}")
            self._copies[name] = f"copy_{name}"
        same = " and ".join(f"own.{key} is not distinct from begun.{key}" for key in map(quoted, self._key(name)))
        for column in [one for one in traced()[name].numbers if one in self.walk.columns[name]]:
            own = f"{self._copy(name)} as own semi join ({rows}) as begun on {same}"
            self._add(name, column, f"select row_ from {own} where {quoted(column)} <> 0")

    def spread(self) -> None:
        """Follow every rule until nothing is added."""
        waiting = dict.fromkeys(pair for pair, rows in self.found.items() if rows)
        while waiting:
            of, column = next(iter(waiting))
            del waiting[of, column]
            for table, target, rule, term in _readers(of, column):
                if not {table.name, *term.beside} <= self.walk.columns.keys() or target not in self.walk.columns[table.name]:
                    continue  # a file without some sources has fewer tables
                before = len(self.found[table.name, target])
                self._follow(of, column, table, target, rule, term)
                if len(self.found[table.name, target]) > before:
                    waiting[table.name, target] = None

    def tables(self, most: int) -> list[dict[str, Any]]:
        """By published table: how many of its rows, of which columns, and what names the first of them."""
        rows: dict[str, set[int]] = defaultdict(set)
        measures: dict[str, list[str]] = defaultdict(list)
        for (name, column), numbers in self.found.items():
            if numbers and traced()[name].schema != "pages":
                rows[name] |= numbers
                measures[name].append(column)
        return [
            {
                "table": f"marts.{name}",
                "count": len(numbers),
                "measures": measures[name],
                "columns": self._key(name),
                "first": [
                    [None if value is None else plain_text(value) for value in key] for key in self._keys(name, numbers)[:most]
                ],
            }
            for name, numbers in sorted(rows.items())
        ]

    def figures(self, record: Mapping[str, Any]) -> Iterator[str]:
        """The figures of a report that these rows are parts of."""
        quarter = record["quarter"]
        for figure in record["figures"]:
            key = {"quarter": quarter, "figure_id": figure["id"].rpartition("/")[2].partition(",")[0], "unit": figure["unit"]}
            for name in ("value", "whole", "prior", "change"):
                if figure.get(name) is not None and self._has(figure["model"], IN_SQL.get(name, name), key):
                    yield headline_id(record, figure) + (f"/{name}" if name != VALUE else "")
        for table in tables_of(record):
            names = row_key(table)
            measures = [column["id"] for column in table["columns"] if self.found.get((table.get("model", ""), column["id"]))]
            for row in table["rows"] if measures else ():
                key = {name: row["values"].get(name) for name in names}
                for column in measures:
                    if row["values"].get(column) is not None and self._has(table["model"], column, key, quarter):
                        yield figure_id((quarter, table["id"]), list(key.values()), column)

    def _has(self, name: str, column: str, key: Mapping[str, str | None], quarter: str | None = None) -> bool:
        """Whether the row with a key, of a quarter where the table has several, is among those that were found."""
        rows = self.found.get((name, column))
        if not rows:
            return False
        index = self._index(name, tuple(key))
        values = tuple(value or "" for value in key.values())
        return any(number in rows and of in (None, quarter) for number, of in index.get(values, ()))

    def _index(self, name: str, names: tuple[str, ...]) -> Index:
        """Rows of a table by the text of some columns, each with its quarter where the table has it."""
        if (index := self._indexes.get((name, names))) is None:
            has_quarter = "quarter" in self.walk.columns[name] and "quarter" not in names
            quarter = "quarter" if has_quarter else "null"
            asked = f"select row_, {quarter}, {', '.join(map(quoted, names))} from {self._copy(name)}"
            index = self._indexes[name, names] = defaultdict(list)
            for number, of, *values in self.walk.connection.execute(asked).fetchall():
                index[tuple(plain(value) or "" for value in values)].append((number, of))
        return index

    def _follow(self, of: str, column: str, table: Traced, target: str, rule: Rule, term: Term) -> None:
        """Add the rows of a table whose column is made of rows that were found."""
        listed = ", ".join(map(str, sorted(self.found[of, column])))
        if term.of == OWN:
            self._add(table.name, target, f"select row_ from {self._copy(of)} as own where row_ in ({listed}) and ({rule.when})")
            return
        copies = f"(from {self._copy(of)} where row_ in ({listed}))"
        own = f"(select * from {self._copy(table.name)} as own where ({rule.when}) and {quoted(target)} is not null)"
        joined = self.walk.joined(table, term, own, self.walk.columns[table.name], copies)
        self._add(table.name, target, f"select distinct own.row_ from {joined}")

    def _add(self, name: str, column: str, query: str) -> None:
        self.found[name, column] |= {number for (number,) in self.walk.connection.execute(query).fetchall()}

    def _copy(self, name: str) -> str:
        """The rows of a table with a number each; a page is asked once."""
        if name not in self._copies:
            copy = f"copy_{name}"
            rows = f"select *, row_number() over () as row_ from {relation(name)}"
            self.walk.connection.execute(f"create temp table {copy} as {rows}")
            self._copies[name] = copy
        return self._copies[name]

    def _key(self, name: str) -> list[str]:
        return list(traced()[name].key)

    def _keys(self, name: str, numbers: set[int]) -> list[tuple[Any, ...]]:
        listed = ", ".join(map(str, sorted(numbers)))
        columns = ", ".join(map(quoted, self._key(name)))
        asked = f"select {columns} from {self._copy(name)} where row_ in ({listed}) order by all"
        return self.walk.connection.execute(asked).fetchall()


def _readers(of: str, column: str) -> Iterator[tuple[Traced, str, Rule, Term]]:
    """Each column that is made of a column of a table, and by which term of which rule."""
    for table in traced().values():
        for target in table.numbers:
            for rule in table.of(target):
                for term in (*rule.terms, *filter(None, [rule.weighed])):
                    is_read = term.of == of or (term.of == OWN and table.name == of)
                    is_part = (rule.kind in ("sum", "share", "ratio", "energy") and not term.is_loose) or term is rule.weighed
                    if is_read and is_part and not term.distinct and (term.column or target) == column:
                        yield table, target, rule, term
