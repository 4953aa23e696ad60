"""A pod of Kubernetes: how long it held its node, how it ended, and how many accelerators it requested."""

from __future__ import annotations

import math
from datetime import datetime
from fractions import Fraction

from connectors.runs.fields import count, inner, latest, listed, moment, text
from connectors.runs.run_records import Document, in_millionths
from connectors.runs.shares import gpus_of

_CHIPS = ("google.com/tpu", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "amd.com/gpu")
_CORES = "aws.amazon.com/neuroncore"
# NeuronCores that the device plugin offers of one chip; Trainium2 and 3 as the default of two physical cores to a logical one
_CORES_PER_CHIP = {"trn1": 2, "trn1n": 2, "inf2": 2, "inf1": 4, "trn2": 4, "trn2u": 4, "trn3": 4}
_TAKEN_AWAY = {"Preempted", "Evicted", "Shutdown", "Terminated", "NodeLost", "NodeShutdown", "Preempting"}
_DISRUPTED = "DisruptionTarget"  # somebody decided to take it away: preemption, eviction, the end of its node


def accelerators_of(spec: Document, accelerator_type: str | None, labels: Document) -> int | float | None:
    """Chips that a pod requested on a node with these labels, or None where it requests none. Init containers run before the
    others and hold no more."""
    kinds = ("containers", "initContainers")
    return next((found for kind in kinds if (found := _requested(listed(spec, kind), accelerator_type, labels))), None)


def _requested(containers: list[Document], accelerator_type: str | None, labels: Document) -> int | float | None:
    chips, cores = Fraction(0), 0
    for container in containers:
        asked = {**inner(container, "resources", "requests"), **inner(container, "resources", "limits")}
        chips += sum(count(asked, name) or 0 for name in _CHIPS) + gpus_of(asked, accelerator_type, labels)
        cores += count(asked, _CORES) or 0
    return in_millionths(chips + chips_of_cores(cores, accelerator_type)) or None


def chips_of_cores(cores: int, accelerator_type: str | None) -> int:
    """The chips of so many NeuronCores: a part of a chip is a chip."""
    return math.ceil(cores / _CORES_PER_CHIP.get((accelerator_type or "").partition(".")[0], 2))


def pod_start(pod: Document) -> datetime | None:
    """When its node was given to it: the moment it was scheduled, else when the node took it up."""
    return _since(pod, "PodScheduled") or moment(inner(pod, "status"), "startTime")


def pod_end(pod: Document) -> datetime | None:
    """When its last container ended, or when it was taken away; None while one goes on."""
    status = inner(pod, "status")
    if text(status, "phase") in ("Pending", "Running"):
        return moment(inner(pod, "metadata"), "deletionTimestamp") if _since(pod, _DISRUPTED) else None
    ended = [moment(inner(one, "state", "terminated"), "finishedAt") for one in listed(status, "containerStatuses")]
    taken = _since(pod, _DISRUPTED)
    stopped = [_since(pod, condition, "False") for condition in ("Ready", "ContainersReady")]
    return latest(ended) or taken or latest(stopped)


def pod_state(pod: Document) -> str:
    """How it ended. A pod that was taken away did not fail."""
    status = inner(pod, "status")
    phase = text(status, "phase")
    if phase == "Succeeded":
        return "succeeded"
    if _since(pod, _DISRUPTED) or text(status, "reason") in _TAKEN_AWAY:
        return "interrupted"
    return {"Failed": "failed", "Running": "running", "Pending": "running"}.get(phase or "", "unknown")


def _since(pod: Document, condition: str, status: str = "True") -> datetime | None:
    """Since when a condition of it has this status; None where it has another."""
    found = next((one for one in listed(inner(pod, "status"), "conditions") if one.get("type") == condition), {})
    return moment(found, "lastTransitionTime") if found.get("status") == status else None
