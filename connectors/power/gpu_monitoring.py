"""Watts and use of GPUs: DCGM's metrics as Prometheus text or OpenTelemetry's JSON, nvidia-smi's CSV, NVML's figures.

A GPU's watts are measured. How long a point counts, what an energy counter grew by, and which of several readings counts, is
decided in SQL over all files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from connectors.formats.otlp_json import ResourceMetrics
from connectors.formats.schema import BigInt, Text, optional
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import packed
from connectors.power.dcgm import dcgm_readings, exported_readings
from connectors.power.devices import Gpu, device_reader, energy_of, limit_of, owner_of, reading_of, use_of
from connectors.power.nvidia_smi import nvidia_smi_readings
from connectors.power.readings import Reading, schema_of, watts_of
from connectors.telemetry.converting import find_and_convert
from connectors.telemetry.exporters import checked_time
from connectors.telemetry.samples import Host, KeyFacts, Problems, SampleError, decode_json, documents_of, micros_or_none

KIND = "gpu_monitoring"
SCHEMA = schema_of(
    KIND,
    *optional("device_uuid", Text),  # whose counter it is: a GPU that is exchanged starts another
    *optional("energy_mj", BigInt),  # millijoules since the driver was loaded
    *optional("power_limit_mw", BigInt),  # to which the driver holds the GPU's power then
    energy_mj=0,
    power_limit_mw=0,
)

_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Deliver the recorder's lines as it writes them, or export requests of OpenTelemetry as JSON."
# system/<node>/ where the job named its nodes
_MLFLOW = re.compile(r"system/(?:(?P<node>[^/]+)/)?gpu_(?P<gpu>\d{1,3})_(?:utilization_percentage|(?P<watts>power_usage_watts))")
_STAMP = "Stamp lines in UTC, as 2026-04-01T00:00:00Z."


class NvmlGpu(msgspec.Struct, gc=False):
    """One GPU as NVML states it; null where NVML has no answer."""

    index: int
    uuid: str | None = None
    power_w: float | None = None
    energy_mj: int | None = None
    power_limit_w: float | None = None
    utilization_percent: float | None = None


class MlflowMetric(msgspec.Struct, gc=False):
    """A value of a metric's history as MLflow's REST interface answers it; its time is milliseconds."""

    key: str
    value: float | str
    timestamp: int | str
    run_id: str | None = None


class Line(msgspec.Struct, gc=False):
    """A recorder's line, all GPUs of a machine at one time; an export request of OpenTelemetry; a metric's history in MLflow."""

    collected_at: str | None = None
    gpus: list[NvmlGpu] | None = None
    host: Host | None = None
    run: str | None = None
    run_id: str | None = None
    metrics: list[MlflowMetric] | None = None
    resource_metrics: list[ResourceMetrics] | None = msgspec.field(default=None, name="resourceMetrics")


_LINE = msgspec.json.Decoder(Line)


def _documents(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The lines, or the one document that a .json file may be."""
    for number, text in documents_of(file, _LINES):
        with problems.left_out(number):
            line = decode_json(_LINE, text, _REMEDY, broken="A line cut off by a crash stays lost; else deliver whole JSON.")
            if line.resource_metrics is not None:
                yield from exported_readings(line.resource_metrics, number, facts, problems)
            elif line.metrics is not None:
                yield from mlflow_readings(line, number, facts, problems)
            else:
                yield from _nvml_readings(line, number, facts, problems)


def _nvml_readings(line: Line, number: int, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    if line.gpus is None:
        raise SampleError("wrong_type", "gpus", _REMEDY)
    time = None if line.collected_at is None else micros_or_none(line.collected_at, "collected_at", _STAMP)
    if time is None:
        raise SampleError("missing_time", "collected_at", _STAMP)
    owner = owner_of(line.host, line.run, facts)
    for one in line.gpus:
        with problems.left_out(number):
            if not 0 <= one.index < 1024:
                raise SampleError("missing_device", "gpus.index", _REMEDY)
            gpu = Gpu(owner, one.index, one.uuid or None)
            figures = watts_of(one.power_w), use_of(one.utilization_percent, 100.0), energy_of(one.energy_mj)
            yield reading_of(gpu, number, time, "nvml", *figures, limit_of(one.power_limit_w))


def mlflow_readings(line: Line, number: int, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """A reading per value: watts or use, which MLflow reads from NVML. The names are those of its system metrics."""
    for one in line.metrics or ():
        with problems.left_out(number):
            if not (match := _MLFLOW.fullmatch(one.key)):
                problems.pass_by(one.key)
                continue
            try:
                time, value = int(one.timestamp) * 1000, float(one.value)
            except (ValueError, OverflowError) as error:
                raise SampleError("wrong_type", one.key[:100], _REMEDY) from error
            owner = owner_of(Host(facts.host or match["node"]), one.run_id or line.run_id, facts)
            gpu = Gpu(owner, int(match["gpu"]), None)
            watts = watts_of(value) if match["watts"] else None
            yield reading_of(gpu, number, checked_time(time), "nvml", watts, None if match["watts"] else use_of(value, 100.0))


_READERS = {
    packed(".prom", ".txt"): device_reader(dcgm_readings, SCHEMA.columns),
    packed(".csv"): device_reader(nvidia_smi_readings, SCHEMA.columns),
    (*_LINES, *packed(".json")): device_reader(_documents, SCHEMA.columns),
}
find_deliveries, convert = find_and_convert(KIND, _READERS)
