"""Profiles become watts of chips: each rail over a window in which all of them are known, to the joule."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import gzip
import math
import random
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted
from connectors.layouts.accounting import look
from connectors.power.counters import meter_of, pieces_of
from connectors.registry import connector_for
from tests.connectors.kit import converted, rows_of, store_of, write_bytes
from tests.connectors.xspaces import CLASSES, KEY, START, counter, device, space_of

KIND = "xprof"
REAL = Path(__file__).parent / "files/jax_0_10_2_cpu.xplane.pb"
NOON = dt.datetime(2026, 4, 1, 12)
CORE, HBM = "VDD Core FW Power Meter PL1(W)", "HBM FW Power Meter PL1(W)"


def at(seconds: float) -> dt.datetime:
    return NOON + dt.timedelta(seconds=seconds)


def read(tmp_path: Path, space: Any, key: str = KEY) -> Converted:
    content = space if isinstance(space, bytes) else space.SerializeToString()
    write_bytes(tmp_path / "profiles" / key, content)
    return converted(KIND, tmp_path / "profiles", tmp_path / "landing")


def joules(rows: list[dict[str, Any]]) -> float:
    return math.fsum(row["power_w"] * (row["sample_end"] - row["sample_start"]).total_seconds() for row in rows)


def windows(rows: list[dict[str, Any]]) -> list[tuple[dt.datetime, dt.datetime, float]]:
    return [(row["sample_start"], row["sample_end"], row["power_w"]) for row in rows]


def profile(*, durations: bool = False) -> Any:
    """One chip. Core: 100 W from 0 s, 200 W from 4 s, 150 W from 8 s to the end at 10 s. HBM: 20 W from 2 s, 30 W from 6 s."""
    space = space_of(10, jax_version="0.7.1", libtpu_version="0.0.21")
    plane = device(space)
    counter(plane, CORE, [(0, 100), (4, 200), (8, 150)], durations=durations)
    counter(plane, HBM, [(2, 20), (6, 30)], durations=durations)
    return space


def test_a_profile_is_read_to_the_joule(tmp_path: Path) -> None:
    rows = rows_of(read(tmp_path, profile()))
    # both rails are known from 2 s to 10 s
    # Core: 2 s x 100 W + 4 s x 200 W + 2 s x 150 W = 1300 J; HBM: 4 s x 20 W + 4 s x 30 W = 200 J
    assert {row["component"]: row["power_w"] * 8 for row in rows} == {"Core": 1300, "HBM": 200}
    assert joules(rows) == 1500
    assert {(row["sample_start"], row["sample_end"]) for row in rows} == {(at(2), at(10))}
    assert {(row["host_id"], row["device_index"], row["accelerator_type"], row["sdk_version"]) for row in rows} == {
        ("host-1", 0, "v6e", "0.0.21")
    }
    assert {(row["meter"], row["boundary"], row["evidence"], row["is_sampled"]) for row in rows} == {
        ("xprof_firmware", "chip", "power", True)
    }


def test_the_firmwares_averages_of_one_rail_are_one_rail_and_the_sampler_is_another_meter(tmp_path: Path) -> None:
    """Adding up PL1 to PL4 would count the rail four times. The figures are those of XProf's own screenshot."""
    space = space_of(2)
    plane = device(space)
    for level, watts in enumerate((62.566092739, 64.165164272, 82.817092245, 99.5), 1):
        counter(plane, f"VDD Core FW Power Meter PL{level}(W)", [(0, watts), (1, watts)])
    counter(plane, "VDD Core SPI Sampler Power Meter(W)", [(0, 75.4615385042), (1, 75.4615385042)])
    counter(plane, "HBM FW Max Temperature(C)", [(0, 43), (1, 43)])
    counter(plane, "VDD Core FW Throttle(%)", [(0, 5), (1, 5)])
    rows = rows_of(read(tmp_path, space))
    assert {(row["meter"], row["component"], round(row["power_w"], 9)) for row in rows} == {
        ("xprof_firmware", "Core", 62.566092739),
        ("xprof_spi", "Core", 75.461538504),
    }


def test_a_counter_is_named_by_its_events_or_by_its_line(tmp_path: Path) -> None:
    expected = rows_of(read(tmp_path, profile()))
    space = profile()
    for line in space.planes[-1].lines:
        for entry in space.planes[-1].event_metadata:
            if entry.value.name in (CORE, HBM) and line.events[0].metadata_id == entry.key:
                line.name, entry.value.name = entry.value.name, str(entry.key)
    assert rows_of(read(tmp_path, space)) == expected


def test_the_order_of_planes_lines_and_samples_does_not_matter(tmp_path: Path) -> None:
    space = profile()
    counter(device(space, 1), CORE, [(0, 90), (5, 80)])
    expected = {row["document_hash"] for row in rows_of(read(tmp_path, space))}
    assert len(expected) == 3
    for seed in range(4):
        shuffled = CLASSES["XSpace"](hostnames=space.hostnames)
        for plane in random.Random(seed).sample(list(space.planes), len(space.planes)):
            copied = shuffled.planes.add()
            copied.CopyFrom(plane)
            # the lines last: what is taken from them before belongs to copies that are no longer in the plane
            for of in (*(line.events for line in copied.lines), copied.lines, copied.event_metadata, copied.stat_metadata):
                parts = random.Random(seed).sample(list(of), len(of))
                del of[:]
                of.extend(parts)
        assert {row["document_hash"] for row in rows_of(read(tmp_path, shuffled))} == expected


def test_hosts_of_a_session_are_hosts_and_a_chip_in_two_files_counts_once(tmp_path: Path) -> None:
    both = []
    for host in ("host-1", "host-2"):
        space = space_of(hosts=(host,))
        for number in range(4):
            counter(device(space, number), CORE, [(0, 100 + number), (5, 100 + number)])
        both.append(rows_of(read(tmp_path / host, space, f"plugins/profile/s/{host}.xplane.pb")))
        again = gzip.compress(space.SerializeToString())
        copied = rows_of(read(tmp_path / "again" / host, again, f"copies/{host} (1).xplane.pb.gz"))
        assert [row["document_hash"] for row in copied] == [row["document_hash"] for row in both[-1]]
    rows = both[0] + both[1]
    # 4 chips of 100 to 103 W over 10 s on each of 2 hosts
    assert joules(rows) == 2 * 10 * (100 + 101 + 102 + 103)
    assert len({(row["host_id"], row["device_index"]) for row in rows}) == len({row["document_hash"] for row in rows}) == 8


def test_the_key_names_run_and_host_before_the_file_does(tmp_path: Path) -> None:
    row, _ = rows_of(read(tmp_path, profile(), "run=a%2Fb/host=1234567890/plugins/profile/x/h.xplane.pb"))
    assert (row["run_key"], row["host_id"]) == ("a/b", "1234567890")
    row, _ = rows_of(read(tmp_path / "2", space_without_host(), "plugins/profile/x/worker-3.xplane.pb"))
    assert (row["run_key"], row["host_id"]) == (None, "worker-3")


def space_without_host() -> Any:
    space = profile()
    del space.hostnames[:]
    return space


def test_lines_count_from_the_session_or_from_1970(tmp_path: Path) -> None:
    """By the schema it counts from 1970; profilers write the difference to the start of the session."""
    expected = rows_of(read(tmp_path, profile()))
    space = profile()
    for plane in space.planes:
        for line in plane.lines:
            line.timestamp_ns += START
    assert rows_of(read(tmp_path, space)) == expected
    del space.planes[1]  # and from 1970 they need no session
    rows = rows_of(read(tmp_path, space))
    # then its end is not known either, and the last samples prove no time
    assert {(row["sample_start"], row["sample_end"]) for row in rows} == {(at(2), at(6))}


def real_and_chip() -> bytes:
    chip = CLASSES["XSpace"]()
    counter(device(chip), CORE, [(0, 100), (1, 120), (2, 130)])
    return REAL.read_bytes() + chip.SerializeToString()


def test_a_real_profile_of_jax_has_the_times_of_its_lines(tmp_path: Path) -> None:
    """JAX 0.10.2 took three seconds of a CPU, from 20:40:31.317105100 on. A chip's plane is put behind them."""
    nothing = read(tmp_path, REAL.read_bytes())
    assert (nothing.rows, [refusal.reason for refusal in nothing.refusals]) == (0, ["no_known_metric"])
    (row,) = rows_of(read(tmp_path / "2", real_and_chip()))
    begins = dt.datetime(2026, 11, 22, 20, 40, 31, 317106)  # the first whole microsecond
    assert (row["sample_start"], row["sample_end"] - begins) == (begins, dt.timedelta(seconds=2, microseconds=999999))
    assert (row["host_id"], row["sdk_version"]) == ("vm", "0.10.2")
    assert row["power_w"] == pytest.approx(350 / 3, abs=1e-4)


def test_without_a_session_its_folder_has_its_time(tmp_path: Path) -> None:
    space = profile()
    del space.planes[1]
    assert {row["sample_start"] for row in rows_of(read(tmp_path, space))} == {at(2)}
    result = read(tmp_path / "2", space, "plugins/profile/mine/host-1.xplane.pb")
    assert (result.rows, [refusal.reason for refusal in result.refusals]) == (0, ["missing_time"])


def test_a_sample_with_a_duration_proves_no_more(tmp_path: Path) -> None:
    assert joules(rows_of(read(tmp_path, profile()))) == 1500
    space = space_of(100)
    line = counter(device(space), CORE, [(0, 100), (1, 200), (50, 100), (51, 300)], durations=True)
    line.events[1].duration_ps = line.events[3].duration_ps = 10**12
    rows = rows_of(read(tmp_path, space))
    # 100 W and 200 W for a second each, 48 s of nothing, then 100 W and 300 W for a second each
    assert [(row["sample_start"], row["sample_end"], row["power_w"]) for row in rows] == [
        (at(0), at(2), 150),
        (at(50), at(52), 200),
    ]


def test_a_silence_of_a_second_is_covered_and_a_longer_one_is_not() -> None:
    """A sample of 0 s to 1 s and the next one at 2 s: a second without a sample, which the first one's watts hold for."""
    second = 10**12  # picoseconds
    assert pieces_of([(0, second, 100.0), (2 * second, second, 200.0)], None)[0] == (0, 2 * second, 100.0)
    assert pieces_of([(0, second, 100.0), (2 * second + 1, second, 200.0)], None)[0] == (0, second, 100.0)


def test_the_last_sample_holds_no_longer_than_others_did(tmp_path: Path) -> None:
    """A buffer was full after 2 s of 100 s: what came after it is not known."""
    space = space_of(100)
    counter(device(space), CORE, [(0, 100), (1, 120), (2, 110)])
    (row,) = rows_of(read(tmp_path, space))
    assert (row["sample_end"], row["power_w"]) == (at(3), 110)


@pytest.mark.parametrize("watts", [math.nan, math.inf, -1.0, 1e9])
def test_a_figure_that_no_meter_reads_is_unknown_and_never_0(tmp_path: Path, watts: float) -> None:
    space = space_of(4)
    counter(device(space), CORE, [(0, 100), (1, watts), (2, 200), (3, 200)])
    rows = rows_of(read(tmp_path, space))
    assert [(row["sample_start"], row["sample_end"], row["power_w"]) for row in rows] == [
        (at(0), at(1), 100),
        (at(2), at(4), 200),
    ]


def test_one_sample_is_a_point_and_no_window(tmp_path: Path) -> None:
    space = space_of(10)
    counter(device(space), CORE, [(0, 100)])
    result = read(tmp_path, space)
    assert (result.rows, [refusal.reason for refusal in result.refusals]) == (0, ["no_window"])


def test_a_window_ends_with_the_clocks_hour_and_loses_nothing(tmp_path: Path) -> None:
    space = space_of(7200)
    counter(device(space), CORE, [(float(minute * 60) + 0.0000005, 50 + minute) for minute in range(119)])
    rows = rows_of(read(tmp_path, space))
    assert [(start, end) for start, end, _ in windows(rows)] == [(at(0.000001), at(3600)), (at(3600), at(7140))]
    # each minute at its own watts, but for the first and the last half microsecond, which lie in no whole one
    assert joules(rows) == pytest.approx(60 * sum(50 + minute for minute in range(119)) - (50 + 168) * 0.5e-6, abs=1e-9)


def test_two_planes_of_a_chip_are_its_dies_unless_they_say_the_same(tmp_path: Path) -> None:
    space = space_of(10)
    for number, watts in enumerate((100, 110, 90, 90)):
        plane = device(space, number, "TPU7x")
        counter(plane, CORE, [(0, watts), (5, watts)])
    rows = rows_of(read(tmp_path, space))
    assert [(row["device_index"], row["component"], row["power_w"]) for row in rows] == [
        (0, "Core TPU:0", 100),
        (0, "Core TPU:1", 110),
        (1, "Core", 90),
    ]
    assert {row["accelerator_type"] for row in rows} == {"v7x"}


def test_a_plane_that_names_its_chip_is_of_that_chip(tmp_path: Path) -> None:
    space = space_of(10)
    details = CLASSES["CoreDetails"](hostname="host-1", local_chip_id=3).SerializeToString()
    counter(device(space, 0, core_details=details), CORE, [(0, 100), (5, 100)])
    (row,) = rows_of(read(tmp_path, space))
    assert row["device_index"] == 3


def test_power_in_another_unit_or_of_no_known_chip_is_reported(tmp_path: Path) -> None:
    space = space_of(10)
    plane = device(space)
    counter(plane, "HBM FW Power Meter PL1(mW)", [(0, 20_000), (5, 20_000)])
    counter(plane, CORE, [(0, 100), (5, 100)])
    other = space.planes.add(name="#Chip TPU Non-Core HBM")
    counter(other, HBM, [(0, 20), (5, 20)])
    result = read(tmp_path, space)
    assert [row["component"] for row in rows_of(result)] == ["Core"]
    assert {refusal.reason for refusal in result.refusals} == {"wrong_unit", "unknown_chip"}


def test_a_profile_without_power_names_what_to_switch_on(tmp_path: Path) -> None:
    space = space_of(10)
    device(space)
    (refusal,) = read(tmp_path, space).refusals
    assert refusal.reason == "no_power" and "tpu_power_trace_level" in refusal.remedy
    [of_no_tpu] = read(tmp_path / "cpu", space_of(10)).refusals  # is no profile without power
    assert of_no_tpu.reason == "no_known_metric"


def test_the_trace_beside_a_hosts_profile_is_not_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "profiles" / "plugins/profile/s"
    beside = ("a.trace.json.gz", "c.trace.json", "perfetto_trace.json.gz", "cache_version.txt", "ALL_HOSTS.op_stats.pb")
    for name in ("a.xplane.pb", "b.trace.json.gz", "c.xplane.pb.gz", *beside):
        write_bytes(folder / name, b"x")
    of_kind = connector_for(KIND)
    deliveries, counts = look(KIND, of_kind.find_deliveries, (), store_of(tmp_path / "profiles"))
    names = {getattr(one, "delivery_id", "").rpartition("/")[2] for one in deliveries}
    assert names == {"a.xplane.pb", "b.trace.json.gz", "c.xplane.pb.gz"}  # and nothing that was not understood
    assert (counts.delivered, counts.bystanders, counts.not_understood) == (3, 4, 1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("VDD Core FW Power Meter PL2(W)", ("xprof_firmware", "Core", 2)),
        ("VDD Core FW Power Meter PL1(W) 1", ("xprof_firmware", "Core 1", 1)),
        ("HBM SPI Sampler PowerMeter", ("xprof_spi", "HBM", 0)),
        ("Total Power Meter (W)", ("xprof_firmware", None, 0)),
        ("hbm fw power meter pl1(w)", ("xprof_firmware", "hbm", 1)),
        ("Compute Die FW Max Temperature(C)", None),
        ("read_power_meter_values", None),
    ],
)
def test_a_counters_name_holds_meter_rail_and_timescale(name: str, expected: Any) -> None:
    assert meter_of(name) == expected
