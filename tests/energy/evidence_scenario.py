"""Records and logs of a few runs as their systems write them, through the connector into the raw tables: July 2026."""

from __future__ import annotations

import copy
import json
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.connectors.kit import converted, write_bytes
from tests.connectors.test_connector_kubernetes import JOBSET, PODS, listed
from tests.energy.raw_tables import Line

START = datetime(2026, 7, 1)  # noqa: DTZ001 raw times are UTC without a zone
EPOCH = 1782864000.0  # the same
# a second run of the same shape, whose files come in another order, twice and in pieces
TWIN = {"llama": "llamb", '"u-1"': '"u-2"', '"pod-': '"pud-', '"gke-tpu-': '"gke-tpv-', "team-run-1": "team-run-2"}


def own(run_id: str, **fields: Any) -> dict[str, Any]:
    return {"training_run_id": run_id, **fields}


def stamp(hours: float) -> str:
    return f"{(START + timedelta(hours=hours)).isoformat()}Z"


def entry(**payload: Any) -> dict[str, Any]:
    return {"jsonPayload": {"job_name": "llama-pretrain", **payload}}


def pods() -> list[dict[str, Any]]:
    """Those of the JobSet, which say how their run is called in its logs."""
    found = copy.deepcopy(PODS)
    for pod in found:
        pod["spec"]["containers"][1]["args"] = ["train.py", "run_name=llama-pretrain"]
    return found


# steps of ten minutes: 0 to 5 in the first hour; at 1:30 the second attempt went on from step 3 (first at 0:30), up to step 17
STEPS = [entry(step_count=step, step_start_time=EPOCH + 600 * step) for step in range(6)]
STEPS += [entry(step_count=3 + step, step_start_time=EPOCH + 5400 + 600 * step) for step in range(15)]
GOODPUT = [
    entry(job_start_time=EPOCH), *STEPS, entry(job_start_time=EPOCH + 5300), entry(job_end_time=EPOCH + 14400),
    # ten minutes of the step that began at 2:00 were an evaluation of five minutes, and the wait for data of one
    entry(custom_badput_event_type="eval", custom_badput_event_start_time=EPOCH + 7200),
    entry(custom_badput_event_type="eval", custom_badput_event_end_time=EPOCH + 7500),
    entry(data_loading_start_time=EPOCH + 7600), entry(data_loading_end_time=EPOCH + 7660),
]  # fmt: skip
# a step of 100 s in which each of 16 devices does 45.9e15 operations on 4096 tokens; step 3 was done twice
METRICS = [
    {"run_name": "llama-pretrain", "step": float(step), "learning/loss": 2.0, "perf/step_time_seconds": seconds,
     "perf/per_device_tflops": 45900.0, "perf/per_device_tokens": 4096.0}
    for step, seconds in [(0, 100.0), (1, 100.0), (2, 100.0), (3, 100.0), (3, 120.0), (4, 100.0)]
]  # fmt: skip
RUN = own(
    "team-run-1", aliases=[{"system": "kubernetes", "id": "prod/ml/llama"}], team="research", steps=6, framework_version="0.7.1"
)
MLFLOW = {
    "info": {"run_id": "9f", "status": "FINISHED", "start_time": int(EPOCH * 1000), "end_time": int(EPOCH * 1000) + 3_600_000},
    "data": {"params": {"team": "core", "framework_version": "0.7.2"}, "tags": {"training_run_id": "team-run-1"}},
}
# two machines of 16 chips are one UltraServer; the second is lost after three of four hours, and a checkpoint was saved after two
ULTRA = own("ultra", provider_name="AWS", slice_name="us-1", attempts=[
    {"attempt_id": "1", "state": "preempted", "started_at": stamp(0), "ended_at": stamp(4),
     "checkpoints": [{"at": stamp(1), "step": 100}, {"at": stamp(2), "step": 200}],
     "nodes": [{"resource_id": "i-ultra-a", "accelerator_type": "trn2u.48xlarge"},
               {"resource_id": "i-ultra-b", "accelerator_type": "trn2u.48xlarge", "ended_at": stamp(3)}]},
    {"attempt_id": "2", "state": "succeeded", "started_at": stamp(5), "ended_at": stamp(8),
     "nodes": [{"resource_id": "i-ultra-a", "accelerator_type": "trn2u.48xlarge"}]},
])  # fmt: skip
FAILED = own("no-checkpoint", provider_name="AWS", attempts=[
    {"attempt_id": "1", "state": "failed", "started_at": stamp(0), "ended_at": stamp(4), "nodes": [{"resource_id": "i-unsaved"}]},
])  # fmt: skip


def write(line: Line) -> int:
    """Put the records into the raw tables, and bill the hours of the AWS machines: so many."""
    plain = {
        "jobset.json": [JOBSET], "pods.json": [listed(*pods())], "goodput.json": GOODPUT, "metrics.jsonl": METRICS,
        "team.run.json": [RUN], "mlflow.json": [MLFLOW], "ultra.run.json": [ULTRA], "failed.run.json": [FAILED],
    }  # fmt: skip
    for name, documents in plain.items():
        land(line, name, text_of(documents))
    twin = {
        "2/a.jsonl": [*METRICS[3:], *METRICS[:4]], "2/b.json": GOODPUT[:9], "2/c.json": GOODPUT[8:], "2/d.json": pods()[::-1],
        "2/e.json": [JOBSET, *pods()[:2]], "2/f.run.json": [RUN], "2/g.json": [*pods(), *pods()], "2/h.json": [MLFLOW],
    }  # fmt: skip
    for name, documents in twin.items():
        content = text_of(documents)
        for old, new in TWIN.items():
            content = content.replace(old, new)
        land(line, name, content.replace('"9f"', '"9e"'))
    for hour in range(8):
        line.bill_hour("i-ultra-a", "trn2u.48xlarge", START + timedelta(hours=hour), account="3")
    for hour in range(4):
        line.bill_hour("i-unsaved", "trn1.2xlarge", START + timedelta(hours=hour), account="3")
    return 8 + 4


def text_of(documents: list[Any]) -> str:
    return "\n".join(json.dumps(document) for document in documents)


def land(line: Line, name: str, content: str) -> None:
    """Read a file as the connector of run records does, and put its rows into the raw table."""
    with tempfile.TemporaryDirectory() as folder:
        write_bytes(Path(folder) / "runs" / name, content.encode())
        [part] = converted("training_runs", Path(folder) / "runs", Path(folder) / "landing").parts
        meta = {key: value for key, value in line.meta("evidence").items() if key != "_source_object"}
        columns = ", ".join(f"? as {key}" for key in meta)
        line.connection.execute(
            f"insert into raw.training_runs by name select * replace (_row_number + row_number() over () as _row_number) from "
            f"(select *, ? as _source_object, {columns} from read_parquet(?))",
            [name, *meta.values(), str(part.path)],
        )
