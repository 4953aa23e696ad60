"""Run records: who a run is (ids, aliases, ambiguity) and which node it held when. No bill, no carbon."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from . import jobs, spellings
from .exports import modified_at, moment
from .months import EPOCH, MICROSECOND, bounds, microseconds

CUSTOM_JOB = re.compile(r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+")
CLUSTER = re.compile(r"arn:[^:]*:sagemaker:[^:]*:[^:]*:cluster/[^/]+")  # of HyperPod: a record means its machines of one type
VERTEX_MACHINES = {"ct5lp-": "v5e", "ct5l-": "v5e", "ct5p-": "v5p", "ct6e-": "v6e"}
UNCLEAR = "~unclear"  # a tag that could be two runs'
STILL_HELD = (datetime(9999, 12, 31, tzinfo=UTC) - EPOCH) // MICROSECOND


def is_job(resource_id: str) -> bool:
    return ":training-job/" in resource_id or CUSTOM_JOB.fullmatch(resource_id) is not None


def normalised(run_id: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", run_id.lower())[:63]


@dataclass(frozen=True)
class Window:
    """One run holding (part of) one resource. Equal windows are one."""

    run: str
    resource_id: str
    start: int
    end: int
    chips: Fraction | int | None  # of a chip that is shared a part
    accelerator_type: str | None
    node_count: int = 1


@dataclass
class Record:
    """One file: a run as its author wrote it."""

    recorded_id: str
    is_own: bool  # a run.json, whose word goes before a scheduler's
    provider_name: str | None = None
    aliases: set[tuple[str, str]] = field(default_factory=set)
    plans: set[str] = field(default_factory=set)  # of SageMaker, which paid for its hours: no names of the run
    holdings: list[tuple[str, int, int, int | None, str | None, int]] = field(default_factory=list)
    attempts: list[tuple[int, int]] = field(default_factory=list)
    sdk_version: str | None = None
    workload_key: str | None = None
    model_name: str | None = None
    parent: str | None = None
    attempt_of_node: str | None = None  # of the last one

    @property
    def shared_names(self) -> set[tuple[str, str]]:
        """Aliases that no two runs have: pipelines have several, workloads use their names again, and clusters their numbers."""
        return {
            (system, name)
            for system, name in self.aliases
            if system not in ("kubernetes", jobs.SLURM) and (system != "vertex" or is_job(name))
        }

    @property
    def begun(self) -> int | None:
        return min((start for start, _ in (*self.attempts, *(held[1:3] for held in self.holdings))), default=None)


@dataclass
class Runs:
    run_of_id: dict[str, str]  # normalised recorded id -> run
    ambiguous: set[str]
    run_of_job: dict[str, str]  # SageMaker ARN or name of a Vertex AI job -> run
    windows: dict[str, list[Window]]  # resource -> windows in order of start
    plans_of_job: dict[str, set[str]] = field(default_factory=dict)  # SageMaker ARN -> plans that paid for it
    provider_of: dict[str, str] = field(default_factory=dict)  # run -> provider its record names
    software: dict[str, str] = field(default_factory=dict)  # run -> version of its SDK
    workloads: dict[str, str] = field(default_factory=dict)  # run -> what it trains, else its model
    runs_of_alias: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # of pipelines and workloads
    recorded_aliases: set[tuple[str, str]] = field(default_factory=set)  # of any record, whatever it is evidence of
    times: dict[str, tuple[int, int]] = field(default_factory=dict)  # run -> first start and last end on record
    parents: dict[str, str] = field(default_factory=dict)  # run -> the run inside which it ran
    ids: dict[str, bool] = field(default_factory=dict)  # runs that a record makes -> whether by another name than a number
    other_names: dict[str, set[tuple[str, bool]]] = field(default_factory=dict)  # -> run, and whether it could be another's
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # run -> starts and ends of its attempts and nodes
    recorded: set[tuple] = field(default_factory=set)  # month, provider, account and type of which a record names a resource
    unknown: list[Window] = field(default_factory=list)  # held from then on, and it is unknown until when in that month
    sizes: dict[date, dict[str, int]] = field(default_factory=dict)  # month -> machine -> its chips, where evidence shows
    _held: dict[tuple[int, int], tuple[set[str], set[str]]] = field(default_factory=dict)

    def of_tag(self, value: str, month: date | None = None) -> str:
        """The run that a tag of a month's bill means, or the key of a sample: a run's own id before its other names."""
        run_id = normalised(value)
        named = {one for one in self.other_names.get(run_id, ()) if month is None or self.is_recorded(one[0], month)}
        runs = {run for run, _ in named}
        is_unclear = len(runs) > 1 or any(unclear for _, unclear in named)
        if is_unclear and not self.ids.get(run_id, False):
            return UNCLEAR if month else run_id
        return run_id if run_id in self.ids or not runs else runs.pop()

    def is_recorded(self, run: str, month: date) -> bool:
        first, last = bounds(month)
        return any(start < last and (start >= first or first < end < STILL_HELD) for start, end in self.spans.get(run, ()))

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


def _first(*values: Fraction | int | None) -> Fraction | int | None:
    return next((value for value in values if value is not None), None)


def _stated(chips: float | None) -> Fraction | None:
    """A part of a chip counts to the millionth."""
    return None if chips is None else Fraction(round(Fraction(str(chips)) * 10**6), 10**6)


def _own_record(document: dict) -> Record:
    record = Record(document["training_run_id"], is_own=True, provider_name=document.get("provider_name"))
    for name in ("sdk_version", "workload_key", "model_name"):
        setattr(record, name, document.get(name))
    cluster = document.get("cluster")
    record.aliases = {
        (alias["system"], f"{cluster}/{alias['id']}" if cluster and alias["system"] == jobs.SLURM else alias["id"])
        for alias in document.get("aliases") or ()
        if alias["system"] != "training_plan"
    }
    record.plans = {alias["id"] for alias in document.get("aliases") or () if alias["system"] == "training_plan"}
    record.parent = document.get("parent_run_id")
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
                resource = f"{node['resource_id']}/ml.{kind}" if CLUSTER.fullmatch(node["resource_id"]) else node["resource_id"]
                record.holdings.append((resource, start, end, _first(_stated(node.get("chips")), chips), kind, 1))
                record.attempt_of_node = attempt.get("attempt_id")
    return record


def _slurm_record(job: dict) -> Record:
    names = [f"{job['cluster']}/{job['job_id']}" if job.get("cluster") else str(job["job_id"])]
    record = Record(names[0], is_own=False, aliases={(jobs.SLURM, name) for name in names})
    start, end = _time(job["time"]["start"]), _time(job["time"]["end"] or None)
    record.attempts.append((start, _first(end, STILL_HELD)))
    named, chips = jobs.chips_of(job)
    kind, _ = spellings.read(named, 1)
    record.holdings += [(node, start, _first(end, STILL_HELD), chips, kind, 1) for node in jobs.machines_of(job)]
    return record


def _sagemaker_record(document: dict) -> Record:
    aliases = {("sagemaker", document["TrainingJobArn"])}
    record = Record(document["TrainingJobName"], is_own=False, provider_name="AWS", aliases=aliases)
    start, end = _time(document.get("TrainingStartTime")), _first(_time(document.get("TrainingEndTime")), STILL_HELD)
    resources = document.get("ResourceConfig") or {}
    record.plans = {plan for plan in [resources.get("TrainingPlanArn")] if plan}
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
        elif isinstance(document, dict) and "jobs" in document:
            records += [_slurm_record(job) for job in document["jobs"]]
            continue
        else:
            continue
        if all(start <= end for _, start, end, *_ in record.holdings):
            records.append(record)
    return records
