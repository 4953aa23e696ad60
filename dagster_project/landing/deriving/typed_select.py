"""SELECT text that reads landed Parquet as its connector's SCHEMA declares it: every column there, each with one type.

Used by the raw views and by the landing's own checks, so both see the same values. A Number column becomes two: `x` DOUBLE
where the file holds doubles and `x__text` VARCHAR where it holds text or decimals; the other one is null. No rule of business.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from connectors.formats.schema import Schema
from dagster_project.base.sql import literal as literal
from dagster_project.base.sql import quoted as quoted

SQL_TYPES = {
    "Text": "VARCHAR",
    "Number": "DOUBLE",
    "Timestamp": "TIMESTAMP",
    "Date": "DATE",
    "BigInt": "BIGINT",
    "Boolean": "BOOLEAN",
    "TextMap": "MAP(VARCHAR, VARCHAR)",
}
EMPTY_MAP = "MAP(CAST([] AS VARCHAR[]), CAST([] AS VARCHAR[]))"
TEXT_SUFFIX = "__text"
DOUBLE_DIGITS = 15
FEWEST_DECIMALS = 9  # of exact figures: what has no more is not rounded
Read = Callable[[list[str]], str]  # Parquet files -> what a SELECT of them is FROM


def read_parquet(paths: Iterable[str]) -> str:
    """What a SELECT of Parquet files is FROM: their own columns, `_file`, and `file_row_number`, from 0."""
    return f"read_parquet({file_list(paths)}, filename='_file', file_row_number=true, hive_partitioning=false)"


def file_list(paths: Iterable[str]) -> str:
    """A list of files for read_parquet, which takes patterns: a special character of a folder's name stands for itself."""
    return "[" + ", ".join(literal(re.sub(r"([*?\[])", r"[\1]", path)) for path in paths) + "]"


def typed_columns(schema: Schema) -> list[tuple[str, str]]:
    """Name and SQL type of every column the typed SELECT has."""
    columns = []
    for column in schema:
        columns.append((column.name, SQL_TYPES[column.type]))
        if column.type == "Number":
            columns.append((column.name + TEXT_SUFFIX, "VARCHAR"))
    return columns


def expressions(schema: Schema, physical: Mapping[str, str]) -> list[str]:
    """`<cast> AS <name>` for every declared column of one physical shape; an absent one is a typed null."""
    return [
        f"{f'coalesce({value}, {EMPTY_MAP})' if is_map else value} AS {quoted(name)}"
        for name, value, is_map in _typed(schema, physical)
    ]


def row_hash(schema: Schema, physical: Mapping[str, str]) -> str:
    """A hash of one row of `source` as its declared columns are typed.

    A map's entries are hashed one by one and their hashes added: their order does not count, and none of them is sorted. A
    map that is null, absent or empty is the same map.
    """
    values = [
        f"coalesce(list_sum(list_transform(map_entries({value}), lambda e: hash(e))), 0)" if is_map else value
        for _, value, is_map in _typed(schema, physical)
    ]
    # once more over the whole: the engine mixes what it had before with the last column by an exclusive or alone
    return f"hash(hash({', '.join(values)}))"


def _typed(schema: Schema, physical: Mapping[str, str]) -> Iterator[tuple[str, str, bool]]:
    """Name and value of what declared columns are in files of one physical shape, and whether that is a map.

    Some of a map's entries may be columns. A map may be null: that is for the caller to fill.
    """
    for one in schema:
        kind = physical.get(one.name, "").upper()
        column = f"source.{quoted(one.name)}" if kind else "NULL"
        value = f"CAST({column} AS {SQL_TYPES[one.type]})"
        if one.type == "Number" and (scale := _few_decimals(kind)) is not None:
            # a double of 15 digits becomes the same decimal again (dbt/macros/exact.sql): a text costs ten times as much
            is_short = f"abs({column}) < 1{'0' * (DOUBLE_DIGITS - scale)}"
            yield one.name, f"CASE WHEN {is_short} THEN CAST({column} AS DOUBLE) END", False
            yield one.name + TEXT_SUFFIX, f"CASE WHEN NOT {is_short} THEN CAST({column} AS VARCHAR) END", False
            continue
        if one.type == "Number":
            text = f"nullif(trim(CAST({column} AS VARCHAR)), '')" if kind not in ("", "DOUBLE") else "CAST(NULL AS VARCHAR)"
            yield one.name, column if kind == "DOUBLE" else "CAST(NULL AS DOUBLE)", False
            yield one.name + TEXT_SUFFIX, text, False
            continue
        if one.type == "TextMap":  # a column whose writer saw no value has no type of its own
            value = value if kind.startswith("MAP") else EMPTY_MAP
            if entries := schema.entries_of(one, physical):
                value = _with_entries(f"coalesce({value}, {EMPTY_MAP})", entries)
        elif one.type == "Timestamp" and kind == "TIMESTAMP WITH TIME ZONE":
            value = f"CAST({column} AT TIME ZONE 'UTC' AS TIMESTAMP)"
        yield one.name, value, one.type == "TextMap"


def _few_decimals(kind: str) -> int | None:
    """The decimals of a physical DECIMAL that has no more of them than any exact figure; None of anything else."""
    found = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", kind)
    return int(found[1]) if found and int(found[1]) <= FEWEST_DECIMALS else None


def _with_entries(value: str, entries: Mapping[str, str]) -> str:
    """A map and the entries that are columns of their own, which hold the same where a row has both."""
    pairs = (f"{{'name': {literal(key)}, 'value': CAST(source.{quoted(name)} AS VARCHAR)}}" for name, key in entries.items())
    return f"map_concat({value}, map_from_entries(list_filter([{', '.join(pairs)}], lambda e: e.value <> '')))"


def empty_select(columns: Iterable[tuple[str, str]]) -> str:
    """A SELECT of no rows with the given names and types."""
    return "SELECT " + ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in columns) + " WHERE false"


def parts_select(
    schema: Schema, files: Iterable[tuple[str, Mapping[str, str]]], read: Read = read_parquet, *, hashed: bool = False
) -> str:
    """One SELECT over Parquet files: the declared columns, `_file` and the 1-based `_row_number` in it.

    Files of one physical shape are read together: their number does not make the text longer than it must be. Another engine
    gives its own `read`. With `hashed` a row has its `_hash`.
    """
    shapes: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for path, physical in files:
        shapes.setdefault(tuple(physical.items()), []).append(path)
    selects = [
        f"SELECT {', '.join(expressions(schema, dict(shape)))}, source._file, source.file_row_number + 1 AS _row_number"
        f"{f', {row_hash(schema, dict(shape))} AS _hash' if hashed else ''} FROM {read(paths)} AS source"
        for shape, paths in shapes.items()
    ]
    if not selects:
        columns = [*typed_columns(schema), ("_file", "VARCHAR"), ("_row_number", "BIGINT"), *([("_hash", "UBIGINT")] * hashed)]
        return empty_select(columns)
    return "\nUNION ALL\n".join(selects)
