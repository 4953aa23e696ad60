"""Watts and use of GPUs: the DCGM exporter's Prometheus text, nvidia-smi's CSV, and NVML as a recorder writes it.

A GPU's watts are measured. How long a point counts, what an energy counter grew by, and which of several readings counts, is
decided in SQL over all files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from connectors.deliveries import Converted, Delivery
from connectors.formats.schema import Schema
from connectors.formats.text_lines import TextFile
from connectors.layouts.single_files import find_file_deliveries, packed
from connectors.power.dcgm import dcgm_readings
from connectors.power.devices import owner_of, reader_of
from connectors.power.gpu_readings import COLUMNS, Gpu, GpuReading, figures_of, reading_of
from connectors.power.nvidia_smi import nvidia_smi_readings
from connectors.power.readings import MEASURES
from connectors.telemetry.samples import (
    Host,
    KeyFacts,
    Problems,
    SampleError,
    convert_with,
    decode_json,
    micros_or_none,
)

KIND = "gpu_monitoring"
SCHEMA = Schema(COLUMNS, remedy_page=f"docs/sources/{KIND}.md", measures=MEASURES | {"energy_mj": 0})

_TEXT = packed(".prom", ".txt")
_CSV = packed(".csv")
_LINES = packed(".jsonl", ".ndjson")
_REMEDY = "Deliver the recorder's lines as it writes them."


class NvmlGpu(msgspec.Struct, gc=False):
    """One GPU as NVML states it; null where NVML has no answer."""

    index: int
    uuid: str | None = None
    power_w: float | None = None
    energy_mj: int | None = None
    utilization_percent: float | None = None


class Line(msgspec.Struct, gc=False):
    """A recorder's line: all GPUs of a machine at one time."""

    collected_at: str
    gpus: list[NvmlGpu]
    host: Host | None = None
    run: str | None = None


_LINE = msgspec.json.Decoder(Line)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read a file's readings and write samples.parquet into `folder`; what is none is counted and left out."""
    name = delivery.objects[0].key.lower()
    read = dcgm_readings if name.endswith(_TEXT) else nvidia_smi_readings if name.endswith(_CSV) else _nvml_readings
    return convert_with(delivery, files, folder, store_uri, reader_of(read, GpuReading._fields, COLUMNS))


def _nvml_readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[GpuReading]:
    for number, text in file.lines():
        try:
            line = decode_json(_LINE, text, _REMEDY, broken="A line cut off by a crash stays lost; else deliver whole JSON.")
            time = micros_or_none(line.collected_at, "collected_at", "Stamp lines in UTC, as 2026-04-01T00:00:00Z.")
            if time is None:
                raise SampleError("missing_time", "collected_at", "Stamp lines in UTC, as 2026-04-01T00:00:00Z.")
            owner = owner_of(line.host, line.run, facts)
        except SampleError as error:
            problems.add(number, error)
            continue
        for one in line.gpus:
            try:
                if not 0 <= one.index < 1024:
                    raise SampleError("missing_device", "gpus.index", _REMEDY)
                figures = figures_of(one.power_w, one.utilization_percent, 100.0, one.energy_mj)
                yield reading_of(Gpu(owner, one.index, one.uuid or None), number, time, figures, "nvml")
            except SampleError as error:
                problems.add(number, error)


find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(*_TEXT, *_CSV, *_LINES))
