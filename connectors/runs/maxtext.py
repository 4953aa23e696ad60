"""MaxText's metrics (JSON lines) and its log of steps: how far a run got, in steps, tokens and operations of each device.

Neither has a time (the clock in a log's prefix has no year). A step that was done again after an interruption is another row with
the same number: SQL separates useful steps from repeated ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from connectors.formats.tpu_names import tpu_type_of
from connectors.runs.fields import count, number, text, whole
from connectors.runs.forms import grouped, run_in_key
from connectors.runs.run_records import Document, RecordError, Row, record_rows

_STEP = re.compile(r"completed (?:profiler activation/deactivation )?step: (\d+)\b(.*)", re.ASCII)
_VALUE = re.compile(r"\b(seconds|TFLOP/s/device|TFLOP/s|Tokens/s/device): ([0-9.]+)", re.ASCII)
_PARAM = re.compile(r"Config param (\w+): (.*)")
_STATED = {
    "jax": re.compile(r"System Information: Jax Version: (\S+)"),
    "flops": re.compile(r"^\s*Total TFLOPs: ([0-9.]+)"),
    "devices": re.compile(r"Num_devices: (\d+)"),
}
_TERA = 10**12


def is_metrics(document: Document) -> bool:
    """Whether a document is a step's metrics."""
    return "step" in document and ("perf/step_time_seconds" in document or "learning/loss" in document)


def is_step_log(head: str) -> bool:
    """Whether a text is a log of MaxText."""
    return _STEP.search(head) is not None or "Config param base_output_directory" in head or "Config param run_name" in head


def metrics_records(documents: list[Document]) -> Iterable[list[Document]]:
    """The steps of each run."""
    return grouped(documents, lambda step: str(step.get("run_name") or "")).values()


def metrics_rows(steps: list[Document], key: str) -> list[Row]:
    """Return the rows of a run. Of evaluations, which have no time of a step, none is a step."""
    name = _run_id(text(steps[0], "run_name"), key)
    rows: list[Row] = []
    for document in steps:
        if any(name.startswith("eval/") for name in document) and "perf/step_time_seconds" not in document:
            continue
        tera = number(document, "perf/per_device_tflops")
        rows.append({
            "part": "progress",
            "progress_kind": "step",
            "step": count(document, "step"),
            "seconds": number(document, "perf/step_time_seconds"),
            "device_tokens": number(document, "perf/per_device_tokens"),
            "device_flops": None if tera is None else tera * _TERA,
        })  # fmt: skip
    return record_rows("maxtext", name, {"framework": "maxtext"}, rows, [("maxtext", name)])


def step_log_rows(lines: list[str], key: str) -> list[Row]:
    """Return the rows of a log. What its configuration states of each step goes before what its rounded rates give."""
    params = {match[1]: match[2].strip() for line in lines if (match := _PARAM.search(line))}
    stated = {name: match[1] for name, found in _STATED.items() for line in lines if (match := found.search(line))}
    name = _run_id(params.get("run_name"), key)
    per_step = [_float(params.get(name)) for name in ("per_device_batch_size", "max_target_length")]
    accumulated = _float(params.get("gradient_accumulation_steps")) or 1
    tokens = per_step[0] * per_step[1] * accumulated if per_step[0] and per_step[1] else None
    flops = _float(stated.get("flops"))
    is_google = any(tpu_type_of(line) for line in lines if line.startswith("TFRT TPU"))
    run = {
        "provider_name": "Google Cloud" if is_google else None,
        "framework": "maxtext",
        "model_name": params.get("model_name") if params.get("model_name") != "default" else None,
        "sdk_name": "jax" if "jax" in stated else None,
        "sdk_version": stated.get("jax"),
    }
    rows: list[Row] = []
    for line in lines:
        if step := _STEP.search(line):
            figures = dict(_VALUE.findall(step[2]))
            seconds, rate = _float(figures.get("seconds")), _float(figures.get("TFLOP/s/device") or figures.get("TFLOP/s"))
            token_rate = _float(figures.get("Tokens/s/device"))
            rows.append({
                "part": "progress",
                "progress_kind": "step",
                "step": int(step[1]) if len(step[1]) < 19 else None,
                "seconds": seconds,
                "device_tokens": tokens or (_rounded(token_rate * seconds) if token_rate and seconds else None),
                "device_flops": flops * _TERA if flops else rate * seconds * _TERA if rate and seconds else None,
                "device_count": whole(stated["devices"], "Num_devices") if "devices" in stated else None,
                "arithmetic": _arithmetic(params),
            })  # fmt: skip
    return record_rows("maxtext_log", name, run, rows, [("maxtext", name)])


def _arithmetic(params: dict[str, str]) -> str | None:
    """In which format the products are computed: the quantisation where there is one, else the type of activations."""
    words = f"{params.get('quantization', '')} {params.get('dtype', '')}".lower()
    return next((name for word, name in {"int8": "int8", "fp8": "fp8", "bfloat16": "bf16"}.items() if word in words), None)


def _rounded(product: float) -> int:
    if not math.isfinite(product):
        raise RecordError("is too large", field="Tokens/s/device", value=product)
    return round(product)


def _run_id(run: str | None, key: str) -> str:
    name = run or run_in_key(key) or re.sub(r"(\.\w+)+$", "", key.rpartition("/")[2])
    if not name.strip():
        raise RecordError("is missing", field="run_name", reason="missing_value")
    return name


def _float(value: str | None) -> float | None:
    try:
        found = float(value) if value else None
    except ValueError:
        return None
    return found if found is None or math.isfinite(found) else None
