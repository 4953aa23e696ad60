"""Where engines of SQL differ in what the grouping of a bill asks for: Trino, which is Athena's dialect, and Apache Spark.

A dialect is words and no rule: which rows become groups is in `grouped_sql`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


def _with_doubled_quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _with_escapes(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class Dialect:
    """How one engine writes what another writes otherwise."""

    name: str
    quote: str  # around a name
    text_type: str
    double_type: str
    path: str  # the file that a row lies in
    all_of: Callable[[str], str]  # the different values of some rows as an array
    any_value: str  # of some values one that is there
    is_nan: str
    of_day: Callable[[str], str]  # the first instant of the day of an instant
    literal: Callable[[str], str]
    escaped: Callable[[str], str]  # by SQL of DuckDB: a text as it is between the quotes of a literal
    has_match: Callable[[str, str], str]  # whether a text has a part that a pattern matches
    entry: Callable[[str, str], str]  # the value of a literal key of a map, null without one
    has_key: Callable[[str, Callable[[str], str]], str]  # whether a map has a key of which a condition holds
    map_of: Callable[[Mapping[str, str]], str]  # literal keys, values
    as_answer: Callable[[str], str]  # a map as the answer has it: JSON, where what brings it has no maps

    def quoted(self, name: str) -> str:
        """A name of a column."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def files(self, relation: str, among: str) -> str:
        """Which files of a relation have rows, as one text with a line each."""
        return f"SELECT array_join({self.all_of(self.path)}, chr(10))\n  FROM {relation}{among}"

    def among(self, files: Iterable[str]) -> str:
        """Whether a row lies in one of these files."""
        return f"{self.path} IN ({', '.join(map(self.literal, files))})"


def _literals(dialect: Callable[[str], str], names: Iterable[str]) -> str:
    return ", ".join(map(dialect, names))


TRINO = Dialect(
    name="trino",
    quote='"',
    text_type="VARCHAR",
    double_type="DOUBLE",
    path='"$path"',
    all_of=lambda x: f"array_agg(DISTINCT {x})",
    any_value="arbitrary",
    is_nan="is_nan",
    of_day=lambda x: f"date_trunc('day', {x})",
    literal=_with_doubled_quotes,
    escaped=lambda text: f"replace({text}, chr(39), chr(39) || chr(39))",
    has_match=lambda x, pattern: f"regexp_like({x}, {_with_doubled_quotes(pattern)})",
    entry=lambda column, key: f"element_at({column}, {_with_doubled_quotes(key)})",
    has_key=lambda column, holds: f"any_match(map_keys({column}), k -> {holds('k')})",
    map_of=lambda entries: f"MAP(ARRAY[{_literals(_with_doubled_quotes, entries)}], ARRAY[{', '.join(entries.values())}])",
    as_answer=lambda x: f"json_format(CAST({x} AS JSON))",
)
SPARK = Dialect(
    name="spark",
    quote="`",
    text_type="STRING",
    double_type="DOUBLE",
    path="_file",
    all_of=lambda x: f"collect_set({x})",
    any_value="any_value",
    is_nan="isnan",
    of_day=lambda x: f"date_trunc('DAY', {x})",
    literal=_with_escapes,
    escaped=lambda text: f"replace(replace({text}, chr(92), chr(92) || chr(92)), chr(39), chr(92) || chr(39))",
    has_match=lambda x, pattern: f"({x} RLIKE {_with_escapes(pattern)})",
    entry=lambda column, key: f"element_at({column}, {_with_escapes(key)})",
    has_key=lambda column, holds: f"exists(map_keys({column}), k -> {holds('k')})",
    map_of=lambda entries: f"map_from_arrays(array({_literals(_with_escapes, entries)}), array({', '.join(entries.values())}))",
    as_answer=lambda x: x,
)
