"""Points of TPU metrics, from Cloud Monitoring or Prometheus, as samples of chips.

A duty cycle is a chip's utilisation. Every other metric of a chip proves that it lives: where Google emits no duty cycle for a
living chip, it is idle. The duty cycle numbers chips by their place in the slice and the others by their place in the host, so
the two do not join per chip: SQL counts both per host. In an answer that
reports an error, a missing duty cycle means nothing.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.tpu_names import tpu_type_of
from connectors.telemetry.converting import Group
from connectors.telemetry.exporters import RUNS, first_label
from connectors.telemetry.regions import region_in, region_of
from connectors.telemetry.samples import KeyFacts, SampleError

SHARED = ("run_key", "host_id", "device_index", "evidence", "is_idle_by_absence", "accelerator_type", "region_id")
OWN = ("document_hash", "line_number", "sample_start", "sample_end", "utilisation_ratio")
_METRIC = re.compile(
    r"(?:^|[/:_])(duty_cycle|tensorcore_utilization|memory_bandwidth_utilization|memory_used|memory_total)(?:_node)?$"
)
_HOSTS = ("resource_id", "instance_id", "node_id", "node_name", "instance", "host")
_TYPE_LABEL = re.compile(r"^(?:model|accelerator_type)$|gke[-_]tpu[-_]accelerator$")
PLACES = ("zone", "location")  # labels of where a machine is
_CHIP_NUMBER = re.compile(r"\d{1,4}", re.ASCII)
_INSTANCE = re.compile(r"\d{10,}", re.ASCII)
_RATIOS = frozenset({"1", "10^2.%", "ratio"})  # 10^2.% is a ratio that is shown as a percentage

Point = tuple[int, int | None, int, float | None]  # line, start, end, value


@dataclass(frozen=True, slots=True)
class Series:
    """What the points of one metric of one chip share."""

    shared: tuple[Any, ...]  # values of the columns SHARED
    host: str
    chip: int | None
    full: float | None  # what a full chip reads; None where the metric only proves that the chip lives
    absent: float | None  # the use of a chip that lives and reports none

    def groups(self, points: Iterable[Point]) -> Iterator[Group]:
        """Points as samples. One that cannot be read ends them: those before it are samples, then SampleError is raised."""
        own: list[tuple[Any, ...]] = []
        broken = None
        try:
            for line, start, end, value in points:
                ratio = self.absent if self.full is None else _ratio(value, self.full)
                # copies of a point are one: metrics that prove the same chip alive, or two pods that report it while it changes
                # hands
                observed = (self.host, self.chip, start, end, ratio, self.full is not None)
                own.append((hashlib.sha256(repr(observed).encode()).hexdigest(), line, start, end, ratio))
        except SampleError as error:
            broken = error
        if own:
            yield Group(self.shared, (*zip(*own, strict=True),))
        if broken:
            raise broken


def series_of(metric: str, labels: Mapping[str, str], unit: str | None, facts: KeyFacts, *, is_complete: bool) -> Series | None:
    """Read who and what a series is of; None when it is no metric of a TPU chip. `is_complete`: its answer reports no errors."""
    match = _METRIC.search(metric)
    if not match or labels.get("make", "cloud-tpu") != "cloud-tpu":
        return None
    accelerator = labels.get("accelerator_id")
    # of a TPU's node also the labels say so: gke-tpu-accelerator, gke-tpu-topology
    is_of_tpu = accelerator or "tpu" in metric or "make" in labels or any("tpu" in name for name in labels)
    if not is_of_tpu:
        return None  # a metric of the same name that some other exporter writes
    host, index = _chip(accelerator)
    run = facts.run or first_label(labels, RUNS)
    host = host or first_label(labels, _HOSTS) or facts.host or _worker(labels, run)
    if not host:
        remedy = "Keep the label accelerator_id, or name the host in the key as host=<resource_id>."
        raise SampleError("missing_host", "accelerator_id", remedy)
    if index is None:
        names = ("chip", "chip_id", "device")
        index = next((int(labels[name]) for name in names if _CHIP_NUMBER.fullmatch(labels.get(name, ""))), None)
    named = [value for name, value in labels.items() if _TYPE_LABEL.search(name) and value]
    type_ = next(filter(None, map(tpu_type_of, named)), None) or accelerator_type_of(labels.get("model"))
    region = region_of(*(labels.get(name) for name in PLACES)) or region_in(host)
    is_utilisation = match[1] == "duty_cycle"
    evidence, is_idle = ("measured", False) if is_utilisation else ("presence", is_complete)
    full = 1.0 if unit in _RATIOS else 100.0
    shared = (run, host, index, evidence, is_idle, type_, region)
    return Series(shared, host, index, full if is_utilisation else None, 0.0 if is_complete else None)


def _ratio(value: float | None, full: float) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    if value < 0:
        raise SampleError("negative_utilisation", "duty_cycle", "Deliver duty cycles between 0 and 100 percent.")
    return min(round(value / full, 12), 1.0)


def _chip(accelerator: str | None) -> tuple[str | None, int | None]:
    """Split `<node resource_id>-<n>`; an id without a number at its end is a host, a short number alone is a chip."""
    if accelerator and _CHIP_NUMBER.fullmatch(accelerator):
        return None, int(accelerator)
    host, _, index = (accelerator or "").rpartition("-")
    if host and _CHIP_NUMBER.fullmatch(index):
        return host, int(index)
    return accelerator or None, None


def _worker(labels: Mapping[str, str], run: str | None) -> str | None:
    """The host of a TPU VM's worker: its instance's id, else its number, which is unique within its run only."""
    worker = labels.get("worker_id")
    if not worker or _INSTANCE.fullmatch(worker):
        return worker or None
    return f"{run}/worker-{worker}" if run else None
