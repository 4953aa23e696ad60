"""DCGM's metrics, a point per metric and GPU, brought together to one reading per GPU and instant.

They come as the DCGM exporter's Prometheus text or through OpenTelemetry: scraped from that exporter, with its names and labels,
or from the collector's own receiver (`gpu.dcgm.*`, the GPU in `gpu.number` and `gpu.uuid`).

In MIG mode every instance repeats the watts and the counter of its whole GPU, and has a use of its own that is not that of the
whole: the watts count once and the use is unknown. Very large values are DCGM's marks for "no value".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from connectors.formats.otlp_json import ResourceMetrics
from connectors.formats.text_lines import TextFile
from connectors.power.devices import Gpu, OneScrape, OwnerLabels, energy_of, limit_of, number_of, reading_of, use_of
from connectors.power.readings import Reading, watts_of
from connectors.telemetry.exporters import checked_time, exported, first_label, scraped
from connectors.telemetry.samples import KeyFacts, Problems, SampleError

_POWER = ("power_w", watts_of)
_ENERGY = ("energy_mj", energy_of)
_LIMIT = ("limit_mw", limit_of)
_PERCENT = ("use", partial(use_of, full=100.0))
_RATIO = ("use", partial(use_of, full=1.0))
_JOULES = ("energy_mj", lambda value: energy_of(value * 1000))
# figure and how its value is read. Names in small letters are those of exporters before 2.0, those that end with a unit are the
# newest. DCGM_FI_DEV_GPU_UTIL_RATIO is missing: it is an alias of a field of percents, so its scale is not sure
METRICS: dict[str, tuple[str, Callable[[float], float | None]]] = {
    "DCGM_FI_DEV_POWER_USAGE": _POWER,
    "DCGM_FI_DEV_BOARD_POWER_WATTS": _POWER,
    "dcgm_power_usage": _POWER,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": _ENERGY,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total": _ENERGY,  # as OpenMetrics names a counter
    "dcgm_total_energy_consumption": _ENERGY,
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": _LIMIT,
    "DCGM_FI_DEV_ENFORCED_POWER_LIMIT": _LIMIT,
    "dcgm_power_management_limit": _LIMIT,
    "DCGM_FI_DEV_GPU_UTIL": _PERCENT,
    "dcgm_gpu_utilization": _PERCENT,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": _RATIO,
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": _RATIO,
    "DCGM_FI_PROF_SM_UTIL_RATIO": _RATIO,
    "DCGM_FI_PROF_SM_ACTIVE": _RATIO,  # at most the share of time in which the engine was active, so it counts where it is alone
}
_OF_RECEIVER: dict[str, tuple[str, Callable[[float], float | None]]] = {  # of OpenTelemetry's own, which no Prometheus has
    "gpu.dcgm.energy_consumption": _JOULES,  # counted since the receiver was started
    "gpu.dcgm.utilization": _RATIO,
    "gpu.dcgm.sm.utilization": _RATIO,
}
_KNOWN = METRICS | _OF_RECEIVER
BLANK = 2_147_483_632  # from here up DCGM's 32-bit values, and far above its others, mean that there is none
_OWNER = OwnerLabels(
    ids=("resource_id", "instance_id", "host_id"),
    names=(
        *("Hostname", "hostname", "node", "node_name", "kubernetes_node", "k8s_node_name", "host_name"),
        *("exported_instance", "instance"),
    ),
    types=("instance_type", "host_type", "node_kubernetes_io_instance_type", "label_node_kubernetes_io_instance_type"),
    places=("region", "zone", "cloud_region", "cloud_availability_zone"),
)
_REMEDY = "Deliver export requests of OpenTelemetry as JSON, with cumulative counters."
_CELLS = 1 << 16  # GPUs and instants that wait for the rest of their scrape


class Series(NamedTuple):
    """What the points of a metric of a GPU share."""

    gpu: Gpu
    metric: str
    is_part: bool  # of a MIG instance


# what a scrape has of a GPU so far: its first line, and its figures by name
_Cells = dict[tuple[Gpu, int], tuple[int, dict[str, Any]]]


def dcgm_readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """Yield a reading per GPU and instant. A scrape's lines may come in any order."""

    untimed = OneScrape()
    cells: _Cells = {}
    for number, point, series, time in scraped(file, facts, problems, partial(series_of, facts=facts)):
        with problems.left_out(number):
            untimed.check(point)
            _add(cells.setdefault((series.gpu, time), (number, {}))[1], series, point.value)
        if len(cells) >= _CELLS:
            yield from _readings(cells, _CELLS // 2)
    yield from _readings(cells, len(cells))


def exported_readings(documents: list[ResourceMetrics], number: int, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """Yield a reading per GPU and instant of an export request; a point that cannot be used is left out by itself."""
    cells: _Cells = {}
    for metric, points in exported(documents, _REMEDY):
        for point in points:
            with problems.left_out(number):
                labels = {name.replace(".", "_"): value for name, value in point.attributes.items()}
                if (series := series_of(metric.name, labels, facts)) is None:
                    continue
                if metric.sum and metric.sum.is_delta:
                    raise SampleError("delta_counter", metric.name, _REMEDY)
                time = checked_time(point.time or facts.started_at or 0)
                _add(
                    cells.setdefault((series.gpu, time), (number, {}))[1],
                    series,
                    math.nan if point.value is None else point.value,
                )
        if metric.name not in _KNOWN:
            problems.pass_by(metric.name)
    yield from _readings(cells, len(cells))


def _readings(cells: _Cells, count: int) -> Iterator[Reading]:
    for gpu, time in [*islice(cells, count)]:
        line, figures = cells.pop((gpu, time))
        yield reading_of(gpu, line, time, "dcgm", *map(figures.get, ("power_w", "use", "energy_mj", "limit_mw")))


def _add(figures: dict[str, Any], series: Series, value: float) -> None:
    """Take a figure; of two scrapes of one instant that differ the greater figures count."""
    name, read = _KNOWN[series.metric]
    if name != "energy_mj" and value >= BLANK:
        return
    if name == "use" and series.is_part:
        raise SampleError("mig_instance", series.metric, "Nothing: the watts of the GPU count, the use of a part of it does not.")
    if (figure := read(value)) is not None:
        figures[name] = max(figures.get(name, figure), figure)


def series_of(metric: str, labels: Mapping[str, str], facts: KeyFacts) -> Series | None:
    """Read which GPU a series is of; None where it is of another metric."""
    if metric not in _KNOWN:
        return None
    index = number_of(labels.get("gpu") or labels.get("gpu_number") or labels.get("device"))
    if index is None:
        raise SampleError("missing_device", "gpu", "Keep the label gpu.")
    owner = _OWNER.owner(labels, facts)
    uuid = first_label(labels, ("UUID", "uuid", "gpu_uuid"))
    return Series(Gpu(owner, index, uuid), metric, bool(labels.get("GPU_I_ID")))
