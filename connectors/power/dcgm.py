"""The DCGM exporter's Prometheus text: one line per metric and GPU, brought together to one reading per GPU and scrape.

In MIG mode every instance repeats the watts and the counter of its whole GPU, and has a use of its own that is not that of the
whole: the watts count once and the use is unknown. Very large values are DCGM's marks for "no value".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from connectors.formats.text_lines import TextFile
from connectors.power.devices import OneScrape, OwnerLabels, number_of, use_of
from connectors.power.gpu_readings import Figures, Gpu, energy_of, reading_of
from connectors.power.readings import Reading, watts_of
from connectors.telemetry.exporters import scraped
from connectors.telemetry.samples import KeyFacts, Problems, SampleError

# the names in small letters are those of exporters before 2.0, those that end with a unit are DCGM's newest
_POWER = frozenset({"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", "dcgm_power_usage"})
_ENERGY = frozenset(
    {
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total",  # as OpenMetrics names a counter
        "dcgm_total_energy_consumption",
    }
)
# what a full scale reads. DCGM_FI_DEV_GPU_UTIL_RATIO is missing: it is an alias of a field of percents, so its scale is not sure
_USES = {
    "DCGM_FI_DEV_GPU_UTIL": 100.0,
    "dcgm_gpu_utilization": 100.0,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1.0,
    "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO": 1.0,
    "DCGM_FI_PROF_SM_UTIL_RATIO": 1.0,
    "DCGM_FI_PROF_SM_ACTIVE": 1.0,  # at most the share of time in which the engine was active, so it counts where it is alone
}
_BLANK = 2_147_483_632  # from here up DCGM's 32-bit values, and far above its others, mean that there is none
_OWNER = OwnerLabels(
    ids=("resource_id", "instance_id", "host_id"),
    names=("Hostname", "hostname", "node", "node_name", "kubernetes_node", "exported_instance", "instance"),
    types=("instance_type", "node_kubernetes_io_instance_type", "label_node_kubernetes_io_instance_type"),
    places=("region", "zone"),
)
_Number = TypeVar("_Number", int, float)
_CELLS = 1 << 16  # GPUs and instants that wait for the rest of their scrape


class _Series(NamedTuple):
    gpu: Gpu
    metric: str
    is_part: bool  # of a MIG instance


@dataclass(slots=True)
class _Cell:
    """What a scrape has of a GPU so far; two scrapes of one instant that differ leave the greater figures."""

    line: int
    power_w: float | None = None
    use: float | None = None
    energy_mj: int | None = None


def dcgm_readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """Yield a reading per GPU and instant. A scrape's lines may come in any order."""

    untimed = OneScrape()
    cells: dict[tuple[Gpu, int], _Cell] = {}
    for number, point, series, time in scraped(file, facts, problems, partial(_series_of, facts=facts)):
        with problems.left_out(number):
            untimed.check(point)
            _add(cells.setdefault((series.gpu, time), _Cell(number)), series, point.value)
        if len(cells) >= _CELLS:
            yield from _readings(cells, _CELLS // 2)
    yield from _readings(cells, len(cells))


def _readings(cells: dict[tuple[Gpu, int], _Cell], count: int) -> Iterator[Reading]:
    for key in [*islice(cells, count)]:
        cell = cells.pop(key)
        figures = Figures(cell.power_w, cell.use, cell.energy_mj)
        yield reading_of(key[0], cell.line, key[1], figures, "dcgm")


def _add(cell: _Cell, series: _Series, value: float) -> None:
    if series.metric in _ENERGY:
        cell.energy_mj = _greatest(cell.energy_mj, energy_of(value))
    elif value >= _BLANK:
        return
    elif series.metric in _POWER:
        cell.power_w = _greatest(cell.power_w, watts_of(value))
    elif series.is_part:
        raise SampleError("mig_instance", series.metric, "Nothing: the watts of the GPU count, the use of a part of it does not.")
    else:
        cell.use = _greatest(cell.use, use_of(value, _USES[series.metric]))


def _greatest(one: _Number | None, other: _Number | None) -> _Number | None:
    return max((known for known in (one, other) if known is not None), default=None)


def _series_of(metric: str, labels: Mapping[str, str], facts: KeyFacts) -> _Series | None:
    if metric not in _POWER and metric not in _ENERGY and metric not in _USES:
        return None
    index = number_of(labels.get("gpu") or labels.get("device"))
    if index is None:
        raise SampleError("missing_device", "gpu", "Keep the label gpu.")
    owner = _OWNER.owner(labels, facts)
    uuid = labels.get("UUID") or labels.get("uuid") or None
    return _Series(Gpu(owner, index, uuid), metric, bool(labels.get("GPU_I_ID")))
