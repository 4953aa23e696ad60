"""SageMaker's DescribeTrainingJob answer as a run record: the job's name is the run's id, its ARN the alias and the resource."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from connectors.formats.accelerators import accelerator_type_of, is_aws_accelerator
from connectors.runs.fields import inner, listed, moment, needed, text
from connectors.runs.images import versions_of_image
from connectors.runs.run_records import Document, RecordError, Row, in_order, job_rows, state_of, time_of


def sagemaker_rows(document: Document) -> list[Row]:
    """Return the rows of a job. Its machines have no ids, so the job itself is the resource, once per instance type."""
    arn, name = needed(document, "TrainingJobArn"), needed(document, "TrainingJobName")
    times = in_order(_time(document, "TrainingStartTime"), _time(document, "TrainingEndTime"), "TrainingEndTime")
    status = document.get("TrainingJobStatus")
    state = state_of(status if isinstance(status, str) else None)
    algorithm = document.get("AlgorithmSpecification")
    image = algorithm.get("TrainingImage") if isinstance(algorithm, dict) else None
    placements = listed(inner(document, "ResourceConfig", "InstancePlacementConfig"), "PlacementSpecifications")
    servers = sorted({server for one in placements if (server := text(one, "UltraServerId"))})
    run = {"provider_name": "AWS", "slice_name": ",".join(servers) or None}
    run |= versions_of_image(image if isinstance(image, str) else None)
    plan = inner(document, "ResourceConfig").get("TrainingPlanArn")
    if not isinstance(plan, str | None):
        raise RecordError("is no text", field="ResourceConfig.TrainingPlanArn", value=plan)
    paid_by = [("training_plan", plan)] if plan else []
    return job_rows("sagemaker", name, run, arn, state, times, nodes=_nodes(document), aliases=paid_by)


def _nodes(document: Document) -> Iterator[Row]:
    """The machines of each type, as far as they have accelerators; all machines where none has."""
    found = Counter[str | None]()
    for group in listed(document, "ResourceConfig", "InstanceGroups") or [inner(document, "ResourceConfig")]:
        # a job may name several types; the answer then has the one that SageMaker chose
        chosen = "Selected" if group.get("SelectedInstanceType") else ""
        type_, count = group.get(f"{chosen}InstanceType"), group.get(f"{chosen}InstanceCount", 1)
        if not isinstance(type_, str | None):
            raise RecordError("is no text", field="ResourceConfig.InstanceType", value=type_)
        if not isinstance(count, int) or isinstance(count, bool) or not 0 < count < 1_000_000:
            raise RecordError("is no count", field="ResourceConfig.InstanceCount", value=count)
        name = accelerator_type_of(type_)
        found[name] += count  # two groups of one type hold the machines of both
    # plain machines beside them hold no chips
    accelerated = {name: count for name, count in found.items() if name and is_aws_accelerator(name)}
    for name, count in (accelerated or found).items():
        yield {"accelerator_type": name, "node_count": count}


def _time(document: Document, field: str) -> datetime | None:
    """The API answers seconds since 1970, the command line tools write them as text."""
    value = document.get(field)
    return time_of(value, field) if isinstance(value, str) else moment(document, field)
