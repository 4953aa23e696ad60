"""What is found behind figures, in one table: rows of landed objects and of seeds, deliveries, and what each gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import UsageError, writing_to
from dagster_project.base.sql import literal, rows_by_name

COLUMNS = {
    "kind": "varchar",  # bill, carbon, weight, record, sample, seed, delivery, input; kept: rows of a group, which give nothing
    "of_table": "varchar",
    "source_name": "varchar",
    "object": "varchar",
    "first_row": "bigint",
    "last_row": "bigint",
    "row_count": "bigint",
    "delivery_content_hash": "varchar",
    "object_sha256": "varchar",
    "usage_month": "date",
    "training_run_id": "varchar",
    "reason": "varchar",
    "attribution_rule": "varchar",
    "share": "varchar",
    "charge_group_id": "varchar",
    "amount": "decimal(38, 12)",  # what the row states
    "unit": "varchar",
    "measure": "varchar",  # of which column it gives a part
    "contribution": "decimal(38, 12)",
    "detail": "varchar",
}
ORDER = "kind, of_table, source_name, object, first_row, training_run_id, reason, charge_group_id, measure, detail, contribution"


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """The empty table, and `objects`: those of the deliveries that were compared with their sha256."""
    connection.execute(f"create table origins ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
    names = ("source_name", "delivery_content_hash", "object", "object_sha256")
    connection.execute(f"create temp table objects ({', '.join(f'{name} varchar' for name in names)})")


def add(connection: duckdb.DuckDBPyConnection, kind: str, of_table: str, query: str) -> None:
    """Add the rows of a query by their names; a row without a contribution that is there already is not added again.

    A query of single rows needs `first_row` alone; of rows of an object its sha256 is found here.
    """
    connection.execute(f"create or replace temp table found as from origins limit 0; insert into found by name {query}")
    sql = """insert into origins
        with placed as (
            select found.* replace (
                ? as kind,
                ? as of_table,
                coalesce(last_row, first_row) as last_row,
                case when row_count is null and first_row is not null then 1 else row_count end as row_count,
                objects.object_sha256 as object_sha256
            )
            from found
            left join objects
                on found.source_name = objects.source_name and found.delivery_content_hash = objects.delivery_content_hash
                and found.object = objects.object and found.first_row is not null
        )
        from placed where contribution is not null
        union all
        from (from placed where contribution is null except from origins)"""
    connection.execute(sql, [kind, of_table])


def summary(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Rows and objects by kind and table, and what they contribute together."""
    sql = """with places as (
            select kind, of_table, measure, source_name, object, first_row, row_count, sum(contribution) as contribution
            from origins group by all
        )
        select kind, of_table, measure, cast(sum(row_count) as bigint) as rows, count(distinct (source_name, object)) as objects,
            sum(contribution) as contribution
        from places group by all order by all"""
    return rows_by_name(connection.execute(sql))


def first(connection: duckdb.DuckDBPyConnection, limit: int) -> list[dict[str, Any]]:
    """The first rows of each kind."""
    sql = f"select * from origins qualify row_number() over (partition by kind order by {ORDER}) <= {limit} order by {ORDER}"
    return rows_by_name(connection.execute(sql))


def write(connection: duckdb.DuckDBPyConnection, target: Path) -> int:
    """All of them, as Parquet or CSV by the name of the file. Returns how many."""
    forms = {".parquet": "format parquet, compression zstd", ".csv": "format csv, header"}
    if target.suffix not in forms:
        raise UsageError("--out needs a name that ends in .parquet or .csv", where=str(target))
    with writing_to(target):
        target.open("ab").close()
        sql = f"copy (from origins order by {ORDER}) to {literal(str(target))} ({forms[target.suffix]})"
        [(count,)] = connection.execute(sql).fetchall()
    return int(count)
