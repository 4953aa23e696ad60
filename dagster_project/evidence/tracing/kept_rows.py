"""Of a group that an engine made, the provider's rows that were kept beside it (`keep: raw`): the last step of a trace.

They contribute nothing by themselves: their group does, and landing.kept holds both against each other. Where as many rows have
the values of a group as it was made of, they are these; where more have, its rows are among them: the detail has both numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from dagster_project.base.failures import UsageError
from dagster_project.base.sql import literal, quoted
from dagster_project.landing.records import Generation, LandedObject

KINDS = ("gcp_billing",)  # of which is known by which columns groups are made
SHOWN = 10
AMOUNT, CURRENCY = "cost", "currency"  # of a row of Google's bill
PathOf = Callable[[Generation, LandedObject], Path]


def kept_sql(generation: Generation, path_of: PathOf) -> str | None:
    """The kept rows of the asked groups in table `rows`, in columns of origins; None of a kind whose group columns are not known.

    What is compared are the columns that rows and groups both have.
    """
    if generation.kind not in KINDS:
        return None
    data, parts = _data(generation), []
    for raw in generation.raw:
        parts.append(f"""
            select {literal(generation.source)} as source_name, {literal(raw.key)} as object, row_number as first_row,
                {literal(generation.content_hash)} as delivery_content_hash, charge_group_id,
                cast(amount_ as decimal(38, 12)) as amount, unit,
                case when count(*) over same_group = line_count then 'one of the ' else 'among these ' || count(*) over same_group
                    || ' rows are the ' end || line_count || ' rows of ' || {literal(data.key)} || ':' || place as detail
            from (
                select found.*, asked.charge_group_id, asked.line_count
                from (
                    select distinct charge_group_id, row_number, line_count from rows
                    where object = {literal(data.key)} and line_count > 1
                ) as asked
                inner join ({_places(generation, raw, path_of)}) as found on asked.row_number = found.place
            )
            window same_group as (partition by charge_group_id, place)""")
    return "\nunion all\n".join(parts)


def group_of_kept(
    connection: duckdb.DuckDBPyConnection, generation: Generation, name: str, row: int, path_of: PathOf
) -> tuple[str, int]:
    """The row of an answer that a kept row is in; UsageError where none or several have its columns."""
    [raw] = [landed for landed in generation.raw if landed.key == name]
    data, found = _data(generation), list[tuple[int]]()
    if generation.kind in KINDS:
        asked = f"select place from ({_places(generation, raw, path_of)}) where row_number = {row} order by place"
        found = connection.execute(asked).fetchall()
    if len(found) == 1:
        return data.key, found[0][0]
    places = ", ".join(f"{data.key}:{place}" for (place,) in found[:SHOWN])
    what = f"{name[:200]} is kept as evidence, and its row {row} is in one of {len(found)} rows of {data.key}"
    raise UsageError(what, remedy=f"Trace one of these: {places}." if found else "Trace a row of that.")


def _data(generation: Generation) -> LandedObject:
    [data] = [landed for landed in generation.objects if landed.role == "data"]
    return data


def _places(generation: Generation, raw: LandedObject, path_of: PathOf) -> str:
    """Each kept row with the row of the answer, `place`, that has its values in all columns that groups are made by."""
    from connectors.gcp.kept_sql import group_columns

    paths = [path_of(generation, landed) for landed in (_data(generation), raw)]
    columns = group_columns(set.intersection(*map(_columns, paths)))
    keys = ", ".join(f"{expression} as {quoted(name)}" for name, expression in columns.items())
    same = " and ".join(f"here.{quoted(name)} is not distinct from its.{quoted(name)}" for name in columns)
    of_groups, of_rows = (
        f"read_parquet({literal(str(path))}, hive_partitioning = false, file_row_number = true)" for path in paths
    )
    return f"""select here.row_number, here.amount_, here.unit, its.place
        from (select file_row_number + 1 as place, {keys} from {of_groups}) as its
        inner join (
            select file_row_number + 1 as row_number, {AMOUNT} as amount_, {CURRENCY} as unit, {keys} from {of_rows}
        ) as here on {same}"""


def _columns(path: Path) -> set[str]:
    """The paths of the columns of a Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return {column.path for column in file.schema}
