"""Records of training runs: our own *.run.json, SageMaker's DescribeTrainingJob, Vertex's CustomJob; one delivery per file.

A record tells who ran what, when, on which machines. It is taken whole or refused whole; merging records by id or alias, and
times that a node inherits from its attempt, are decided in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from connectors.deliveries import Converted, Delivery, Part, Refusal, refusal_of
from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.lazy import pa, pq
from connectors.formats.schema import BigInt, Number, Schema, Text, Timestamp, optional, required
from connectors.formats.values import measured_schema
from connectors.layouts.single_files import partition_of
from connectors.runs.run_records import RecordError, run_json_rows
from connectors.runs.sagemaker import sagemaker_rows
from connectors.runs.vertex import is_vertex, vertex_rows
from connectors.stores import READ_LIMIT, ObjectStore

KIND = "training_runs"

SCHEMA = Schema(
    columns=(
        required("part", Text, filled=True),  # run, alias, attempt, node or tag: which of the columns below the row fills
        required("record_system", Text, filled=True),
        required("recorded_id", Text, filled=True),
        *optional("provider_name workload_key pair_key model_name framework team", Text),
        *optional("tokens useful_tokens steps", BigInt),
        *optional("model_flops target_value final_value", Number),
        *optional("target_metric target_direction", Text),
        *optional("alias_system alias_id", Text),
        *optional("attempt_id state", Text),
        *optional("started_at ended_at", Timestamp),
        *optional("resource_id accelerator_type", Text),
        *optional("chips node_count", BigInt),
        *optional("tag_key tag_value", Text),
    ),
    remedy_page="docs/sources/training_runs.md",
    measures={
        **dict.fromkeys(("tokens", "useful_tokens", "steps", "model_flops", "chips", "node_count"), 0),
        **dict.fromkeys(("target_value", "final_value"), 9),
    },
)

_REMEDY = f"Correct the record and write it again; its last good version stays in force until then. See {SCHEMA.remedy_page}."


def find_deliveries(store: ObjectStore) -> Iterator[Delivery | Refusal]:
    """Yield a delivery for each JSON file, by its key alone; whether it is a record is seen when it is read."""
    for info in store.list_objects():
        name = info.key.rpartition("/")[2]
        if name.endswith(".json") and not name.startswith("."):
            yield Delivery(KIND, partition_of(info.key), info.key, info.last_modified, (info,))


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read one record and write its rows to runs.parquet in `folder`."""
    (info,) = delivery.objects
    uri = f"{store_uri}/{info.key}"
    document = _decode(files[info.key], info.key, uri)
    unknown: tuple[str, ...] = ()
    try:
        if "TrainingJobArn" in document:
            rows = sagemaker_rows(document)
        elif info.key.endswith(".run.json") or "training_run_id" in document:
            rows, unknown = run_json_rows(document)
        elif is_vertex(document):
            rows = vertex_rows(document)
        else:
            raise RecordError("is no run.json, no DescribeTrainingJob answer and no CustomJob", reason="unknown_record")
    except RecordError as error:
        raise ExportContentError(
            f"{uri}: {f'{error.field} ' if error.field else ''}{error}.",
            place=Place(info.key, 1, error.field, error.value),
            reason=error.reason,
            remedy=_REMEDY,
        ) from error
    target = folder / "runs.parquet"
    table = pa.Table.from_pylist(rows, schema=measured_schema(SCHEMA))
    # some dozen rows: a dictionary and a codec for each column cost four times what is written, and the file is larger with them
    pq.write_table(table, target, compression="none", use_dictionary=False, write_statistics=False)
    return Converted((Part(target, info.key),), len(rows), unknown, tuple(_remarks(delivery, rows, uri)))


def _decode(path: Path, key: str, uri: str) -> dict[str, Any]:
    def refused(what: str, reason: str) -> ExportContentError:
        return ExportContentError(f"{uri} {what}.", place=Place(key), reason=reason, remedy=_REMEDY)

    if path.stat().st_size > READ_LIMIT:
        raise refused(f"is larger than {READ_LIMIT} bytes", "too_large")
    try:
        document = msgspec.json.decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise refused(f"is no JSON: {shorten(str(error))}", "bad_json") from error
    except RecursionError as error:
        raise refused("is nested too deeply", "too_deep") from error
    if not isinstance(document, dict):
        raise refused("holds no record", "unknown_record")
    return document


def _remarks(delivery: Delivery, rows: list[dict[str, Any]], uri: str) -> Iterator[Refusal]:
    """A record without machines is taken, but no machine's cost can ever be its own: the team should know."""
    if not any(row["part"] == "node" for row in rows):
        remark = ExportContentError(
            f"{uri} names no node: only tags and job ids can give this run a cost.",
            place=Place(row_number=1, column_name="attempts.nodes"),
            reason="run_without_node",
            remedy="Add the nodes to the record, or tag the resources with the run's id; the record itself is kept.",
        )
        yield refusal_of(delivery, remark)
