"""What the rows of a bill or of carbon are like: accounts, types of lines, and how many rows have a value in each column.

Asked of the same groups as the control totals. It lies beside the contents of a delivery, in a file of its own, because accounts
are many and only judging reads them.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from connectors.formats.schema import Column, Schema
from dagster_project.base.kinds import KINDS, Kind
from dagster_project.landing.deriving.contents import JUDGED, PROFILE, Profile
from dagster_project.landing.deriving.one_reading import GROUPS, Asked, by_delivery
from dagster_project.landing.deriving.typed_select import quoted
from dagster_project.landing.records import encode

ACCOUNT, LINE_TYPE, FILLED = "profile_account", "profile_line_type", "profile_filled_"


def with_profile(kind: Kind, schema: Schema, asked: Asked) -> Asked:
    """What a kind wants to know of its rows, and of one that is judged also what its profile needs."""
    facts = KINDS[kind]
    if facts.fact not in JUDGED:
        return asked
    named = {ACCOUNT: facts.account_column, LINE_TYPE: facts.line_type_column}
    keys = {name: quoted(column) if column else "CAST(NULL AS VARCHAR)" for name, column in named.items()}
    counts = {FILLED + column.name: _count(column) for column in _counted(schema)}
    return replace(asked, keys={**asked.keys, **keys}, sums={**asked.sums, **counts})


def write_profiles(con: duckdb.DuckDBPyConnection, kind: Kind, schema: Schema, folders: Sequence[Path]) -> None:
    """Write the profile of each delivery that was read into the folder of what is made of it."""
    if KINDS[kind].fact not in JUDGED:
        return
    columns = [column.name for column in _counted(schema)]
    filled = ", ".join(f"CAST(sum({quoted(FILLED + name)}) AS BIGINT)" for name in columns)
    counts = by_delivery(con, f"SELECT delivery, {filled} FROM {GROUPS} GROUP BY delivery")
    accounts = by_delivery(con, f"SELECT DISTINCT delivery, {ACCOUNT} FROM {GROUPS} WHERE {ACCOUNT} <> '' ORDER BY ALL")
    types = f"SELECT delivery, coalesce({LINE_TYPE}, ''), CAST(sum(row_count) AS BIGINT) FROM {GROUPS} GROUP BY 1, 2 ORDER BY 2"
    line_types = by_delivery(con, types)
    for place, folder in enumerate(folders):
        [of_one] = counts[place] or [(0,) * len(columns)]
        profile = Profile(
            accounts=[account for (account,) in accounts[place]],
            line_types=dict(line_types[place]),
            filled=dict(zip(columns, of_one, strict=True)),
        )
        (folder / PROFILE).write_bytes(encode(profile))


def _counted(schema: Schema) -> list[Column]:
    return [column for column in schema if column.name not in schema.measures]


def _count(column: Column) -> str:
    name = quoted(column.name)
    if column.type == "TextMap":
        return f"count(*) FILTER (cardinality({name}) > 0)"
    return f"count({name}) + count({quoted(column.name + '__text')})" if column.type == "Number" else f"count({name})"
