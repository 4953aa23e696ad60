"""Schema raw of a build file: one view per kind over the elected Parquet; the small tables beside them are in raw_tables.py.

A view reads the landed files where they are; only narrow things become tables. Bills, carbon and telemetry are asked for the
months of the build alone, so a view of them has the files of those months and no others: a build of month 36 opens as many as
one of month 3. Of samples that are built by day it has the files of the days that changed in these months (days.py). Run records
are asked for all months and come in many small files: their rows are kept, and a build reads the files that are new. A kind
without a source is an empty view of the same columns. Which rows count is said by flags, what they mean by dbt.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb

from connectors.formats.schema import Schema
from connectors.registry import connector_for
from dagster_project.base.kinds import KINDS, Kind, built_kinds
from dagster_project.election.election import Election
from dagster_project.election.months import is_read_by
from dagster_project.election.run_tags import run_tag
from dagster_project.election.winners import Elected
from dagster_project.landing.deriving.typed_select import Read, parts_select, quoted, read_parquet, typed_columns
from dagster_project.landing.land import Landing
from dagster_project.settings import Rules
from dagster_project.warehouse import days, states
from dagster_project.warehouse.raw_tables import TABLES, declared, fill, rows_of_tables

OF_MONTHS = ("bill", "carbon", "telemetry")  # facts whose models are built by month
KEPT = ("runs",)  # facts that come in many small files and are asked for all months
LandedFiles = list[tuple[tuple[Any, ...], dict[str, str]]]  # a row of FILE_COLUMNS, and the file's physical columns
FILES = "raw.landed_files"
FILE_COLUMNS = {
    "file": "VARCHAR",
    "source_name": "VARCHAR",
    "content_hash": "VARCHAR",
    "source_object": "VARCHAR",
    "file_number": "BIGINT",  # of bills, in the order of source and object: tells which of two rows comes first
    "published_at": "TIMESTAMP",
    "book_payers": "VARCHAR[]",
    "book_months": "VARCHAR[]",  # 'payer/2026-04', for rows whose own time says their month
    "version_payers": "VARCHAR[]",
    "row_versions": "VARCHAR[]",  # 'payer/15', for rows that name their model version
}


def create_raw(
    con: duckdb.DuckDBPyConnection,
    rules: Rules,
    landing: Landing,
    election: Election,
    months: Sequence[date],
    turned: Sequence[date] = (),
    *,
    all_days: bool = True,
) -> None:
    """Create or replace everything in schema raw, in one transaction. Of the months that `turned` only the status is new.

    `all_days`: of kinds that are built by day, all days of the months are read, and not only those that changed.
    """
    con.execute("SET TimeZone = 'UTC'; BEGIN")  # naive times in our tables are UTC, whatever the machine thinks
    made = states.raw_state({kind: rows_of(kind, rules, []) for kind in built_kinds()})
    before = states.read(con)
    if made not in before.values():
        con.execute("DROP SCHEMA IF EXISTS raw CASCADE")  # rows are kept from build to build, as the present code reads them
    con.execute("CREATE SCHEMA IF NOT EXISTS raw")
    build_days = days.to_build(con, before, election, months, made.version, is_all=all_days)
    read = read_members(election, months, {kind: [f"{day:%Y-%m-%d}" for day in found] for kind, found in build_days.items()})
    files = {kind: landed_files(landing, read, kind) for kind in built_kinds()}
    con.execute(f"CREATE TABLE IF NOT EXISTS {FILES} ({declared(FILE_COLUMNS)})")
    con.execute(f"CREATE OR REPLACE TEMP TABLE files_before AS FROM {FILES}")
    fill(con, FILES, FILE_COLUMNS, [row for found in files.values() for row, _ in found])
    for kind, found in files.items():
        if KINDS[kind].fact in KEPT:
            _keep_rows(con, kind, rules, found)
        else:
            con.execute(f"CREATE OR REPLACE VIEW raw.{kind} AS {rows_of(kind, rules, found)}")
    rows = rows_of_tables(rules, election, months, read)
    rows["status_months"] = [(month,) for month in sorted(turned)]
    rows["build_days"] = [(kind, day, version) for kind, found in build_days.items() for day, version in found.items()]
    for name, columns in TABLES.items():
        fill(con, f"raw.{name}", columns, rows[name])
    states.write(con, [made, *states.raw_states(made, election, rows)])
    con.execute("COMMIT")


def show_rows(con: duckdb.DuckDBPyConnection, rules: Rules, landing: Landing, members: Iterable[Elected], kind: Kind) -> None:
    """Create or replace the view of a kind with the rows of some generations, elected or not: to look at rows, not to build."""
    con.execute("CREATE SCHEMA IF NOT EXISTS raw")
    found = landed_files(landing, members, kind)
    fill(con, FILES, FILE_COLUMNS, [row for row, _ in found])
    con.execute(f"CREATE OR REPLACE VIEW raw.{kind} AS {rows_of(kind, rules, found)}")


def read_members(election: Election, months: Iterable[date], build_days: Mapping[str, Collection[str]]) -> list[Elected]:
    """The elected generations that a build of these months, and of these days of kinds that are built by day, reads."""
    texts = {f"{month:%Y-%m}" for month in months}

    def is_read(member: Elected) -> bool:
        return member.fact not in OF_MONTHS or is_read_by(member, texts, build_days.get(member.generation.kind))

    return [member for member in election.members if is_read(member)]


def _keep_rows(con: duckdb.DuckDBPyConnection, kind: Kind, rules: Rules, found: LandedFiles) -> None:
    """Rows of a kind as a table: those of files that are still there as they were stay, only new files are read."""
    con.execute(f"CREATE TABLE IF NOT EXISTS raw.{kind} AS {rows_of(kind, rules, found)} LIMIT 0")
    place = "(_source_name, _delivery_content_hash, _source_object)"
    con.execute(
        f"DELETE FROM raw.{kind} WHERE {place} IN "
        f"(SELECT (source_name, content_hash, source_object) FROM (FROM files_before EXCEPT FROM {FILES}))"
    )
    added = {file for (file,) in con.execute(f"SELECT file FROM (FROM {FILES} EXCEPT FROM files_before)").fetchall()}
    if new := [(row, physical) for row, physical in found if row[0] in added]:
        con.execute(f"INSERT INTO raw.{kind} {rows_of(kind, rules, new)}")


def landed_files(landing: Landing, members: Iterable[Elected], kind: Kind) -> LandedFiles:
    """The Parquet files of a kind, as rows of FILE_COLUMNS, with their physical columns."""
    found: LandedFiles = []
    taken = set[Path]()
    of_kind = [member for member in members if member.generation.kind == kind]
    parts = [(member.generation.source, part.source_object, member, part) for member in of_kind for part in member.contents.parts]
    for place, (source, source_object, member, part) in enumerate(sorted(parts, key=itemgetter(0, 1))):
        generation, contents = member.generation, member.contents
        number = place if KINDS[kind].fact == "bill" else None  # a new run record would give all others new numbers
        versions = contents.controls.payer_versions
        places = (
            sorted(member.book_payers),
            sorted(f"{payer}/{month}" for payer, month in member.book),
            sorted(member.version_payers),
            sorted(f"{payer}/{versions.get(payer, '')}" for payer in member.version_payers),
        )
        path = str(_own_path(landing.part_path(generation, contents, part), taken))
        published_at = generation.published_at.astimezone(UTC).replace(tzinfo=None)
        found.append(((path, source, generation.content_hash, source_object, number, published_at, *places), part.columns))
    return found


def _own_path(path: Path, taken: set[Path]) -> Path:
    """The path of a file that no object was read from yet, and mark it as taken.

    The mirror of a bucket keeps objects with the same bytes as one file. The second of them is read under a link of its own: by
    the file's own name each of its rows would be a row of both objects, and read twice.
    """
    own, number = path, 1
    while own in taken:
        number += 1
        own = path.with_name(f"{path.stem}~{number}{path.suffix}")
    if own != path and not own.is_symlink():
        own.unlink(missing_ok=True)  # what a copy of the home has instead of the link
        with suppress(FileExistsError):
            own.symlink_to(path.name)
    taken.add(own)
    return own


def rows_of(kind: Kind, rules: Rules, files: LandedFiles, read: Read = read_parquet) -> str:
    """The SELECT of a kind's rows: as its connector declares them, where they come from, flags and run tag."""
    schema: Schema = connector_for(kind).SCHEMA
    columns = ", ".join(f"typed.{quoted(name)}" for name, _ in typed_columns(schema))
    parts = [(row[0], physical) for row, physical in files]
    return (
        f"SELECT {columns}, files.source_name AS _source_name, files.content_hash AS _delivery_content_hash, "
        f"files.source_object AS _source_object, files.file_number AS _file_number, typed._row_number, "
        f"files.published_at AS _published_at, "
        f"{', '.join(f'{expression} AS {name}' for name, expression in [*_flags(kind), *_run_tag(kind, rules)])} "
        f"FROM ({parts_select(schema, parts, read)}) AS typed JOIN {FILES} AS files ON files.file = typed._file"
    )


def _flags(kind: Kind) -> list[tuple[str, str]]:
    """Name and expression of a kind's flags. By payer, because one export may hold several and be the book of some.

    Where a partition is no month, or names no model version, the row itself says which one it is of.
    """
    facts = KINDS[kind]
    if facts.payer_column is None:
        return [("_is_book", "true")]
    payer = f"typed.{quoted(facts.payer_column)}"
    is_book, is_elected = f"list_contains(files.book_payers, {payer})", f"list_contains(files.version_payers, {payer})"
    if facts.usage_column:
        month = f"strftime(typed.{quoted(facts.usage_column)}, '%Y-%m')"
        is_book = f"list_contains(files.book_months, {payer} || '/' || {month})"
    if facts.version_column:
        version = f"coalesce(typed.{quoted(facts.version_column)}, '')"
        is_elected = f"list_contains(files.row_versions, {payer} || '/' || {version})"
    return [("_is_book", is_book), *([("_is_elected_version", is_elected)] if facts.fact == "carbon" else [])]


def _run_tag(kind: Kind, rules: Rules) -> list[tuple[str, str]]:
    """`_run_tag`: the first configured run tag that a bill line carries, in each spelling its provider allows for the key."""
    return [("_run_tag", run_tag(kind, rules.run_tag_keys, "typed"))] if KINDS[kind].tag_column else []
