"""Redfish's answers as rows of our own columns: what a BMC states of a whole machine, else of its power supplies, which add up.

Read are `Power` and `EnvironmentMetrics` of a chassis, `Sensor` and its collection `Sensors`, `PowerSupplyMetrics`,
`PowerSubsystem` with its supplies expanded, and the `MetricReport` of a `TelemetryService`. What a processor or a baseboard
draws is no machine's. An answer without a figure of the machine is an error with a remedy: `PowerSubsystem` alone states
capacity, and the `TelemetryService` only where its reports are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from connectors.telemetry.samples import SampleError

Row = dict[str, Any]
_FIGURES = {"Power": ("watts", "W"), "EnergykWh": ("kwh", "kW.h"), "EnergyJoules": ("joules", "J")}
_WHOLE_SENSORS = frozenset({"totalpower", "total_power", "power_total_power"})  # as DMTF's mockups and OpenBMC name it
# the place of a metric of a report, with or without the fragment's "#"; Dell names the machine's input by its id alone
_WHOLE = re.compile(
    r".*/Chassis/[^/]+/(?:Power/PowerControl/0/PowerConsumedWatts|EnvironmentMetrics/PowerWatts(?:/Reading)?"
    rf"|Sensors/(?:{'|'.join(_WHOLE_SENSORS)})(?:/Reading)?)",
    re.I,
)
_SUPPLY = re.compile(r".*/PowerSupplies/(?P<supply>[^/]+)/Metrics(?:/InputPowerWatts(?:/Reading)?)?", re.I)
_WHOLE_ID = "SystemInputPower"
_MARKS = frozenset({"PowerControl", "PowerWatts", "MetricValues"})  # where a collector dropped the names of OData
_DEPTH = 4  # a subsystem, its supplies, one of them, its metrics
_REMEDY = "Collect EnvironmentMetrics or Power of the machine's chassis, or its Sensors expanded ($expand=.)."


class _Figure(NamedTuple):
    """A reading: of the whole machine under its own name, or of one supply."""

    source: str
    is_whole: bool
    column: str  # watts, kwh, joules
    value: Any
    time: Any = None


def is_redfish(row: Row) -> bool:
    """Whether a document is an answer of Redfish, by itself or wrapped as {"time", "host", "document"}."""
    return isinstance(row.get("document"), dict) or any(name in _MARKS or name.startswith("@odata.") for name in row)


def rows_of(row: Row) -> Iterator[Row]:
    """Yield a row for each reading of the machine, or of its supplies, in an answer."""
    inner = row.get("document")
    answer = inner if isinstance(inner, dict) else row
    host, stated = row.get("host"), row.get("time", row.get("collected_at"))
    owner = {"host": host.get("resource_id") if isinstance(host, dict) else host, "run": row.get("run"), "meter": "bmc"}
    figures = [*_figures(answer)]
    for column, _ in _FIGURES.values():
        of_column = [one for one in figures if one.column == column]
        chosen = [one for one in of_column if one.is_whole] or of_column
        if len({one.source for one in chosen if one.is_whole}) > 1:
            raise SampleError("several_meters", chosen[0].source, "Collect the readings of the machine's own chassis alone.")
        for one in chosen:
            is_report = "MetricValues" in answer
            time = one.time or stated if is_report else stated or one.time
            yield owner | {"time": time, "sensor": None if one.is_whole else one.source, column: one.value}
    if not figures:
        raise SampleError("no_power_reading", str(answer.get("@odata.type") or answer.get("Id") or "")[:100] or None, _REMEDY)


def _figures(answer: Row, depth: int = _DEPTH, member: str = "") -> Iterator[_Figure]:
    """The figures of an answer, and of what it has inside; `member` is what a list calls the part that this is of."""
    name = str(answer.get("Id") or "")
    place = str(answer.get("@odata.id") or "")
    controls, environment, supply = (answer.get(one) for one in ("PowerControl", "PowerWatts", "InputPowerWatts"))
    if isinstance(controls, list) and controls and isinstance(controls[0], dict):
        # the first is the whole chassis; those behind it are parts of it, such as its processors
        yield _Figure(place, True, "watts", controls[0].get("PowerConsumedWatts"))
    elif isinstance(environment, dict) and "/Processors/" not in place:
        yield _Figure(place, True, "watts", environment.get("Reading"))
    elif isinstance(supply, dict):
        found = _SUPPLY.fullmatch(place)
        source = found["supply"] if found else member or str(answer.get("Name") or name)
        yield _Figure(source, False, "watts", supply.get("Reading"))
    elif "Reading" in answer:
        yield from _of_sensor(answer, name)
    for metric in _listed(answer, "MetricValues"):
        yield from _of_metric(metric, answer.get("Timestamp"))
    # supplies without a name are several all the same, and add up
    members = [(part, str(part.get("Id") or number)) for number, part in enumerate(_listed(answer, "Members"))]
    inside = [(part, member) for name in ("PowerSupplies", "Metrics") if isinstance(part := answer.get(name), dict)]
    for part, named in (*members, *inside) if depth else ():
        yield from _figures(part, depth - 1, named)


def _of_sensor(sensor: Row, name: str) -> Iterator[_Figure]:
    """A sensor of power or energy: the machine's where it is the chassis', a supply's where it is its input."""
    column, unit = _FIGURES.get(str(sensor.get("ReadingType")), (None, None))
    if column is None:
        return
    context, words = sensor.get("PhysicalContext"), f"{sensor.get('PhysicalSubContext')} {name} {sensor.get('Name')}".lower()
    is_whole = context == "Chassis" or (context is None and name.lower() in _WHOLE_SENSORS)
    if not is_whole and (context not in (None, "PowerSupply") or "input" not in words or "output" in words):
        return
    if sensor.get("ReadingUnits") not in (None, unit):
        raise SampleError("wrong_unit", name[:100] or None, f"Deliver the sensor in {unit}, as Redfish prescribes.")
    yield _Figure(name, is_whole, column, sensor.get("Reading"), sensor.get("ReadingTime"))


def _of_metric(metric: Row, reported: Any) -> Iterator[_Figure]:
    """A value of a report; its place names what it is of."""
    place = re.sub(r"/?#/?", "/", str(metric.get("MetricProperty") or ""))
    value, time = metric.get("MetricValue"), metric.get("Timestamp") or reported
    supply = _SUPPLY.fullmatch(place)
    if metric.get("MetricId") == _WHOLE_ID or _WHOLE.fullmatch(place):
        yield _Figure(place or str(metric.get("MetricId")), True, "watts", value, time)
    elif supply and "/InputPowerWatts" in place:
        yield _Figure(supply["supply"], False, "watts", value, time)


def _listed(answer: Row, name: str) -> list[Row]:
    found = answer.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
