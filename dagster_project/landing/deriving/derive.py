"""Reading the bytes of a delivery: its connector checks and types them, then they are summed up.

Works on the landed originals and a folder for typed copies. Small deliveries may be summed up together. Whether a delivery
becomes a generation, and where the result is kept, is decided by the landing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from msgspec.structs import replace

from connectors.deliveries import NOTHING_KNOWN, Converted, Delivery, Part, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.schema import Schema
from connectors.registry import connector_for
from dagster_project.base.failures import machine_failure
from dagster_project.base.kinds import Kind
from dagster_project.landing.deriving.contents import WRONG_FOR_GOOD, Contents, ParquetPart, row_refusal
from dagster_project.landing.deriving.controls import controls_of
from dagster_project.landing.deriving.one_reading import Sums, read_once, sums
from dagster_project.landing.deriving.profile import with_profile, write_profiles
from dagster_project.landing.deriving.typed_select import file_list, parts_select
from dagster_project.landing.fetching import Fetched

SMALL = 16 << 20


@dataclass(frozen=True, slots=True)
class _Begun:
    """What is known of a delivery before its rows are read; one without `converted` is refused."""

    fetched: Fetched
    made: Contents
    converted: Converted | None = None


class Deriver:
    """An engine in memory that derives deliveries; starting it costs more than a small delivery."""

    def __init__(self, spill: Path, memory_limit: str) -> None:
        """What does not fit into `memory_limit` goes to the folder `spill`."""
        spill.mkdir(parents=True, exist_ok=True)
        self._config: dict[str, Any] = {"temp_directory": str(spill), "memory_limit": memory_limit}
        self._engine = self._started()

    def _started(self) -> duckdb.DuckDBPyConnection:
        engine = duckdb.connect(":memory:", config=self._config)
        engine.execute("SET GLOBAL TimeZone = 'UTC'")
        return engine

    def interrupt(self) -> None:
        """End what the engine does now; for a watch in another thread."""
        self._engine.interrupt()

    def derive(self, fetched: Fetched, store_uri: str, version: str) -> Contents:
        """Type and sum up a delivery.

        One whose bytes are wrong gives Contents that are not taken. Raises ConnectorError when nothing can be said.
        """
        delivery, begun = fetched.delivery, _begin(fetched, store_uri, version)
        if not begun.converted:
            return begun.made
        try:
            return self._described(Kind(delivery.kind), [begun])[0]
        except duckdb.Error as error:
            if machine_failure(error) is not None:
                raise
            fault = _fault_of(Kind(delivery.kind), begun.converted.parts, connector_for(delivery.kind).SCHEMA, store_uri)
            if fault is None:
                raise
            self._engine = self._started()  # some errors end an engine
            return replace(begun.made, refusals=[row_refusal(refusal_of(delivery, fault))], is_taken=False)

    def derive_together(self, kind: str, fetched: Sequence[Fetched], store_uri: str, version: str) -> list[Contents]:
        """The same for small deliveries of one kind, whose rows are read by the statements of one.

        What raises here belongs to any of them: each has to be derived by itself then.
        """
        begun = [_begin(one, store_uri, version) for one in fetched]
        taken = [one for one in begun if one.converted]
        described = iter(self._described(Kind(kind), taken) if taken else ())
        return [next(described) if one.converted else one.made for one in begun]

    def _described(self, kind: Kind, begun: list[_Begun]) -> list[Contents]:
        schema, controls = connector_for(kind).SCHEMA, controls_of(kind)
        parts = [one.converted.parts for one in begun if one.converted]
        with self._engine.cursor() as con:  # a connection of its own: what it makes goes with it
            paths = [part.path for of_one in parts for part in of_one]
            is_small = sum(path.stat().st_size for path in paths) < SMALL
            con.execute("SET threads = 1" if is_small else "RESET threads")  # waking more costs more than they do
            columns = _columns(con, paths)
            there = {name for physical in columns.values() for name in physical}
            measures = {name: decimals for name, decimals in schema.measures.items() if name in there}
            files = [{str(part.path): columns[part.path] for part in of_one} for of_one in parts]
            read_once(con, schema, files, with_profile(kind, schema, controls.asked), measures)
            added = sums(con, schema, measures, len(begun))
            read = controls.read(con, [one.fetched.delivery.partition for one in begun])
            write_profiles(con, kind, schema, [one.fetched.made for one in begun])
            return [
                replace(
                    one.made,
                    parts=[_described_part(part, one.fetched, total, columns[part.path]) for part in of_one],
                    rows=total.rows,
                    row_digest=total.digest,
                    controls=keys,
                    measures=total.measures,
                )
                for one, of_one, total, keys in zip(begun, parts, added, read, strict=True)
            ]


def _begin(fetched: Fetched, store_uri: str, version: str) -> _Begun:
    """What the connector makes of the originals."""
    delivery = fetched.delivery
    made = Contents(content_hash=fetched.content_hash, connector_version=version)
    try:
        converted = connector_for(delivery.kind).convert(delivery, fetched.files, fetched.made, store_uri)
    except WRONG_FOR_GOOD as error:
        return _Begun(fetched, replace(made, refusals=[row_refusal(refusal_of(delivery, error))], is_taken=False))
    made = replace(made, refusals=[row_refusal(refusal) for refusal in converted.refusals])
    is_refused = any(refusal.reason != NOTHING_KNOWN for refusal in made.refusals)
    if is_refused and not converted.rows:  # nothing but refused records: the delivery before it is worth more
        return _Begun(fetched, replace(made, is_taken=False))
    if not (converted.rows or made.refusals):
        made = replace(made, refusals=[row_refusal(refusal_of(delivery, _without_rows(delivery, store_uri)))])
    return _Begun(fetched, replace(made, unknown_columns=sorted(converted.unknown_columns)), converted)


def _without_rows(delivery: Delivery, store_uri: str) -> ExportContentError:
    """The remark about a header alone, which takes the place of the delivery before it: what that had is gone for a reason."""
    key = delivery.objects[0].key
    return ExportContentError(
        f"{store_uri}/{key}: it has no rows, so nothing counts of it, nor of the delivery before it.",
        place=Place(key),
        reason="no_rows",
        remedy="Look at what wrote it, and deliver it again if there should be rows.",
    )


def _described_part(part: Part, fetched: Fetched, total: Sums, columns: dict[str, str]) -> ParquetPart:
    return ParquetPart(
        file=part.path.name,
        is_original=part.path in fetched.files.values(),
        source_object=part.source_object,
        rows=total.rows_by_file.get(str(part.path), 0),
        size=part.path.stat().st_size,
        columns=columns,
    )


def _columns(con: duckdb.DuckDBPyConnection, paths: list[Path]) -> dict[Path, dict[str, str]]:
    """The physical columns of some files. Files whose footers declare the same are asked for once."""
    if len(paths) < 2:
        return {path: physical_columns(con, path) for path in paths}
    said = "name, type, type_length, repetition_type, num_children, converted_type, scale, precision, logical_type"
    shapes = con.execute(
        f"""
        SELECT list(file_name) FROM (
            SELECT file_name, list(row({said}) ORDER BY column_id) AS declared
            FROM parquet_schema({file_list([str(path) for path in paths])}) GROUP BY file_name
        ) GROUP BY declared
        """
    ).fetchall()
    asked = [(alike, physical_columns(con, Path(alike[0]))) for (alike,) in shapes]
    found = {name: columns for alike, columns in asked for name in alike}
    return {path: found[str(path)] for path in paths}


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
                read_once(con, schema, [{str(part.path): physical}], controls_of(kind).asked, schema.measures)
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
