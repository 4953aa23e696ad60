"""What of a publication can be asked again of the published file alone: the SELECTs of report models, and views made of them.

A report model reads published tables and nothing else, so its SELECT is whole: it runs on this file, on the Parquet beside it,
for other dates, or on fewer rows. What it reads and how it is laid out is dbt's (warehouse/report_models.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dagster_project.publishing.digest import quoted
from dagster_project.publishing.tables import PublishedTable

if TYPE_CHECKING:
    import duckdb


def write_statements(connection: duckdb.DuckDBPyConnection, statements: Mapping[str, str]) -> None:
    """Create `ops.report_statements` in a new published file."""
    connection.execute("create or replace table ops.report_statements (model varchar not null, statement varchar not null)")
    if statements:
        connection.executemany("insert into ops.report_statements values (?, ?)", sorted(statements.items()))


def write_views(connection: duckdb.DuckDBPyConnection, tables: Sequence[PublishedTable], statements: Mapping[str, str]) -> None:
    """Create the published views, of which one may read another, and every table's bare name, unless the copied file has them.

    By it `from fct_training_run_costs` works in a client that searches schema main only, as every DuckDB client does unasked.
    """
    left = {table.name: statements[table.name] for table in tables if table.is_view}
    while left:
        ready = [name for name in left if not any(f"marts.{quoted(other)}" in left[name] for other in left if other != name)]
        if not ready:
            raise LookupError(f"views that read each other: {', '.join(sorted(left))}")
        for name in ready:
            connection.execute(f"create view if not exists marts.{quoted(name)} as {left.pop(name)}")
    for name in (quoted(table.name) for table in tables):
        # a copied file has them, with their comments: made anew they would have none
        connection.execute(f"create view if not exists main.{name} as select * from marts.{name}")
