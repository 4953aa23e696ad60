"""Read-only access to one publication: a DuckDB file, or a folder of Parquet. Nothing else in this folder opens a database.

The folder is that of an evidence pack: `marts/<table>.parquet`, `ops/<table>.parquet`. It may come from anybody, and its own SQL
is among what is asked of it: that goes through the door (door.py), to copies of its tables.
"""

import json
import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from reports import door
from reports.door import Door, Row, rows_of
from reports.errors import PublicationError


class Page(NamedTuple):
    """What prints a table of reports: the model, its SELECT, and how it declares the table."""

    model: str
    statement: str
    declared: dict[str, Any]


class Publication:
    """One open publication: which tables it has, and the answer to a query."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, asked: Door | None = None) -> None:
        self._connection, self._door = connection, asked
        named = "select distinct schema_name || '.' || table_name from duckdb_columns()"
        named += " where not internal and database_name = current_database()"
        self.tables = {table for (table,) in connection.execute(named).fetchall()}

    @cached_property
    def pages(self) -> dict[str, Page]:
        """By id each table of reports that the file can answer."""
        rows = self.rows_if_there("select model, statement, printed from ops.report_pages order by model")
        return {
            id: Page(row["model"], row["statement"], declared)
            for row in rows
            for id, declared in json.loads(row["printed"]).items()
        }

    def missing(self, sql: str) -> str:
        """The tables that a query names and this file does not have, as words: the published file has no marts.a, no ops.b."""
        named = dict.fromkeys(re.findall(r"\b(?:marts|ops)\.\w+", sql.replace('."', ".")))  # compiled models quote names
        absent = [table for table in named if table not in self.tables]
        return f"the published file has no {', no '.join(absent)}" if absent else ""

    def rows(self, sql: str) -> list[Row]:
        """Run a query. Every query in this folder names its order, so that a page never depends on threads."""
        if self._door:
            return self._door.rows(sql, is_plain=False)
        return rows_of(self._connection.execute(sql))

    def rows_if_there(self, sql: str) -> list[Row]:
        """The same; none where the file does not have what the query asks for."""
        return [] if self.missing(sql) else self.rows(sql)

    def arrow(self, sql: str) -> Any:
        """The answer to a query as an Arrow table, with its exact types."""
        if self._door:
            return self._door.arrow(sql)
        return self._connection.execute(sql).to_arrow_table()


TABLE = re.compile(r"[a-z_][a-z0-9_]*")


@contextmanager
def open_folder(folder: Path, only: Collection[str] = ()) -> Iterator[Publication]:
    """Open the Parquet of an evidence pack, to ask it also its own SQL; of `only` some tables, where they are named."""
    with opened_door(folder, only=only) as (connection, asked):
        yield Publication(connection, asked)


@contextmanager
def opened_door(
    folder: Path, *, is_empty: bool = False, only: Collection[str] = ()
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Door]]:
    """A door to copies of a pack's tables; `is_empty`: to the same tables without rows."""
    with copied_tables(folder, is_empty=is_empty, only=only) as file:
        config = door.settings(file.with_name("spill"))
        with duckdb.connect(str(file), read_only=True, config=config) as connection:
            connection.execute("set TimeZone = 'UTC'")
            door.lock(connection)
            yield connection, Door(connection)


@contextmanager
def copied_tables(folder: Path, *, is_empty: bool = False, only: Collection[str] = ()) -> Iterator[Path]:
    """Copies of a pack's tables in a DuckDB file that goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix="trainledger-door-") as scratch:
        file = Path(scratch) / "pack.duckdb"
        with duckdb.connect(str(file), config=door.settings(file.with_name("spill"))) as connection:
            load(connection, folder, "limit 0" if is_empty else "", only)
        yield file


def load(connection: duckdb.DuckDBPyConnection, folder: Path, limit: str = "", only: Collection[str] = ()) -> None:
    """Copy every table of a folder of Parquet, or those that are named."""
    for schema in ("marts", "ops", "seeds"):
        connection.execute(f"create schema {schema}")
        for file in sorted((folder / schema).glob("*.parquet")):
            if only and f"{schema}.{file.stem}" not in only:
                continue
            if not TABLE.fullmatch(file.stem):
                raise PublicationError(f"{file} is not named as a table is.")
            place = str(file).replace("'", "''")
            try:
                connection.execute(f"create table {schema}.\"{file.stem}\" as from read_parquet('{place}') {limit}")
            except duckdb.Error as error:
                raise PublicationError(f"{file} cannot be read as Parquet: {error}") from error


@contextmanager
def open_publication(path: Path | Publication) -> Iterator[Publication]:
    """Open the file, or the folder of Parquet, for reading. Readers take no lock and leave nothing behind.

    One that is open already stays open: whoever verifies a pack has copied its tables by then.
    """
    if isinstance(path, Publication):
        yield path
        return
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
