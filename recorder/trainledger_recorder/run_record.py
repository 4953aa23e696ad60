"""The run record that a recorder writes, *.run.json: this attempt on this machine, at its start and at its end.

Each start on each machine is a file of its own, so no recorder reads or waits for another's: nodes of one run never overwrite
each other, and a second start adds an attempt. The product reads all files of one run as one run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from trainledger_recorder.errors import RecordError, UsageError
from trainledger_recorder.hosts import Host
from trainledger_recorder.jobs import Job, attempt_name, encoded
from trainledger_recorder.times import parsed, stamp

# fields of the record that the recorder does not fill itself; trainledger refuses a whole record for one wrong value
VERSIONS = ("framework_version", "sdk_name", "sdk_version", "driver_version", "runtime_version", "cluster_name", "slice_name")
NAMES = ("provider_name", "workload_key", "pair_key", "model_name", "framework", *VERSIONS, "team")
TEXTS = (*NAMES, "target_metric", "target_direction")
COUNTS = ("tokens", "useful_tokens", "steps")
NUMBERS = (*COUNTS, "model_flops", "target_value", "final_value")
KNOWN = (*TEXTS, *NUMBERS)
PROVIDERS = ("aws", "amazon web services", "google cloud", "google", "gcp")
_MOST = 2**63 - 1


@dataclass
class RunFile:
    """The record of one attempt on one machine."""

    job: Job
    host: Host
    started_at: datetime
    token: str  # distinguishes this start from every other of the run on this machine
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
        record = {
            "training_run_id": self.job.run_id,
            "provider_name": self.host.provider_name,
            **self.fields,
            "aliases": [{"system": system, "id": name} for system, name in self.job.aliases],
            "tags": self.tags,
            "attempts": [_filled(attempt)],
        }
        return _filled(record)

    def add(self, text: str) -> None:
        """Take the fields that the job itself wrote; RecordError where they cannot be of a record."""
        try:
            added = json.loads(text)
        except ValueError as error:
            raise RecordError(f"it is no JSON: {error}") from error
        if not isinstance(added, dict):
            raise RecordError("it is no JSON object")
        _check(added)
        self.fields.update(added)


def fields_of(given: Iterable[str], found: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of `--record FIELD=VALUE` above those that were found out; what a record has no field for becomes a tag."""
    fields: dict[str, Any] = {name: text for name, text in found.items() if name in KNOWN}
    tags = {name: text for name, text in found.items() if name not in KNOWN}
    for one in given:
        name, separator, text = one.partition("=")
        if not separator or name not in KNOWN:
            raise UsageError(f"--record {one} names no field of a run record", f"It knows {', '.join(KNOWN)}; others are --tag.")
        fields[name] = _value(text) if name in NUMBERS else text
        tags.pop(name, None)
    try:
        _check(fields)
    except RecordError as error:
        raise UsageError(f"--record {error}") from error
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
    started = parsed(attempt["started_at"])
    ended = {**attempt, "state": "unknown", "ended_at": stamp(max(seen, started))}
    return {**document, "attempts": [ended]}


def read_added(path: Path) -> str:
    """What the job wrote into its file, empty where it wrote none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _filled(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value not in (None, [], {})}


def _value(text: str) -> int | float | str:
    """A number, of which `1e12` is one; any other text stays, and is refused with the field's name."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _check(fields: Mapping[str, Any]) -> None:
    """Refuse what is no field of a run record, or a value of another type than the field's."""
    for name, value in fields.items():
        if name not in KNOWN:
            raise RecordError(f"{name} is no field of a run record")
        if value is None:
            continue
        if name in TEXTS:
            if not isinstance(value, str):
                raise RecordError(f"{name} is no text")
            if name == "provider_name" and value.strip().lower() not in PROVIDERS:
                raise RecordError(f"{name} is neither AWS nor Google Cloud")
        elif not _is_number(value):
            raise RecordError(f"{name} is no number")
        elif name in COUNTS and (value != int(value) or not 0 <= value <= _MOST):
            raise RecordError(f"{name} is no count")


def _is_number(value: Any) -> bool:
    """Whether a value is a number that JSON can hold and a float can."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an int beyond every float
        return False
