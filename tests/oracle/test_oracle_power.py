"""The oracle's rules of power, worked out by hand: an hour of the node of test_oracle_energy, sixteen chips and a host of 523 W.

Idle 43 W, full 142 W, at half use 92.5 W, unwatched 121 W; network and storage 5 %, the building of us-east-2 12 %.
"""

import json
import struct
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from .builders import NODE, hour, run
from .google_builders import GoogleExports, neuron_document
from .oracle import Oracle

TEN, ELEVEN = "2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"
START = 1_775_815_200  # ten o'clock
FACTOR = Decimal("1.05") * Decimal("1.12")


@pytest.fixture
def exports(tmp_path: Path) -> GoogleExports:
    exports = GoogleExports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 20.0)])
    return exports


def write(exports: GoogleExports, kind: str, name: str, content: str | bytes) -> None:
    path = exports._source(kind.replace("_", "-"), kind) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def row_of(exports: GoogleExports, run_id: str = "a") -> dict:
    return Oracle(exports.config()).tables()["fct_training_run_energy"][run_id, date(2026, 4, 1)]


def ends(row: dict, boundary: str = "chip_host") -> tuple[Decimal, Decimal]:
    return row[f"{boundary}_energy_kwh_low"], row[f"{boundary}_energy_kwh_high"]


def coverage(row: dict) -> tuple[float, float, float]:
    return row["telemetry_coverage_ratio"], row["power_coverage_ratio"], row["use_coverage_ratio"]


def parts(row: dict) -> list[Decimal]:
    found = [row[f"energy_kwh_{name}"] for name in ("measured", "driver_power", "utilisation_model", "time_model")]
    assert sum(found) == row["facility_energy_kwh"]
    return found


def smi(minutes: range, watts: int, chips: int = 16) -> str:
    lines = ["timestamp, index, uuid, name, power.draw [W], utilization.gpu [%], driver_version"]
    for minute in minutes:
        clock = f"2026/04/10 {10 + minute // 60}:{minute % 60:02}:00.000"
        lines += [f"{clock}, {chip}, GPU-{chip}, Chip, {watts}.00 W, 90 %, 1" for chip in range(chips)]
    return "\n".join(lines)


def driver(minutes: range, share: str, status: str = "POWER_STATUS_VALID") -> str:
    lines = []
    for minute in minutes:
        for chip in range(16):
            path = f"/sys/devices/virtual/neuron_device/neuron{chip}/stats/power/utilization"
            text = f"{status},{START + minute * 60},0.00,99.00,{share}"
            lines.append(json.dumps({"host": {"resource_id": NODE}, "path": path, "text": text}))
    return "\n".join(lines)


def message(*fields: tuple[int, int | float | bytes]) -> bytes:
    """Protobuf: whole numbers, doubles and what has a length."""
    found = b""
    for number, value in fields:
        if isinstance(value, float):
            found += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            found += varint(number << 3) + varint(value)
        else:
            found += varint(number << 3 | 2) + varint(len(value)) + value
    return found


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def test_of_each_instant_the_best_basis_counts(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    # a quarter each: watts, a share, use, nothing; use goes on through the first two
    exports.neuron(NODE, [("2026-04-10T10:45:00Z", neuron_document(dict.fromkeys(range(32), 50.0), period=2700.0))])
    write(exports, "gpu_monitoring", f"host={NODE}/smi.csv", smi(range(1, 16), 100))
    write(exports, "neuron_power", "driver.jsonl", driver(range(1, 31), "20.00"))
    row = row_of(exports)
    assert parts(row) == [(16 * Decimal(watts) + 523) / 4000 * FACTOR for watts in ("100", "62.8", "92.5", "121")]
    assert (row["energy_basis"], row["power_confidence"], coverage(row)) == ("time_model", "assumed", (0.75, 0.5, 0.75))
    # of watts a minute apart 30 % less, 55 % more; of the driver's share a half and 5 %
    low, high = (20 + 113 * Decimal("0.1"), 115 + 129 * Decimal("0.21"))
    assert ends(row, "chip") == (4 * (70 + low + Decimal("76.5") + 20) / 1000, 4 * (155 + high + Decimal("179.5") + 244) / 1000)
    assert row["busy_chip_hours"] == Decimal("7.6")  # 16 chips at 90 % for a quarter, at 50 % for two


def test_a_share_without_figures_is_unknown_and_zero_is_idle(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    write(exports, "neuron_power", "driver.jsonl", driver(range(1, 61), "0.00"))
    row = row_of(exports)
    assert (row["chip_energy_kwh"], row["energy_basis"]) == (Decimal("0.688"), "driver_power")
    write(exports, "neuron_power", "driver.jsonl", driver(range(1, 61), "0.00", "POWER_STATUS_NO_DATA"))
    assert (row_of(exports)["chip_energy_kwh"], row_of(exports)["energy_basis"]) == (Decimal("1.936"), "time_model")


def test_what_is_read_at_a_node_is_its_runs_by_their_chips(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 4)), run("b", (NODE, TEN, "2026-04-10T10:30:00Z", 8)))
    points = "".join(f"2026-04-10T10:{minute:02}:00Z,{NODE},pdu,3200\n" for minute in range(1, 60))
    write(exports, "power_meters", "rack.csv", f"time,host,meter,watts\n{points}2026-04-10T11:00:00Z,{NODE},pdu,3200\n")
    a, b = row_of(exports), row_of(exports, "b")
    assert (a["chip_host_energy_kwh"], b["chip_host_energy_kwh"]) == (Decimal("0.8"), Decimal("0.8"))
    assert (a["energy_basis"], a["power_confidence"]) == ("measured", "measured")
    assert a["chip_energy_kwh"] == Decimal("0.484")  # 4 x 121 W, modelled
    assert ends(a) == (Decimal("0.584"), Decimal("1.216"))  # points of a PDU a minute apart: 27 % less, 52 % more
    assert (coverage(a), a["busy_chip_hours"]) == ((1, 1, 0), None)


def test_a_racks_meter_is_divided_by_its_machines_own_readings_then_by_the_model(exports: GoogleExports) -> None:
    """10,000 W, of which 3,000 are b's own: of 7,000 a run has 523 + 16 x 121 = 2,459 W of 3,670, where c is at rest."""
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    hosts = {"rack-7": 10_000, "i-b": 3_000}
    clocks = [*(f"2026-04-10T10:{minute:02}:00Z" for minute in range(1, 60)), "2026-04-10T11:00:00Z"]
    points = "".join(f"{clock},{host},pdu,{watts}\n" for clock in clocks for host, watts in hosts.items())
    write(exports, "power_meters", "rack.csv", f"time,host,meter,watts\n{points}")
    config = exports.config()
    config.write_text(f"{config.read_text()}meters: {{rack-7: [{NODE}, i-b, i-c]}}\n")
    row = Oracle(config).tables()["fct_training_run_energy"]["a", date(2026, 4, 1)]
    assert (row["chip_host_energy_kwh"], row["energy_basis"]) == (Decimal("4.690190736"), "measured")


def test_rails_of_a_profile_add_up_over_its_window_alone(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    rails = {1: b"VDD Core SPI Sampler Power Meter (W)", 2: b"HBM SPI Sampler Power Meter (W)"}
    names = [(4, message((1, rail), (2, message((1, rail), (2, name))))) for rail, name in rails.items()]
    planes = []
    for chip in range(16):
        events = [
            (4, message((1, rail), (2, at * 10**12), (3, 60 * 10**12), (4, message((1, 1), (2, watts)))))
            for at in (0, 60)
            for rail, watts in ((1, 60.0 + at), (2, 40.0))
        ]
        line = message((3, START * 10**9), *events)
        planes.append((1, message((2, f"/device:TPU:{chip}".encode()), (3, line), *names)))
    write(exports, "xprof", f"plugins/profile/1/{NODE}.xplane.pb", message(*planes, (4, NODE.encode())))
    row = row_of(exports)
    # two minutes at 100 and 160 W, the rest at 121 W
    assert row["energy_kwh_measured"] == ((16 * Decimal(130) + 523) / 30 / 1000 * FACTOR).quantize(Decimal("1e-9"))
    assert row["chip_energy_kwh"] == (16 * (Decimal(130) / 30 + 121 * Decimal(29) / 30) / 1000).quantize(Decimal("1e-9"))
    # a window has no sampling, and rails that are missing can only be more
    found = [
        (16 * (factor * 130 / 30 + unseen * Decimal(29) / 30) / 1000)
        for factor, unseen in ((Decimal(1), 20), (Decimal("1.25"), 244))
    ]
    assert ends(row, "chip") == tuple(value.quantize(Decimal("1e-9")) for value in found)


def test_the_spread_of_an_hours_points_counts_where_it_is_more_than_that_of_their_spacing(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, "2026-04-10T10:10:00Z", 16)))
    points = "".join(
        f"2026-04-10T10:{second // 60:02}:{second % 60:02}Z,{NODE},pdu,{(3000, 5000)[second // 10 % 2]}\n"
        for second in range(10, 610, 10)
    )
    write(exports, "power_meters", "rack.csv", f"time,host,meter,watts\n{points}")
    row = row_of(exports)
    # 60 points, 59 steps: the root of 2 x 59 x 2000 squared, over 60 x 4000, is 9.0523 %, and the PDU's own 2 %
    assert row["chip_host_energy_kwh"] == (Decimal(4) / 6).quantize(Decimal("1e-9"))
    assert ends(row) == tuple((Decimal(4) / 6 * (1 + sign * Decimal("0.110523"))).quantize(Decimal("1e-9")) for sign in (-1, 1))
