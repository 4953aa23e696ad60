"""What is in a staged delivery: its objects fetched and hashed, its Parquet summed up.

Works on a staging folder only. Whether values are right was the connector's matter, whether the delivery becomes a generation
is the landing's.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from dagster_project.controls import controls_of, row_digest
from dagster_project.generations import Controls, LandedObject, LandedPart, RowRefusal, file_names
from dagster_project.kinds import Kind
from dagster_project.typed_select import file_list, parts_select

if TYPE_CHECKING:
    from connectors.deliveries import Delivery, Part, Refusal
    from connectors.formats.schema import Schema
    from connectors.stores import ObjectStore

CHUNK = 1 << 20
SMALL = 16 << 20


@dataclass(frozen=True)
class Contents:
    """What the Parquet of a delivery holds."""

    parts: list[LandedPart]
    rows: int
    row_digest: str
    controls: Controls


def fetch(store: ObjectStore, delivery: Delivery, folder: Path) -> list[LandedObject]:
    """Read every object of a delivery once, hashing while it streams, under flat safe names."""
    wanted = [(info, "data") for info in delivery.objects]
    if delivery.manifest is not None:
        wanted.append((delivery.manifest, "manifest"))
    names = file_names([info.key for info, _ in wanted])
    return [
        LandedObject(
            key=info.key, file=names[info.key], role=role, etag=info.etag, version_id=info.version_id, size=info.size,
            last_modified=info.last_modified, sha256=store.fetch(info, folder / names[info.key]),
        )
        for info, role in wanted
    ]  # fmt: skip


def describe(engine: duckdb.DuckDBPyConnection, kind: Kind, partition: str, parts: tuple[Part, ...], schema: Schema) -> Contents:
    """Sum up the Parquet that a connector has checked."""
    with engine.cursor() as con:  # a connection of its own: what it makes goes with it
        con.execute("SET TimeZone = 'UTC'")
        is_small = sum(part.path.stat().st_size for part in parts) < SMALL
        con.execute("SET threads = 1" if is_small else "RESET threads")  # waking more costs more than they do
        columns = {str(part.path): physical_columns(con, part.path) for part in parts}
        con.execute(f"CREATE TEMP VIEW landed AS {parts_select(schema, columns.items())}")
        rows = dict(con.execute("SELECT _file, count(*) FROM landed GROUP BY _file").fetchall())
        described = [
            LandedPart(
                file=part.path.name, source_object=part.source_object, rows=rows.get(str(part.path), 0),
                size=part.path.stat().st_size, sha256=sha256_of(part.path), columns=columns[str(part.path)],
            )
            for part in parts
        ]  # fmt: skip
        return Contents(
            described, sum(rows.values()), row_digest(con, "landed", schema), controls_of(con, kind, partition, "landed", schema)
        )


def open_engine(cache: Path) -> duckdb.DuckDBPyConnection:
    """An in-memory DuckDB in UTC that spills into the cache."""
    spill = cache / "spill"
    spill.mkdir(parents=True, exist_ok=True)
    con = duckdb.connect(":memory:", config={"temp_directory": str(spill)})
    con.execute("SET TimeZone = 'UTC'")
    return con


def physical_columns(con: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    """The columns of a Parquet file as DuckDB sees them."""
    described: list[tuple[Any, ...]] = con.execute(
        f"DESCRIBE SELECT * FROM read_parquet({file_list([str(path)])}, hive_partitioning=false)"
    ).fetchall()
    return {name: kind for name, kind, *_ in described}


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def row_refusal(refusal: Refusal) -> RowRefusal:
    """A connector's refusal as the landing records it."""
    return RowRefusal(
        source_object=refusal.source_object,
        row_number=refusal.row_number,
        column_name=refusal.column_name,
        value=refusal.value,
        reason=refusal.reason,
        remedy=refusal.remedy,
        message=refusal.message,
    )
