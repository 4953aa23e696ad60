"""A run of MLflow as `mlflow runs describe` or the REST interface gives it: when, how it ended, and figures under our names."""

from __future__ import annotations

from connectors.runs.fields import MILLISECONDS, count, inner, labelled_run, listed, moment, needed, number, text
from connectors.runs.run_records import COUNTS, TEXTS, Document, RecordError, Row, in_order, job_rows, state_of


def is_mlflow(document: Document) -> bool:
    """Whether a document is a run, in the envelope of an answer or without."""
    return any(isinstance(one.get("info"), dict) and "run_id" in {**one["info"]} for one in mlflow_runs(document))


def mlflow_rows(run: Document) -> list[Row]:
    """Return the rows of a run. Of metrics and parameters only those count that have the name of a field of our own record."""
    info = inner(run, "info")
    metrics, params, tags = (_pairs(inner(run, "data"), name) for name in ("metrics", "params", "tags"))
    stated = {**params, **tags}
    recorded_id = labelled_run(stated) or needed(info, "run_id")
    fields: Row = {name: str(stated[name]) for name in TEXTS if stated.get(name)}
    fields |= {name: count({**params, **metrics}, name) for name in COUNTS}
    fields["model_flops"] = number({**params, **metrics}, "model_flops")
    start, end = moment(info, "start_time", MILLISECONDS), moment(info, "end_time", MILLISECONDS)
    state, times = state_of(text(info, "status")), in_order(start, end, "info.end_time")
    own = {key: str(value) for key, value in tags.items() if not key.startswith("mlflow.")}
    return job_rows("mlflow", recorded_id, fields, needed(info, "run_id"), state, times, tags=own)


def mlflow_runs(document: Document) -> list[Document]:
    """The runs of a document."""
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
