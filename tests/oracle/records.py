"""Run records: who a run is (ids, aliases, ambiguity) and which node it held when. No bill, no carbon."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from . import spellings
from .exports import modified_at, moment

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
CUSTOM_JOB = re.compile(r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+")
VERTEX_MACHINES = {"ct5lp-": "v5e", "ct5l-": "v5e", "ct5p-": "v5p", "ct6e-": "v6e"}
STILL_HELD = (datetime(9999, 12, 31, tzinfo=UTC) - EPOCH) // MICROSECOND


def is_job(resource_id: str) -> bool:
    return resource_id.startswith("arn:aws:sagemaker:") or CUSTOM_JOB.fullmatch(resource_id) is not None


def microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def normalised(run_id: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", run_id.lower())[:63]


@dataclass(frozen=True)
class Window:
    """One run holding (part of) one resource. Equal windows are one."""

    run: str
    resource_id: str
    start: int
    end: int
    chips: int | None
    accelerator_type: str | None
    node_count: int = 1


@dataclass
class Record:
    """One file: a run as its author wrote it."""

    recorded_id: str
    is_own: bool  # a run.json, whose word goes before a scheduler's
    provider_name: str | None = None
    aliases: set[tuple[str, str]] = field(default_factory=set)
    holdings: list[tuple[str, int, int, int | None, str | None, int]] = field(default_factory=list)
    attempts: list[tuple[int, int]] = field(default_factory=list)
    sdk_version: str | None = None
    workload_key: str | None = None
    model_name: str | None = None

    @property
    def shared_names(self) -> set[tuple[str, str]]:
        """Aliases that no two runs have: pipelines have several, and workloads use their names again."""
        return {
            (system, name) for system, name in self.aliases if system != "kubernetes" and (system != "vertex" or is_job(name))
        }


@dataclass
class Runs:
    run_of_id: dict[str, str]  # normalised recorded id -> run
    ambiguous: set[str]
    run_of_job: dict[str, str]  # SageMaker ARN or name of a Vertex AI job -> run
    windows: dict[str, list[Window]]  # resource -> windows in order of start
    provider_of: dict[str, str] = field(default_factory=dict)  # run -> provider its record names
    software: dict[str, str] = field(default_factory=dict)  # run -> version of its SDK
    workloads: dict[str, str] = field(default_factory=dict)  # run -> what it trains, else its model
    runs_of_alias: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # of pipelines and workloads
    times: dict[str, tuple[int, int]] = field(default_factory=dict)  # run -> first start and last end on record
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # run -> starts and ends of its attempts and nodes
    recorded: set[tuple] = field(default_factory=set)  # month, provider, account and type of which a record names a resource
    unknown: list[Window] = field(default_factory=list)  # held from then on, and it is unknown until when in that month
    sizes: dict[date, dict[str, int]] = field(default_factory=dict)  # month -> machine -> its chips, where evidence shows
    _held: dict[tuple[int, int], tuple[set[str], set[str]]] = field(default_factory=dict)

    def of_tag(self, value: str) -> str:
        run_id = normalised(value)
        return self.run_of_id.get(run_id, run_id)

    def beside(self, tagged: Iterable[Window]) -> "Runs":
        """The same with what tags alone show, for telemetry."""
        windows = {name: list(held) for name, held in self.windows.items()}
        for window in tagged:
            windows.setdefault(window.resource_id, []).append(window)
        in_order = {name: sorted(held, key=lambda each: (each.start, each.end, each.run)) for name, held in windows.items()}
        return replace(self, windows=in_order, _held={})

    def held_between(self, start: int, end: int) -> tuple[set[str], set[str]]:
        """Resources that somebody held then, and the runs that did. A name may be another machine at another time."""
        if (start, end) not in self._held:
            now = [window for held in self.windows.values() for window in held if window.start < end and window.end > start]
            now += [window for window in self.unknown if start <= window.start < end]
            self._held[start, end] = {window.resource_id for window in now}, {window.run for window in now}
        return self._held[start, end]


def _time(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int | float):
        return microseconds(EPOCH + timedelta(microseconds=round(value * 1_000_000)))
    return microseconds(moment(str(value)))


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _own_record(document: dict) -> Record:
    record = Record(document["training_run_id"], is_own=True, provider_name=document.get("provider_name"))
    for name in ("sdk_version", "workload_key", "model_name"):
        setattr(record, name, document.get(name))
    record.aliases = {(alias["system"], alias["id"]) for alias in document.get("aliases") or ()}
    for attempt in document.get("attempts") or ():
        if (begun := _time(attempt.get("started_at"))) is not None:
            record.attempts.append((begun, _first(_time(attempt.get("ended_at")), STILL_HELD)))
        for node in attempt.get("nodes") or ():
            start = _first(_time(node.get("started_at")), _time(attempt.get("started_at")))
            end = _first(_time(node.get("ended_at")), _time(attempt.get("ended_at")), STILL_HELD)
            if start is not None:
                name = node.get("accelerator_type")
                alike = {other["resource_id"] for other in attempt["nodes"] if other.get("accelerator_type") == name}
                kind, chips = spellings.read(name, len(alike))
                record.holdings.append((node["resource_id"], start, end, _first(node.get("chips"), chips), kind, 1))
    return record


def _sagemaker_record(document: dict) -> Record:
    aliases = {("sagemaker", document["TrainingJobArn"])}
    record = Record(document["TrainingJobName"], is_own=False, provider_name="AWS", aliases=aliases)
    start, end = _time(document.get("TrainingStartTime")), _first(_time(document.get("TrainingEndTime")), STILL_HELD)
    resources = document.get("ResourceConfig") or {}
    if start is not None:
        kind = (resources.get("InstanceType") or "").removeprefix("ml.") or None
        record.holdings.append((document["TrainingJobArn"], start, end, None, kind, resources.get("InstanceCount") or 1))
    return record


def _vertex_record(document: dict) -> Record:
    """A CustomJob is the run its label names, else its own number; its worker pools are nodes under the job's name."""
    name = document["name"]
    label = (document.get("labels") or {}).get("training_run_id")
    record = Record(label or name.rsplit("/", 1)[1], is_own=False, provider_name="Google Cloud", aliases={("vertex", name)})
    start, end = _time(document.get("startTime")), _first(_time(document.get("endTime")), STILL_HELD)
    machines: Counter[tuple[int | None, str]] = Counter()  # pools of one kind are so many machines more
    for pool in document.get("jobSpec", {}).get("workerPoolSpecs") or () if start is not None else ():
        machine_type = pool.get("machineSpec", {}).get("machineType") or ""
        kind = next((kind for prefix, kind in VERTEX_MACHINES.items() if machine_type.startswith(prefix)), None)
        chips = re.search(r"-(\d+)t$", machine_type)
        if kind is not None:
            machines[int(chips[1]) if chips else None, kind] += int(pool.get("replicaCount") or 1)
    record.holdings += [(name, start, end, *machine, replicas) for machine, replicas in machines.items()]
    return record


def read_records(location: Path, as_published: datetime | None = None) -> list[Record]:
    """Every record published by then; a file that is no record, or whose times run backwards, is left out."""
    records = []
    for path in sorted(location.rglob("*.json")):
        if as_published is not None and modified_at(path) > as_published:
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(document, dict) and "TrainingJobArn" in document:
            record = _sagemaker_record(document)
        elif isinstance(document, dict) and CUSTOM_JOB.fullmatch(str(document.get("name"))):
            record = _vertex_record(document)
        elif path.name.endswith(".run.json"):
            record = _own_record(document)
        else:
            continue
        if all(start <= end for _, start, end, *_ in record.holdings):
            records.append(record)
    return records


def _groups(records: list[Record]) -> list[list[Record]]:
    """Records that are one run: joined by an equal id or an equal alias, directly or in a chain."""
    leader = list(range(len(records)))

    def find(place: int) -> int:
        while leader[place] != place:
            place = leader[place]
        return place

    seen: dict[tuple[str, str], int] = {}
    for place, record in enumerate(records):
        for name in [("", record.recorded_id), *sorted(record.shared_names)]:
            if name in seen:
                leader[find(place)] = find(seen[name])
            else:
                seen[name] = place
    groups: dict[int, list[Record]] = {}
    for place, record in enumerate(records):
        groups.setdefault(find(place), []).append(record)
    return list(groups.values())


def resolve(records: list[Record]) -> Runs:
    groups = _groups(records)
    owner: dict[str, str] = {}
    claims: dict[str, set[int]] = {}
    names = []
    for place, group in enumerate(groups):
        _, recorded_id = min((not record.is_own, record.recorded_id) for record in group)
        names.append(normalised(recorded_id))
        for record in group:
            owner.setdefault(normalised(record.recorded_id), names[-1])
            claims.setdefault(normalised(record.recorded_id), set()).add(place)
    ambiguous = {run_id for run_id, places in claims.items() if len(places) > 1}
    runs = Runs(owner, ambiguous, {}, {})
    windows: dict[str, set[Window]] = {}
    for name, group in zip(names, groups, strict=True):
        # nodes are one field of a run: the first system that names any speaks, a run.json before a scheduler
        speaks_itself = any(record.is_own and record.holdings for record in group)
        by_word = sorted(group, key=lambda record: (not record.is_own, record.recorded_id))
        if provider := next((record.provider_name for record in by_word if record.provider_name), None):
            runs.provider_of[name] = provider
        if software := next((record.sdk_version for record in by_word if record.sdk_version), None):
            runs.software[name] = software
        for field_name in ("model_name", "workload_key"):  # the workload takes the place of the model
            if stated := next((value for record in by_word if (value := getattr(record, field_name))), None):
                runs.workloads[name] = stated
        for record in group:
            for _, job in (alias for alias in record.aliases if alias[0] in ("sagemaker", "vertex")):
                runs.run_of_job[job] = name
            for alias in record.aliases - record.shared_names if name not in ambiguous else ():
                runs.runs_of_alias.setdefault(alias, set()).add(name)
            spans = [*record.attempts, *(held[1:3] for held in record.holdings)]
            runs.spans.setdefault(name, []).extend(spans)
            known = runs.times.get(name)
            for start, end in spans:
                known = (min(start, known[0]), max(end, known[1])) if known else (start, end)
            if known:
                runs.times[name] = known
            for held in record.holdings if record.is_own or not speaks_itself else ():
                resource_id, start, end, *_ = held
                if start < end:
                    windows.setdefault(resource_id, set()).add(Window(name, *held))
    runs.windows = {
        resource_id: sorted(held, key=lambda window: (window.start, window.end, window.run, window.chips or -1))
        for resource_id, held in windows.items()
    }
    return runs
