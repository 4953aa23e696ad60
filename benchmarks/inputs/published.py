"""A published file as a company of very many runs has it: the rows of a real publication, repeated under other runs and months.

The tables, their types and the order of their rows are those of a publication that the product built from a generated month of a
million rows; only how often they occur is made up. To run the whole line over 100,000 run records would take hours and
change none of the shapes that a query meets. Run by path: `python published.py SOURCE TARGET RUNS MONTHS`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb


def repeat(source: Path, target: Path, runs: int, months: int) -> None:
    target.unlink(missing_ok=True)
    with duckdb.connect(str(target)) as engine:
        engine.execute("set threads = 2; set timezone = 'UTC'; set memory_limit = '4GB'; set preserve_insertion_order = true")
        engine.execute(f"attach '{source}' as built (read_only); create schema marts; create schema ops")
        known = len(engine.execute("select training_run_id from built.marts.dim_training_runs").fetchall())
        copies = -(-runs // known)
        tables = engine.execute("select schema_name, table_name from duckdb_tables() where database_name = 'built'").fetchall()
        for schema, name in tables:
            columns = [
                column
                for (column,) in engine.execute(
                    "select column_name from duckdb_columns()"
                    " where database_name = 'built' and schema_name = ? and table_name = ? order by column_index",
                    [schema, name],
                ).fetchall()
            ]
            engine.execute(f"create table {schema}.{name} as {_repeated(schema, name, columns, copies, months)}")
        _answers(engine)
        engine.execute("detach built; checkpoint")


def _answers(engine: duckdb.DuckDBPyConnection) -> None:
    """A view is its statement alone, and a table that is derived from other published tables is asked again of the many rows."""
    made = "select sql from duckdb_views() where database_name = 'built' and not internal order by schema_name <> 'marts'"
    waiting = [view for (view,) in engine.execute(made).fetchall()]
    while waiting:  # one may read another
        left = [view for view in waiting if not _is_made(engine, view)]
        if len(left) == len(waiting):
            raise ValueError(f"these views read what is not there: {left}")
        waiting = left
    if engine.execute("select 1 from duckdb_tables() where table_name = 'report_statements' limit 1").fetchall():
        derived = (
            "select model, statement from ops.report_statements where model in "
            "(select table_name from duckdb_tables() where schema_name = 'marts' and database_name <> 'built')"
        )
        for model, statement in engine.execute(derived).fetchall():
            engine.execute(f"create or replace table marts.{model} as {statement}")


def _is_made(engine: duckdb.DuckDBPyConnection, view: str) -> bool:
    try:
        engine.execute(view)
    except duckdb.CatalogException:
        return False
    return True


def _repeated(schema: str, name: str, columns: list[str], copies: int, months: int) -> str:
    """Rows of runs once for each copy, in one month of many; rows of months once for each month."""
    table = f"built.{schema}.{name}"
    has_run, has_month = "training_run_id" in columns and schema == "marts", "usage_month" in columns
    if not has_run and not has_month:
        return f"select * from {table}"
    changed = []
    if has_run:
        changed.append("training_run_id || '-' || copy as training_run_id")
    if has_month:
        changed.append(f"cast(usage_month - copy % {months} * interval 1 month as date) as usage_month")
    count = copies if has_run else months
    order = ", ".join(column for column in ("usage_month", "training_run_id") if column in columns)
    return f"select t.* replace ({', '.join(changed)}) from {table} as t cross join range({count}) as c (copy) order by {order}"


if __name__ == "__main__":
    repeat(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
