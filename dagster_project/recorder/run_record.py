"""The run record that a recorder writes, *.run.json: this attempt on this machine, at its start and at its end.

Each start on each machine is a file of its own, so no recorder reads or waits for another's: nodes of one run never overwrite
each other, and a second start adds an attempt. The product reads all files of one run as one run.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from connectors.runs.run_records import RecordError, RunRecord, run_json_rows
from dagster_project.failures import UsageError
from dagster_project.recorder import stamp
from dagster_project.recorder.hosts import Host
from dagster_project.recorder.jobs import Job, attempt_name, encoded

_OURS = ("training_run_id", "aliases", "attempts", "tags")
KNOWN = tuple(name for name in RunRecord.__struct_fields__ if name not in _OURS)


@dataclass(slots=True)
class RunFile:
    """The record of one attempt on one machine."""

    job: Job
    host: Host
    started_at: datetime
    token: str  # tells this start from every other one of the run on this machine
    fields: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Where the record goes, whatever becomes of the attempt."""
        return f"runs/run={encoded(self.job.run_id or '')}/host={encoded(self.host.resource_id)}/{self.token}.run.json"

    def document(self, state: str, ended_at: datetime | None = None) -> dict[str, Any]:
        """The record in a state. A clock that was set back meanwhile makes no end before the start."""
        node = {"resource_id": self.host.resource_id, "accelerator_type": self.host.accelerator_type, "chips": self.host.chips}
        attempt = {
            "attempt_id": attempt_name(self.job, self.started_at),
            "state": state,
            "started_at": stamp(self.started_at),
            "ended_at": ended_at and stamp(max(ended_at, self.started_at)),
            "nodes": [_filled(node)],
        }
        said = {
            "training_run_id": self.job.run_id,
            "provider_name": self.host.provider_name,
            **self.fields,
            "aliases": [{"system": system, "id": name} for system, name in self.job.aliases],
            "tags": self.tags,
            "attempts": [_filled(attempt)],
        }
        return _filled(said)

    def add(self, text: str) -> None:
        """Take the fields that the job itself wrote; RecordError where they cannot be of a record."""
        try:
            said = json.loads(text)
        except ValueError as error:
            raise RecordError(f"is no JSON: {error}") from error
        if not isinstance(said, dict):
            raise RecordError("is no JSON object")
        if unknown := sorted(set(said) - set(KNOWN)):
            raise RecordError("is no field of a run record", field=unknown[0])
        run_json_rows({"training_run_id": self.job.run_id, **said})
        self.fields |= said


def fields_of(given: Iterable[str], found: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of `--record FIELD=VALUE` above those that were found out; what a record has no field for becomes a tag."""
    fields: dict[str, Any] = {name: text for name, text in found.items() if name in KNOWN}
    tags = {name: text for name, text in found.items() if name not in KNOWN}
    for one in given:
        name, separator, text = one.partition("=")
        if not separator or name not in KNOWN:
            raise UsageError(
                f"--record {one} names no field of a run record", remedy=f"It knows {', '.join(KNOWN)}; others are --tag."
            )
        fields[name] = _value(name, text)
        tags.pop(name, None)
    try:
        run_json_rows({"training_run_id": "checked", **fields})
    except RecordError as error:
        raise UsageError(f"--record {error.field} {error}") from error
    return fields, tags


def tags_of(given: Iterable[str]) -> dict[str, str]:
    """Tags of `--tag KEY=VALUE`."""
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, separator, _ in pairs if not (name and separator)]:
        raise UsageError(f"--tag {wrong[0]} is no KEY=VALUE")
    return {name: text for name, _, text in pairs}


def closed(document: dict[str, Any], seen: datetime) -> dict[str, Any] | None:
    """A record whose recorder was killed, ended when it was last seen; None where it has its end."""
    attempt = document["attempts"][0]
    if attempt.get("ended_at"):
        return None
    started = datetime.fromisoformat(attempt["started_at"])
    ended = {**attempt, "state": "unknown", "ended_at": stamp(max(seen.astimezone(UTC), started))}
    return {**document, "attempts": [ended]}


def read_added(path: Path) -> str:
    """What the job wrote into its file, empty where it wrote none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _filled(said: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value not in (None, [], {})}


def _value(name: str, text: str) -> Any:
    """A number where the field is one; `1e12` is the count 1000000000000."""
    if "int" not in str(RunRecord.__annotations__[name]):
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--record {name}={text} is no number") from None
