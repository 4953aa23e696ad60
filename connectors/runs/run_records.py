"""Our own run record, *.run.json: the one document a team writes itself. Knows its fields, their types and their limits."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

import msgspec

from connectors.errors import shorten
from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.tpu_names import node_chips_of
from connectors.times import parse_utc, recorded_time

Document = dict[str, Any]
Row = dict[str, Any]

CLUSTER_ARN = re.compile(r"arn:aws[a-z-]*:sagemaker:[^:/]*:[^:/]*:cluster/[^/]+", re.ASCII)  # of HyperPod
_MAX_BIGINT = 2**63 - 1
_MARKS = 8  # by which repeated ids differ, before they are numbered
# what a figure stays below, far above any run there is: sums and products of them are numbers that every table takes
_BELOW = {
    **dict.fromkeys(("chips", "node_count", "device_count"), 1e6 + 1),
    **dict.fromkeys(("tokens", "useful_tokens", "steps", "step", "device_tokens"), 1e18),
    **dict.fromkeys(("model_flops", "device_flops", "target_value", "final_value"), 1e30),
    "energy_j": 1e17,
    "seconds": 1e12,
}
# Schedulers and people have many words for six ends of a run.
_STATES = {
    "succeeded": "succeeded success successful completed complete finished done",
    "failed": "failed failure error errored timeout timed_out node_fail out_of_memory crashed",
    "stopped": "stopped cancelled canceled killed aborted",
    "interrupted": "interrupted preempted evicted spot_interrupted suspended",
    "running": "running inprogress in_progress started stopping restarting",
}
_STATE_OF = {word: state for state, words in _STATES.items() for word in words.split()}
Times = dict[str, datetime | None]  # started_at, ended_at
VERSIONS = ("framework_version", "sdk_name", "sdk_version", "driver_version", "runtime_version", "cluster_name", "slice_name")
TEXTS = ("workload_key", "pair_key", "model_name", "framework", *VERSIONS, "team")
COUNTS, _FIGURES = ("tokens", "useful_tokens", "steps"), ("model_flops", "target_value", "final_value")
_TARGET = ("target_metric", "target_direction")
_PROVIDERS = {
    **dict.fromkeys(("aws", "amazon web services"), "AWS"),
    **dict.fromkeys(("google cloud", "google", "gcp"), "Google Cloud"),
}


class RecordError(Exception):
    """A record that cannot be taken: which field, which value."""

    def __init__(self, message: str, *, field: str | None = None, value: Any = None, reason: str = "wrong_type") -> None:
        super().__init__(message)
        self.field = field
        self.value = None if value is None else shorten(str(value))
        self.reason = reason


class Alias(msgspec.Struct):
    """The same run in another system."""

    system: str
    id: str


class Node(msgspec.Struct):
    """A machine held for a time; without an end it is still held."""

    resource_id: str
    accelerator_type: str | None = None
    chips: int | float | None = None
    started_at: str | None = None
    ended_at: str | None = None


class Checkpoint(msgspec.Struct):
    """A state that was saved: work before it is not lost."""

    at: str
    step: int | float | None = None


class Attempt(msgspec.Struct):
    """One try at the run."""

    attempt_id: str | int | None = None
    state: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    nodes: list[Node] | None = None
    checkpoints: list[Checkpoint] | None = None


_Number = int | float | None
# a run as its team recorded it
RunRecord = msgspec.defstruct(
    "RunRecord",
    [
        ("training_run_id", str),
        *((name, str | None, None) for name in ("provider_name", "cluster", "parent_run_id", *TEXTS, *_TARGET)),
        *((name, _Number, None) for name in (*COUNTS, *_FIGURES)),
        ("aliases", list[Alias] | None, None),
        ("tags", dict[str, str | int | float | bool | None] | None, None),
        ("attempts", list[Attempt] | None, None),
    ],
)


def run_json_rows(document: Document) -> list[Row]:
    """Return the rows of a run.json, the run's own first."""
    try:
        record: Any = msgspec.convert(document, RunRecord)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        # msgspec gives no path for a missing field of the record itself
        named = path.strip("`.") or what.rpartition("field `")[2].rstrip("`") if "field `" in what or path else None
        reason = "missing_value" if "missing" in what else "wrong_type"
        raise RecordError(f"is refused: {what}", field=named, reason=reason) from error
    if not record.training_run_id.strip():
        raise RecordError("is empty", field="training_run_id", reason="missing_value")
    run = {
        "provider_name": _provider(record.provider_name),
        **{name: getattr(record, name) for name in (*TEXTS, *_TARGET)},
        **{name: _whole(getattr(record, name), name) for name in COUNTS},
        **{name: _float(getattr(record, name), name) for name in _FIGURES},
    }
    known: dict[str, int] = {}
    attempts = [row for index, attempt in enumerate(record.attempts or ()) for row in _attempt_rows(attempt, index, known)]
    stated = {key: value for key, value in (record.tags or {}).items() if value is not None}
    tags = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in stated.items()}
    cluster = (record.cluster or "").strip()
    run["cluster_name"] = run["cluster_name"] or cluster or None
    run["parent_run_id"] = (record.parent_run_id or "").strip() or None
    aliases = {alias: _alias_in(cluster, alias) for alias in ((one.system, one.id) for one in record.aliases or ())}
    # a run that is called as its job is: the number is one of its cluster
    own = record.training_run_id
    recorded_id = next((name for (_, stated), (_, name) in aliases.items() if stated == own), own)
    return record_rows("run_json", recorded_id, run, [*attempts, *tag_rows(tags)], aliases.values())


def in_millionths(chips: Fraction | float) -> int | float:
    """Chips as the ledger counts them: whole ones, or parts of one to the millionth."""
    millionths = round(Fraction(chips) * 1_000_000)
    return millionths // 1_000_000 if millionths % 1_000_000 == 0 else millionths / 1_000_000


def number_in(cluster: str, number: str) -> str:
    """The name of a job of Slurm: every cluster counts from 1, so its number alone may be that of several."""
    return f"{cluster}/{number}" if cluster and "/" not in number else number


def workload_names(cluster: str, namespace: str, name: str) -> tuple[str, str]:
    """Id and alias of a workload of Kubernetes: of two clusters each may have one of this name."""
    alias = f"{namespace}/{name}" if namespace else name
    return (f"{cluster}/{name}", f"{cluster}/{alias}") if cluster else (name, alias)


def machines_of(cluster: str, accelerator_type: str) -> str:
    """What a bill has of a HyperPod cluster: not its machines, but those of one type together. By its ARN, its id or its name."""
    return f"{cluster if ':' in cluster else f'cluster/{cluster}'}/ml.{accelerator_type}"


def _alias_in(cluster: str, alias: tuple[str, str]) -> tuple[str, str]:
    system, name = alias
    if system.lower() == "kubernetes" and cluster and name.count("/") == 1:
        return system, f"{cluster}/{name}"
    return alias if system.lower() != "slurm" else (system, number_in(cluster, name))


def state_of(word: str | None) -> str:
    """Translate a scheduler's word for the end of a run; any other is `unknown`."""
    return _STATE_OF.get((word or "").strip().lower().replace("-", "_").replace(" ", "_"), "unknown")


def time_of(text: str | None, field: str) -> datetime | None:
    """Read a time of a record as naive UTC, which is what Parquet holds; a zero time and "still open" are none."""
    if text is None:
        return None
    try:
        moment = recorded_time(parse_utc(text))
        return moment and moment.replace(tzinfo=None)
    except ValueError as error:
        raise RecordError(f"is no UTC time ({error})", field=field, value=text) from error


def in_order(started_at: datetime | None, ended_at: datetime | None, field: str) -> Times:
    """Return the two times of a row; an end before its start is refused."""
    if started_at and ended_at and ended_at < started_at:
        what = f"lies before its start {started_at.isoformat()}"
        raise RecordError(what, field=field, value=ended_at.isoformat(), reason="ends_before_start")
    return {"started_at": started_at, "ended_at": ended_at}


def within(rows: list[Row]) -> list[Row]:
    """The same rows; RecordError names the figure that no column of the ledger holds, or no machine has."""
    for row in rows:
        for name, value in row.items():
            if type(value) is int and not 0 <= value < _BELOW.get(name, _MAX_BIGINT):
                raise RecordError("is no count", field=name, value=value, reason="wrong_value")
            if type(value) is float and not abs(value) < _BELOW.get(name, math.inf):
                raise RecordError("is too large", field=name, value=value, reason="wrong_value")
    return rows


def record_rows(
    system: str, recorded_id: str, run: Row, rows: Iterable[Row], aliases: Iterable[tuple[str, str]] = ()
) -> list[Row]:
    """Return the rows of a record: of the run, of its aliases (system and id), and what else is known of it."""
    base = {"record_system": system, "recorded_id": recorded_id}
    named = ({"part": "alias", "alias_system": other, "alias_id": name} for other, name in aliases)
    return [base | row for row in ({"part": "run", **run}, *named, *rows)]


def tag_rows(tags: Mapping[str, Any]) -> Iterator[Row]:
    """The tags of a run that are texts."""
    return ({"part": "tag", "tag_key": key, "tag_value": value} for key, value in tags.items() if isinstance(value, str))


def job_rows(
    system: str,
    recorded_id: str,
    run: Row,
    name: str | None,
    state: str,
    times: Times,
    *,
    nodes: Iterable[Row] = (),
    tags: Mapping[str, Any] | None = None,
    aliases: Iterable[tuple[str, str]] = (),
) -> list[Row]:
    """Return the rows of another system's job: one attempt, and an alias where it has a name there.

    Its machines have no ids, so the job's own name is the resource.
    """
    rows: list[Row] = [{"part": "attempt", "attempt_id": "1", "state": state, **times}]
    if times["started_at"]:  # a job that never started held nothing
        rows += [{"part": "node", "attempt_id": "1", "resource_id": name, **node, **times} for node in nodes]
    return record_rows(system, recorded_id, run, [*rows, *tag_rows(tags or {})], [*([(system, name)] if name else []), *aliases])


def _attempt_rows(attempt: Attempt, index: int, known: dict[str, int]) -> Iterator[Row]:
    field = f"attempts[{index}]"
    attempt_id = stated = str(index + 1 if attempt.attempt_id is None else attempt.attempt_id)
    while attempt_id in known:
        # a node takes its attempt's times by this id: two attempts must never have one
        known[stated] += 1
        attempt_id = stated + ("'" * known[stated] if known[stated] < _MARKS else f"'{known[stated]}")
    known[attempt_id] = 0
    start, end = (time_of(getattr(attempt, name), f"{field}.{name}") for name in ("started_at", "ended_at"))
    times = in_order(start, end, f"{field}.ended_at")
    yield {"part": "attempt", "attempt_id": attempt_id, "state": state_of(attempt.state), **times}
    for number, checkpoint in enumerate(attempt.checkpoints or ()):
        at = f"{field}.checkpoints[{number}]"
        step = _whole(checkpoint.step, f"{at}.step")
        saved = {"progress_kind": "checkpoint", "happened_at": time_of(checkpoint.at, f"{at}.at"), "step": step}
        yield {"part": "progress", "attempt_id": attempt_id, **saved}
    named = {(node.accelerator_type, node.resource_id) for node in attempt.nodes or ()}
    nodes_of = Counter(type_ for type_, _ in named)
    for number, node in enumerate(attempt.nodes or ()):
        at = f"{field}.nodes[{number}]"
        node_start, node_end = (time_of(getattr(node, name), f"{at}.{name}") for name in ("started_at", "ended_at"))
        if not (node_start or start):
            raise RecordError("is missing, in the node and in its attempt", field=f"{at}.started_at", reason="missing_value")
        in_order(node_start or start, node_end or end, f"{at}.ended_at")
        if not node.resource_id.strip():
            raise RecordError("is empty", field=f"{at}.resource_id", reason="missing_value")
        type_ = accelerator_type_of(node.accelerator_type)
        yield {
            "part": "node",
            "attempt_id": attempt_id,
            "resource_id": machines_of(node.resource_id, type_)
            if type_ and CLUSTER_ARN.fullmatch(node.resource_id)
            else node.resource_id,
            "accelerator_type": type_,
            # what the record counts goes before what a name such as v6e-8 states
            "chips": node_chips_of(node.accelerator_type, nodes_of[node.accelerator_type])
            if node.chips is None
            else _parts(node.chips, f"{at}.chips"),
            "node_count": 1,
            "started_at": node_start,
            "ended_at": node_end,
        }


def _provider(name: str | None) -> str | None:
    if name is None:
        return None
    known = _PROVIDERS.get(name.strip().lower())
    if known is None:
        raise RecordError("is neither AWS nor Google Cloud", field="provider_name", value=name, reason="wrong_value")
    return known


def _whole(value: int | float | None, field: str) -> int | None:
    """Take a count: 1e12 is one, 1.5 and -1 are none."""
    if value is None:
        return None
    if int(value) != value or not 0 <= value <= _MAX_BIGINT:
        raise RecordError("is no count", field=field, value=value)
    return int(value)


def _parts(value: int | float, field: str) -> int | float:
    """Take a number of chips, of which 0.5 is one: a chip that is shared. Counted in millionths of a chip."""
    if not 0 <= value < _BELOW["chips"]:  # nor is nan
        raise RecordError("is no number of chips", field=field, value=value, reason="wrong_value")
    if value and not (chips := in_millionths(value)):
        raise RecordError("is less than a millionth of a chip", field=field, value=value, reason="wrong_value")
    return chips if value else 0


def _float(value: int | float | None, field: str) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except OverflowError as error:
        raise RecordError("is too large", field=field, value=value) from error
