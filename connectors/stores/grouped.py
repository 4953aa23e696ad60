"""Files of an export that are asked for in groups: an engine with a table over them reads them, and its answer is what comes.

What is there and what belongs together is decided from the listing of the files, as where they are copied. Of each delivery one
statement is asked, for its files alone; the answer is written as Parquet, and what was asked as a record beside it. Files that
are no longer those listed when the answer is here make it worthless. The clients of engines are modules of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from connectors.errors import ConnectorError, Place, SourceUnreadableError
from connectors.stores import (
    LEAST_BILLED,
    READ_LIMIT,
    Asked,
    Engine,
    GroupReading,
    ObjectInfo,
    ObjectStore,
    Opened,
    Read,
    StoreOptions,
)
from connectors.stores.transfer import Remote, broken, changed, hash_of

if TYPE_CHECKING:  # a look lists files and loads no Arrow
    import pyarrow as pa

# columns of an answer beside those of the export: rows that a row stands for, and of its last row what it states of all
LINES, IS_TOTAL, FILES = "line_count", "is_total", "files"


def relation_of(engine_url: str | None, location: str = "") -> str:
    """The table of an `engine_url`, or of a location that is one, as a FROM has it; of a location of files alone nothing."""
    if engine_url:
        return ".".join(f'"{name}"' for name in urlsplit(engine_url).path.strip("/").split("/"))
    scheme, _, names = location.partition("://")
    quoted = ("`" + name.replace("`", "``") + "`" for name in names.strip("/").split("/"))
    return ".".join(quoted) if scheme == "iceberg" else ""


def named_by_both(files: Sequence[str]) -> tuple[str, ...]:
    """Files as a table over them may name them: by either client of S3."""
    return tuple(f"{scheme}{file.removeprefix('s3:')}" for file in files for scheme in ("s3:", "s3a:"))


@dataclass
class _Written:
    """What became of an answer."""

    rows: int = 0
    total: Mapping[str, Any] = field(default_factory=dict)


class GroupedStore(Remote):
    """The deliveries of a location of files, each as one object: the answer of an engine. The constructor asks nothing.

    The etag of an answer is made of the etags of its files and of what is asked: the same files asked for otherwise are another
    object. Its size is 0: it is known when the file is written.
    """

    is_complete = True  # a listing shows every file

    def __init__(self, files: ObjectStore, engine: Engine, options: StoreOptions) -> None:
        assert options.groups is not None
        self.files, self.engine, self.options = files, engine, options
        self.groups: GroupReading = options.groups
        self.uri = files.uri
        self._queries: dict[str, bytes] = {}  # by key: its record
        self._known: dict[str, tuple[ObjectInfo, tuple[ObjectInfo, ...]]] = {}  # by key: the answer, and its files

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the files: what belongs together is decided of them."""
        return self.files.list_objects(prefix)

    def answer_of(self, item: Any) -> Any:
        """The delivery that is landed for one that was found; a refusal as it is."""
        answer = self.groups.as_answer(item, self.uri) if hasattr(item, "objects") else item
        if self.options.keep and hasattr(answer, "objects"):  # with and without its rows are two deliveries
            return replace(answer, objects=tuple(replace(info, etag=f"{info.etag}-raw") for info in answer.objects))
        return answer

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a manifest."""
        return self.files.read(info, limit)

    def price(self, infos: Sequence[ObjectInfo]) -> list[Read]:
        """How much the statement about each answer reads at most: the bytes of its files, as often as it reads them."""
        return [Read((info,), self.bytes_of(info)) for info in infos]

    def bytes_of(self, info: ObjectInfo) -> int:
        """The bytes that an answer takes at most."""
        return max(sum(file.size for file in self._files(info)) * self.groups.reads, LEAST_BILLED)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Write the answer about the files of a delivery, and return its sha256; a manifest is copied.

        ExportChangedError where the files are not those that were listed, before or after they were asked for.
        """
        if info.size:
            return self.files.fetch(info, path)
        files = self._files(info)
        self._keep_below_cap(info)
        try:
            opened = self.opened(info)
            sql = self.groups.statement(opened.relation, opened.types, opened.among, self.uri)
            asked = self.engine.ask(sql)
            written = self._write(info, asked, path)
            self._check_files(info, files, opened, written)
            self._queries[info.key] = self._record(info, files, opened, sql, asked, written)
        except ConnectorError:
            path.unlink(missing_ok=True)
            raise
        return hash_of(path)

    def query_of(self, info: ObjectInfo) -> bytes | None:
        """Return the record of the query whose groups were fetched, for people and for `landing.answers`."""
        return self._queries.pop(info.key, None)

    def raw_of(self, info: ObjectInfo) -> tuple[ObjectStore, Sequence[ObjectInfo]]:
        """The files that an answer is about, as they are copied where nothing is asked."""
        return self.files, self._files(info)

    def opened(self, info: ObjectInfo) -> Opened:
        """What a statement about the files of an answer reads."""
        return self.engine.open([self.files.uri_of(file.key) for file in self._files(info)])

    def _files(self, info: ObjectInfo, *, again: bool = False) -> tuple[ObjectInfo, ...]:
        """The files of an answer, as they are listed now."""
        if again or not self._known:
            found = (item for item in self.groups.find(self.files) if hasattr(item, "objects"))
            pairs = ((self.answer_of(one), one.objects) for one in found)
            self._known = {
                answer.objects[0].key: (answer.objects[0], files) for answer, files in pairs if hasattr(answer, "objects")
            }
        known, files = self._known.get(info.key, (None, ()))
        if known is None or known.etag != info.etag:
            raise changed(self.uri_of(info.key), info.key)
        return files

    def _keep_below_cap(self, info: ObjectInfo) -> None:
        if (needed := self.bytes_of(info)) > self.options.maximum_bytes_billed:
            raise SourceUnreadableError(
                f"{self.uri_of(info.key)}: the statement would read up to {needed} bytes, and may read"
                f" {self.options.maximum_bytes_billed}. It was not run and costs nothing.",
                place=Place(info.key),
                reason="above_byte_cap",
                remedy="Raise `maximum_bytes_billed` of this source; `trainledger doctor` shows how much is read.",
            )

    def _write(self, info: ObjectInfo, asked: Asked, path: Path) -> _Written:
        """Write the rows and groups of an answer as they come, and keep aside the row that states the sums."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        written, names = _Written(), [name for name in asked.names if name not in (IS_TOTAL, FILES)]
        schema = self.groups.arrow_schema(names)
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for rows in asked.rows:
                if not len(rows):
                    continue
                values = rows.columns if isinstance(rows, pa.RecordBatch) else zip(*rows, strict=True)
                columns = dict(zip(asked.names, values, strict=True))
                batch = pa.RecordBatch.from_arrays(
                    [_array(columns[name], schema.field(name).type) for name in names], schema=schema
                )
                is_total = _array(columns[IS_TOTAL], pa.bool_())
                if totals := batch.filter(is_total).to_pylist():
                    place = pc.index(is_total, True).as_py()
                    files = columns[FILES][place]
                    written.total = {**totals[0], FILES: files.as_py() if isinstance(files, pa.Scalar) else files}
                groups = batch.filter(pc.invert(is_total))
                self._check_times(info, groups)
                writer.write_batch(groups)
                written.rows += groups.num_rows
        return written

    def _check_times(self, info: ObjectInfo, groups: pa.RecordBatch) -> None:
        """Periods begin with a month in UTC. Where they do not, the engine moved all times to a zone of its own."""
        import pyarrow.compute as pc

        periods = groups.column(self.groups.period)
        moved = periods.filter(pc.not_equal(pc.floor_temporal(periods, unit="month"), periods))
        if len(moved):
            raise SourceUnreadableError(
                f"{self.uri_of(info.key)}: {self.engine.name} reads a billing period that begins at {moved[0].as_py()}.",
                place=Place(info.key, column_name=self.groups.period, value=str(moved[0].as_py())),
                reason="other_time_zone",
                remedy="Let the engine read times of Parquet as UTC; of Trino's catalogue that is hive.parquet.time-zone=UTC.",
            )

    def _check_files(self, info: ObjectInfo, files: Sequence[ObjectInfo], opened: Opened, written: _Written) -> None:
        """The table had every file that has rows, and the files are still those that were listed."""
        where = self.uri_of(info.key)
        if not written.total:
            raise broken(where, info.key, "the answer has no sums of its rows")
        seen = {name.partition("://")[2] for name in (written.total[FILES] or "").splitlines()}
        for file in files:
            uri = self.files.uri_of(file.key)
            if uri.partition("://")[2] not in seen and opened.among and self._has_rows(file):
                raise SourceUnreadableError(
                    f"{uri} is not in {opened.table}, the table of {self.engine.name}.",
                    place=Place(file.key),
                    reason="missing_partition",
                    remedy="Give the table the partition of this month: by MSCK REPAIR TABLE, a crawler or partition projection.",
                )
        self._files(info, again=True)

    def _has_rows(self, file: ObjectInfo) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if file.size > READ_LIMIT:  # the footer of a file without rows is a few kilobytes
            return True
        return bool(pq.read_metadata(pa.BufferReader(self.files.read(file))).num_rows)

    def _record(
        self, info: ObjectInfo, files: Sequence[ObjectInfo], opened: Opened, sql: str, asked: Asked, written: _Written
    ) -> bytes:
        """What was asked and when, of which files, how many rows they had and gave, and what their own rows add up to."""
        record = {
            "engine": self.engine.name,
            "table": opened.table or None,
            "table_version": opened.version or None,
            "asked": self.groups.version,
            "query_id": asked.query_id,
            "asked_at": asked.asked_at.isoformat(),
            "files": [{"key": one.key, "etag": one.etag, "size": one.size, "version_id": one.version_id} for one in files],
            "bytes_at_most": self.bytes_of(info),
            "row_count": written.total[LINES],
            "answer_row_count": written.rows,
            "sums": {"row_count": written.total[LINES], **self.groups.sums(written.total)},
            "statement": sql,
        }
        return json.dumps(record, indent=1).encode() + b"\n"


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column of an answer. Some engines answer in text; maps come as JSON, where no Arrow comes."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values.cast(kind)
    if pa.types.is_map(kind):
        document = b"[" + ",".join(pa.array(values, pa.string()).fill_null("null").to_pylist()).encode() + b"]"
        maps = msgspec.json.decode(document, type=list[dict[str, str | None] | None])
        return pa.array([one and list(one.items()) for one in maps], kind)
    is_text = any(isinstance(value, str) for value in values)
    return pa.array(values, pa.string()).cast(kind) if is_text else pa.array(values, kind)
