"""A run of Weights & Biases as its API answers it (`connectors.stores.wandb`): when, how it ended, figures under our names."""

from __future__ import annotations

import json

from connectors.runs.fields import count, inner, labelled_run, moment, needed, number, text
from connectors.runs.run_records import COUNTS, TEXTS, Document, RecordError, Row, in_order, job_rows, state_of


def is_wandb(document: Document) -> bool:
    """Whether a document is a run with its last sign of life."""
    run = document.get("run")
    return isinstance(run, dict) and "heartbeatAt" in run


def wandb_rows(document: Document) -> list[Row]:
    """Return the rows of a run. Of configuration and summary only those count that have the name of a field of our own record.

    A run that ended has no time of its end: the last sign of life is at most some seconds before it.
    """
    run = inner(document, "run")
    config, summary = (_inside(run, name) for name in ("config", "summaryMetrics"))
    # W&B wraps each value of the configuration
    stated = {key: value.get("value") if isinstance(value, dict) else value for key, value in config.items()}
    recorded_id = labelled_run(stated) or needed(run, "name")
    fields: Row = {name: str(stated[name]) for name in TEXTS if stated.get(name)}
    fields |= {name: count({**stated, **summary}, name) for name in COUNTS}
    fields["model_flops"] = number({**stated, **summary}, "model_flops")
    state = state_of(text(run, "state"))
    ended = None if state == "running" else moment(run, "heartbeatAt")
    times = in_order(moment(run, "createdAt"), ended, "run.heartbeatAt")
    tags = {name: value for name in ("group", "jobType", "displayName") if isinstance(value := run.get(name), str) and value}
    return job_rows("wandb", recorded_id, fields, needed(run, "name"), state, times, tags=tags)


def _inside(run: Document, name: str) -> Document:
    """An object that the API answers as text."""
    stated = run.get(name)
    if isinstance(stated, str):
        try:
            stated = json.loads(stated)
        except ValueError as error:
            raise RecordError("is no JSON", field=f"run.{name}", value=stated) from error
    return stated if isinstance(stated, dict) else {}
