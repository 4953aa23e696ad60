"""Publication: a finished build becomes the file that readers hold, whole or not at all.

A new DuckDB file is written beside the published one, forced to disk and renamed over it; the Parquet folder is swapped
by one rename of a symbolic link, the page of the ledger by another; PUBLICATION.json comes last and is the record that the
publication is done. Killed anywhere before that, readers have whole files and the next refresh builds and publishes again.
Whether a build may be published is decided in gates.py.

The new file begins as a copy of the published one, in which parts that changed are replaced: see last.py.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.base import durable, modes
from dagster_project.publishing.catalogue import write_catalogue
from dagster_project.publishing.contract import write_contract
from dagster_project.publishing.digest import WHOLE, TableDigest, literal, quoted, table_digest, whole_digest
from dagster_project.publishing.last import (
    Catalog,
    Column,
    Last,
    catalog_of,
    condition_of,
    contents,
    declared_key,
    definition,
    has_other_rows,
    in_order,
    last_publication,
    part_of,
    publisher,
    versions_of,
)
from dagster_project.publishing.ledger_page import show_page, write_data
from dagster_project.publishing.month_files import write_files
from dagster_project.publishing.parts import LINK, Parts, new_folder, remove_old_parts, swap_parts
from dagster_project.publishing.run_aliases import write_run_aliases
from dagster_project.publishing.statements import Page, write_page_views, write_pages, write_statements, write_views
from dagster_project.publishing.tables import COPIED, PublishedTable, ops_tables
from dagster_project.publishing.totals import write_totals
from dagster_project.publishing.view_files import write_view_files

if TYPE_CHECKING:
    import duckdb

    from reports.ledger.page import Page as LedgerPage

FILE_NAME = "trainledger.duckdb"
COMMIT_RECORD = "PUBLICATION.json"
NO_ROWS = (0, "")  # of a table without rows, which has one file and no part with a digest
MOST_GROWTH = 2  # replaced rows leave holes: a file that grew to twice what it was when written from nothing is copied row by row


@dataclass(frozen=True, slots=True)
class Identity:
    """What PUBLICATION.json states about a publication besides its tables."""

    build_id: str
    fingerprint: str
    code_version: str
    units: dict[str, str]
    engine: str = "duckdb"
    absent: dict[str, str] = field(default_factory=dict)  # report tables that it goes without, and why


def publish(
    build: duckdb.DuckDBPyConnection,
    published: Path,
    tables: Sequence[PublishedTable],
    identity: Identity,
    months: Collection[date] | None = None,
    statements: Mapping[str, str] | None = None,
    pages: Sequence[Page] = (),
) -> dict[str, Any]:
    """Publish the build file that is open, which is named build.duckdb. Returns what PUBLICATION.json states.

    `statements` are the SELECTs of report models, by name: of a view it is all there is. `pages` are what reports print.
    `months` are those the build built. What is published row for row stays as it is. None: nothing stays.
    """
    published.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(published)
    file, record_file = published / FILE_NAME, published / COMMIT_RECORD
    names = [table.name for table in tables if not (table.is_view or table.is_parquet_only)]
    last = None if months is None else last_publication(file, record_file, identity.code_version, names, identity.absent)
    new_file = published / f".{identity.build_id}.duckdb"
    folder = new_folder(published, identity.build_id)
    whole_bytes = _begin_file(new_file, last)
    parts = Parts(folder, published / LINK, last, frozenset(part_of(month) for month in months or ()))
    written, page = _write(build, new_file, tables, identity.build_id, parts, statements or {}, pages)
    readers = modes.as_in(published)
    for made in (new_file, folder):
        modes.give(made, readers)
    record = {
        **asdict(identity),
        "units": dict(sorted(identity.units.items())),
        **written,
        "sha256": durable.sha256_of(new_file),
        "publisher": publisher(),
        "whole_bytes": whole_bytes or new_file.stat().st_size,
    }
    new_file.replace(file)
    durable.sync(published)
    swap_parts(published, folder)
    show_page(published, page)
    durable.write_json(record_file, record, readers)
    remove_old_parts(published, folder)
    write_catalogue(file, published, tables, is_same=last is not None and last.is_intact)
    return record


def _remove_leftovers(published: Path) -> None:
    """A publication that was killed leaves hidden files of its own; no reader knows them."""
    for path in [*published.glob(".*.duckdb"), *published.glob(".*.duckdb.wal"), *published.glob(f".{COMMIT_RECORD}.*")]:
        path.unlink(missing_ok=True)


def _begin_file(new_file: Path, last: Last | None) -> int | None:
    """Copy the last file. Returns how large it was when it was last written from nothing; None if that is now."""
    import duckdb

    if last is None:
        return None
    whole_bytes = int(last.record["whole_bytes"])
    if last.file.stat().st_size <= MOST_GROWTH * whole_bytes:
        _copy_bytes(last.file, new_file)
        return whole_bytes
    with duckdb.connect() as connection:
        connection.execute(f"attach {literal(str(last.file))} as last (read_only); attach {literal(str(new_file))} as new")
        connection.execute("copy from database last to new")
    return None


def _copy_bytes(source: Path, target: Path) -> None:
    """Copy a file inside the kernel, or where the file system can, let both share their bytes."""
    try:
        with source.open("rb") as old, target.open("wb") as new:
            left = os.fstat(old.fileno()).st_size
            while left > 0:
                done = os.copy_file_range(old.fileno(), new.fileno(), left)
                if not done:
                    raise OSError(f"{source} ended early")
                left -= done
    except OSError:  # not every file system can
        shutil.copyfile(source, target)


def _write(
    build: duckdb.DuckDBPyConnection,
    new_file: Path,
    tables: Sequence[PublishedTable],
    build_id: str,
    parts: Parts,
    statements: Mapping[str, str],
    pages: Sequence[Page],
) -> tuple[dict[str, Any], LedgerPage]:
    """Bring the new file to the rows of the build. Returns what PUBLICATION.json states of tables and Parquet, and the page."""
    digests, last = list[TableDigest](), parts.last
    with build.cursor() as connection:  # in the engine that has the build open: another one would read the whole file again
        connection.execute(
            "set TimeZone = 'UTC'; set enable_progress_bar = false"
        )  # progress is shown by steps, not by statements
        connection.execute(f"attach {literal(str(new_file))} as new; use new")
        connection.begin()  # hundreds of comments and columns: one commit instead of one, with its wait for the disk, for each
        connection.execute("create schema if not exists marts; create schema if not exists ops")
        catalog = catalog_of(connection)
        versions = versions_of(connection, catalog, tables)
        parquet_only = [table for table in tables if table.is_parquet_only]
        tables = [table for table in tables if not table.is_parquet_only]
        for table in (table for table in tables if not table.is_view):
            digest = _write_table(connection, table, parts, catalog, versions.get(table.name))
            digests.append(digest)
            write_totals(connection, digest, last.parts_of(table.name) if last else None)
        of_ops = ops_tables()
        for name in COPIED:
            # of builds and gates the file has its own; what became of earlier builds stays in the writer's file
            own = f"build_id = {literal(build_id)}" if "build_id" in of_ops[name].key else "true"
            if last and last.is_intact and catalog.get(("", "ops", name)) == catalog["build", "ops", name]:
                connection.execute(f"delete from ops.{quoted(name)}")  # made anew, it would have lost its words
            else:
                _create(connection, catalog["build", "ops", name], "ops", name)
            _insert(connection, f"build.ops.{quoted(name)}", f"ops.{quoted(name)}", of_ops[name].key, own)
        write_run_aliases(connection, catalog)
        if not (last and last.is_intact):  # else the copied file has them
            write_contract(connection)
            write_statements(connection, statements)
            write_views(connection, tables, statements)
            write_pages(connection, pages)
            write_page_views(connection, pages)
        files = write_files(connection, parquet_only, digests, parts, versions)
        files |= write_view_files(connection, tables, digests, statements, parts)
        words = {"marts": tables, "ops": [*of_ops.values()], "main": tables}
        _comment(connection, words, only_new=last is not None and last.is_intact)
        page = write_data(connection, parts.folder.parent, digests)
        connection.commit()
        connection.execute("checkpoint; use build; detach new")
    durable.sync(new_file)
    record = {
        "tables": {digest.table: digest.digest for digest in digests},
        "rows": {digest.table: digest.rows for digest in digests},
        "parts": {digest.table: digest.partitions for digest in digests},
        "files": files,
        "parquet": parts.hashes,
        "versions": versions,
    }
    return record, page


def _write_table(
    connection: duckdb.DuckDBPyConnection, table: PublishedTable, parts: Parts, catalog: Catalog, version: str | None
) -> TableDigest:
    """Replace the parts of a table that changed: rows, digest and Parquet. The rest keeps all three."""
    source, place = f"build.{quoted(table.schema)}.{quoted(table.name)}", f"marts.{quoted(table.name)}"
    found = catalog.get(("build", table.schema, table.name))
    if not found:
        raise LookupError(f"the build has no table {table.schema}.{table.name}, which is to be published")
    columns = [(name, data_type) for name, data_type, _ in found]
    same, every = _same(connection, table, parts, catalog, version)
    partitions = {part: digest for part, digest in same.items() if parts.keep(table.name, part)}
    if not partitions and (catalog.get(("", "marts", table.name)) != found or declared_key(found, table.key)):
        _create(connection, found, "marts", table.name, table.key)
    elif WHOLE not in partitions:
        stays = " or ".join(condition_of(part) for part in partitions) or "false"
        connection.execute(f"delete from {place} where ({stays}) is not true")
    if changed := sorted(every - partitions.keys()):
        condition = " or ".join(condition_of(part) for part in changed)
        _insert(connection, source, place, table.key, condition)
        partitions |= table_digest(connection, "marts", table.name, condition, columns).partitions
        for part in changed:
            parts.write(connection, f"from {place} where {condition_of(part)} order by rowid", table.name, part)
    return whole_digest(table.name, columns, {part: found for part, found in partitions.items() if found != NO_ROWS})


def _same(
    connection: duckdb.DuckDBPyConnection, table: PublishedTable, parts: Parts, catalog: Catalog, version: str | None
) -> tuple[dict[str, tuple[int, str]], Set[str]]:
    """Parts whose rows in the copied file are those of the build, with rows and digest; and the names of all parts there are."""
    new, last = catalog["build", table.schema, table.name], parts.last
    old, source = f"marts.{quoted(table.name)}", f"build.{quoted(table.schema)}.{quoted(table.name)}"
    published = (last.parts_of(table.name) or {WHOLE: NO_ROWS}) if last else {}
    is_there = last is not None and catalog.get(("", "marts", table.name)) == new
    if last and is_there and last.has_version(table.name, version):
        return published, published.keys()
    columns = [(name, data_type) for name, data_type, _ in new]
    now = contents(connection, source, columns)
    before = contents(connection, old, columns) if is_there else {}
    same = {part for part, sums in now.items() if before.get(part) == sums}
    for part in same & {WHOLE, *parts.built}:  # made anew, so equal sums alone prove too little: row by row
        if now[part][0] and has_other_rows(connection, source, old, condition_of(part)):
            same.remove(part)
    return {part: found for part, found in published.items() if part in same}, now.keys()


def _create(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], schema: str, name: str, key: Sequence[str] = ()
) -> None:
    """Create the table, empty, with its types and NOT NULL as the build has them, and with its key where that is cheap."""
    connection.execute(f"drop table if exists {schema}.{quoted(name)}")
    connection.execute(f"create table {schema}.{quoted(name)} ({definition(columns)}{declared_key(columns, key)})")


def _insert(connection: duckdb.DuckDBPyConnection, source: str, target: str, key: Sequence[str], condition: str) -> None:
    """Copy rows in their order."""
    connection.execute(f"insert into {target} from {source} where {condition} order by {in_order(connection, source, key)}")


def _comment(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Sequence[PublishedTable]], *, only_new: bool) -> None:
    """Give tables and columns their words, where a copied file has not got them yet. `only_new`: all but new tables have them.

    Whoever asks for all columns waits until every view is laid out, so of new tables alone each is asked for its own.
    """
    asked = "select schema_name, table_name, '', comment from duckdb_tables() where database_name = current_database()"
    if only_new:
        bare = connection.execute(f"{asked} and comment is null").fetchall()
        named = {one: connection.execute(f"from {one[0]}.{quoted(one[1])} limit 0").description for one in bare}
        present = {(*one[:2], column): None for one, of in named.items() for column in ("", *(name for name, *_ in of))}
    else:
        comments = connection.execute(
            f"{asked} union all select schema_name, view_name, '', comment from duckdb_views()"
            " where database_name = current_database() union all select schema_name, table_name, column_name, comment"
            " from duckdb_columns() where database_name = current_database()"
        ).fetchall()
        present = {(schema, table, column): comment for schema, table, column, comment in comments}
    for schema, of_schema in tables.items():
        for table in of_schema:
            for column, words in {"": table.description, **table.columns}.items():
                text, at = words.strip(), (schema, table.name, column)
                if text and at in present and present[at] != text:
                    place = f"{schema}.{quoted(table.name)}"
                    kind = "view" if table.is_view or schema == "main" else "table"
                    what = f"column {place}.{quoted(column)}" if column else f"{kind} {place}"
                    connection.execute(f"comment on {what} is {literal(text)}")
