"""The catalogue of what is asked of a server of metrics: each exporter's metrics, and which figure of which device one has.

A metric is asked for only if a rule here reads it. How exporters name devices, and on which scales, is known by the kinds that
read their files (dcgm, neuron_exporters, tpu_monitoring); here are only names, and meters of whole machines. Each query asks for
the mean of a step, or for the last reading of a counter in it; of watts of one moment also, once for a window, how many readings
there are, from which follows how far apart they are. Sources of the names: docs/sources/prometheus.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from connectors.power import dcgm, neuron_exporters
from connectors.power.devices import OwnerLabels, use_of
from connectors.power.neuron_sysfs import MINUTE
from connectors.power.readings import CHIP, NODE, Owner, share_of, watts_of
from connectors.stores import Question
from connectors.telemetry import tpu_monitoring
from connectors.telemetry.exporters import RUNS, first_label
from connectors.telemetry.samples import KeyFacts, SampleError

POWER, COUNTER, LIMIT, USE, SHARE = "power", "counter", "limit", "use", "share"
ALIVE, CORE, HARDWARE = "alive", "core", "hardware"
_MEAN = "avg_over_time"
_RANGE = "59999ms"  # of a step of 60 s: older servers count both ends of a range, and the first belongs to the step before


class Device(NamedTuple):
    """What a series is of. A machine has no number; an outlet or a supply is a component of its machine."""

    meter: str
    owner: Owner
    number: int | None = None
    component: str | None = None
    boundary: str = CHIP
    is_alive_only: bool = False
    delay: int = 0  # microseconds by which the time that a reading is of lies before it


class Observed(NamedTuple):
    """A series: its device, which figure it has, and how a value is read; None is no figure. Of a counter: joules."""

    device: Device
    figure: str
    read: Callable[[float], float | None]


class Metric(NamedTuple):
    """A metric of the catalogue."""

    exporter: str
    observed: Callable[[Mapping[str, str], KeyFacts], Observed | None]
    how: str = _MEAN
    only: str = ""  # series that have a value beside
    is_moment: bool = False  # a reading is of one moment, so how far apart readings are matters


_NODE = OwnerLabels(
    ids=("resource_id", "instance_id", "host_id"),
    names=("node", "node_name", "nodename", "kubernetes_node", "hostname", "host", "exported_instance", "target", "instance"),
    types=("instance_type", "node_kubernetes_io_instance_type", "label_node_kubernetes_io_instance_type"),
    places=("region", "zone"),
)
_LAST = "last_over_time"
_BLANK = dcgm.BLANK / 3600  # a mean over a step of an hour in which one reading was a mark for "no value" is as high
_CORE_SCALE = ("aws_neuron_core", "aws_neuron_device")  # OpenTelemetry's copy has per cent by the same name
# Kepler states by this whether it has a meter, or a model's estimate
_METERED_PLATFORM = f'and on (instance) last_over_time(kepler_node_info{{platform_power_source!~"none|estimator"}}[{_RANGE}])'


def _gpu(metric: str, labels: Mapping[str, str], facts: KeyFacts) -> Observed | None:
    series = dcgm.series_of(metric, labels, facts)
    if series is None:
        return None
    name, read = dcgm.METRICS[metric]
    device = Device("dcgm", series.gpu.owner, series.gpu.number)
    if name == "energy_mj":
        return Observed(device, COUNTER, lambda value: None if (found := read(value)) is None else found / 1000)
    if name == "limit_mw":
        return Observed(device, LIMIT, lambda value: None if value >= dcgm.BLANK else read(value))
    if name == "use" and series.is_part:
        raise SampleError("mig_instance", metric, "Nothing: the watts of the GPU count, the use of a part of it does not.")
    return Observed(device, USE if name == "use" else POWER, lambda value: None if value >= _BLANK else read(value))


def _neuron(metric: str, labels: Mapping[str, str], facts: KeyFacts) -> Observed | None:
    series = neuron_exporters.series_of(metric, labels, "", facts)
    if series is None or not series.is_known:
        return None
    series.check_device()
    delay = 0 if series.meter == "neuron_observer" else MINUTE
    device = Device(series.meter, series.owner, series.device, delay=delay)
    if series.is_use:
        return Observed(device, USE, lambda value: use_of(value, series.full))
    return Observed(device, SHARE, lambda value: share_of(value, series.full))


def _neuron_core(labels: Mapping[str, str], facts: KeyFacts) -> Observed:
    full = 100.0 if any(name in labels for name in _CORE_SCALE) else 1.0
    owner = neuron_exporters.OWNER.owner(labels, facts)
    core = first_label(labels, ("neuroncore", "aws_neuron_core")) or ""
    if not (core.isascii() and core.isdecimal() and len(core) <= 6):
        raise SampleError("core_out_of_range", "neuroncore", "Keep the label neuroncore.")
    tag = first_label(labels, ("runtime_tag", "aws_neuron_runtime_tag"))
    return Observed(Device(neuron_exporters.METER, owner, int(core), tag), CORE, lambda value: use_of(value, full))


def _neuron_hardware(labels: Mapping[str, str], facts: KeyFacts) -> Observed:
    devices, cores = (neuron_exporters.count_of(labels, name) for name in ("neuron_device_count", "neuroncore_per_device_count"))
    device = Device(neuron_exporters.METER, neuron_exporters.OWNER.owner(labels, facts), devices, str(cores))
    return Observed(device, HARDWARE, lambda value: value)


def _tpu(metric: str, labels: Mapping[str, str], facts: KeyFacts) -> Observed | None:
    series = tpu_monitoring.series_of(metric, labels, None, facts, is_complete=True)
    if series is None:
        return None
    run, host, index, _, _, type_, region = series.shared
    is_alive_only = series.full is None
    device = Device("cloud_tpu", Owner(host, run, type_, region), index, is_alive_only=is_alive_only)
    full = series.full or 100.0
    return Observed(device, ALIVE if is_alive_only else USE, lambda value: tpu_monitoring.ratio_of(value, full))


def _machine(
    labels: Mapping[str, str],
    facts: KeyFacts,
    *,
    meter: str,
    part: tuple[str, ...] = (),
    where: Mapping[str, str] = {},
    figure: str = POWER,
    is_by_part: bool = False,
) -> Observed | None:
    """A machine's own meter, or the outlet of a PDU: by its own id or as `pdu-7:12`, which `hosts` of the configuration maps."""
    if any(labels.get(name) != value for name, value in where.items()):
        return None
    owner, component = _NODE.owner(labels, facts), first_label(labels, part)
    if is_by_part and not component:
        return None  # an inlet, a phase or a sum over outlets
    if is_by_part and not first_label(labels, _NODE.ids):
        owner = owner._replace(host_id=f"{owner.host_id}:{component}")
        component = owner.host_id
    return Observed(Device(meter, owner, None, component, NODE), figure, watts_of if figure == POWER else _joules)


def _joules(value: float) -> float | None:
    return value if math.isfinite(value) and value >= 0 else None


_BMC, _PDU = partial(_machine, meter="bmc"), partial(_machine, meter="pdu", is_by_part=True)
_TPU_USES = ("duty_cycle", "duty_cycle_node", "kubernetes_io:node_accelerator_duty_cycle",
             "kubernetes_io:container_accelerator_duty_cycle", "tpu_googleapis_com:accelerator_duty_cycle")  # fmt: skip
_TPU_LIVES = tuple(name.replace("duty_cycle", "memory_used") for name in _TPU_USES)
# libtpu's own names, by the SDK and by gRPC
_LIBTPU = ("duty_cycle_pct", "tpu_runtime_tensorcore_dutycycle_percent")
_NEURON = ("neuron_device_power_utilization_avg", "neuron_device_power_utilization", "neuron_device_utilization_avg",
           "neuron_device_utilization", "aws_neuron_device_power_utilization", "aws_neuron_device_power_utilization_ratio",
           "aws_neuron_device_power_utilization_percent")  # fmt: skip
CATALOGUE: dict[str, Metric] = {
    **{
        name: Metric(
            "dcgm",
            partial(_gpu, name),
            {"energy_mj": _LAST, "limit_mw": "max_over_time"}.get(figure, _MEAN),
            is_moment=figure == "power_w",
        )
        for name, (figure, _) in dcgm.METRICS.items()
    },
    "neuron_hardware_info": Metric("neuron_monitor", _neuron_hardware, _LAST),
    "neuroncore_utilization_ratio": Metric("neuron_monitor", _neuron_core),
    # OpenTelemetry's are means of a minute
    **{
        name: Metric("neuron_power", partial(_neuron, name), is_moment=name.startswith("neuron_device_power")) for name in _NEURON
    },
    **{name: Metric("tpu", partial(_tpu, name)) for name in (*_TPU_USES, *_TPU_LIVES)},
    **{name: Metric("tpu", partial(_tpu, "tpu_duty_cycle")) for name in _LIBTPU},
    "ipmi_dcmi_power_consumption_watts": Metric("ipmi", _BMC, is_moment=True),
    "redfish_chassis_power_average_consumed_watts": Metric("redfish", _BMC),
    # behind 0, which is the whole chassis, are parts of it
    "idrac_power_control_consumed_watts": Metric("redfish", partial(_BMC, where={"id": "0"}), is_moment=True),
    "rPDU2OutletMeteredStatusPower": Metric("snmp", partial(_PDU, part=("rPDU2OutletMeteredStatusIndex",)), is_moment=True),
    "raritan_pdu_activepower_watt": Metric("pdu", partial(_PDU, part=("outletid",)), is_moment=True),
    "kepler_node_platform_joules_total": Metric(
        "kepler", partial(_machine, meter="bmc", part=("mode",), figure=COUNTER), _LAST, _METERED_PLATFORM
    ),
}
_COUNTERS = {name for name, (figure, _) in dcgm.METRICS.items() if figure == "energy_mj"} | {"kepler_node_platform_joules_total"}


def is_counter(metric: str) -> bool:
    """Whether what a metric grew by counts, not its value."""
    return metric in _COUNTERS


def _question(name: str, metric: Metric) -> Question:
    query = f"{metric.how}({name}[{_RANGE}]) {metric.only}".strip()
    return Question(metric.exporter, name, query, is_counter(name))


QUESTIONS = (
    *(_question(name, metric) for name, metric in CATALOGUE.items()),
    *(
        Question(metric.exporter, name, f"count_over_time({name}[WINDOW])", is_of_window=True)
        for name, metric in CATALOGUE.items()
        if metric.is_moment
    ),
)
# our own questions, with any range and any selection, and a metric as it is, of which a step has its last reading
_ASKED = re.compile(
    r"\s*(?:(?P<how>avg_over_time|last_over_time|max_over_time)\(\s*(?P<of>[a-zA-Z_:][\w:]*)\s*(?:\{[^{}]*\})?\s*\[[\dsmhd]+\]\s*\)"
    r"|(?P<plain>[a-zA-Z_:][\w:]*)\s*(?:\{[^{}]*\})?)\s*(?:and on \(instance\).*)?",
    re.ASCII,
)

_COUNTED = re.compile(r"\s*count_over_time\(\s*([a-zA-Z_:][\w:]*)\s*(?:\{[^{}]*\})?\s*\[\w+\]\s*\)\s*", re.ASCII)
_LENGTH = re.compile(r"\[(\d+)(ms|s|m|h|d)\]")
_MILLIS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def counted_of(query: str) -> str | None:
    """The metric whose readings a query counts; None where it counts none."""
    match = _COUNTED.fullmatch(query)
    return match[1] if match else None


def is_of_whole_steps(query: str, step: float) -> bool:
    """Whether the range of a query is as long as its step in seconds; a millisecond less is what our own queries have."""
    match = _LENGTH.search(query)
    return match is not None and 0 <= step * 1000 - int(match[1]) * _MILLIS[match[2]] <= 1


def metric_of(query: str) -> str | None:
    """The metric of a query that is read; None where another function was asked for, whose answer is another figure."""
    match = _ASKED.fullmatch(query)
    if not match:
        return None
    name = match["of"] or match["plain"]
    is_fit = match["plain"] or (name in CATALOGUE and CATALOGUE[name].how == match["how"])
    return name if is_fit or name not in CATALOGUE else None


def labels_as_read(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels by the names that rules know: of OpenTelemetry's `@resource.host.id` that is `host_id`; a run's also of a pod.

    A pod without such a label is of its Kubernetes job, which a run record names as `namespace/name`.
    """
    found = {re.sub(r"\W", "_", re.sub(r"^@\w+\.", "", name)): value for name, value in labels.items()} | dict(labels)
    for name in RUNS:
        pod = next(
            (found[label] for label in (f"label_{name}", f"pod_label_{name}", f"k8s_pod_label_{name}") if label in found), ""
        )
        if pod and not found.get(name):
            found[name] = pod
    if not first_label(found, RUNS) and (job := found.get("k8s_job_name")):
        found[RUNS[0]] = f"{found.get('k8s_namespace_name', 'default')}/{job}"
    return found
