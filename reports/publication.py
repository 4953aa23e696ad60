"""Read-only access to one publication: a DuckDB file, or a folder of Parquet. Nothing else in this folder opens a database.

The folder is that of an evidence pack: `marts/<table>.parquet`, `ops/<table>.parquet`. It may come from anybody: what is asked of
it reads no other file, and writes none.
"""

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

    def arrow(self, sql: str) -> Any:
        """The answer to a query as an Arrow table, with its exact types."""
        return self._connection.execute(sql).to_arrow_table()


TABLE = re.compile(r"[a-z_][a-z0-9_]*")
LIMIT = "1500MB"


@contextmanager
def open_folder(folder: Path) -> Iterator[Publication]:
    """Open the Parquet of an evidence pack. Its own SQL may be asked: no other file can be read, none written."""
    with duckdb.connect(config={"memory_limit": LIMIT, "max_temp_directory_size": "0KB"}) as connection:
        connection.execute("set TimeZone = 'UTC'")
        for schema in ("marts", "ops", "seeds"):
            connection.execute(f"create schema {schema}")
            for file in sorted((folder / schema).glob("*.parquet")):
                if not TABLE.fullmatch(file.stem):
                    raise PublicationError(f"{file} is not named as a table is.")
                place = str(file).replace("'", "''")
                try:
                    connection.execute(f"create view {schema}.\"{file.stem}\" as from read_parquet('{place}')")
                except duckdb.Error as error:
                    raise PublicationError(f"{file} cannot be read as Parquet: {error}") from error
        allowed = str(folder).replace("'", "''")
        connection.execute(f"set allowed_directories = ['{allowed}']; set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        yield Publication(connection)


@contextmanager
def open_publication(path: Path) -> Iterator[Publication]:
    """Open the file, or the folder of Parquet, for reading. Readers take no lock and leave nothing behind."""
    if (path / "marts").is_dir():
        with open_folder(path) as publication:
            yield publication
        return
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
