"""Entries of Google's goodput recorder as Cloud Logging exports them: starts of a job, each step, time that made no progress.

Times are seconds since 1970. A step that is recorded again after a restart is work done twice: what lies between is found in SQL.
Read from github AI-Hypercomputer/ml-goodput-measurement at 57092cfc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from connectors.runs.fields import count, inner, moment, needed, text
from connectors.runs.forms import grouped, run_in_key
from connectors.runs.run_records import Document, Row, record_rows

_MOMENTS = {"step_start_time": "step", "job_start_time": "job_start", "job_end_time": "job_end"}
_SPANS = ("tpu_init", "training_prep", "data_loading")
_EVENTS = (*_MOMENTS, *(f"{name}_{end}_time" for name in _SPANS for end in ("start", "end")))
_CUSTOM = "custom_badput_event"
_SAVED_AT = ("checkpoint_manager_blocking_start_time", "checkpointer_blocking_start_time")


def is_goodput(document: Document) -> bool:
    """Whether a document is an entry of the recorder, in its envelope or without, or of Orbax's log of checkpoints."""
    payload = _payload(document)
    is_event = "job_name" in payload and any(name in payload for name in (*_EVENTS, f"{_CUSTOM}_type"))
    return is_event or _is_save(payload)


def goodput_records(documents: list[Document]) -> Iterable[list[Document]]:
    """The entries of each job."""
    return grouped(map(_payload, documents), lambda entry: str(entry.get("job_name") or "")).values()


def goodput_rows(entries: list[Document], key: str) -> list[Row]:
    """Return the rows of a job. Start and end of a span are entries of their own, and either may be in another file."""
    name = run_in_key(key) or needed(entries[0], "job_name")
    return record_rows("goodput", name, {}, [row for entry in entries for row in _rows(entry)], [("goodput", name)])


def _rows(entry: Document) -> Iterator[Row]:
    if _is_save(entry):
        at = next((found for field in _SAVED_AT if (found := moment(entry, field))), None)
        yield _row("checkpoint", happened_at=at, step=count(entry, "step"))
        return
    for field, kind in _MOMENTS.items():
        if field in entry:
            yield _row(kind, happened_at=moment(entry, field), step=count(entry, "step_count") if kind == "step" else None)
    for kind, prefix in (*((name, name) for name in _SPANS), (f"custom:{text(entry, f'{_CUSTOM}_type') or ''}", _CUSTOM)):
        start, end = moment(entry, f"{prefix}_start_time"), moment(entry, f"{prefix}_end_time")
        if start or end:
            yield _row(kind, happened_at=start, until_at=end)


def _row(kind: str, **values: Any) -> Row:
    return {"part": "progress", "progress_kind": kind, **values}


def _is_save(payload: Document) -> bool:
    return payload.get("event_type") == "save" and "step" in payload and any(name in payload for name in _SAVED_AT)


def _payload(document: Document) -> Document:
    return inner(document, "jsonPayload") if isinstance(document.get("jsonPayload"), dict) else document
