"""Publication: a finished build becomes the file that readers hold, whole or not at all.

A new DuckDB file is written beside the published one, forced to disk and renamed over it; the Parquet folder is swapped
by one rename of a symbolic link; PUBLICATION.json comes last and is the record that the publication is done. Killed
anywhere before that, readers have whole files and the next refresh builds and publishes again. Whether a build may be
published is decided in gates.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project import durable, modes
from dagster_project.publishing.contract import CONTRACT, write_bare_names, write_contract
from dagster_project.publishing.digest import TableDigest, columns_of, literal, quoted, table_digest
from dagster_project.publishing.parts import remove_old_parts, swap_parts, write_parts
from dagster_project.publishing.tables import COPIED, PublishedTable

if TYPE_CHECKING:
    import duckdb

FILE_NAME = "trainledger.duckdb"
COMMIT_RECORD = "PUBLICATION.json"


@dataclass(frozen=True, slots=True)
class Identity:
    """What PUBLICATION.json says about a publication besides its tables."""

    build_id: str
    fingerprint: str
    code_version: str
    units: dict[str, str]
    engine: str = "duckdb"


def publish(build_file: Path, published: Path, tables: Sequence[PublishedTable], identity: Identity) -> dict[str, Any]:
    """Publish a build file that no one has open for writing. Returns what PUBLICATION.json says."""
    published.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(published)
    new_file = published / f".{identity.build_id}.duckdb"
    digests = _write_file(build_file, new_file, tables, identity.build_id)
    parts_folder, hashes = write_parts(new_file, published, tables, identity.build_id)
    readers = modes.as_in(published)
    for made in (new_file, parts_folder):
        modes.give(made, readers)
    record = {
        **asdict(identity),
        "units": dict(sorted(identity.units.items())),
        "tables": {digest.table: digest.digest for digest in digests},
        "rows": {digest.table: digest.rows for digest in digests},
        "parquet": hashes,
    }
    new_file.replace(published / FILE_NAME)
    durable.sync(published)
    swap_parts(published, parts_folder)
    durable.write_json(published / COMMIT_RECORD, record, readers)
    remove_old_parts(published, parts_folder)
    return record


def _remove_leftovers(published: Path) -> None:
    """A publication that was killed leaves hidden files of its own; no reader knows them."""
    for path in [*published.glob(".*.duckdb"), *published.glob(".*.duckdb.wal"), *published.glob(f".{COMMIT_RECORD}.*")]:
        path.unlink(missing_ok=True)


def _write_file(build_file: Path, new_file: Path, tables: Sequence[PublishedTable], build_id: str) -> list[TableDigest]:
    import duckdb

    with duckdb.connect(str(new_file)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"attach {literal(str(build_file))} as build (read_only)")
        connection.begin()  # hundreds of comments and columns: one commit instead of one, with its wait for the disk, for each
        connection.execute("create schema marts; create schema ops")
        for table in tables:
            _copy_table(connection, table.schema, table.name, "marts", table.key)
            _comment(connection, "marts", table)
        for table in COPIED:
            # of builds and gates the file has its own; what became of earlier builds stays in the writer's file
            own = f"build_id = {literal(build_id)}" if "build_id" in table.key else "true"
            _copy_table(connection, "ops", table.name, "ops", table.key, own)
        write_contract(connection)
        for table in (*COPIED, CONTRACT):
            _comment(connection, "ops", table)
        write_bare_names(connection, tables)
        connection.commit()
        connection.execute("detach build")
        connection.execute("checkpoint")
        digests = [table_digest(connection, "marts", table.name) for table in tables]
    durable.sync(new_file)
    return digests


def _copy_table(
    connection: duckdb.DuckDBPyConnection, schema: str, name: str, target_schema: str, key: Sequence[str], condition: str = "true"
) -> None:
    """Create the table with its types and NOT NULL as the build has them, and fill it in the order of its key."""
    definition = connection.execute(
        "select column_name, data_type, is_nullable from duckdb_columns()"
        " where database_name = 'build' and schema_name = ? and table_name = ? order by column_index",
        [schema, name],
    ).fetchall()
    if not definition:
        raise LookupError(f"the build has no table {schema}.{name}, which is to be published")
    columns = ", ".join(f"{quoted(column)} {kind}{'' if nullable else ' not null'}" for column, kind, nullable in definition)
    connection.execute(f"create table {target_schema}.{quoted(name)} ({columns})")
    order = row_order(key, [column for column, _, _ in definition])
    connection.execute(
        f"insert into {target_schema}.{quoted(name)}"
        f" select * from build.{quoted(schema)}.{quoted(name)} where {condition} order by {order}"
    )


def row_order(key: Sequence[str], columns: Sequence[str]) -> str:
    """Order by the key, then by every other column: whatever the key leaves open must not depend on threads."""
    names = [*key, *(column for column in columns if column not in key)]
    return ", ".join(f"{quoted(name)} asc nulls last" for name in names)


def _comment(connection: duckdb.DuckDBPyConnection, schema: str, table: PublishedTable) -> None:
    place = f"{schema}.{quoted(table.name)}"
    if table.description:
        connection.execute(f"comment on table {place} is {literal(table.description.strip())}")
    present = {name for name, _ in columns_of(connection, schema, table.name)}
    for column, words in table.columns.items():
        if words and column in present:
            connection.execute(f"comment on column {place}.{quoted(column)} is {literal(words.strip())}")
