"""Kubernetes objects as run records: JobSet, Job and pods as `kubectl get -o json` writes them, one object or a List.

A run is a JobSet, else a Job, else a pod of neither. Its machines are the nodes of its pods, with the accelerators these request;
a node object in the same file has the machine's own id and type. Pods are deleted when a job is: keep what was saved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from fractions import Fraction
from operator import itemgetter

from connectors.formats.accelerators import accelerator_type_of, is_aws_accelerator
from connectors.formats.costs import spend
from connectors.formats.tpu_names import topology_chips_of, tpu_type_of
from connectors.runs.fields import count, first, inner, labelled_run, last, listed, moment, needed, text
from connectors.runs.forms import cluster_in_key, grouped
from connectors.runs.images import versions_of_image
from connectors.runs.pods import accelerators_of, pod_end, pod_start, pod_state
from connectors.runs.run_records import Document, Row, in_millionths, in_order, record_rows, workload_names

_NODES = 100  # of a run that cost as much as one row
_KINDS = {"JobSet", "Job", "Pod", "Node"}
_JOBSET = "jobset.sigs.k8s.io/"
_ULTRA_SERVER = ("aws.amazon.com/ultraserver-id", "sagemaker.amazonaws.com/ultraserver-id")
_CLUSTER = ("sagemaker.amazonaws.com/cluster-name", "alpha.eksctl.io/cluster-name")
_RUN_NAME = re.compile(r"(?:^|\s|--)run_name=([\w.-]+)", re.ASCII)
_DONE = {"Complete": "succeeded", "Completed": "succeeded", "Failed": "failed", "FailureTarget": "failed"}


def is_kubernetes(document: Document) -> bool:
    """Whether a document is a JobSet, a Job, a pod or a node, or a list that has one."""
    items = document.get("items")
    found = items if isinstance(items, list) else [document]
    return any(isinstance(one, dict) and str(one.get("kind")) in _KINDS and "metadata" in one for one in found)


def kubernetes_records(documents: list[Document]) -> list[list[Document]]:
    """The objects of each run, nodes behind them: every run may hold every node."""
    objects: dict[tuple[str, str], Document] = {}
    for document in documents:
        for one in listed(document, "items") if "items" in document else [document]:
            kind = str(one.get("kind"))
            if kind in _KINDS:
                objects[kind, _uid(one)] = one  # saved twice, the later counts: it knows more
    nodes = [one for (kind, _), one in objects.items() if kind == "Node"]
    runs = grouped((one for (kind, _), one in objects.items() if kind != "Node"), _run_of)
    spend(len(runs) * len(nodes) // _NODES, "items")
    return [[*found, *nodes] for found in runs.values()]


def kubernetes_rows(record: list[Document], key: str) -> list[Row]:
    """Return the rows of a run: of a JobSet, its Jobs and its pods. A folder cluster=<name> in the key names its cluster."""
    nodes = {needed(inner(one, "metadata"), "name"): one for one in record if one["kind"] == "Node"}
    objects = [one for one in record if one["kind"] != "Node"]
    pods = [one for one in objects if one["kind"] == "Pod"]
    namespace, name = _run_of(objects[0])
    owner = next((one for kind in ("JobSet", "Job") for one in objects if one["kind"] == kind), objects[0])
    labels = {key: value for one in objects for key, value in _labels(one).items()}
    cluster = cluster_in_key(key) or _cluster_of(pods, nodes)
    own_id, alias = workload_names(cluster or "", namespace, name)
    run_id = labelled_run(labels) or own_id
    held = _by_node(row for one in pods if (row := _pod_row(one, nodes)))
    run = _run_fields(objects, labels, held, nodes)
    run["cluster_name"] = cluster or run["cluster_name"]
    containers = [container for one in pods for container in listed(inner(one, "spec"), "containers")]
    run |= next((found for one in containers if (found := versions_of_image(text(one, "image")))), {})
    aliases = [("kubernetes", alias)]
    aliases += [("kubernetes_uid", uid) for uid in dict.fromkeys(uid for one in objects for uid in _uids(one))]
    admitted = dict.fromkeys(workload for one in objects if (workload := _workload_of_kueue(one)))
    aliases += [("kueue", f"{namespace}/{workload}") for workload in admitted]
    names = dict.fromkeys(
        _RUN_NAME.findall(" ".join(_words(containers)))
    )  # as MaxText calls the run, and its recorder of goodput
    aliases += [(system, named) for named in names for system in ("maxtext", "goodput")]
    return record_rows("kubernetes", run_id, run, [*_attempt_rows(owner, objects), *held], aliases)


def _attempt_rows(owner: Document, objects: list[Document]) -> Iterator[Row]:
    """An attempt for each restart that is known, with the times of its Jobs and pods; the last ends as its owner does."""
    parts = grouped((one for one in objects if one is not owner or owner["kind"] == "Pod"), _restart)
    status = inner(owner, "status")
    restarts = count(status, "restarts") if owner["kind"] == "JobSet" else None
    newest = max(restarts or 0, *parts, 0)
    for number in sorted({*parts, newest}):  # not each restart: how many there were is a number of the file
        found = parts.get(number, [])
        start = first(map(_start, found))
        ended = [_end(one) for one in found]
        end = last(at for _, at in ended)
        states = {state for state, _ in ended} or {"unknown"}
        state = next((word for word in ("interrupted", "failed", "running", "unknown") if word in states), "succeeded")
        if number < newest:
            state = "interrupted" if state == "interrupted" else "failed"
        elif owner["kind"] != "Pod":
            start = start or (_start(owner) if newest == 0 else None)
            state, end = _end_of(owner, state, end)
        times = in_order(start, end, "status.completionTime")
        yield {"part": "attempt", "attempt_id": str(number + 1), "state": state, **times}


def _end(one: Document) -> tuple[str, datetime | None]:
    """State and end of a part."""
    return (pod_state(one), pod_end(one)) if one["kind"] == "Pod" else _end_of(one, "unknown", None)


def _end_of(owner: Document, state: str, end: datetime | None) -> tuple[str, datetime | None]:
    """State and end as the owner's own conditions say; they go before what its parts look like."""
    conditions = {text(one, "type"): one for one in listed(inner(owner, "status"), "conditions") if one.get("status") == "True"}
    for condition, word in _DONE.items():
        if condition in conditions:
            ended = moment(inner(owner, "status"), "completionTime") or moment(conditions[condition], "lastTransitionTime")
            return ("interrupted" if word == "failed" and state == "interrupted" else word), ended or end
    if "Suspended" in conditions:
        return "interrupted", end or moment(conditions["Suspended"], "lastTransitionTime")
    return ("running" if state in ("unknown", "running") else state), end if state != "running" else None


def _start(one: Document) -> datetime | None:
    """When a part began to hold something. A JobSet has no start of its own: that of its resumption, else of its creation."""
    if one["kind"] == "Pod":
        return pod_start(one)
    if one["kind"] == "Job":
        return moment(inner(one, "status"), "startTime")
    resumed = [one for one in listed(inner(one, "status"), "conditions") if text(one, "type") == "Suspended"]
    if resumed:
        return moment(resumed[0], "lastTransitionTime") if resumed[0].get("status") == "False" else None
    return moment(inner(one, "metadata"), "creationTimestamp")


def _pod_row(pod: Document, nodes: dict[str, Document]) -> Row | None:
    """The machine that a pod held, with the accelerators it requested; none where it was never placed or requests none."""
    spec = inner(pod, "spec")
    name, start = text(spec, "nodeName"), pod_start(pod)
    node = nodes.get(name or "", {})
    type_ = _type_of(spec, _labels(node))
    found = accelerators_of(spec, type_, {**inner(spec, "nodeSelector"), **_labels(node)})
    if not name or not start or found is None:
        return None
    times = in_order(start, pod_end(pod), "status.containerStatuses.state.terminated.finishedAt")
    return {
        "part": "node",
        "attempt_id": str(_restart(pod) + 1),
        "resource_id": _machine(node) or name,
        "accelerator_type": type_,
        "chips": found,
        "node_count": 1,
        "slice_name": _slice_of(pod, node),
        **times,
    }


def _by_node(rows: Iterable[Row]) -> list[Row]:
    """Pods that were put on one node together hold it together: two equal rows would be read as one row delivered twice."""
    nodes = grouped(rows, itemgetter("attempt_id", "resource_id", "started_at")).values()
    return [same[-1] | {"chips": _chips_of(same), "ended_at": last(row["ended_at"] for row in same)} for same in nodes]


def _chips_of(rows: list[Row]) -> int | float:
    return in_millionths(sum((Fraction(row["chips"]) for row in rows), Fraction(0)))


def _type_of(spec: Document, node: Document) -> str | None:
    """The type that the node's labels name, else those by which the pod chose its node."""
    for labels in (node, inner(spec, "nodeSelector")):
        if tpu := tpu_type_of(text(labels, "cloud.google.com/gke-tpu-accelerator")):
            return tpu
        machine = accelerator_type_of(text(labels, "node.kubernetes.io/instance-type"))
        if machine and is_aws_accelerator(machine):
            return machine
        if gpu := text(labels, "cloud.google.com/gke-accelerator"):
            return tpu_type_of(machine) or machine or gpu
    return None


def _machine(node: Document) -> str | None:
    """The id by which the bill knows a node: the last part of aws:///us-east-1a/i-0abc or gce://project/zone/name."""
    found = text(inner(node, "spec"), "providerID")
    return found.rpartition("/")[2] or None if found else None


def _cluster_of(pods: list[Document], nodes: dict[str, Document]) -> str | None:
    """The cluster whose name HyperPod or eksctl writes on the nodes of a run."""
    held = {text(inner(pod, "spec"), "nodeName") for pod in pods}
    labels = [_labels(one) for name, one in nodes.items() if name in held]
    found = {name for one in labels if (name := text(one, _CLUSTER[0]) or text(one, _CLUSTER[1])) and "/" not in name}
    return found.pop() if len(found) == 1 else None


def _slice_of(pod: Document, node: Document) -> str | None:
    """The slice or UltraServer that a pod's machine is part of: each Job of a JobSet of TPUs is one slice of several hosts."""
    labels = _labels(node)
    if server := next((value for name in _ULTRA_SERVER if (value := text(labels, name))), None):
        return server
    topology = topology_chips_of(
        text(inner(pod, "spec", "nodeSelector"), "cloud.google.com/gke-tpu-topology")
        or text(labels, "cloud.google.com/gke-tpu-topology")
    )
    found = _labels(pod)
    job = text(found, "batch.kubernetes.io/job-name") or text(found, "job-name") or text(found, f"{_JOBSET}jobset-name")
    pool = text(labels, "cloud.google.com/gke-nodepool")
    return pool or job if topology else None


def _run_fields(objects: list[Document], labels: Document, held: list[Row], nodes: dict[str, Document]) -> Row:
    types = [row["accelerator_type"] or "" for row in held]
    ids = [text(inner(one, "spec"), "providerID") or "" for one in nodes.values()]
    is_google = any(tpu_type_of(name) for name in types) or any(name.startswith("gce:") for name in ids)
    is_aws = any(is_aws_accelerator(name) for name in types) or any(name.startswith("aws:") for name in ids)
    slices = sorted({row["slice_name"] for row in held if row["slice_name"]})
    return {
        "provider_name": "Google Cloud" if is_google else "AWS" if is_aws else None,
        "team": text(labels, "kueue.x-k8s.io/queue-name"),
        "cluster_name": next((name for one in objects if (name := text(_labels(one), "cluster-name"))), None),
        "slice_name": ",".join(slices) or None,
    }


def _run_of(one: Document) -> tuple[str, str]:
    """Namespace and name of the run that an object is, or is a part of."""
    metadata, labels = inner(one, "metadata"), _labels(one)
    owner = text(labels, f"{_JOBSET}jobset-name")
    if not owner and one["kind"] == "Pod":
        owner = text(labels, "batch.kubernetes.io/job-name") or text(labels, "job-name")
    return text(metadata, "namespace") or "default", owner or needed(metadata, "name")


def _words(containers: list[Document]) -> Iterator[str]:
    """The command lines of containers."""
    for value in (container.get(field) for container in containers for field in ("command", "args")):
        yield from (word for word in (value if isinstance(value, list) else []) if isinstance(word, str))


def _restart(one: Document) -> int:
    """How often its JobSet had been restarted when it was made."""
    return count(_labels(one), f"{_JOBSET}restart-attempt") or 0


def _workload_of_kueue(one: Document) -> str | None:
    """The workload that Kueue made of its job, as HyperPod's report calls the task: written on its pods and on their template."""
    of_pod = inner(one, "metadata") if one["kind"] == "Pod" else inner(one, "spec", "template", "metadata")
    return text(inner(of_pod, "annotations"), "kueue.x-k8s.io/workload")


def _labels(one: Document) -> Document:
    return inner(one, "metadata", "labels")


def _uid(one: Document) -> str:
    metadata = inner(one, "metadata")
    return text(metadata, "uid") or f"{text(metadata, 'namespace')}/{needed(metadata, 'name')}"


def _uids(one: Document) -> list[str]:
    """The ids of the run as an object knows them: its own, those of its owners, and what labels say."""
    metadata, labels = inner(one, "metadata"), _labels(one)
    names = [text(owner, "uid") for owner in listed(metadata, "ownerReferences")]
    names += [text(labels, f"{_JOBSET}jobset-uid"), text(labels, "batch.kubernetes.io/controller-uid")]
    return [name for name in [None if one["kind"] == "Pod" else text(metadata, "uid"), *names] if name]
