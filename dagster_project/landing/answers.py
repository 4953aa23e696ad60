"""Groups that another engine made of a provider's rows: they must add up to what the same engine states of the rows themselves.

Asked of the landed file alone, when an answer comes and by `verify --landing`. How the statement rounds and adds is for the
connector; here figures are compared digit by digit. Of rows that are kept beside the groups: landing.kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import msgspec

from connectors.errors import Place, SourceUnreadableError
from connectors.stores import ENGINES
from dagster_project.landing.records import decode

LINE_COUNT = "line_count"  # of a row of an answer: how many rows it was made of


class Answer(msgspec.Struct, frozen=True):
    """What every record of a query states, whatever the engine: who made the groups, of how many rows, and the sums of these."""

    engine: str
    row_count: int
    answer_row_count: int
    sums: dict[str, str | int | None]  # exact, by the names of measures, and `row_count`


def answer_of(path: Path) -> Answer:
    """A record of a query, read from a file."""
    found: Answer = decode(path.read_bytes(), Answer, str(path))
    return found


def measures_of(kind: str) -> Mapping[str, tuple[str, int]]:
    """What sums are stated of an answer about a kind: by the name of each its column in the file, and the decimals."""
    if kind == "gcp_billing":
        from connectors.gcp.grouped_sql import ANSWERED as OF_GOOGLE

        return OF_GOOGLE
    from connectors.aws.grouped_sql import ANSWERED

    return ANSWERED


def require_sums(kind: str, path: Path, record: bytes, uri: str, key: str) -> None:
    """SourceUnreadableError where the rows of an answer do not stand for all rows, or another sum is not the one stated."""
    import pyarrow.parquet as pq

    stated = json.loads(record)
    sums, measures = stated["sums"], measures_of(kind)
    with pq.ParquetFile(path) as file:
        there = {column.path for column in file.schema}
        wanted = {name: measure for name, measure in measures.items() if measure[0] in there}
        table = file.read([*(column for column, _ in wanted.values()), LINE_COUNT])
    found = {"row_count": str(_sum_of(table, LINE_COUNT, None))}
    for name, (column, decimals) in wanted.items():
        # what is less than a unit of the last decimal stands for a sign and is no figure
        found[name] = str(_sum_of(table, column, Decimal(1).scaleb(-decimals)))
    for name, value in found.items():
        if Decimal(value) != Decimal(sums.get(name) or 0):
            raise SourceUnreadableError(
                f"{uri}: the groups have {value} of {name}, and {ENGINES[stated['engine']]} states {sums.get(name)} of the rows"
                " they were made of.",
                place=Place(key, column_name=name, value=value),
                reason="broken_stream",
                remedy="Try again; if it stays, leave `engine` out of this source: then the rows themselves are read.",
            )


def _sum_of(table: object, column: str, least: Decimal | None) -> Decimal:
    """The exact sum of a column by its path in the file, without what is less than a unit of its last decimal."""
    import pyarrow as pa
    import pyarrow.compute as pc

    assert isinstance(table, pa.Table)
    name, _, inner = column.partition(".")
    values = table.column(name)
    if pa.types.is_list(values.type):
        values, inner = pc.list_flatten(values), inner.removeprefix("list.element.")
    if inner:
        values = pc.struct_field(values, [inner])
    if least is not None:
        values = values.filter(pc.greater_equal(pc.abs(values), pa.scalar(least, values.type)))
    return Decimal(pc.sum(values).as_py() or 0)
