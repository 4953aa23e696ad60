"""Reading the bytes of a delivery: its connector checks and types them, then they are summed up.

Works on the landed originals and a folder for typed copies. Small deliveries may be summed up together. Whether a delivery
becomes a generation, and where the result is kept, is decided by the landing.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from msgspec.structs import replace

from connectors.deliveries import NOTHING_KNOWN, Part
from connectors.errors import ExportContentError, Place
from connectors.formats.schema import Schema
from connectors.registry import connector_for
from dagster_project.base.failures import machine_failure
from dagster_project.base.kinds import Kind
from dagster_project.landing.deriving.contents import WRONG_FOR_GOOD, Contents, ParquetPart, refused_for, row_refusal
from dagster_project.landing.deriving.controls import asked_of
from dagster_project.landing.deriving.one_reading import Sums, read_once, sums
from dagster_project.landing.deriving.profile import with_profile, write_profiles
from dagster_project.landing.deriving.typed_select import file_list, parts_select
from dagster_project.landing.fetching import Fetched

SMALL = 16 << 20
Parts = tuple[Part, ...]


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

    def derive(self, fetched: Sequence[Fetched]) -> list[Contents]:
        """Type and sum up a delivery, or small ones of one kind, whose rows are read by the statements of one.

        One whose bytes are wrong gives Contents that are not taken. Raises ConnectorError when nothing can be said. What several
        raise belongs to any of them: each has to be derived by itself then.
        """
        begun = [(one, *_begin(one)) for one in fetched]
        taken = [one for one in begun if one[1].is_taken]
        try:
            described = iter(self._described(taken) if taken else ())
        except duckdb.Error as error:
            [(one, made, parts), *others] = begun
            fault = None if others or machine_failure(error) else _fault_of(one, parts)
            if fault is None:
                raise
            self._engine = self._started()  # some errors end an engine
            return [replace(made, refusals=refused_for(one.delivery, fault), is_taken=False)]
        return [next(described) if made.is_taken else made for _, made, _ in begun]

    def _described(self, begun: list[tuple[Fetched, Contents, Parts]]) -> list[Contents]:
        kind = Kind(begun[0][0].delivery.kind)
        schema, asked = connector_for(kind).SCHEMA, asked_of(kind)
        with self._engine.cursor() as con:  # a connection of its own: what it makes goes with it
            paths = [part.path for _, _, parts in begun for part in parts]
            is_small = sum(path.stat().st_size for path in paths) < SMALL
            con.execute("SET threads = 1" if is_small else "RESET threads")  # waking more costs more than they do
            columns = _columns(con, paths)
            there = {name for physical in columns.values() for name in physical}
            measures = {name: decimals for name, decimals in schema.measures.items() if name in there}
            files = [{str(part.path): columns[part.path] for part in parts} for _, _, parts in begun]
            is_judged = any(one.is_judged for one, _, _ in begun)
            read_once(con, schema, files, with_profile(kind, schema, asked) if is_judged else asked, measures)
            added = sums(con, schema, measures, len(begun))
            read = asked.read(con, [one.delivery.partition for one, _, _ in begun])
            if is_judged:
                write_profiles(con, kind, schema, [one.made for one, _, _ in begun])
            return [
                replace(
                    made,
                    parts=[_described_part(part, one, total, columns[part.path]) for part in parts],
                    rows=total.rows,
                    row_digest=total.digest,
                    controls=controls,
                    measures=total.measures,
                )
                for (one, made, parts), total, controls in zip(begun, added, read, strict=True)
            ]


def _begin(fetched: Fetched) -> tuple[Contents, Parts]:
    """What is known of a delivery before its rows are read, and what its connector makes of the originals."""
    delivery = fetched.delivery
    made = Contents(content_hash=fetched.content_hash, connector_version=fetched.version)
    try:
        converted = connector_for(delivery.kind).convert(delivery, fetched.files, fetched.made, fetched.store_uri)
    except WRONG_FOR_GOOD as error:
        return replace(made, refusals=refused_for(delivery, error), is_taken=False), ()
    made = replace(made, refusals=[row_refusal(refusal) for refusal in converted.refusals])
    is_refused = any(refusal.reason != NOTHING_KNOWN for refusal in made.refusals)
    if is_refused and not converted.rows:  # nothing but refused records: the delivery before it is worth more
        return replace(made, is_taken=False), ()
    if not (converted.rows or made.refusals):
        made = replace(made, refusals=refused_for(delivery, _without_rows(fetched)))
    return replace(made, unknown_columns=sorted(converted.unknown_columns)), converted.parts


def _without_rows(fetched: Fetched) -> ExportContentError:
    """The remark about a header alone, which takes the place of the delivery before it: what that had is gone for a reason."""
    key = fetched.delivery.objects[0].key
    return ExportContentError(
        f"{fetched.store_uri}/{key}: it has no rows, so nothing counts of it, nor of the delivery before it.",
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


def _fault_of(fetched: Fetched, parts: Parts) -> ExportContentError | None:
    """The file, and the column of it, that the engine cannot read as declared; None when each can be read by itself."""
    kind = Kind(fetched.delivery.kind)
    schema = connector_for(kind).SCHEMA
    for part in parts:
        uri, column = f"{fetched.store_uri}/{part.source_object}", None
        try:
            with duckdb.connect(":memory:") as con:
                con.execute("SET TimeZone = 'UTC'")
                physical = physical_columns(con, part.path)
                for columns in (*((one,) for one in schema), schema.columns):  # each alone, then all together
                    column = columns[0].name if len(columns) == 1 else None
                    rows = parts_select(Schema(columns), [(str(part.path), physical)], hashed=True)
                    con.execute(f"SELECT max(_hash), max(_row_number) FROM ({rows}) GROUP BY _file").fetchall()
                # the engine may reach a damaged page only in the order in which the one reading comes to it
                read_once(con, schema, [{str(part.path): physical}], asked_of(kind), schema.measures)
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
