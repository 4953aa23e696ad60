"""Vertex AI's CustomJob as a run record: its full name is alias and resource, its machines are counted per worker pool."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from connectors.formats.accelerators import gpu_machine_of
from connectors.formats.tpu_names import topology_chips_of, tpu_chips_of, tpu_type_of
from connectors.runs.fields import listed, text
from connectors.runs.run_records import Document, RecordError, Row, in_order, job_rows, state_of, time_of

_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/customJobs/([^/]+)")
_RUN_LABEL = "training_run_id"
_STATES = {"cancelling": "running", "expired": "failed", "paused": "interrupted"}


def is_vertex(document: Document) -> bool:
    """Whether a document is a CustomJob."""
    name = document.get("name")
    return "jobSpec" in document or (isinstance(name, str) and _NAME.fullmatch(name) is not None)


def vertex_rows(document: Document) -> list[Row]:
    """Return the rows of a job. Display names may repeat, so its run is the one its label names, else the job's own number."""
    name = document.get("name")
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if not match:
        reason = "wrong_value" if name else "missing_value"
        raise RecordError("is no projects/../locations/../customJobs/N", field="name", value=name, reason=reason)
    labels = document.get("labels")
    label = labels.get(_RUN_LABEL) if isinstance(labels, dict) else None
    run = label if isinstance(label, str) and label.strip() else match[1]
    # createTime is when the job began to wait: it holds nothing yet
    start, end = (time_of(text(document, field), field) for field in ("startTime", "endTime"))
    word = (text(document, "state") or "").removeprefix("JOB_STATE_").lower()
    state = _STATES.get(word) or state_of(word)
    times = in_order(start, end, "endTime")
    provider = {"provider_name": "Google Cloud"}
    return job_rows("vertex", run, provider, match.string, state, times, nodes=_nodes(document))


def _nodes(document: Document) -> Iterator[Row]:
    """Type, chips of one machine and number of machines of each kind of machine that has accelerators."""
    found = Counter[tuple[str, int | None]]()
    for pool in listed(document, "jobSpec", "workerPoolSpecs"):
        machine = pool.get("machineSpec") or {}
        if not isinstance(machine, dict):
            raise RecordError("is no object", field="jobSpec.workerPoolSpecs.machineSpec", value=machine)
        machine_type, accelerator = text(machine, "machineType"), text(machine, "acceleratorType")
        accelerator = None if accelerator == "ACCELERATOR_TYPE_UNSPECIFIED" else accelerator
        slice_chips = topology_chips_of(text(machine, "tpuTopology"))
        # the enumeration of accelerators ends at v5e: later TPUs are known by their machine type alone, one of a generation
        # that has no name here yet by its topology or the chips of its type
        type_ = tpu_type_of(machine_type) or gpu_machine_of(machine_type) or tpu_type_of(accelerator)
        if not type_ and (accelerator or slice_chips or tpu_chips_of(machine_type)):
            type_ = machine_type or accelerator
        count = _count(pool, "replicaCount", default=1)
        if type_ and count:
            chips = tpu_chips_of(machine_type) or _count(machine, "acceleratorCount", default=None) or slice_chips
            # one replica is one slice, and a slice of several machines is still one replica
            machines = max(count, slice_chips // chips) if slice_chips and chips else count
            # a chief and a worker of one kind are two machines: as two equal rows they would be read as one row delivered twice
            found[type_, chips] += machines
    for (type_, chips), machines in found.items():
        yield {"accelerator_type": type_, "chips": chips, "node_count": machines}


def _count(document: Document, field: str, default: int | None) -> int | None:
    """Read a count. The API writes 64-bit numbers as text."""
    value = document.get(field)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | str) or not re.fullmatch(r"\d{1,6}", str(value), re.ASCII):
        raise RecordError("is no count", field=field, value=value)
    return int(value)
