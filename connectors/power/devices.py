"""Readings of devices: one observation once, each with its host or its run; and what every reader of GPUs makes of one.

Shared by the kinds that read devices. What a reading means, and what time it covers, its reader decides. A GPU's counter of
energy is landed as it reads: what it grew by since the reading before it, and that it was reset when it shrank, is found in SQL
over all files, so that one scrape a file or a thousand give the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.prometheus_text import PrometheusPoint
from connectors.formats.schema import Column
from connectors.formats.text_lines import TextFile
from connectors.power.readings import MEASURED, MOST_WATTS, POWER, Owner, Reading, document_hash_of, reader_of
from connectors.telemetry.converting import Reader
from connectors.telemetry.exporters import RUNS, first_label
from connectors.telemetry.regions import region_of
from connectors.telemetry.samples import Host, KeyFacts, Problems, SampleError

_MOST_SEEN = 1 << 19  # observations of a file that are known again; further copies are found in SQL
_MOST_ENERGY = 1 << 53  # a GPU of 1 kW has run for 285 years; DCGM's own marks for "no value" lie above
_NUMBER = re.compile(r"(?:neuron|nvidia)?(\d{1,4})", re.ASCII)


class OneScrape:
    """Scrapes without times: their file's name dates one of them, so a series that comes again with another value is left out."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], float] = {}

    def check(self, point: PrometheusPoint) -> None:
        """Take a point; SampleError where it is of a second scrape."""
        if not point.time and repr(self._values.setdefault((point.metric, point.labels), point.value)) != repr(point.value):
            raise SampleError("missing_time", None, "Write times behind the values, or each scrape to a file of its own.")


def owner_of(host: Host | None, run: str | None, facts: KeyFacts) -> Owner:
    """Whose a recorder's line is; SampleError where neither a machine nor a run is named."""
    host = host or Host()
    return _owned(Owner(host.resource_id or facts.host, facts.run or run, accelerator_type_of(host.instance_type)))


class OwnerLabels(NamedTuple):
    """The labels by which a kind of exporter names a machine: those of its id for sure, of a name, its type, and its place."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    types: tuple[str, ...]
    places: tuple[str, ...]

    def owner(self, labels: Mapping[str, str], facts: KeyFacts) -> Owner:
        """Whose a series is: by an id, then by the object's key, then by a name."""
        host = first_label(labels, self.ids) or facts.host or first_label(labels, self.names)
        run, type_ = facts.run or first_label(labels, RUNS), accelerator_type_of(first_label(labels, self.types))
        return _owned(Owner(host, run, type_, region_of(*map(labels.get, self.places))))


def number_of(text: str | None) -> int | None:
    """The number that names a device: 3, or neuron3, or nvidia3."""
    match = _NUMBER.fullmatch(text or "")
    return int(match[1]) if match else None


def use_of(value: float | None, full: float) -> float | None:
    """A use as 0 to 1; a little above full is rounding."""
    if value is None or value != value:
        return None
    if value < 0:
        raise SampleError("negative_utilisation", "utilisation", "Deliver uses of 0 or more, as the meter does.")
    if value > full * 1.01:
        raise SampleError("wrong_power", "utilisation", f"Deliver uses between 0 and {full:g}: this one has another scale.")
    return min(round(value / full, 12), 1.0)


class Gpu(NamedTuple):
    """Which GPU a reading is of."""

    owner: Owner
    number: int
    uuid: str | None


def reading_of(
    gpu: Gpu,
    line: int,
    time: int,
    meter: str,
    power_w: float | None,
    use: float | None,
    energy_mj: int | None = None,
    limit_mw: int | None = None,
) -> Reading:
    """One row of a GPU; copies of an observation have one hash, in whichever file they came."""
    owner, number, uuid = gpu
    observed = (power_w, use, energy_mj) if limit_mw is None else (power_w, use, energy_mj, limit_mw)
    digest = document_hash_of(meter, owner.host_id, owner.run_key, number, uuid, time, *observed)
    evidence = POWER if use is None else MEASURED
    place = (digest, line, *owner, number, None, time, meter)
    return Reading(*place, power_w, None, use, evidence, device_uuid=uuid, energy_mj=energy_mj, power_limit_mw=limit_mw)


def energy_of(value: float | None) -> int | None:
    """A counter of millijoules; a mark for "no value" is none."""
    if value is None or value != value or value >= _MOST_ENERGY:
        return None
    if value < 0:
        raise SampleError("wrong_power", "energy_mj", "Deliver the counter of millijoules as the driver gives it.")
    return int(value)


def limit_of(watts: float | None) -> int | None:
    """A limit to which a GPU's power is held, in milliwatts; a limit of no watts is none."""
    return None if not watts or watts != watts or not 0 < watts < MOST_WATTS else round(watts * 1000)


def device_reader(read: Callable[[TextFile, KeyFacts, Problems], Iterator[Reading]], columns: tuple[Column, ...]) -> Reader:
    """A reader of the same observation once."""
    return reader_of(lambda file, facts, problems: _each_once(read(file, facts, problems)), columns)


def _each_once(rows: Iterator[Reading]) -> Iterator[Reading]:
    seen: set[str] = set()
    for row in rows:
        if row.document_hash not in seen:
            if len(seen) >= _MOST_SEEN:
                seen.clear()
            seen.add(row.document_hash)
            yield row


def _owned(owner: Owner) -> Owner:
    if not owner.host_id and not owner.run_key:
        raise SampleError("missing_host", "host_id", "Name the host in the document or in the key as host=<resource_id>.")
    return owner
