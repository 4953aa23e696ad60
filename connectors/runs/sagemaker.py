"""SageMaker's DescribeTrainingJob answer as a run record: the job's name is the run's id, its ARN the alias and the resource."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.formats.accelerators import accelerator_type_of, is_aws_accelerator
from connectors.runs.fields import inner, listed, text
from connectors.runs.images import versions_of_image
from connectors.runs.run_records import RecordError, in_order, job_rows, state_of, time_of
from connectors.times import recorded_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_sagemaker(document: dict[str, Any]) -> bool:
    """Whether a document is the answer of DescribeTrainingJob."""
    return "TrainingJobArn" in document


def sagemaker_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a job. Its machines have no ids, so the job itself is the resource, once per instance type."""
    arn, name = _text(document, "TrainingJobArn"), _text(document, "TrainingJobName")
    times = in_order(_time(document, "TrainingStartTime"), _time(document, "TrainingEndTime"), "TrainingEndTime")
    status = document.get("TrainingJobStatus")
    state = state_of(status if isinstance(status, str) else None)
    rows = job_rows("sagemaker", name, "AWS", arn, state, times, _nodes(document))
    algorithm = document.get("AlgorithmSpecification")
    image = algorithm.get("TrainingImage") if isinstance(algorithm, dict) else None
    rows[0] |= versions_of_image(image if isinstance(image, str) else None)
    placements = listed(inner(document, "ResourceConfig", "InstancePlacementConfig"), "PlacementSpecifications")
    rows[0]["slice_name"] = ",".join(sorted({server for one in placements if (server := text(one, "UltraServerId"))})) or None
    return rows


def _nodes(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The machines of each type, as far as they have accelerators; all machines where none has."""
    config = {} if document.get("ResourceConfig") is None else document["ResourceConfig"]
    if not isinstance(config, dict):
        raise RecordError("is no object", field="ResourceConfig", value=config)
    groups = config.get("InstanceGroups") or [config]
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise RecordError("is no list of objects", field="ResourceConfig.InstanceGroups")
    found: dict[str | None, int] = {}
    for group in groups:
        # a job may name several types; the answer then has the one that SageMaker chose
        chosen = "Selected" if group.get("SelectedInstanceType") else ""
        type_, count = group.get(f"{chosen}InstanceType"), group.get(f"{chosen}InstanceCount", 1)
        if not isinstance(type_, str | None):
            raise RecordError("is no text", field="ResourceConfig.InstanceType", value=type_)
        if not isinstance(count, int) or isinstance(count, bool) or not 0 < count < 1_000_000:
            raise RecordError("is no count", field="ResourceConfig.InstanceCount", value=count)
        name = accelerator_type_of(type_)
        found[name] = found.get(name, 0) + count  # two groups of one type hold the machines of both
    # plain machines beside them hold no chips
    accelerated = {name: count for name, count in found.items() if name and is_aws_accelerator(name)}
    for name, count in (accelerated or found).items():
        yield {"accelerator_type": name, "node_count": count}


def _text(document: dict[str, Any], field: str) -> str:
    value = document.get(field)
    if not isinstance(value, str) or not value.strip():
        reason = "wrong_type" if value else "missing_value"
        raise RecordError("is missing or no text", field=field, value=value, reason=reason)
    return value


def _time(document: dict[str, Any], field: str) -> datetime | None:
    """The API answers seconds since 1970, the command line tools write them as text."""
    value = document.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            moment = recorded_time(_EPOCH + timedelta(microseconds=round(value * 1_000_000)))
            return moment and moment.replace(tzinfo=None)
        except (OverflowError, ValueError) as error:
            raise RecordError("is no time", field=field, value=value) from error
    if value is not None and not isinstance(value, str):
        raise RecordError("is no time", field=field, value=value)
    return time_of(value, field)
