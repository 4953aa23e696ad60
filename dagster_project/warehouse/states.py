"""What each table of a build file was made of: the state by which a build knows what it need not run again.

A state belongs to the rows that lie beside it in the same file: both are written in one transaction, and both go with the file.
It is not published. The versions of schema raw are worked out from what was elected and not from the views, which show the files
of the months of one build.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from dagster_project.base.code import raw_version
from dagster_project.base.kinds import Kind, built_kinds
from dagster_project.publishing.digest import literal

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election
    from dagster_project.election.winners import Elected
    from dagster_project.warehouse.statements import Statement

DDL = """
create schema if not exists ops;
create table if not exists ops.node_states (node varchar, definition varchar, inputs varchar, version varchar);
alter table ops.node_states add column if not exists sums varchar;
alter table ops.node_states add column if not exists days varchar
"""


@dataclass(frozen=True, slots=True)
class State:
    """Of one relation or test: hashes of its statement and of what it read, and the version of its contents.

    The version of a table is the build that last gave it other rows; that of a test the build in which it passed. `sums` are sums
    of a table's rows by month or by day, as JSON: by them a build knows whether rows that it writes are the ones it replaces.
    `days` are the versions of the days that a table by day was made of (days.py), as JSON.
    """

    node: str
    definition: str
    inputs: str
    version: str
    sums: str | None = None
    days: str | None = None


def read(connection: duckdb.DuckDBPyConnection) -> dict[str, State]:
    """Every state by its node."""
    connection.execute(DDL)
    return {row[0]: State(*row) for row in connection.execute("from ops.node_states").fetchall()}


def write(connection: duckdb.DuckDBPyConnection, states: Iterable[State]) -> None:
    """Replace the states of some nodes."""
    if rows := [astuple(state) for state in states]:
        # as literals: of a hundred tables each has its own transaction, and parameters that are lists take longer to plan
        nodes = ", ".join(literal(row[0]) for row in rows)
        values = ", ".join(f"({', '.join('null' if value is None else literal(value) for value in row)})" for row in rows)
        connection.execute(f"delete from ops.node_states where node in ({nodes}); insert into ops.node_states values {values}")


def forget(connection: duckdb.DuckDBPyConnection, statements: Iterable[Statement]) -> None:
    """Let some nodes be run again, whatever they are made of."""
    connection.execute(DDL)
    nodes = [one.unique_id if one.is_test else one.relation for one in statements]
    connection.execute("delete from ops.node_states where node in (select unnest(?))", [nodes])


def sha256(*parts: object) -> str:
    """One hash over some values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def raw_state(selects: Mapping[Kind, str]) -> State:
    """How schema raw is made: the SELECT of each kind without its files, which has its columns, flags and tags, and the code."""
    return State("raw", "", "", sha256(raw_version(), selects))


def raw_states(made: State, election: Election, tables: Mapping[str, list[tuple[Any, ...]]]) -> list[State]:
    """The states of schema raw: a view per kind of all that is elected, whichever months a build reads, and the small tables."""
    members: dict[str, list[Any]] = {str(kind): [] for kind in built_kinds()}
    for member in election.members:
        members[str(member.generation.kind)].append(rows_of(member))
    found = {kind: sha256(made.version, sorted(of_kind)) for kind, of_kind in members.items()}
    found |= {name: sha256(made.version, rows) for name, rows in tables.items()}
    return [State(f"raw.{name}", "", "", version) for name, version in found.items()]


def rows_of(member: Elected) -> list[Any]:
    """What the rows of a generation are made of, and which of them count."""
    generation, contents = member.generation, member.contents
    return [
        generation.source,
        generation.partition,
        generation.content_hash,
        generation.published_at.isoformat(),
        contents.connector_version,
        contents.row_digest,
        sorted({part.source_object for part in contents.parts}),
        sorted(contents.controls.payer_versions.items()),
        sorted(member.book_payers),
        sorted(member.book),
        sorted(member.version_payers),
    ]
