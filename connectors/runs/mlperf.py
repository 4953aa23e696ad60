"""MLPerf's result logs as run records: run_start to run_stop is the run, and the description of its system names its machines.

The description decides what ran, not the log: logs of Trillium say `tpu-v5p`, and v5p-1024 counts TensorCores: it is 512 chips.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.costs import spend
from connectors.formats.mllog import Event, Log, count_of, number_of
from connectors.layouts.mlperf_results import machine_of
from connectors.runs.fields import MILLISECONDS, moment
from connectors.runs.run_records import RecordError, Row, in_order, job_rows

SYSTEM = "mlperf"
_STATES = {"success": "succeeded", "aborted": "stopped"}
_NAMES = {"trillium": "v6e", "ironwood": "v7x"}  # what submitters call a TPU
# benchmarks whose samples are packed to the full length of a sequence, by their reference implementations
_PACKED = ("gpt3", "llama2_70b_lora", "llama31_405b")


def mlperf_rows(name: str, log: Log, system: dict[str, Any]) -> list[Row]:
    """Return the rows of one result; `name` is <system>/<benchmark>/<result>."""
    start, stop = log.first("run_start"), log.first("run_stop")
    if start is None:
        raise RecordError("is not in this log", field="run_start", reason="missing_value")
    times = in_order(_moment(start), _moment(stop) if stop else None, "run_stop")
    status = str(stop.metadata.get("status", "")).lower() if stop else ""
    benchmark = log.first("submission_benchmark")
    type_ = _type_of(system)
    samples = _samples(log, start)
    model = str(benchmark.value) if benchmark and benchmark.value else None
    run = {
        "provider_name": _provider(log, type_),
        **dict.fromkeys(("workload_key", "model_name"), model),
        **_software(system),
        "tokens": _tokens(log, samples),
        "steps": _steps(log, samples, stop),
        **_target(log),
    }
    state = _STATES.get(status, "unknown" if stop else "running")
    held = {"accelerator_type": type_, "chips": count_of(system, "accelerators_per_node"), "node_count": 1}
    count = count_of(system, "number_of_nodes") or 1
    spend(count, "number_of_nodes", str(count))
    nodes = [{"resource_id": machine_of(name, number), **held} for number in range(count)]
    return job_rows(SYSTEM, name, run, name, state, times, nodes=nodes)


def _samples(log: Log, start: Event) -> int | None:
    """What was trained on: `train_samples` after the start, where before it it is the data set's size; else the end's count."""
    counts = [event.number for event in log.events if event.key == "train_samples" and event.line > start.line]
    stop = log.first("run_stop")
    found = counts[-1] if counts else number_of(stop.metadata.get("samples_count")) if stop else None
    return int(found) if found is not None and found >= 0 and found.denominator == 1 else None


def _tokens(log: Log, samples: int | None) -> int | None:
    """Tokens by MLPerf's rules: GPT-3 counts them itself (its blocks are 24,576 sequences of 2,048), packed ones are full."""
    benchmark, length = log.first("submission_benchmark"), _count(log, "max_sequence_length")
    if samples is None or not length or benchmark is None or benchmark.value not in _PACKED:
        return None
    return samples if _counts_tokens(log, length) else samples * length


def _counts_tokens(log: Log, length: int) -> bool:
    """Whether the log counts tokens: its blocks are whole steps of batch times length."""
    batch = _count(log, "global_batch_size")
    blocks = [event.metadata.get("epoch_count") for event in log.events if event.key == "block_start"]
    sizes = [block for block in blocks if isinstance(block, int) and block > 0]
    return bool(batch and sizes and all(size % (batch * length) == 0 for size in sizes))


def _steps(log: Log, samples: int | None, stop: Event | None) -> int | None:
    """Steps as the log counts them, else samples in whole batches."""
    stated = stop.metadata.get("step_num") if stop else None
    if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 0:
        return stated
    batch, length = _count(log, "global_batch_size"), _count(log, "max_sequence_length") or 1
    if samples is None or not batch:
        return None
    size = batch * length if _counts_tokens(log, length) else batch
    return samples // size if samples % size == 0 else None


def _target(log: Log) -> Row:
    """The last accuracy; which way is better differs by benchmark, and the log does not say."""
    found = [event.number for event in log.events if event.key == "eval_accuracy" and event.number is not None]
    return {"target_metric": "eval_accuracy", "final_value": float(found[-1])} if found else {}


def _type_of(system: dict[str, Any]) -> str | None:
    name = _text(system.get("accelerator_model_name"))
    known = next((type_ for word, type_ in _NAMES.items() if name and word in name.lower()), None)
    return known or accelerator_type_of(name)


def _provider(log: Log, type_: str | None) -> str | None:
    organisation = log.first("submission_org")
    return "Google Cloud" if organisation and organisation.value == "Google" and (type_ or "v").startswith("v") else None


def _software(system: dict[str, Any]) -> Row:
    """Framework, libtpu and driver: of the further software, submitters write an object or a list of them."""
    stack = system.get("other_software_stack")
    objects = [one for one in (stack if isinstance(stack, list) else [stack]) if isinstance(one, dict)]
    named = {str(name).lower(): _text(value) for one in objects for name, value in one.items()}
    libtpu, cuda = named.get("libtpu"), named.get("cuda_version")
    return {
        "framework": _text(system.get("framework")),
        "framework_version": named.get("jax") or named.get("pytorch"),
        "sdk_name": "libtpu" if libtpu else "CUDA" if cuda else None,
        "sdk_version": libtpu or cuda,
        "driver_version": named.get("cuda_driver_version"),
    }


def _count(log: Log, key: str) -> int | None:
    event = log.first(key)
    number = event.number if event else None
    return int(number) if number is not None and number > 0 and number.denominator == 1 else None


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _moment(event: Event) -> datetime:
    found = moment({event.key: event.time_ms}, event.key, MILLISECONDS)
    if found is None:
        raise RecordError("is no time", field=event.key, value=event.time_ms, reason="missing_value")
    return found
