"""Redfish's answers: the machine's own reading, else its supplies' inputs together; an answer without a figure is named.

Bodies are cut from DMTF's mockups and schemas (Sensor, PowerSupplyMetrics, MetricReport), OpenBMC's bmcweb and Dell's report.
"""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted
from tests.connectors.kit import converted, rows_of, write_bytes

NOON = dt.datetime(2026, 4, 1, 12)
CHASSIS = "/redfish/v1/Chassis/1U"


def sensor(name: str, reading: Any, **more: Any) -> dict[str, Any]:
    about = {"@odata.id": f"{CHASSIS}/Sensors/{name}", "@odata.type": "#Sensor.v1_8_1.Sensor", "Id": name}
    return about | {"ReadingType": "Power", "ReadingUnits": "W", "Reading": reading} | more


def supply(name: str, watts: Any) -> dict[str, Any]:
    place = f"{CHASSIS}/PowerSubsystem/PowerSupplies/{name}"
    metrics = {"@odata.id": f"{place}/Metrics", "InputPowerWatts": {"Reading": watts}, "OutputPowerWatts": {"Reading": 1}}
    return {"@odata.id": place, "Id": name, "Metrics": metrics}


SENSORS = {
    "@odata.type": "#SensorCollection.SensorCollection",
    "Members": [
        sensor("TotalPower", 374, PhysicalContext="Chassis", ElectricalContext="Total"),
        sensor("PS1InputPower", 190, PhysicalContext="PowerSupply", PhysicalSubContext="Input"),
        sensor("CPU1Temp", 37, ReadingType="Temperature", ReadingUnits="Cel"),
        sensor("HGX_Chassis_0_TotalGPU_Power_0", 810.718, PhysicalContext="GPU"),
    ],
}
SUBSYSTEM = {
    "@odata.type": "#PowerSubsystem.v1_1_0.PowerSubsystem",
    "CapacityWatts": 2000,
    "Allocation": {"RequestedWatts": 1500, "AllocatedWatts": 1200},
    "PowerSupplies": {
        "@odata.id": f"{CHASSIS}/PowerSubsystem/PowerSupplies",
        "Members": [supply("Bay1", 937.4), supply("Bay2", 900)],
    },
}
REPORT = {
    "@odata.type": "#MetricReport.v1_3_0.MetricReport",
    "Id": "PowerMetrics",
    "Timestamp": "2026-04-01T12:05:00Z",
    "MetricValues": [
        {"MetricId": "SystemInputPower", "MetricValue": "297", "Timestamp": "2026-04-01T12:00:00Z"},
        {"MetricId": "SystemInputPower", "MetricValue": "301"},
        {"MetricId": "TotalCPUPower", "MetricValue": "97", "Timestamp": "2026-04-01T12:00:00Z"},
    ],
}


def read(tmp_path: Path, document: Any, **more: Any) -> Converted:
    line = {"time": "2026-04-01T12:00:00Z", "host": "n-1", "document": document} | more
    write_bytes(tmp_path / "meters" / "bmc.jsonl", json.dumps(line).encode())
    return converted("power_meters", tmp_path / "meters", tmp_path / "landing")


def found(result: Converted) -> list[tuple[Any, ...]]:
    return [(row["component"], row["power_w"], row["counter_j"], row["sample_end"]) for row in rows_of(result)]


def metric(place: str, value: str) -> dict[str, str]:
    return {"MetricProperty": place, "MetricValue": value}


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        (SENSORS, [(None, 374.0, None, NOON)]),  # the whole, not the whole and its parts
        ({"Members": SENSORS["Members"][1:]}, [("PS1InputPower", 190.0, None, NOON)]),
        (sensor("power_total_power", 512.5), [(None, 512.5, None, NOON)]),  # as OpenBMC writes it, without a context
        (sensor("TotalEnergy", 2, ReadingType="EnergykWh", ReadingUnits="kW.h", PhysicalContext="Chassis"),
         [(None, None, 7_200_000.0, NOON)]),
        (SUBSYSTEM, [("Bay1", 937.4, None, NOON), ("Bay2", 900.0, None, NOON)]),
        # without links, and one without any name: two supplies all the same
        ({"PowerSupplies": {"Members": [{"Id": "A", "Metrics": {"InputPowerWatts": {"Reading": 9}}},
                                        {"Metrics": {"InputPowerWatts": {"Reading": 9}}}]}, "@odata.type": "x"},
         [("A", 9.0, None, NOON), ("1", 9.0, None, NOON)]),
        (supply("Bay1", None)["Metrics"], [("Bay1", None, None, NOON)]),  # unknown, and known to be
        (REPORT, [(None, 297.0, None, NOON), (None, 301.0, None, NOON + dt.timedelta(minutes=5))]),
        ({"MetricValues": [metric(f"{CHASSIS}/Power#/PowerControl/0/PowerConsumedWatts", "344")]}, [(None, 344.0, None, NOON)]),
        ({"MetricValues": [metric(f"{CHASSIS}/EnvironmentMetrics#/PowerWatts/Reading", "0")]}, [(None, 0.0, None, NOON)]),
        ({"MetricValues": [metric(f"{CHASSIS}/PowerSubsystem/PowerSupplies/Bay1/Metrics#/InputPowerWatts", "9")]},
         [("Bay1", 9.0, None, NOON)]),
    ],
)  # fmt: skip
def test_an_answer_gives_the_machine_or_its_supplies(tmp_path: Path, document: Any, rows: list[tuple[Any, ...]]) -> None:
    result = read(tmp_path, document)
    assert (found(result), result.refusals) == (rows, ())


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({name: value for name, value in SUBSYSTEM.items() if name != "PowerSupplies"}, "no_power_reading"),  # capacity alone
        ({"@odata.type": "#TelemetryService.v1_3_1.TelemetryService", "Id": "TelemetryService"}, "no_power_reading"),
        ({"@odata.type": "#SensorCollection.SensorCollection", "Members": [{"@odata.id": f"{CHASSIS}/Sensors/TotalPower"}]},
         "no_power_reading"),  # links that were not expanded
        (SENSORS["Members"][3], "no_power_reading"),  # the GPUs of a baseboard
        (sensor("PS1OutputPower", 170, PhysicalContext="PowerSupply", PhysicalSubContext="Output"), "no_power_reading"),
        ({"@odata.id": "/redfish/v1/Systems/1/Processors/1/Metrics", "PowerWatts": {"Reading": 90}}, "no_power_reading"),
        (sensor("TotalPower", 0.374, PhysicalContext="Chassis", ReadingUnits="kW"), "wrong_unit"),
        ({"MetricValues": [metric(f"/redfish/v1/Chassis/{one}/EnvironmentMetrics#/PowerWatts/Reading", "9") for one in "ab"]},
         "several_meters"),
    ],
)  # fmt: skip
def test_an_answer_without_a_figure_of_the_machine_is_named(tmp_path: Path, document: Any, reason: str) -> None:
    result = read(tmp_path, document)
    assert (result.rows, [refusal.reason for refusal in result.refusals]) == (0, [reason])


def test_a_row_without_any_name_of_a_figure_is_named(tmp_path: Path) -> None:
    write_bytes(tmp_path / "meters" / "a.jsonl", b'{"time": "2026-04-01T12:00:00Z", "host": "n-1", "power": 5}\n')
    result = converted("power_meters", tmp_path / "meters", tmp_path / "landing")
    assert (result.rows, [refusal.reason for refusal in result.refusals]) == (0, ["missing_value"])
