"""Read-only access to one published DuckDB file. Nothing else in this folder opens a database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from reports.errors import PublicationError

Row = dict[str, Any]  # what a row holds is known to its query alone


class Publication:
    """One open publication: which tables it has, and the answer to a query."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        named = "select distinct schema_name || '.' || table_name from duckdb_columns() where not internal"
        self.tables = {table for (table,) in connection.execute(named).fetchall()}

    def missing(self, sql: str) -> str:
        """The tables that a query names and this file does not have, as words: the published file has no marts.a, no ops.b."""
        named = dict.fromkeys(re.findall(r"\b(?:marts|ops)\.\w+", sql))
        absent = [table for table in named if table not in self.tables]
        return f"the published file has no {', no '.join(absent)}" if absent else ""

    def rows(self, sql: str) -> list[Row]:
        """Run a query. Every query in this folder names its order, so that a page never depends on threads."""
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def open_publication(path: Path) -> Iterator[Publication]:
    """Open the file for reading. Readers take no lock and leave nothing behind."""
    if not path.is_file():
        raise PublicationError(f"There is no publication at {path}. Run `trainledger refresh` first.")
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise PublicationError(f"{path} cannot be read as a published DuckDB file: {error}") from error
    try:
        connection.execute("set TimeZone = 'UTC'")
        publication = Publication(connection)
        if not any(name.startswith("marts.") for name in publication.tables):
            raise PublicationError(f"{path} has no schema `marts`, so it is not a publication of trainledger.")
        yield publication
    finally:
        connection.close()
