"""What of a publication can be asked again of the published file alone: the SELECTs of report models and pages, and their views.

A report model reads published tables and nothing else, so its SELECT is whole: it runs on this file, on the Parquet beside it,
for other dates, or on fewer rows. A page is what reports print: its rows are worked out when somebody asks. What both read and
how they are laid out is dbt's (warehouse/report_models.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dagster_project.publishing.digest import quoted
from dagster_project.publishing.tables import PublishedTable

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Page:
    """A model that reports print, its SELECT, and the tables of reports that print its rows, by id."""

    model: str
    statement: str
    printed: Mapping[str, Any]
    is_table: bool = False  # a published table, of which some rows are printed as they are: it needs no view

    @property
    def printed_text(self) -> str:
        """`printed` as the published file has it."""
        return json.dumps(self.printed, ensure_ascii=False)


def write_pages(connection: duckdb.DuckDBPyConnection, pages: Sequence[Page]) -> None:
    """Create `ops.report_pages` in a new published file."""
    connection.execute(
        "create or replace table ops.report_pages (model varchar not null, statement varchar not null, printed varchar not null)"
    )
    rows = [(page.model, page.statement, page.printed_text) for page in pages]
    if rows:  # one statement: a hundred cost as much as the rest of a small publication
        connection.execute(
            "insert into ops.report_pages select unnest(?), unnest(?), unnest(?)", [list(one) for one in zip(*rows, strict=True)]
        )


def write_page_views(connection: duckdb.DuckDBPyConnection, pages: Sequence[Page]) -> None:
    """Create a view of each page that is no published table, unless the copied file has it."""
    connection.execute("create schema if not exists pages")
    for page in pages:
        if not page.is_table:
            connection.execute(f"create view if not exists pages.{quoted(page.model)} as {page.statement}")


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
