"""Reading the bytes of one delivery: its connector checks and types them, then they are summed up.

Works on the landed originals and a folder for typed copies. Whether a delivery becomes a generation, and where the result is
kept, is decided by the landing.
"""

import re
from pathlib import Path
from typing import Any

import duckdb
from msgspec.structs import replace

from connectors.deliveries import Delivery, Part, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.schema import Schema
from connectors.registry import connector_for
from dagster_project.failures import machine_failure
from dagster_project.kinds import Kind
from dagster_project.landing.deriving.contents import WRONG_FOR_GOOD, Contents, ParquetPart, row_refusal
from dagster_project.landing.deriving.controls import CONTROLS
from dagster_project.landing.deriving.one_reading import read_once, sums
from dagster_project.landing.deriving.typed_select import file_list, parts_select

SMALL = 16 << 20


class Deriver:
    """An engine in memory that derives one delivery after the other; starting it costs more than a small delivery."""

    def __init__(self, spill: Path, memory_limit: str) -> None:
        """What does not fit into `memory_limit` goes to the folder `spill`."""
        spill.mkdir(parents=True, exist_ok=True)
        self._config: dict[str, Any] = {"temp_directory": str(spill), "memory_limit": memory_limit}
        self._engine = self._started()

    def _started(self) -> duckdb.DuckDBPyConnection:
        engine = duckdb.connect(":memory:", config=self._config)
        engine.execute("SET GLOBAL TimeZone = 'UTC'")
        return engine

    def derive(
        self, delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, content_hash: str, version: str
    ) -> Contents:
        """Type and sum up a delivery whose originals are `files` by key; typed copies are written into `folder`.

        A delivery whose bytes are wrong gives Contents that are not taken. Raises ConnectorError when nothing can be said.
        """
        connector = connector_for(delivery.kind)
        made = Contents(content_hash=content_hash, connector_version=version)
        try:
            converted = connector.convert(delivery, files, folder, store_uri)
        except WRONG_FOR_GOOD as error:
            return replace(made, refusals=[row_refusal(refusal_of(delivery, error))], is_taken=False)
        made = replace(made, refusals=[row_refusal(refusal) for refusal in converted.refusals])
        if made.refusals and not converted.rows:  # nothing but refused records: the delivery before it is worth more
            return replace(made, is_taken=False)
        made = replace(made, unknown_columns=sorted(converted.unknown_columns))
        try:
            return self._described(made, delivery, converted.parts, set(files.values()), connector.SCHEMA)
        except duckdb.Error as error:
            if machine_failure(error) is not None:
                raise
            fault = _fault_of(Kind(delivery.kind), converted.parts, connector.SCHEMA, store_uri)
            if fault is None:
                raise
            self._engine = self._started()  # some errors end an engine
            return replace(made, refusals=[row_refusal(refusal_of(delivery, fault))], is_taken=False)

    def _described(
        self, made: Contents, delivery: Delivery, parts: tuple[Part, ...], originals: set[Path], schema: Schema
    ) -> Contents:
        with self._engine.cursor() as con:  # a connection of its own: what it makes goes with it
            is_small = sum(part.path.stat().st_size for part in parts) < SMALL
            con.execute("SET threads = 1" if is_small else "RESET threads")  # waking more costs more than they do
            columns = {str(part.path): physical_columns(con, part.path) for part in parts}
            there = {name for physical in columns.values() for name in physical}
            measures = {name: decimals for name, decimals in schema.measures.items() if name in there}
            controls = CONTROLS[Kind(delivery.kind)]
            read_once(con, schema, columns, controls.asked, measures)
            found = sums(con, schema, measures)
            return replace(
                made,
                parts=[
                    ParquetPart(
                        file=part.path.name,
                        is_original=part.path in originals,
                        source_object=part.source_object,
                        rows=found.rows_by_file.get(str(part.path), 0),
                        size=part.path.stat().st_size,
                        columns=columns[str(part.path)],
                    )
                    for part in parts
                ],
                rows=found.rows,
                row_digest=found.digest,
                controls=controls.read(con, delivery.partition),
                measures=found.measures,
            )


def _fault_of(kind: Kind, parts: tuple[Part, ...], schema: Schema, store_uri: str) -> ExportContentError | None:
    """The file, and the column of it, that the engine cannot read as declared; None when each can be read by itself."""
    for part in parts:
        uri, column = f"{store_uri}/{part.source_object}", None
        try:
            with duckdb.connect(":memory:") as con:
                con.execute("SET TimeZone = 'UTC'")
                physical = physical_columns(con, part.path)
                for columns in (*((one,) for one in schema), schema.columns):  # each alone, then all together
                    column = columns[0].name if len(columns) == 1 else None
                    rows = parts_select(Schema(columns), [(str(part.path), physical)], hashed=True)
                    con.execute(f"SELECT max(_hash), max(_row_number) FROM ({rows}) GROUP BY _file").fetchall()
                # the engine may reach a damaged page only in the order in which the one reading comes to it
                read_once(con, schema, {str(part.path): physical}, CONTROLS[kind].asked, schema.measures)
        except duckdb.Error as error:
            name = type(error).__name__
            what = f"column {column} cannot be read as declared" if column else "it is damaged and cannot be read as Parquet"
            is_text = "utf8" in re.sub("[^a-z0-9]", "", str(error).lower())
            return ExportContentError(
                f"{uri}: {what} ({name}).",
                place=Place(part.source_object, column_name=column),
                reason="bad_encoding" if is_text else "wrong_type" if column else "truncated",
            )
    return None


def physical_columns(con: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    """The columns of a Parquet file as DuckDB sees them."""
    described: list[tuple[Any, ...]] = con.execute(
        f"DESCRIBE SELECT * FROM read_parquet({file_list([str(path)])}, hive_partitioning=false)"
    ).fetchall()
    return {name: kind for name, kind, *_ in described}
