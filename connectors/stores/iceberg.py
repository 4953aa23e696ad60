"""A table of Iceberg at one snapshot, asked by Apache Spark: its data files by month, as the files of an export are.

What is there, and when it was written, is read of the table's own metadata; no line of the bill is read for it. A file belongs
to the month of the least and the greatest billing period in it; a file of two months cannot be asked for by month, and is
refused. All statements of a refresh read the snapshot that was current at its first look.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from connectors.errors import ExportContentError, Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, Opened, StoreOptions
from connectors.stores.grouped import relation_of
from connectors.stores.spark import SparkEngine
from connectors.stores.transfer import check_size, write_hashed

_MAIN = "SELECT snapshot_id FROM {table}.refs WHERE type = 'BRANCH' AND name = 'main'"
_ENTRIES = """SELECT data_file.content AS content, data_file.file_path AS path, data_file.file_size_in_bytes AS size,
  data_file.record_count AS row_count,
  readable_metrics.{period}.lower_bound AS least, readable_metrics.{period}.upper_bound AS most,
  date_format(snapshots.committed_at, "yyyy-MM-dd'T'HH:mm:ss.SSS") AS written_at
FROM {table}.entries VERSION AS OF {snapshot} AS entries
LEFT JOIN {table}.snapshots AS snapshots ON entries.snapshot_id = snapshots.snapshot_id
WHERE entries.status < 2
ORDER BY path"""
_TRIED = "hadoop"
_LITERALS = {"timestamp_ntz": "TIMESTAMP_NTZ", "date": "DATE"}


class SparkTable(SparkEngine):
    """Spark over `iceberg://catalogue/namespace/table`, as of one snapshot. The constructor starts nothing."""

    def __init__(self, uri: str, options: StoreOptions) -> None:
        super().__init__(uri, options)
        assert options.groups is not None
        self._period = options.groups.period
        names = uri.partition("://")[2].strip("/").split("/")
        if len(names) < 3 or not all(names):
            remedy = "Write iceberg://catalogue/namespace/table."
            raise SourceUnreadableError(f"{uri} names no table.", reason="bad_location", remedy=remedy)
        self._table = relation_of(None, uri)

    def open(self, files: Sequence[str]) -> Opened:
        """The lines of the month that these files are of, at the snapshot."""
        [month] = {month for month, its in self.months.items() if {one["path"] for one in its} & {*files}}
        period, literal = _quoted(self._period), _LITERALS.get(self._types[self._period], "TIMESTAMP")
        first, end = (f"{literal} '{day:%Y-%m-%d}'" for day in _bounds(month))
        relation = f"(\n    SELECT *, _file FROM {self.relation}\n    WHERE {period} >= {first} AND {period} < {end}\n  )"
        return Opened(relation, self._types, table=self._table, version=str(self.snapshot), untried=self._untried)

    @property
    def relation(self) -> str:
        """The table at its snapshot, as a FROM has it."""
        return f"{self._table} VERSION AS OF {self.snapshot}"

    @cached_property
    def snapshot(self) -> int:
        """The snapshot that was current at the first look."""
        if rows := self._rows(_MAIN):
            return int(rows[0]["snapshot_id"])
        raise SourceUnreadableError(
            f"{self.uri} has no snapshot: nothing was ever written to it.",
            reason="missing_table",
            remedy="Check the name of the table, or wait until something is written.",
        )

    @cached_property
    def months(self) -> Mapping[str, list[dict[str, Any]]]:
        """The data files by month."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._entries:
            if not row["content"]:
                found.setdefault(self._month_of(row), []).append(row)
        return dict(sorted(found.items()))

    @property
    def deletes(self) -> list[str]:
        """The files that take rows away; of which files of data is not in the metadata of all of them."""
        return [row["path"] for row in self._entries if row["content"]]

    @cached_property
    def _entries(self) -> list[dict[str, Any]]:
        return self._rows(_ENTRIES, period=_quoted(self._period), snapshot=self.snapshot)

    @cached_property
    def _types(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.process.ask("describe", relation=self.relation)["types"]
        return found

    @cached_property
    def _untried(self) -> str:
        """That the catalogue is of another kind than the one that tests have; in the words of the catalogue's own setting."""
        catalogue = self.uri.partition("://")[2].partition("/")[0]
        [row] = self._rows(f"SET spark.sql.catalog.{catalogue}.type")
        if row["value"] == _TRIED:
            return ""
        return f"catalogue {catalogue} of Spark is not of type {_TRIED}, the only one tried: Glue, Hive, REST were not"

    def _rows(self, statement: str, **names: Any) -> list[dict[str, Any]]:
        asked = self.process.ask("rows", statement=statement.format(table=self._table, **names))
        found: list[dict[str, Any]] = asked["rows"]
        return found

    def _month_of(self, row: Mapping[str, Any]) -> str:
        least, most = (str(row[name] or "")[:7] for name in ("least", "most"))
        if not least:
            raise SourceUnreadableError(
                f"{row['path']}: the table's metadata has no least and greatest {self._period} of this file.",
                place=Place(row["path"]),
                reason="no_metrics",
                remedy=f"Set write.metadata.metrics.column.{self._period}=full of the table and rewrite its data files.",
            )
        if least != most:
            raise ExportContentError(
                f"{row['path']} has lines of {least} to {most}, and a table is asked month by month.",
                place=Place(row["path"]),
                reason="bad_partition",
                remedy=f"Partition the table by months({self._period}) and rewrite its data files.",
            )
        return least


class TableFiles:
    """The data files of a table as objects of an export, with a manifest for each month, in the layout of AWS Data Exports."""

    def __init__(self, table: SparkTable) -> None:
        self.table, self.uri = table, table.uri
        self._paths: dict[str, str] = {}  # by key: where a file is
        self._manifests: dict[str, bytes] = {}

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the files and manifests in the order of their keys."""
        yield from (info for info in self._listed if info.key.startswith(prefix))

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a manifest; data is not read from here."""
        check_size(self.uri_of(info.key), info, limit)
        return self._manifests[info.key]

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Write a manifest to a file and return its sha256."""
        return write_hashed([self._manifests[info.key]], path)

    def uri_of(self, key: str) -> str:
        """Where a file is, as the table names it."""
        return self._paths.get(key, f"{self.uri}/{key}")

    @cached_property
    def _listed(self) -> list[ObjectInfo]:
        found = [info for month, files in self.table.months.items() for info in self._of_month(month, files)]
        return sorted(found, key=lambda info: info.key)

    def _of_month(self, month: str, files: Sequence[Mapping[str, Any]]) -> Iterator[ObjectInfo]:
        """The files of a month, and its manifest, which is the same while no file of the month and no delete is another."""
        parts = [{name: one[name] for name in ("path", "size", "row_count")} for one in files]
        keys = [f"data/BILLING_PERIOD={month}/{_digest(one['path'])[:8]}-{one['path'].rpartition('/')[2]}" for one in parts]
        document = {"table": self.uri, "dataFiles": keys, "files": parts, "deleteFiles": self.table.deletes}
        manifest = json.dumps(document, indent=1)
        etag, written = _digest(manifest)[:32], _written_at(month, files)
        for key, one in zip(keys, parts, strict=True):
            self._paths[key] = one["path"]
            yield ObjectInfo(key, one["size"], etag, written)
        key = f"metadata/BILLING_PERIOD={month}/Manifest.json"
        self._manifests[key] = manifest.encode()
        yield ObjectInfo(key, len(manifest.encode()), etag, written)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _bounds(month: str) -> tuple[datetime, datetime]:
    """The first instant of a month, and of the next one."""
    year, number = int(month[:4]), int(month[5:])
    return datetime(year, number, 1, tzinfo=UTC), datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)


def _written_at(month: str, files: Sequence[Mapping[str, Any]]) -> datetime:
    """When the newest file was committed; the end of the month where all snapshots that would state it are expired."""
    known = [datetime.fromisoformat(one["written_at"]).replace(tzinfo=UTC) for one in files if one["written_at"]]
    return max(known, default=_bounds(month)[1])
