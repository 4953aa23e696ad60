"""The Neuron driver's power by sysfs, OpenTelemetry and Neuron Observer: what is computed by hand, and what proves nothing."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.deliveries import Converted
from tests.connectors.kit import converted, rows_of, write_bytes
from tests.shared import SHARED, SHARED_REASON

KIND = "neuron_power"
NODE = "/sys/devices/virtual/neuron_device/neuron{}/stats/power/utilization"
KEY = "host=i-1/power.jsonl"
EPOCH = 1_775_001_600  # 2026-04-01T00:00:00Z
MIDNIGHT = dt.datetime(2026, 4, 1)
MINUTE = dt.timedelta(minutes=1)


def read(tmp_path: Path, content: Any, key: str = KEY, place: str = "neuron") -> Converted:
    raw = (
        content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else json.dumps(content).encode()
    )
    write_bytes(tmp_path / place / key, raw)
    return converted(KIND, tmp_path / place, tmp_path / f"landing-{place}")


def recorded(text: str, **more: Any) -> dict[str, Any]:
    """A recorder's line."""
    host = {"resource_id": "i-1", "instance_type": "trn1.32xlarge"}
    return {"collected_at": "2026-04-01T00:00:05Z", "host": host, "path": NODE.format(3), "text": text, **more}


def lines(*documents: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in documents)


def reasons(result: Converted) -> dict[str, str | None]:
    return {remark.reason: remark.value for remark in result.refusals}


def attributes(**named: Any) -> list[dict[str, Any]]:
    return [{"key": key.replace("__", "."), "value": {"stringValue": str(value)}} for key, value in named.items()]


def exported(
    *points: dict[str, Any], name: str = "aws.neuron.device.power.utilization", unit: str = "1", **resource: Any
) -> dict[str, Any]:
    """An export request as OpenTelemetry's file exporter writes it."""
    metric = {"name": name, "unit": unit, "gauge": {"dataPoints": list(points)}}
    about = {"host__id": "i-1", "host__type": "trn1.2xlarge", "cloud__availability_zone": "us-east-1a", **resource}
    return {"resourceMetrics": [{"resource": {"attributes": attributes(**about)}, "scopeMetrics": [{"metrics": [metric]}]}]}


def point(value: Any, statistic: str | None = "avg", at: int = EPOCH + 5, **more: Any) -> dict[str, Any]:
    stated = {} if statistic is None else {"aws__neuron__power__statistic": statistic}
    return {"timeUnixNano": str(at * 10**9), "asDouble": value, "attributes": attributes(**stated, **more)}


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_a_real_file_with_notes_gives_its_two_minutes_and_counts_the_readings_without_a_time(tmp_path: Path) -> None:
    """Eight idle readings, five of one minute and three of the next: the driver repeats a line until its next roll-up.

    1787754540 s is 2026-08-26 14:29 UTC and ends the first minute; its mean is 1.57 %, which is 0.0157 of full power, and so is
    that of the minute after it. The eleven lines under "DURING" and the loaded 0.86,25.00,18.86 among them have no epoch: 18.86 %
    was measured at an unknown time.
    """
    assert SHARED is not None
    content = (SHARED / "samples/telemetry/neuron_sysfs_power_inf2_xlarge.txt").read_bytes()
    result = read(tmp_path, content, "host=i-1/power.txt")
    first = dt.datetime(2026, 8, 26, 14, 29)
    assert int(first.replace(tzinfo=dt.UTC).timestamp()) == 1787754540
    assert [
        (row["device_index"], row["sample_start"], row["sample_end"], row["power_ratio"], row["power_w"])
        for row in rows_of(result)
    ] == [(0, first - MINUTE, first, 0.0157, None), (0, first, first + MINUTE, 0.0157, None)]
    assert {(row["host_id"], row["boundary"], row["meter"], row["evidence"], row["is_sampled"]) for row in rows_of(result)} == {
        ("i-1", "chip", "neuron_sysfs", "power", False)
    }
    assert reasons(result) == {"missing_time": "11 left out"}


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        (f"POWER_STATUS_VALID,{EPOCH},0.32,3.04,1.57", 0.0157),  # idle
        (f"POWER_STATUS_VALID,{EPOCH},0.86,25.00,18.86", 0.1886),  # loaded
        (f"POWER_STATUS_VALID,{EPOCH},0.00,0.00,0.00", 0.0),  # zero is a reading
        (f"POWER_STATUS_VALID,{EPOCH},0.00,100.00,100.00", 1.0),
        (f"POWER_STATUS_NO_DATA,{EPOCH},0.00,0.00,0.00", None),  # these zeros are none
        (f"POWER_STATUS_INVALID,{EPOCH},0.00,0.00,0.00", None),
        (f"POWER_STATUS_MAX,{EPOCH},1.00,2.00,1.50", None),
        (f"POWER_STATUS_SOMETHING_NEW,{EPOCH},1.00,2.00,1.50", None),
        ("POWER_STATUS_NO_DATA,0,0.00,0.00,0.00", None),  # before the first roll-up: the minute in which it was read
    ],
)
def test_a_line_is_the_mean_share_of_the_minute_that_ends_at_its_epoch(tmp_path: Path, text: str, ratio: float | None) -> None:
    (row,) = rows_of(read(tmp_path, lines(recorded(text, run="run-a"))))
    assert (row["power_ratio"], row["sample_start"], row["sample_end"]) == (ratio, MIDNIGHT - MINUTE, MIDNIGHT)
    assert (row["device_index"], row["run_key"], row["accelerator_type"]) == (3, "run-a", "trn1.32xlarge")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"POWER_STATUS_VALID,{EPOCH},3.04,0.32,1.57", "bad_text"),  # min above max
        (f"POWER_STATUS_VALID,{EPOCH},0.32,3.04", "bad_text"),
        (f"POWER_STATUS_VALID,{EPOCH},0.00,101.00,50.00", "wrong_power"),
        (f"POWER_STATUS_VALID,{EPOCH},-1.00,3.00,1.00", "wrong_power"),
        ("POWER_STATUS_VALID,7,0.32,3.04,1.57", "bad_time"),
        ("cat: utilization: No such file or directory", "bad_text"),
        ("", "bad_text"),
    ],
)
def test_a_line_that_cannot_be_true_is_left_out_by_name(tmp_path: Path, text: str, reason: str) -> None:
    result = read(tmp_path, lines(recorded(text)))
    assert (result.rows, list(reasons(result))) == (0, [reason])


def test_a_line_that_froze_counts_once_and_not_for_later_minutes(tmp_path: Path) -> None:
    text = f"POWER_STATUS_VALID,{EPOCH},0.86,25.00,18.86"
    hour = [recorded(text, collected_at=f"2026-04-01T00:{minute:02}:30Z") for minute in range(60)]
    (row,) = rows_of(read(tmp_path, lines(*hour)))
    assert (row["sample_start"], row["sample_end"]) == (MIDNIGHT - MINUTE, MIDNIGHT)


@pytest.mark.parametrize("path", [NODE.format(11), "/sys/class/neuron_device/neuron11/power/stats/utilization", "neuron11"])
def test_the_device_is_read_off_the_path_in_either_tree(tmp_path: Path, path: str) -> None:
    (row,) = rows_of(read(tmp_path, lines(recorded(f"POWER_STATUS_VALID,{EPOCH},0.32,3.04,1.57", path=path))))
    assert row["device_index"] == 11


def test_dumps_name_the_device_before_the_line_above_it_or_in_the_key(tmp_path: Path) -> None:
    line = f"POWER_STATUS_VALID,{EPOCH},0.32,3.04,1.57"
    text = f"{NODE.format(2)}:{line}\n==> {NODE.format(12)} <==\n2026-04-01T00:00:09Z {line}\n"
    assert [row["device_index"] for row in rows_of(read(tmp_path, text, "host=i-1/a.txt", "heads"))] == [2, 12]
    (row,) = rows_of(read(tmp_path, line, "run=a/neuron7.log", "key"))
    assert (row["device_index"], row["host_id"], row["run_key"]) == (7, None, "a")
    assert reasons(read(tmp_path, line, "host=i-1/power.txt", "none")) == {"missing_device": "1 left out"}
    assert reasons(read(tmp_path, line, "neuron7.txt", "unowned")) == {"missing_host": "1 left out"}


def test_a_live_reading_is_a_point_and_takes_the_greater_die(tmp_path: Path) -> None:
    path = NODE.format(0) + "_raw"
    rows = rows_of(
        read(tmp_path, lines(recorded("12.50,31.25", path=path), recorded(f"POWER_STATUS_VALID,{EPOCH},4.00", path=path)))
    )
    assert [(row["power_ratio"], row["sample_start"], row["sample_end"]) for row in rows] == [
        (0.3125, None, dt.datetime(2026, 4, 1, 0, 0, 5)),
        (0.04, None, MIDNIGHT),
    ]
    assert reasons(read(tmp_path, lines(recorded("1,2,3", path=path)), place="form")) == {"bad_text": "1 left out"}


def test_opentelemetry_is_a_fraction_and_its_mean_is_of_the_minute_before(tmp_path: Path) -> None:
    """2.00 % is 0.02 as the receiver writes it; min 0.015 and max 0.035 stand beside it and are not the mean."""
    document = exported(point(0.015, "min"), point(0.035, "max"), point(0.02))
    (row,) = rows_of(read(tmp_path, document, "otel.json"))
    assert (row["power_ratio"], row["sample_start"], row["sample_end"]) == (0.02, MIDNIGHT - MINUTE, MIDNIGHT)
    assert (row["host_id"], row["accelerator_type"], row["region_id"], row["meter"]) == (
        "i-1",
        "trn1.2xlarge",
        "us-east-1",
        "neuron_otel",
    )


@pytest.mark.parametrize(
    ("value", "unit", "ratio"),
    [(0.1886, "1", 0.1886), (18.86, "%", 0.1886), (0, "1", 0.0), (1.0, "", 1.0), ("NaN", "1", None), (None, "1", None)],
)
def test_the_unit_decides_the_scale_and_no_number_is_unknown(tmp_path: Path, value: Any, unit: str, ratio: float | None) -> None:
    (row,) = rows_of(read(tmp_path, exported(point(value), unit=unit), "otel.json"))
    assert row["power_ratio"] == ratio


def test_a_fraction_above_one_has_another_scale(tmp_path: Path) -> None:
    """A collector that multiplies by 100 without a new name is found out above 1 %, and no such figure counts."""
    result = read(tmp_path, exported(point(18.86), point(0.2, at=EPOCH + 65)), "otel.json")
    assert ([row["power_ratio"] for row in rows_of(result)], reasons(result)) == ([0.2], {"wrong_power": "1 left out"})


def test_points_of_one_minute_count_once(tmp_path: Path) -> None:
    document = exported(*(point(0.25, at=EPOCH + second) for second in (10, 20, 30, 40, 50)))
    (row,) = rows_of(read(tmp_path, document, "otel.json"))
    assert row["sample_end"] == MIDNIGHT


def test_devices_that_the_receiver_does_not_name_are_known_by_the_order_of_the_drivers_folders(tmp_path: Path) -> None:
    """The receiver walks neuron0, neuron1, neuron10, neuron11, neuron2, ... and writes no device beside the value."""
    folders = sorted(range(12), key=str)
    points = [one for number in folders for one in (point(0.9, "max"), point(number / 100))]
    rows = rows_of(read(tmp_path, exported(*points, host__type="trn1.32xlarge"), "otel.json"))
    assert {row["device_index"]: row["power_ratio"] for row in rows} == {number: number / 100 for number in range(12)}
    lone = read(tmp_path, exported(point(0.5), host__type="trn1.32xlarge"), "otel.json", "lone")
    assert (lone.rows, reasons(lone)) == (0, {"missing_device": "1 left out"})
    (named,) = rows_of(read(tmp_path, exported(point(0.5, hw__id="4"), host__type="trn1.32xlarge"), "otel.json", "named"))
    assert named["device_index"] == 4


@pytest.mark.parametrize(
    ("line", "ratio", "meter"),
    [
        ('aws_neuron_device_power_utilization_ratio{aws_neuron_power_statistic="avg",hw_id="1"} 0.02', 0.02, "neuron_otel"),
        ('aws_neuron_device_power_utilization_percent{aws_neuron_power_statistic="avg",hw_id="1"} 2', 0.02, "neuron_otel"),
        ('neuron_device_power_utilization_avg{neuron_device="1"} 2', 0.02, "neuron_observer"),
        ('neuron_device_power_utilization_avg_ratio{neuron_device="1"} 0.02', 0.02, "neuron_observer"),
        ('neuron_core_power_utilization_avg{neuron_device="1"} 2', 0.02, "neuron_observer"),
        # percents of cores added up are no share of their device
        ('neuron_device_power_utilization_sum{neuron_device="1"} 80', None, "neuron_observer"),
        ('neuron_core_power_utilization{neuron_device="1"} 80', None, "neuron_observer"),
    ],
)
def test_prometheus_text_has_the_same_series_under_its_own_names(
    tmp_path: Path, line: str, ratio: float | None, meter: str
) -> None:
    text = f"# TYPE x gauge\n{line} {(EPOCH + 5) * 1000}\n"
    (row,) = rows_of(read(tmp_path, text, "host=i-1/a.prom"))
    assert (row["device_index"], row["power_ratio"], row["meter"], row["host_id"]) == (1, ratio, meter, "i-1")
    assert (row["sample_start"] is None) == (meter == "neuron_observer")


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_a_real_scrape_of_neuron_monitors_exporter_gives_the_use_of_its_device(tmp_path: Path) -> None:
    """One Inferentia of four cores, each listed by four runtimes. Core 0: 1.6491081503838823e-12 + 0.003054895299654302, core 1:
    0.0031171891334815026, cores 2 and 3: 0. Together 0.0061720844347849..., of which a quarter is 0.001543021109. No watts.
    """
    assert SHARED is not None
    content = (SHARED / "samples/telemetry/neuron_monitor_prometheus_inf1_excerpt.prom").read_bytes()
    result = read(tmp_path, content, "2026-04-01T00:00:00Z.prom")
    (row,) = rows_of(result)
    assert round((1.6491081503838823e-12 + 0.003054895299654302 + 0.0031171891334815026) / 4, 12) == 0.001543021109
    assert (row["device_index"], row["utilisation_ratio"], row["power_ratio"], row["power_w"]) == (0, 0.001543021109, None, None)
    assert (row["host_id"], row["accelerator_type"], row["region_id"]) == ("i-022af70542e30e040", "inf1.xlarge", "eu-north-1")
    assert (row["sample_start"], row["sample_end"], row["evidence"], row["meter"]) == (
        None,
        MIDNIGHT,
        "measured",
        "neuron_exporter",
    )
    assert not result.refusals


HARDWARE = 'neuron_hardware_info{instance_id="i-1",neuron_device_count="2",neuroncore_per_device_count="2"} 1\n'


@pytest.mark.parametrize(
    ("cores", "uses"),
    [
        ("", [(0.0, "presence", True), (0.0, "presence", True)]),  # no runtime at all
        ('{neuroncore="3",runtime_tag="a"} 0.5', [(0.0, "measured", False), (0.25, "measured", False)]),
        ('{neuroncore="0",runtime_tag="a"} NaN', [(None, "measured", False), (0.0, "measured", False)]),
    ],
)
def test_a_scrape_without_any_runtime_is_idle_and_a_core_without_a_number_unknown(
    tmp_path: Path, cores: str, uses: list[tuple[float | None, str, bool]]
) -> None:
    text = HARDWARE + (f"neuroncore_utilization_ratio{cores}\n".replace("{", '{instance_id="i-1",') if cores else "")
    rows = rows_of(read(tmp_path, text, "2026-04-01T00:00:00Z.prom"))
    assert [(row["utilisation_ratio"], row["evidence"], row["is_idle_by_absence"]) for row in rows] == uses


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HARDWARE + 'neuroncore_utilization_ratio{instance_id="i-1",neuroncore="4"} 0.5\n', "core_out_of_range"),
        (HARDWARE + 'neuroncore_utilization_ratio{instance_id="i-1",neuroncore="0"} 50\n', "wrong_power"),  # as CloudWatch has it
        ('neuroncore_utilization_ratio{instance_id="i-1",neuroncore="0"} 0.5\n', "missing_hardware"),
    ],
)
def test_a_scrape_that_cannot_be_true_is_left_out_by_name(tmp_path: Path, text: str, reason: str) -> None:
    result = read(tmp_path, text, "2026-04-01T00:00:00Z.prom")
    assert reasons(result) == {reason: "1 left out"}
    assert not any(row["is_idle_by_absence"] for row in rows_of(result))


@pytest.mark.parametrize(("how", "use"), [(".avg", 0.4), ("", 0.4), (".sum", None)])
def test_observers_use_is_a_mean_and_a_sum_of_percents_is_none(tmp_path: Path, how: str, use: float | None) -> None:
    name = f"neuron.device.utilization{how}"
    (row,) = rows_of(read(tmp_path, exported(point(40.0, None, hw__id="0"), name=name, unit="%"), "observer.json"))
    assert (row["utilisation_ratio"], row["power_ratio"], row["evidence"]) == (use, None, "measured")


def test_statistics_and_metrics_of_other_things_are_passed_over(tmp_path: Path) -> None:
    text = """system_vcpu_usage_ratio{usage_type="user"} 0.5
aws_neuron_device_power_utilization_ratio{aws_neuron_power_statistic="max",hw_id="1"} 0.9
neuron_device_power_utilization_max{neuron_device="1"} 90
neuron_core_utilization_max{neuron_device="1"} 90
"""
    result = read(tmp_path, text, "host=i-1/2026-04-01T00:00:05Z.prom")
    names = "system_vcpu_usage_ratio, aws_neuron_device_power_utilization_ratio, neuron_device_power_utilization_max"
    assert (result.rows, reasons(result)) == (0, {"no_known_metric": names})


def test_observer_in_otlp_has_its_strategy_in_the_name(tmp_path: Path) -> None:
    documents = [
        exported(point(12.0, None, hw__id="0"), name=f"neuron.device.power_utilization.{how}", unit="%") for how in ("avg", "max")
    ]
    (row,) = rows_of(read(tmp_path, lines(*documents), "observer.jsonl"))
    assert (row["power_ratio"], row["sample_start"], row["meter"]) == (0.12, None, "neuron_observer")


FIGURES = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 3), st.sampled_from(["VALID", "NO_DATA"]), st.integers(0, 10_000)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(figures=FIGURES, draw=st.randoms(use_true_random=False))
def test_duplicated_permuted_and_rechunked_lines_give_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, figures: list[tuple[int, int, str, int]], draw: Any
) -> None:
    tmp_path = tmp_path_factory.mktemp("power")
    documents = [
        recorded(f"POWER_STATUS_{status},{EPOCH + 60 * minute},0.00,100.00,{share // 100}.{share % 100:02}", device=device)
        for device, minute, status, share in figures
    ]
    whole = observed(read(tmp_path, lines(*documents), place="whole"))
    shuffled = documents * 2
    draw.shuffle(shuffled)
    cut = draw.randrange(len(shuffled) + 1)
    chunks = [read(tmp_path, lines(*part), place=f"chunk{n}") for n, part in enumerate((shuffled[:cut], shuffled[cut:])) if part]
    assert set().union(*map(observed, chunks)) == whole


def observed(result: Converted) -> set[tuple[Any, ...]]:
    return {tuple(value for name, value in row.items() if name != "line_number") for row in rows_of(result)}


@pytest.mark.parametrize(
    "key", ["host=i-1/a.txt", "host=i-1/a.prom", "host=i-1/a.jsonl", "host=i-1/a.json", "host=i-1/a.json.gz"]
)
def test_hostile_bytes_are_left_out_and_the_readings_beside_them_stay(tmp_path: Path, key: str) -> None:
    good = lines(recorded(f"POWER_STATUS_VALID,{EPOCH},0.32,3.04,1.57")).encode()
    if key.endswith((".txt", ".prom")):
        good = f"{NODE.format(0)}:POWER_STATUS_VALID,{EPOCH},0.32,3.04,1.57\n".encode()
    nines = b"9" * 400
    bad = b"".join(
        [
            b"\xff\xfe\x00 POWER_STATUS_VALID,\n",
            b'{"text": 5}\n[1]\n{}\n' + b"[" * 100_000 + b"\n",
            b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"aws.neuron.device.power.utilization","gauge":{"dataPoints":'
            b'[{"timeUnixNano":"' + nines + b'","asDouble":1}]}}]}]}]}\n',
            b"POWER_STATUS_VALID," + nines + b",1,1,1\nPOWER_STATUS_VALID,1775001600,1e999,2,3\n",
            b'{"device":-5,"host":{"resource_id":"i-1"},"text":"POWER_STATUS_VALID,1775001600,1.0,1.0,1.0"}\n',
        ]
    )
    content = bad + good
    result = read(tmp_path, gzip.compress(content) if key.endswith(".gz") else content, key)
    assert [row["power_ratio"] for row in rows_of(result)] == [0.0157]
    assert result.refusals
