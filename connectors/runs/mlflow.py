"""A run of MLflow as `mlflow runs describe` or the REST interface gives it: when, how it ended, and figures under our names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from connectors.runs.fields import MILLISECONDS, count, inner, labelled_run, listed, moment, needed, number, text
from connectors.runs.run_records import VERSIONS, RecordError, in_order, state_of

Document = dict[str, Any]
Row = dict[str, Any]
_TEXTS = ("model_name", "framework", "team", "workload_key", "pair_key", *VERSIONS)
_COUNTS = ("tokens", "useful_tokens", "steps")


def is_mlflow(document: Document) -> bool:
    """Whether a document is a run, in the envelope of an answer or without."""
    return any(isinstance(one.get("info"), dict) and "run_id" in {**one["info"]} for one in _runs(document))


def mlflow_records(documents: list[Document]) -> Iterator[list[Document]]:
    """Each run: a search answers several."""
    for document in documents:
        for run in _runs(document):
            yield [run]


def mlflow_rows(record: list[Document]) -> list[Row]:
    """Return the rows of a run. Of metrics and parameters only those count that have the name of a field of our own record."""
    (run,) = record
    info = inner(run, "info")
    metrics, params, tags = (_pairs(inner(run, "data"), name) for name in ("metrics", "params", "tags"))
    said = {**params, **tags}
    base = {"record_system": "mlflow", "recorded_id": labelled_run(said) or needed(info, "run_id")}
    fields: Row = {name: str(said[name]) for name in _TEXTS if said.get(name)}
    fields |= {name: count({**params, **metrics}, name) for name in _COUNTS}
    fields["model_flops"] = number({**params, **metrics}, "model_flops")
    start, end = moment(info, "start_time", MILLISECONDS), moment(info, "end_time", MILLISECONDS)
    attempt = {"attempt_id": "1", "state": state_of(text(info, "status")), **in_order(start, end, "info.end_time")}
    rows: list[Row] = [
        {"part": "run", **fields},
        {"part": "alias", "alias_system": "mlflow", "alias_id": needed(info, "run_id")},
        {"part": "attempt", **attempt},
    ]
    rows += [
        {"part": "tag", "tag_key": key, "tag_value": str(value)} for key, value in tags.items() if not key.startswith("mlflow.")
    ]
    return [base | row for row in rows]


def _runs(document: Document) -> list[Document]:
    found = document.get("runs") or [document.get("run") or document]
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _pairs(data: Document, name: str) -> Document:
    """Names and values: the command line writes an object, the interface a list of pairs. Of a metric the last step counts."""
    if isinstance(data.get(name), dict):
        return inner(data, name)
    found: Document = {}
    for pair in sorted(listed(data, name), key=lambda one: (count(one, "step") or 0, count(one, "timestamp") or 0)):
        if not isinstance(pair.get("key"), str):
            raise RecordError("is missing", field=f"data.{name}.key", reason="missing_value")
        found[pair["key"]] = pair.get("value")
    return found
