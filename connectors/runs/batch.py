"""AWS Batch's DescribeJobs answer as run records: times in milliseconds, attempts, and the children of multi-node and array jobs.

A child of a multi-node job (`<id>#n`) is a node of its parent; a child of an array job (`<id>:n`) is a run of its own, for
nothing shows that its siblings train the same model. Batch names the container instance of ECS and not its machine: ECS's answer
of DescribeContainerInstances in the same file has the machine's own id, as a Node object has it for pods. Written from botocore's
service models (1.44.5): from the schema, not yet seen in the wild.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from connectors.formats.accelerators import accelerator_type_of, is_aws_accelerator
from connectors.formats.costs import spend
from connectors.runs.fields import MILLISECONDS, count, first, inner, labelled_run, last, listed, moment, needed, text
from connectors.runs.forms import grouped
from connectors.runs.images import versions_of_image
from connectors.runs.run_records import Document, RecordError, Row, in_order, record_rows, state_of, tag_rows

_CHILD = re.compile(r"(.+)#(\d+)", re.ASCII)
_TRIES = 10  # of a node that cost as much as one row
_WAITING = {"submitted", "pending", "runnable"}
_LOST_HOST = re.compile(r"host ec2.*terminated|spot|reclaim|preempt", re.I)
_NEURON = re.compile(r"/dev/neuron\d+", re.ASCII)


def is_batch(document: Document) -> bool:
    """Whether a document is an answer of DescribeJobs, or one of its jobs; or ECS's answer that has the machines of such jobs."""
    if "containerInstances" in document:
        return True
    jobs = document.get("jobs")
    job = jobs[0] if isinstance(jobs, list) and jobs else document
    return isinstance(job, dict) and "jobQueue" in job and "jobId" in job


def batch_records(documents: list[Document]) -> Iterator[list[Document]]:
    """Each job, with the children of a multi-node job behind their parent. A parent may be in another file.

    Behind a job are the container instances that its containers name.
    """
    jobs: list[Document] = []
    machines: dict[str, Document] = {}
    for document in documents:
        if "containerInstances" in document:
            machines |= {needed(one, "containerInstanceArn"): one for one in listed(document, "containerInstances")}
        else:
            jobs += listed(document, "jobs") if "jobs" in document else [document]
    for record in grouped(jobs, _parent_of).values():
        names = dict.fromkeys(name for job in record for one in _containers(job) if (name := text(one, "containerInstanceArn")))
        yield [*record, *(machines[name] for name in names if name in machines)]


def batch_rows(record: list[Document], _: str) -> list[Row]:
    """Return the rows of a job and its nodes."""
    machines = {one["containerInstanceArn"]: text(one, "ec2InstanceId") for one in record if "jobId" not in one}
    # a job that was saved twice counts once, as it was last
    jobs = {needed(job, "jobId"): job for job in record if "jobId" in job}
    nodes = {job_id: job for job_id, job in jobs.items() if _CHILD.fullmatch(job_id)}
    job_id = next((match[1] for match in map(_CHILD.fullmatch, jobs) if match), next(iter(jobs)))
    job = jobs.get(job_id)
    any_job = job or next(iter(nodes.values()))
    tags = inner(any_job, "tags")
    run_id = labelled_run(tags) or job_id
    run = {"provider_name": "AWS", "cluster_name": (text(any_job, "jobQueue") or "").rpartition("/")[2] or None}
    run |= next((found for one in record if (found := versions_of_image(text(inner(one, "container"), "image")))), {})
    arn = re.sub(r"#\d+$", "", text(any_job, "jobArn") or "")
    aliases = [("batch", name) for name in (job_id, arn) if name]
    # as split cost allocation names what ran on a shared machine
    aliases += dict.fromkeys(alias for one in jobs.values() for alias in (*_tasks(one), *_pods(one)))
    # the parent of an array ran nothing itself
    attempts = () if count(inner(job or {}, "arrayProperties"), "size") else _attempt_rows(job, nodes or {job_id: any_job})
    rows = [{**row, "resource_id": machines.get(row["resource_id"])} if _is_on(machines, row) else row for row in attempts]
    return record_rows("batch", run_id, run, [*rows, *tag_rows(tags)], aliases)


def _is_on(machines: dict[str, str | None], row: Row) -> bool:
    """Whether a row is of a container instance whose machine is known."""
    return row["part"] == "node" and machines.get(row["resource_id"]) is not None


def _containers(job: Document) -> Iterator[Document]:
    """What knows its ECS task and its container instance: of a job and of its attempts, and of their several tasks."""
    yield inner(job, "container")
    yield from listed(job, "ecsProperties", "taskProperties")
    for attempt in listed(job, "attempts"):
        yield inner(attempt, "container")
        yield from listed(attempt, "taskProperties")


def _tasks(job: Document) -> Iterator[tuple[str, str]]:
    return (("ecs_task", name) for one in _containers(job) if (name := text(one, "taskArn")))


def _pods(job: Document) -> Iterator[tuple[str, str]]:
    """The pods of a job on EKS, with the cluster where an attempt names it."""
    pod = inner(job, "eksProperties", "podProperties")
    attempts = listed(job, "eksAttempts")
    clusters = {arn.rpartition("/")[2] for one in attempts if (arn := text(one, "eksClusterArn"))}
    newest = {"podName": text(pod, "podName"), "podNamespace": text(inner(pod, "metadata"), "namespace")}
    for one in (*attempts, newest):
        space, name = text(one, "podNamespace"), text(one, "podName")
        cluster = (text(one, "eksClusterArn") or "").rpartition("/")[2] or (min(clusters) if len(clusters) == 1 else "")
        if space and name:
            yield "kubernetes_pod", f"{cluster}/{space}/{name}" if cluster else f"{space}/{name}"


def _attempt_rows(job: Document | None, held_by: dict[str, Document]) -> Iterator[Row]:
    """An attempt of a multi-node job is that of all its nodes: its times are the parent's, else those around the nodes'."""
    tries = {name: _tries(one) for name, one in held_by.items()}
    of_job = _tries(job) if job else []
    most = max([len(of_job), *map(len, tries.values())])
    spend(most * len(tries) // _TRIES, "attempts")
    for number in range(most):
        those = {name: found[number] for name, found in tries.items() if number < len(found)}
        starts, ends = [start for start, _, _ in those.values()], [end for _, end, _ in those.values()]
        start, end, state = of_job[number] if number < len(of_job) else (None, None, None)
        start, end = start or first(starts), end or last(ends)
        attempt_id = str(number + 1)
        state = state or next((word for _, _, word in those.values() if word != "succeeded"), "succeeded")
        times = in_order(start, end, f"attempts[{number}].stoppedAt")
        yield {"part": "attempt", "attempt_id": attempt_id, "state": state, **times}
        for name, (node_start, node_end, _) in those.items():
            if node_start:
                found = in_order(node_start, node_end, f"attempts[{number}].stoppedAt")
                yield {"part": "node", "attempt_id": attempt_id, **_node(held_by[name], number), **found}


def _tries(job: Document) -> list[tuple[datetime | None, datetime | None, str]]:
    """Start, end and state of each attempt; one that is still going on is not in `attempts` yet."""
    word = (text(job, "status") or "").lower()
    found = [(*_times(one), _lost(one)) for one in _attempts(job)]
    start, end = _times(job)
    if start and start not in [begun for begun, _, _ in found] and (end is None or not found):
        found.append((start, end, state_of(word)))
    elif found and word == "succeeded":
        found[-1] = (*found[-1][:2], "succeeded")
    if not found and word not in _WAITING:
        found.append((start, end, state_of(word)))
    return found


def _times(job: Document) -> tuple[datetime | None, datetime | None]:
    return moment(job, "startedAt", MILLISECONDS), moment(job, "stoppedAt", MILLISECONDS)


def _attempts(job: Document) -> list[Document]:
    return listed(job, "attempts") or listed(job, "eksAttempts")


def _lost(attempt: Document) -> str:
    """An attempt whose machine was taken away was interrupted; any other that is followed by no success failed."""
    reason = f"{text(attempt, 'statusReason') or ''} {text(inner(attempt, 'container'), 'reason') or ''}"
    return "interrupted" if _LOST_HOST.search(reason) else "failed"


def _node(job: Document, number: int) -> Row:
    """The machine of a job: its container instance or EKS node, the only names that Batch gives it; else the job itself."""
    job_id = needed(job, "jobId")
    group = inner(job, "nodeProperties")
    container = inner(job, "container") or next((inner(one, "container") for one in listed(group, "nodeRangeProperties")), {})
    attempts = _attempts(job)
    attempt = attempts[number] if number < len(attempts) else {}
    name = _instance_of(attempt) or text(attempt, "nodeName")
    type_ = accelerator_type_of(text(container, "instanceType"))
    gpus = [_devices(one) for one in listed(container, "resourceRequirements") if text(one, "type") == "GPU"]
    paths = {text(one, "hostPath") or "" for one in listed(inner(container, "linuxParameters"), "devices")}
    chips = sum(gpus) or sum(_NEURON.fullmatch(path) is not None for path in paths)
    return {
        "resource_id": name
        or text(container, "containerInstanceArn")
        or text(inner(job, "eksProperties", "podProperties"), "nodeName")
        or job_id,
        "accelerator_type": type_ if type_ and is_aws_accelerator(type_) else None,
        "chips": chips or None,
        "node_count": 1 if _CHILD.fullmatch(job_id) else count(group, "numNodes") or 1,
    }


def _instance_of(attempt: Document) -> str | None:
    """The container instance of an attempt; several tasks of one attempt are on one."""
    tasks = (inner(attempt, "container"), *listed(attempt, "taskProperties"))
    return next((name for one in tasks if (name := text(one, "containerInstanceArn"))), None)


def _devices(requirement: Document) -> int:
    found = count(requirement, "value")
    if found is None:
        raise RecordError("is missing", field="resourceRequirements.value", reason="missing_value")
    return found


def _parent_of(job: Document) -> str:
    match = _CHILD.fullmatch(name := str(job.get("jobId")))
    return match[1] if match else name
