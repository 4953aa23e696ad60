"""Series of the Neuron driver's power: the OpenTelemetry receiver `awsneuron` and Neuron Observer, by names and attributes.

OpenTelemetry's is a fraction of full power with min, max and avg of the driver's last whole minute; a point's time is when it was
read, so it is of the minute that ended before it. The receiver names no device: its points come in the order of the
driver's folders (neuron0, neuron1, neuron10, neuron2). Observer's are percents of the moment; a sum of percents over cores is
no share of anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from connectors.power.devices import OwnerLabels, number_of, use_of
from connectors.power.neuron_sysfs import MINUTE
from connectors.power.readings import MEASURED, POWER, Owner, Reading, document_hash_of, share_of
from connectors.telemetry.exporters import first_label
from connectors.telemetry.samples import KeyFacts, SampleError, is_recorded

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


class Series(NamedTuple):
    """What the points of one device share."""

    owner: Owner
    device: int | None
    full: float  # what full power reads
    meter: str
    is_known: bool  # false: the figure is none of a device
    is_use: bool  # of time, not of power

    @property
    def names_no_device(self) -> bool:
        """Whether a machine of several devices could be meant."""
        return self.device is None and self.owner.accelerator_type not in {None, *_ONE_DEVICE}

    def reading(self, line: int, time: int, value: float | None) -> Reading:
        """One point; SampleError where its time or value is none."""
        checked_time(time)
        if self.names_no_device:
            raise SampleError("missing_device", "device", "Keep the attribute that numbers the device, such as hw.id.")
        start, end = (None, time) if self.meter == "neuron_observer" else _minute_before(time)
        known = value if self.is_known else None
        use, share = (use_of(known, self.full), None) if self.is_use else (None, share_of(known, self.full))
        digest = document_hash_of(self.meter, self.owner.host_id, self.owner.run_key, self.device, start, end, use, share)
        evidence = MEASURED if self.is_use else POWER
        return Reading(digest, line, *self.owner, self.device, start, end, self.meter, None, share, use, evidence)


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


def numbered(series: Sequence[Series], times: Sequence[int]) -> Iterator[Series]:
    """Give the points of one metric their devices where the receiver left them out: by their order at each time."""
    unnamed: dict[tuple[Owner, int], list[int]] = {}
    for place, (one, time) in enumerate(zip(series, times, strict=True)):
        if one.device is None:
            unnamed.setdefault((one.owner, time), []).append(place)
    devices: dict[int, int] = {}
    for places in unnamed.values():
        if len(places) > 1:
            folders = sorted(range(len(places)), key=str)
            devices |= dict(zip(places, folders, strict=True))
    for place, one in enumerate(series):
        yield one._replace(device=devices.get(place, one.device))


def checked_time(time: int) -> int:
    """A point's time; SampleError where it has none, or one that is none."""
    if not is_recorded(time):
        remedy = "Keep the times of the points, or name the object by its UTC time."
        raise SampleError("missing_time" if time == 0 else "bad_time", "time", remedy)
    return time


def _minute_before(time: int) -> tuple[int, int]:
    end = (time - _SECOND) // MINUTE * MINUTE
    return end - MINUTE, end
