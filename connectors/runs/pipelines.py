"""Vertex AI's PipelineJob as a run record: what its tasks ran are custom jobs, whose own records tell the machines.

Written from Google's reference of the resource; no public answer of a training pipeline was found.
"""

from __future__ import annotations

import re

from connectors.runs.fields import inner, labelled_run, listed, moment, needed, text, texts
from connectors.runs.run_records import Document, RecordError, Row, in_order, record_rows, state_of

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/pipelineJobs/([^/]+)")
_BILLING = "vertex-ai-pipelines-run-billing-id"
_STATES = {
    "cancelling": "running",
    "cancel_pending": "running",
    "queued": "running",
    "paused": "interrupted",
    "pending": "running",
}


def is_pipeline(document: Document) -> bool:
    """Whether a document is a PipelineJob, or an answer that lists some."""
    return any(_NAME.fullmatch(str(one.get("name"))) for one in pipeline_jobs(document))


def pipeline_rows(job: Document) -> list[Row]:
    """Return the rows of a pipeline: an alias for each custom job, an attempt for each task that ran one."""
    match = _NAME.fullmatch(needed(job, "name"))
    if not match:
        raise RecordError("is no projects/../locations/../pipelineJobs/N", field="name", value=job["name"], reason="wrong_value")
    labels = inner(job, "labels")
    tasks = [(task, _custom_jobs(task)) for task in listed(inner(job, "jobDetail"), "taskDetails")]
    names = [text(labels, _BILLING), *(name for _, found in tasks for name in found)]
    aliases = [("vertex", name) for name in dict.fromkeys(names) if name]
    ran = [task for task, found in tasks if found]
    attempts = [_attempt(task) for task in ran or [job]]
    run_id = labelled_run(labels) or match[1]
    return record_rows("vertex_pipeline", run_id, {"provider_name": "Google Cloud"}, attempts, aliases)


def _attempt(task: Document) -> Row:
    times = in_order(moment(task, "startTime"), moment(task, "endTime"), "endTime")
    attempt_id = str(task.get("taskId") or text(task, "taskName") or "1")
    return {"part": "attempt", "attempt_id": attempt_id, "state": _state(text(task, "state")), **times}


def _custom_jobs(task: Document) -> list[str]:
    """The custom jobs of a task's attempts, those that failed before as well."""
    detail = inner(task, "executorDetail")
    custom, container = inner(detail, "customJobDetail"), inner(detail, "containerDetail")
    failed = [*texts(custom, "failedJobs"), *texts(container, "failedMainJobs")]
    return [name for name in [*failed, text(custom, "job"), text(container, "mainJob")] if name]


def _state(word: str | None) -> str:
    word = re.sub(r"^PIPELINE_STATE_", "", word or "").lower()
    return _STATES.get(word) or state_of(word)


def pipeline_jobs(document: Document) -> list[Document]:
    """The pipeline jobs of a document."""
    found = document.get("pipelineJobs") or [document]
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
