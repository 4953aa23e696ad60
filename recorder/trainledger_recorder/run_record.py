"""The run record that a recorder writes, *.run.json: this attempt on this machine, at its start and at its end.

Beside it, once and at the start alone, *.registered.json: of which pair the run is, named before its cost is known.

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

from trainledger_recorder.errors import RecordError
from trainledger_recorder.hosts import Host
from trainledger_recorder.jobs import Job, attempt_name, encoded
from trainledger_recorder.times import parsed, stamp

# fields of the record that the recorder does not fill itself; trainledger refuses a whole record for one wrong value
VERSIONS = ("framework_version", "sdk_name", "sdk_version", "driver_version", "runtime_version", "cluster_name", "slice_name")
NAMES = ("provider_name", "parent_run_id", "workload_key", "pair_key", "model_name", "framework", *VERSIONS, "team")
TEXTS = (*NAMES, "target_metric", "target_direction")
COUNTS = ("tokens", "useful_tokens", "steps")
NUMBERS = (*COUNTS, "model_flops", "target_value", "final_value")
KNOWN = (*TEXTS, *NUMBERS)
PROVIDERS = ("aws", "amazon web services", "google cloud", "google", "gcp")
_MOST = 2**63 - 1
_MOST_ADDED = 1 << 20  # characters of what a job writes
MOST_CHIPS = 1_000_000
# what registers a run as a member of a pair, and what of its promise is known when it starts
_PAIR = ("workload_key", "pair_key")
_PROMISE = ("target_metric", "target_direction", "target_value", "tokens")


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
        return f"{self._place}.run.json"

    @property
    def registration_key(self) -> str:
        """Where its registration goes, which is written at the start and never again: the store's time of it is what counts."""
        return f"{self._place}.registered.json"

    @property
    def _place(self) -> str:
        return f"runs/run={encoded(self.job.run_id or '')}/host={encoded(self.host.resource_id)}/{self.token}"

    def registration(self) -> dict[str, Any] | None:
        """The run, its pair and its promise as far as they are known now; None where no pair is named."""
        if not all(str(self.fields.get(name) or "").strip() for name in _PAIR):
            return None
        named = {name: self.fields.get(name) for name in (*_PAIR, *_PROMISE)}
        document: dict[str, Any] = _readable(_filled({"training_run_id": self.job.run_id, **named}))
        return document

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
        readable: dict[str, Any] = _readable(_filled(record))
        return readable

    def add(self, text: str) -> list[str]:
        """Take the fields that the job itself wrote and return what is wrong with those that are left out.

        RecordError where it is no JSON object, so that none can be taken.
        """
        try:
            added = json.loads(text, parse_int=_value)  # Python itself refuses a number of thousands of digits
        except (ValueError, RecursionError) as error:
            raise RecordError(f"it is no JSON: {error}") from error
        if not isinstance(added, dict):
            raise RecordError("it is no JSON object")
        taken, wrong = _sorted_out(added)
        self.fields.update(taken)
        return wrong


def fields_of(given: Iterable[str], found: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of `--record FIELD=VALUE` above those that were found out; what a record has no field for becomes a tag.

    A field with a value that its readers refuse is left out: `faults_of` names it before the job starts.
    """
    fields: dict[str, Any] = {name: text for name, text in found.items() if name in KNOWN}
    tags = {name: text for name, text in found.items() if name not in KNOWN}
    stated, _ = _stated(given)
    for name in stated:
        tags.pop(name, None)
    return fields | stated, tags


def tags_of(given: Iterable[str]) -> dict[str, str]:
    """Tags of `--tag KEY=VALUE`; what is no pair is left out."""
    return {name: text for name, separator, text in (one.partition("=") for one in given) if name and separator}


def faults_of(fields: Iterable[str], tags: Iterable[str]) -> list[str]:
    """What is wrong with options of the record, each named; the record is written without them, and the job runs."""
    pairs = ((one, one.partition("=")) for one in tags)
    return [
        *(f"--record {fault}" for fault in _stated(fields)[1]),
        *(f"--tag {one} is no KEY=VALUE" for one, (name, separator, _) in pairs if not (name and separator)),
    ]


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
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_ADDED)
    except OSError:
        return ""


def _readable(value: Any) -> Any:
    """The same with texts that are Unicode: bytes of an environment that are none would make a reader refuse the record."""
    if isinstance(value, dict):
        return {_readable(name): _readable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_readable(one) for one in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


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


def _stated(given: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Fields of FIELD=VALUE, and what is wrong with the others."""
    pairs = [one.partition("=") for one in given]
    fields = {name: _value(text) if name in NUMBERS else text for name, separator, text in pairs if separator}
    taken, wrong = _sorted_out(fields)
    return taken, [*(f"{name} is no FIELD=VALUE" for name, separator, _ in pairs if not separator), *wrong]


def _sorted_out(fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields that a record may have, and what is wrong with the others: trainledger refuses a record for one of them."""
    faults = {name: _fault(name, value) for name, value in fields.items()}
    taken = {name: value for name, value in fields.items() if faults[name] is None}
    return taken, [f"{name[:80]} {fault}" for name, fault in faults.items() if fault is not None]


def _fault(name: str, value: Any) -> str | None:
    """What is wrong with a field of a record; None where nothing is."""
    if name not in KNOWN:
        return f"is no field of a run record, which are {', '.join(KNOWN)}; others are --tag"
    if value is None:
        return None
    if name in TEXTS:
        if not isinstance(value, str):
            return "is no text"
        is_known = name != "provider_name" or value.strip().lower() in PROVIDERS
        return None if is_known else "is neither AWS nor Google Cloud"
    if not _is_number(value):
        return "is no number"
    return "is no count" if name in COUNTS and (value != int(value) or not 0 <= value <= _MOST) else None


def _is_number(value: Any) -> bool:
    """Whether a value is a number that JSON can hold and a float can."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an int beyond every float
        return False
