"""A bill of AWS in groups: which answer stands for which delivery, what is asked for it, and what its columns are.

The files of a delivery stay where they are; its manifest says which they are, as ever. What asks is a store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connectors.aws import cur
from connectors.aws.cur_columns import SCHEMA
from connectors.aws.grouped_sql import DECIMALS, READS, Table, grouped_sql, rows_of_group_sql, version_of
from connectors.aws.sql_dialects import SPARK, TRINO, Dialect
from connectors.deliveries import Delivery, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa
from connectors.formats.schema import BigInt, Number, Text, TextMap, Timestamp
from connectors.stores import ObjectInfo, ObjectStore

ANSWER = "groups.parquet"
DIALECTS: Mapping[str, Dialect] = {"trino": TRINO, "athena": TRINO, "spark": SPARK}  # by `engine`


@dataclass(frozen=True, slots=True)
class GroupedBill:
    """How a bill is asked for in groups; a row with a tag of one of these keys travels as it is."""

    dialect: Dialect
    run_tag_keys: tuple[str, ...]
    reads: int = READS
    period: str = "bill_billing_period_start_date"

    @property
    def version(self) -> str:
        """Of what is asked."""
        return version_of(self.run_tag_keys)

    def find(self, store: ObjectStore) -> Iterator[Delivery | Refusal]:
        """Yield the deliveries and refusals of a store of files."""
        return cur.find_deliveries(store)

    def as_answer(self, delivery: Delivery, uri: str) -> Delivery | Refusal:
        """The delivery whose one object is the answer about the files of this one; CSV has no types that could be asked for."""
        other = next((info for info in delivery.objects if not info.key.lower().endswith(".parquet")), None)
        if other:
            error = ExportContentError(
                f"{uri}/{other.key} is no Parquet, and only of Parquet are groups made where it lies.",
                place=Place(other.key),
                reason="unsupported_format",
                remedy="Set the export's format to Parquet, or leave `engine` out of this source.",
            )
            return refusal_of(delivery, error)
        digest = hashlib.sha256()
        for info in delivery.objects:
            digest.update("\0".join((info.key, info.etag, str(info.size), info.version_id or "", "")).encode())
        folder = delivery.objects[0].key.rpartition("/")[0]
        key = f"{folder}/{ANSWER}" if folder else ANSWER
        newest = max(info.last_modified for info in delivery.objects)
        answer = ObjectInfo(key, 0, f"{digest.hexdigest()[:16]}-{self.version}", newest)
        return replace(delivery, objects=(answer,))

    def statement(self, relation: str, types: Mapping[str, str], files: Sequence[str], uri: str) -> str:
        """Ask for the groups of some files and the sums of their rows."""
        table = Table(relation, types, self.dialect)
        table.check(uri)
        return grouped_sql(table, self.run_tag_keys, files)

    def arrow_schema(self, names: Iterable[str]) -> pa.Schema:
        """What the columns of an answer are: those of the export as declared, texts where they hold an entry of a map."""
        declared = {column.name: column.type for column in SCHEMA}
        types: dict[str, Any] = {
            Text: pa.string(),
            Number: pa.decimal128(38, DECIMALS + 1),
            Timestamp: pa.timestamp("us"),
            TextMap: pa.map_(pa.string(), pa.string()),
            BigInt: pa.int64(),
        }
        return pa.schema([(name, types[declared.get(name, Text)]) for name in names])

    def sums(self, total: Mapping[str, Any]) -> dict[str, str]:
        """The exact sums among the columns of the row that states them."""
        return {name: str(total[name] or 0) for name in SCHEMA.measures if name in total}


def grouped_bill(engine: str, run_tag_keys: Iterable[str]) -> GroupedBill:
    """How a bill is asked for in groups of an engine."""
    return GroupedBill(DIALECTS[engine], tuple(run_tag_keys))


def rows_of_group(engine: str, location: str, table: str) -> str:
    """SQL of DuckDB that makes, of a row `its` of staging, the statement that lists the rows of a group.

    `table`: that of the engine, as a FROM has it; without one the files beside which the answer has its name.
    """
    relation = "'" + table.replace("'", "''") + "'"
    if not table:
        below = location.replace("s3://", "s3a://").rstrip("/").replace("'", "''")
        relation = f"'parquet.`{below}/' || regexp_replace(its.source_object, '[^/]*$', '') || '`'"
    return rows_of_group_sql(relation, DIALECTS[engine])
