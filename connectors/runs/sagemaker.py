"""SageMaker's DescribeTrainingJob answer as a run record: the job's name is the run's id, its ARN the alias and the resource."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.formats.accelerators import AWS_FAMILIES
from connectors.runs.run_records import RecordError, must_be_in_order, state_of, time_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ACCELERATED = re.compile(f"(?:{AWS_FAMILIES})")  # plain machines beside them hold no chips


def is_sagemaker(document: dict[str, Any]) -> bool:
    """Whether a document is a DescribeTrainingJob answer."""
    return "TrainingJobArn" in document


def sagemaker_rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a job. Its machines have no ids, so the job itself is the resource, once per instance type."""
    arn, name = _text(document, "TrainingJobArn"), _text(document, "TrainingJobName")
    base = {"record_system": "sagemaker", "recorded_id": name}
    started_at, ended_at = _time(document, "TrainingStartTime"), _time(document, "TrainingEndTime")
    must_be_in_order(started_at, ended_at, "TrainingEndTime")
    times: dict[str, Any] = {"started_at": started_at, "ended_at": ended_at}
    status = document.get("TrainingJobStatus")
    state = state_of(status if isinstance(status, str) else None)
    rows = [
        {"part": "run", "provider_name": "AWS"},
        {"part": "alias", "alias_system": "sagemaker", "alias_id": arn},
        {"part": "attempt", "attempt_id": "1", "state": state, **times},
    ]
    for type_, count in _groups(document) if started_at else ():  # a job that never started held nothing
        node = {"part": "node", "attempt_id": "1", "resource_id": arn, "accelerator_type": type_, "node_count": count}
        rows.append(node | times)
    return [base | row for row in rows]


def _groups(document: dict[str, Any]) -> list[tuple[str | None, int]]:
    config = document.get("ResourceConfig")
    if config is None:
        return [(None, 1)]
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
        name = type_.removeprefix("ml.") if type_ else None
        found[name] = found.get(name, 0) + count  # two groups of one type hold the machines of both
    accelerated = {name: count for name, count in found.items() if name and _ACCELERATED.match(name)}
    return list((accelerated or found).items())


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
            return (_EPOCH + timedelta(microseconds=round(value * 1_000_000))).replace(tzinfo=None)
        except (OverflowError, ValueError) as error:
            raise RecordError("is no time", field=field, value=value) from error
    if value is not None and not isinstance(value, str):
        raise RecordError("is no time", field=field, value=value)
    return time_of(value, field)
