"""Jobs of Ray as run records: the JSON of the Jobs API, and what `ray job list` prints. Machines are another record's to tell.

Written from Ray's own page of JobDetails: from the schema, not yet seen in the wild. Times are milliseconds since 1970.
"""

from __future__ import annotations

import ast
import re

from connectors.runs.fields import MILLISECONDS, inner, labelled_run, moment, needed, text, whole
from connectors.runs.run_records import Document, Row, in_order, job_rows, state_of

PRINTED = "JobDetails("
_FIELD = re.compile(
    r"\b(submission_id|job_id|entrypoint)=(?:'([^']*)'|\"([^\"]*)\"|None)|\b(start_time|end_time)=(\d+|None)"
    r"|\bstatus=<JobStatus\.(\w+)|\bmetadata=(\{[^{}]*\})"
)


def ray_rows(document: Document) -> list[Row]:
    """Return the rows of a job. A driver that was not submitted has only ids that other clusters have as well."""
    metadata = inner(document, "metadata")
    submission = text(document, "submission_id")
    run = labelled_run(metadata) or needed(document, "submission_id")
    start, end = moment(document, "start_time", MILLISECONDS), moment(document, "end_time", MILLISECONDS)
    version = text(inner(document, "runtime_env"), "ray_version")
    software = {"sdk_name": "ray" if version else None, "sdk_version": version}
    state = "running" if (word := text(document, "status") or "").lower() == "pending" else state_of(word)
    return job_rows("ray", run, software, submission, state, in_order(start, end, "end_time"), tags=metadata)


def ray_list_rows(lines: list[str], _: str) -> list[Row]:
    """Return the rows of all jobs that a list prints."""
    rows: list[Row] = []
    for printed in "\n".join(lines).split(PRINTED)[1:]:
        found: Document = {}
        for name, single, double, time, at, status, metadata in _FIELD.findall(printed):
            if name:
                found.setdefault(name, single or double or None)
            elif time:
                found.setdefault(time, whole(at, time) if at != "None" else None)
            elif status:
                found.setdefault("status", status)
            else:
                found.setdefault("metadata", _read(metadata))
        rows += ray_rows(found)
    return rows


def _read(printed: str) -> Document:
    try:
        found = ast.literal_eval(printed)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # {[1]: 2}, and brackets in brackets
        return {}
    return found if isinstance(found, dict) else {}
