"""Records of training runs, in every form that FORMS and TEXT_FORMS list; one delivery per file, of one run or of many.

A record states who ran what, when, on which machines, or how far it got. It is taken whole or refused whole; merging records by
id or alias, and times that a node inherits from its attempt, are decided in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from connectors.deliveries import Converted, Delivery, Part, Refusal, refusal_of
from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.costs import allowance
from connectors.formats.lazy import pl
from connectors.formats.mllog import Log, read_system
from connectors.formats.schema import BigInt, Number, Schema, Text, Timestamp, optional, required
from connectors.formats.text_lines import TextFile
from connectors.layouts.mlperf_results import is_system, results_of
from connectors.layouts.single_files import partition_of
from connectors.runs.batch import batch_records, batch_rows, is_batch
from connectors.runs.forms import Form, TextForm, each_in, has, of_one, rows_of_documents
from connectors.runs.goodput import goodput_records, goodput_rows, is_goodput
from connectors.runs.hyperpod import cluster_rows, clusters_of, is_cluster, is_usage_report, usage_report_rows
from connectors.runs.kubernetes import is_kubernetes, kubernetes_records, kubernetes_rows
from connectors.runs.maxtext import is_metrics, is_step_log, metrics_records, metrics_rows, step_log_rows
from connectors.runs.mlflow import is_mlflow, mlflow_rows, mlflow_runs
from connectors.runs.mlperf import mlperf_rows
from connectors.runs.pipelines import is_pipeline, pipeline_jobs, pipeline_rows
from connectors.runs.ray import PRINTED, ray_list_rows, ray_rows
from connectors.runs.registrations import ENDING, registration_rows
from connectors.runs.run_records import Document, RecordError, Row, RunRecord, run_json_rows, within
from connectors.runs.sagemaker import sagemaker_rows
from connectors.runs.slurm import is_sacct, runs_of, slurm_rows
from connectors.runs.slurm_text import is_sacct_text, sacct_text_rows
from connectors.runs.vertex import is_vertex, vertex_rows
from connectors.runs.wandb import is_wandb, wandb_rows
from connectors.runs.xprof_environment import environment_rows, is_environment
from connectors.stores import ObjectStore

KIND = "training_runs"
LOGS = ("mlflow", "ray", "hyperpod_cluster")  # forms without machines

# the first that recognises a document reads it; a file named *.run.json or *.registered.json is our own whatever it holds
RUN_JSON = Form("run_json", has("training_run_id"), of_one(run_json_rows))
REGISTRATION = Form("registration", lambda _: True, of_one(registration_rows))
FORMS: tuple[Form, ...] = (
    Form("sagemaker", has("TrainingJobArn"), of_one(sagemaker_rows)),
    RUN_JSON,
    Form("vertex_pipeline", is_pipeline, of_one(pipeline_rows), each_in(pipeline_jobs)),
    Form("vertex", is_vertex, of_one(vertex_rows)),
    Form("slurm", is_sacct, slurm_rows, runs_of),
    Form("batch", is_batch, batch_rows, batch_records),
    Form("hyperpod_cluster", is_cluster, of_one(cluster_rows), each_in(clusters_of)),
    Form("kubernetes", is_kubernetes, kubernetes_rows, kubernetes_records),
    Form("ray", has("entrypoint", "submission_id", "status"), of_one(ray_rows)),
    Form("mlflow", is_mlflow, of_one(mlflow_rows), each_in(mlflow_runs)),
    Form("wandb", is_wandb, of_one(wandb_rows)),
    Form("goodput", is_goodput, goodput_rows, goodput_records),
    Form("maxtext", is_metrics, metrics_rows, metrics_records),
    Form("xprof", is_environment, environment_rows),
)
TEXT_FORMS: tuple[TextForm, ...] = (
    TextForm("sacct", is_sacct_text, sacct_text_rows),
    TextForm("ray", has(PRINTED), ray_list_rows),
    TextForm("hyperpod", is_usage_report, usage_report_rows),
    TextForm("maxtext", is_step_log, step_log_rows),
)

SCHEMA = Schema(
    columns=(
        # run, alias, attempt, node, tag, reading, progress or registration: which of the columns below the row fills
        *(required(name, Text, filled=True) for name in ("part", "record_system", "recorded_id")),
        *optional("provider_name workload_key pair_key model_name framework team parent_run_id", Text),
        *optional("framework_version sdk_name sdk_version driver_version runtime_version cluster_name slice_name", Text),
        *optional("tokens useful_tokens steps", BigInt),
        *optional("model_flops target_value final_value", Number),
        *optional("target_metric target_direction", Text),
        *optional("alias_system alias_id", Text),
        *optional("attempt_id state", Text),
        *optional("started_at ended_at", Timestamp),
        *optional("resource_id accelerator_type", Text),
        *optional("chips", Number),  # parts of a chip are chips
        *optional("node_count", BigInt),
        *optional("tag_key tag_value", Text),
        *optional("energy_j", Number),
        *optional("meter", Text),
        # progress: what happened, from when to when, in which step; of a step what each device did in it
        *optional("progress_kind", Text),
        *optional("happened_at until_at", Timestamp),
        *optional("step device_count", BigInt),
        *optional("seconds device_tokens device_flops", Number),
        *optional("arithmetic", Text),
    ),
    remedy_page="docs/sources/training_runs.md",
    measures={
        **dict.fromkeys(("tokens", "useful_tokens", "steps", "model_flops", "node_count"), 0),
        **dict.fromkeys(("chips", "target_value", "final_value", "energy_j", "seconds"), 9),
        **dict.fromkeys(("step", "device_count", "device_tokens", "device_flops"), 0),
    },
)

_REMEDY = f"Correct the record and write it again; its last good version stays in force until then. See {SCHEMA.remedy_page}."
# any .txt may lie in a folder: of those only logs by the names that their writers give them
_NAME = re.compile(r"(?!\.)(.*\.(json|jsonl|ndjson|csv|log)|(.*[-_])?(result|metrics)[^/]*\.txt)(\.gz|\.zst)?", re.I)
_OWN = re.compile(r"\.run\.json(\.gz|\.zst)?$", re.I)
_HEAD = 1 << 16
_SMALL = 1000  # rows
_BYTES = 16  # of a file that may become one row


def find_deliveries(store: ObjectStore) -> Iterator[Delivery | Refusal]:
    """Yield a delivery for each file that may be a record, by its key alone; whether it is one is seen when it is read.

    A result of MLPerf is delivered with the description of its system, which is no record by itself.
    """
    infos = list(store.list_objects())
    systems = {result.log.key: result.system for result in results_of(infos) if result.log}
    described = {info.key for info in systems.values() if info}
    for info in infos:
        name = info.key.rpartition("/")[2]
        beside = systems and (is_system(info.key) or info.key in described or name == "scaling.json")
        if _NAME.fullmatch(name) and not beside:
            system = systems.get(info.key)
            objects = (info, system) if system else (info,)
            newest = max(one.last_modified for one in objects)
            yield Delivery(KIND, partition_of(info.key), info.key, newest, objects)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read the records of one file and write their rows to runs.parquet in `folder`."""
    info = delivery.objects[0]
    uri = f"{store_uri}/{info.key}"
    content = TextFile(files[info.key], info.key, uri).content()
    with allowance(info.key, uri, len(content) / _BYTES):
        try:
            rows, unknown, refused = _read(content, delivery, files, uri)
        except RecordError as error:
            raise _refusal(error, info.key, uri) from error
    target = folder / "runs.parquet"
    _write(rows, target)
    remarks = [_refusal(error, info.key, uri) for error in refused]
    # such a file is taken, but no machine's cost can ever be its runs' own; logs name no machine by their nature, and
    # whether another record of the same run names some is known in SQL
    is_log = all(row["record_system"] in LOGS for row in rows)
    if not is_log and not any(row["part"] in ("node", "progress", "reading", "registration") for row in rows):
        remarks.append(_without_node(uri))
    return Converted((Part(target, info.key),), len(rows), unknown, tuple(refusal_of(delivery, remark) for remark in remarks))


def _read(
    content: bytes, delivery: Delivery, files: dict[str, Path], uri: str
) -> tuple[list[Row], tuple[str, ...], list[RecordError]]:
    """The rows of a file's records, the fields that are not read, and the records that were refused; at least one row."""
    key = delivery.objects[0].key
    unknown: tuple[str, ...] = ()
    refused: list[RecordError] = []
    try:
        documents = _documents(content)
    except RecordError:
        rows = _text_rows(content, delivery, files, uri)
        if rows is None:
            raise
    else:
        forms = FORMS if not _OWN.search(key) else (FORMS[0], replace(RUN_JSON, is_one=lambda _: True))
        forms = (REGISTRATION,) if key.endswith(ENDING) else forms
        rows, refused = rows_of_documents(forms, documents, key)
        unknown = _unread(documents, rows)
    if not rows:
        raise next(iter(refused), RecordError("holds no record", reason="unknown_record"))
    return rows, unknown, refused


def _documents(content: bytes) -> list[Document]:
    """The documents of a file: one, those of a list, or one in each line. RecordError where it is no JSON."""
    found: Any = None
    try:
        try:
            found = msgspec.json.decode(content)
        except msgspec.DecodeError as error:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                found = msgspec.json.Decoder().decode_lines(content)
            if not found:
                raise error from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"is no JSON: {shorten(str(error))}", reason="bad_json") from error
    except RecursionError as error:
        raise RecordError("is nested too deeply", reason="too_deep") from error
    documents = found if isinstance(found, list) else [found]
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise RecordError("holds no record", reason="unknown_record")
    return documents


def _text_rows(content: bytes, delivery: Delivery, files: dict[str, Path], uri: str) -> list[Row] | None:
    """The rows of a text that is no JSON; None where it is of no known form."""
    info, *beside = delivery.objects
    head = content[:_HEAD].decode("utf-8", "replace")
    if ":::MLLOG" in head:
        name = next((result.name for result in results_of(delivery.objects)), info.key.rpartition(".")[0])
        system = read_system(files[beside[0].key]) if beside else {}
        return within(mlperf_rows(name, Log.read(TextFile(files[info.key], info.key, uri)), system))
    form = next((form for form in TEXT_FORMS if form.is_one(head)), None)
    return within(form.rows(content.decode("utf-8", "replace").splitlines(), info.key)) if form else None


def _unread(documents: list[Document], rows: list[Row]) -> tuple[str, ...]:
    """The fields of our own records that are not read."""
    if not any(row["record_system"] == RUN_JSON.name for row in rows):
        return ()
    own = (document for document in documents if RUN_JSON.is_one(document))
    return tuple(dict.fromkeys(name for document in own for name in document if name not in RunRecord.__struct_fields__))


def _write(rows: list[Row], target: Path) -> None:
    """Of Polars, which starts in half the time of Arrow's Python: most refreshes have one record and nothing else."""
    types: dict[str, Any] = {Number: pl.Float64, BigInt: pl.Int64, Timestamp: pl.Datetime("us")}
    columns = {column.name: [row.get(column.name) for row in rows] for column in SCHEMA}
    table = pl.DataFrame(columns, schema={column.name: types.get(column.type, pl.String) for column in SCHEMA})
    # a codec costs a few rows more time than it saves room
    table.write_parquet(target, compression="uncompressed" if len(rows) < _SMALL else "zstd", statistics=False)


def _refusal(error: RecordError, key: str, uri: str) -> ExportContentError:
    return ExportContentError(
        f"{uri}: {f'{error.field} ' if error.field else ''}{error}.",
        place=Place(key, 1, error.field, error.value),
        reason=error.reason,
        remedy=_REMEDY,
    )


def _without_node(uri: str) -> ExportContentError:
    return ExportContentError(
        f"{uri} names no node: only tags and job ids can give this run a cost.",
        place=Place(row_number=1, column_name="attempts.nodes"),
        reason="run_without_node",
        remedy="Add the nodes to the record, or tag the resources with the run's id; the record itself is kept.",
    )
