"""A pod of Kubernetes: how long it held its node, how it ended, and how many accelerators it requested."""

from __future__ import annotations

import math
from datetime import datetime

from connectors.runs.fields import count, inner, listed, moment, text
from connectors.runs.run_records import Document

_CHIPS = ("google.com/tpu", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "nvidia.com/gpu", "amd.com/gpu")
_CORES = "aws.amazon.com/neuroncore"
# NeuronCores that the device plugin offers of one chip; Trainium2 and 3 as the default of two physical cores to a logical one
_CORES_PER_CHIP = {"trn1": 2, "trn1n": 2, "inf2": 2, "inf1": 4, "trn2": 4, "trn2u": 4, "trn3": 4}
_TAKEN_AWAY = {"Preempted", "Evicted", "Shutdown", "Terminated", "NodeLost", "NodeShutdown", "Preempting"}


def accelerators_of(spec: Document, accelerator_type: str | None) -> int | None:
    """Chips that a pod requested, or None where it requests none. Init containers run before the others and hold no more."""
    return _requested(listed(spec, "containers"), accelerator_type) or _requested(
        listed(spec, "initContainers"), accelerator_type
    )


def _requested(containers: list[Document], accelerator_type: str | None) -> int | None:
    chips, cores = 0, 0
    for container in containers:
        asked = {**inner(container, "resources", "requests"), **inner(container, "resources", "limits")}
        chips += sum(count(asked, name) or 0 for name in _CHIPS)
        cores += count(asked, _CORES) or 0
    per_chip = _CORES_PER_CHIP.get((accelerator_type or "").partition(".")[0], 2)
    return chips + math.ceil(cores / per_chip) or None


def pod_start(pod: Document) -> datetime | None:
    """When its node was given to it: the moment it was scheduled, else when the node took it up."""
    status = inner(pod, "status")
    scheduled = next((one for one in listed(status, "conditions") if one.get("type") == "PodScheduled"), {})
    at = moment(scheduled, "lastTransitionTime") if scheduled.get("status") == "True" else None
    return at or moment(status, "startTime")


def pod_end(pod: Document) -> datetime | None:
    """When its last container ended, or when it was taken away; None while one goes on."""
    status = inner(pod, "status")
    if text(status, "phase") in ("Pending", "Running"):
        return moment(inner(pod, "metadata"), "deletionTimestamp") if _disrupted(pod) else None
    ended = [at for one in listed(status, "containerStatuses") if (at := moment(inner(one, "state", "terminated"), "finishedAt"))]
    taken = _disrupted(pod)
    conditions = [one for one in listed(status, "conditions") if one.get("type") in ("Ready", "ContainersReady")]
    stopped = [at for one in conditions if one.get("status") == "False" and (at := moment(one, "lastTransitionTime"))]
    return max(ended, default=None) or taken or max(stopped, default=None)


def pod_state(pod: Document) -> str:
    """How it ended. A pod that was taken away did not fail."""
    status = inner(pod, "status")
    phase = text(status, "phase")
    if phase == "Succeeded":
        return "succeeded"
    if _disrupted(pod) or text(status, "reason") in _TAKEN_AWAY:
        return "interrupted"
    return {"Failed": "failed", "Running": "running", "Pending": "running"}.get(phase or "", "unknown")


def _disrupted(pod: Document) -> datetime | None:
    """When somebody decided to take it away: preemption, eviction, the end of its node."""
    found = [one for one in listed(inner(pod, "status"), "conditions") if one.get("type") == "DisruptionTarget"]
    return moment(found[0], "lastTransitionTime") if found and found[0].get("status") == "True" else None
