"""What exporters state of Neuron devices: OpenTelemetry's receiver `awsneuron`, Neuron Observer, neuron-monitor's exporter.

OpenTelemetry's is a fraction of full power with min, max and avg of the driver's last whole minute; a point's time is when it was
read, so it is of the minute that ended before it. The receiver names no device: its points come in the order of the
driver's folders (neuron0, neuron1, neuron10, neuron2). Observer's are percents of the moment; a sum of percents over cores is
no share of anything.

neuron-monitor's exporter has the use of devices, landed beside the power of the same machine. A core is listed once for each
runtime that may use it, with a ratio: they add up to at most 1, and a device is the mean of all its cores; how many there are is
in neuron_hardware_info of the same scrape. Where no runtime is, no core is listed: idle.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from connectors.formats.otlp_json import OtlpPoint
from connectors.power.devices import OwnerLabels, number_of, use_of
from connectors.power.neuron_sysfs import MINUTE
from connectors.power.readings import MEASURED, POWER, Owner, Reading, document_hash_of, share_of
from connectors.telemetry.exporters import checked_time, first_label
from connectors.telemetry.samples import KeyFacts, Problems, SampleError

# dots as OpenTelemetry writes them, underscores as Prometheus does, which appends the unit
_OTEL = re.compile(r"aws_neuron_device_power_utilization(?:_(?P<unit>ratio|percent))?")
_OBSERVER = re.compile(
    r"neuron_(?P<scope>device|core)(?P<power>_power)?_utilization(?:_(?P<how>avg|min|max|sum))?(?:_(?P<unit>ratio|percent))?"
)
_STATISTIC = ("aws_neuron_power_statistic", "power_statistic", "statistic")
_DEVICES = ("aws_neuron_device", "aws_neuron_device_id", "aws_neuron_device_index", "neuron_device", "neuron_device_index")
_OTHER_DEVICES = ("hw_id", "device", "device_id", "device_index")
OWNER = OwnerLabels(
    ids=("host_id", "resource_id", "instance_id"),
    names=("k8s_node_name", "node_name", "node", "host_name", "instance_name", "instance"),
    types=("host_type", "instance_type", "node_kubernetes_io_instance_type"),
    places=("cloud_region", "cloud_availability_zone", "region"),
)
_UNITS = {"1": 1.0, "ratio": 1.0, "{ratio}": 1.0, "%": 100.0, "percent": 100.0}
_ONE_DEVICE = frozenset({"trn1.2xlarge", "trn2.3xlarge", "inf2.xlarge", "inf2.8xlarge", "inf1.xlarge", "inf1.2xlarge"})
_SECOND = 1_000_000  # the driver may need a moment after the minute to roll up
METRICS = frozenset({"neuroncore_utilization_ratio", "neuron_hardware_info"})
_SCRAPES = 1024  # machines and instants that wait for the rest of their scrape
_MOST = 1024  # of devices, and of cores of one
METER = "neuron_exporter"


class Series(NamedTuple):
    """What the points of one device share."""

    owner: Owner
    device: int | None
    full: float  # what full power reads
    meter: str
    is_known: bool  # false: the figure is none of a device
    is_use: bool  # of time, not of power

    def reading(self, line: int, time: int, value: float | None) -> Reading:
        """One point; SampleError where its time or value is none."""
        checked_time(time)
        self.check_device()
        start, end = (None, time) if self.meter == "neuron_observer" else _minute_before(time)
        known = value if self.is_known else None
        use, share = (use_of(known, self.full), None) if self.is_use else (None, share_of(known, self.full))
        digest = document_hash_of(self.meter, self.owner.host_id, self.owner.run_key, self.device, start, end, use, share)
        evidence = MEASURED if self.is_use else POWER
        return Reading(digest, line, *self.owner, self.device, start, end, self.meter, None, share, use, evidence)

    def check_device(self) -> None:
        """SampleError where it is not known which of several devices this is."""
        if self.device is None and self.owner.accelerator_type not in {None, *_ONE_DEVICE}:
            raise SampleError("missing_device", "device", "Keep the attribute that numbers the device, such as hw.id.")


def is_known(metric: str) -> bool:
    """Whether a metric is the power or the use of devices."""
    name = metric.replace(".", "_")
    return bool(_OTEL.fullmatch(name) or _OBSERVER.fullmatch(name))


def series_of(metric: str, attributes: Mapping[str, str], unit: str, facts: KeyFacts) -> Series | None:
    """Read what a series is of; None where it is no mean of a device."""
    name = metric.replace(".", "_")
    otel, observer = _OTEL.fullmatch(name), _OBSERVER.fullmatch(name)
    match = otel or observer
    if match is None:
        return None
    labels = {key.replace(".", "_"): value for key, value in attributes.items()}
    how = observer["how"] if observer else first_label(labels, _STATISTIC) or "avg"
    if how in {"min", "max"}:
        return None
    # a core's own share is not its device's, the mean of its cores is
    is_mean = how != "sum" and not (observer and observer["scope"] == "core" and how != "avg")
    full = _UNITS.get(unit or match["unit"] or "", 1.0 if otel else 100.0)
    owner = OWNER.owner(labels, facts)
    named = (number_of(labels[one]) for one in (*_DEVICES, *_OTHER_DEVICES) if labels.get(one))
    device = next((number for number in named if number is not None), None)
    is_use = observer is not None and not observer["power"]
    return Series(owner, device, full, "neuron_otel" if otel else "neuron_observer", is_mean, is_use)


def numbered(points: Sequence[tuple[Series, OtlpPoint]]) -> list[Series]:
    """The series of one metric's points, with their devices where the receiver left them out: by their order at each time."""
    found = [series for series, _ in points]
    unnamed: defaultdict[tuple[Owner, int], list[int]] = defaultdict(list)
    for place, (series, point) in enumerate(points):
        if series.device is None:
            unnamed[series.owner, point.time].append(place)
    for places in unnamed.values():
        if len(places) > 1:
            for place, device in zip(places, sorted(range(len(places)), key=str), strict=True):
                found[place] = found[place]._replace(device=device)
    return found


def _minute_before(time: int) -> tuple[int, int]:
    end = (time - _SECOND) // MINUTE * MINUTE
    return end - MINUTE, end


@dataclass(slots=True)
class _Scrape:
    """What one scrape of a machine has so far."""

    line: int
    devices: int = 0
    cores: int = 0  # of each device
    uses: dict[tuple[int, str], float | None] = field(default_factory=dict)  # by core and runtime
    is_known: bool = True


@dataclass(slots=True)
class Scrapes:
    """The scrapes of a file. Their lines may come in any order."""

    waiting: dict[tuple[Owner, int], _Scrape] = field(default_factory=dict)

    def add(self, owner: Owner, time: int, line: int, metric: str, labels: Mapping[str, str], value: float) -> None:
        """Take one line; SampleError where it is none."""
        scrape = self.waiting.setdefault((owner, time), _Scrape(line))
        if metric == "neuron_hardware_info":
            scrape.devices = count_of(labels, "neuron_device_count")
            scrape.cores = count_of(labels, "neuroncore_per_device_count")
            return
        core = labels.get("neuroncore", "")
        if not (core.isascii() and core.isdecimal() and len(core) <= 6):
            scrape.is_known = False
            raise SampleError("core_out_of_range", "neuroncore", "Keep the label neuroncore.")
        # the same line in two scrapes of one instant is one
        place = int(core), labels.get("runtime_tag", "")
        known = scrape.uses.setdefault(place, None)  # a figure that is none leaves its core unknown, not idle
        use = use_of(value, 1.0)
        scrape.uses[place] = use if known is None or use is None else max(known, use)

    def readings(self, problems: Problems, *, is_end: bool) -> Iterator[Reading]:
        """Yield the devices of scrapes that are whole: all of them at the end of a file, before it the oldest where many wait."""
        if not is_end and len(self.waiting) < _SCRAPES:
            return
        for key in [*islice(self.waiting, len(self.waiting) if is_end else _SCRAPES // 2)]:
            scrape = self.waiting.pop(key)
            with problems.left_out(scrape.line):
                yield from _devices(*key, scrape)


def _devices(owner: Owner, time: int, scrape: _Scrape) -> Iterator[Reading]:
    remedy = "Keep neuron_hardware_info in the scrape."
    if not scrape.devices or not scrape.cores:
        raise SampleError("missing_hardware", "neuron_hardware_info", remedy)
    by_core: defaultdict[int, list[float]] = defaultdict(list)
    unknown: set[int] = set() if scrape.is_known else {*range(scrape.devices)}
    for (core, _), use in scrape.uses.items():
        if core >= scrape.devices * scrape.cores:
            raise SampleError("core_out_of_range", "neuroncore", remedy)
        if use is None:
            unknown.add(core // scrape.cores)
        else:
            by_core[core].append(use)
    busy: defaultdict[int, list[float]] = defaultdict(list)
    for core, uses in by_core.items():
        busy[core // scrape.cores].append(min(math.fsum(uses), 1.0))
    is_idle = scrape.is_known and not scrape.uses
    for device in range(scrape.devices):
        ratio = None if device in unknown else round(math.fsum(busy[device]) / scrape.cores, 12)
        digest = document_hash_of(METER, owner.host_id, owner.run_key, device, time, ratio, is_idle)
        evidence = "presence" if is_idle else MEASURED
        place = (digest, scrape.line, *owner, device, None, time, METER)
        yield Reading(*place, None, None, ratio, evidence, is_idle_by_absence=is_idle)


def count_of(labels: Mapping[str, str], name: str) -> int:
    """How many of something the machine has, as a label states it."""
    text = labels.get(name, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else 0
    if not 0 < number <= _MOST:
        raise SampleError("missing_hardware", name, "Keep neuron_hardware_info in the scrape.")
    return number
