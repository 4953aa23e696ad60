"""GPUs by DCGM, nvidia-smi and NVML: units, scales, missing, error and zero differ, and copies count once."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.deliveries import Converted
from tests.connectors.kit import converted, rows_of, write_bytes

KIND = "gpu_monitoring"
SCRAPE = "run=a/2026-04-01T00:00:30Z.prom"
AT = dt.datetime(2026, 4, 1, 0, 0, 30)
HEADER = "timestamp, index, uuid, name, power.draw [W], utilization.gpu [%], driver_version"
NAME = "NVIDIA H100 80GB HBM3"

# one GPU of a p5.48xlarge as the exporter prints it; figures in the spelling of a scrape that a public repository shows
LABELS = (
    'gpu="6",UUID="GPU-d0f25a6f",pci_bus_id="00000000:B9:00.0",device="nvidia6",modelName="NVIDIA H100 80GB HBM3",'
    'Hostname="ip-10-0-180-136.ec2.internal",DCGM_FI_DRIVER_VERSION="580.105.08"'
)


def read(tmp_path: Path, content: str | bytes, key: str = SCRAPE, place: str = "gpu") -> Converted:
    write_bytes(tmp_path / place / key, content if isinstance(content, bytes) else content.encode())
    return converted(KIND, tmp_path / place, tmp_path / f"landing-{place}")


def reasons(result: Converted) -> dict[str, str | None]:
    return {remark.reason: remark.value for remark in result.refusals}


def nvml(*gpus: dict[str, Any], at: str = "2026-04-01T00:00:30Z", **more: Any) -> str:
    host = {"resource_id": "i-1", "instance_type": "p5.48xlarge"}
    return json.dumps({"collected_at": at, "host": host, "run": "run-a", "gpus": list(gpus), **more}) + "\n"


def gpu(index: int = 0, **more: Any) -> dict[str, Any]:
    figures = {"power_w": 412.5, "energy_mj": 1_000_000, "utilization_percent": 97}
    return {"index": index, "uuid": f"GPU-{index}", "name": NAME, **figures, **more}


def dcgm_export(values: dict[str, float], at: int = 1775001630, is_sum: bool = False, **labels: str) -> dict[str, Any]:
    """An export request as OpenTelemetry's file exporter writes it; of the resource the host alone."""
    attributes = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in labels.items()]
    points = {
        name: [{"timeUnixNano": str(at * 10**9), "asDouble": value, "attributes": attributes}] for name, value in values.items()
    }
    form = "sum" if is_sum else "gauge"
    metrics = [{"name": name, form: {"dataPoints": found, "aggregationTemporality": 2}} for name, found in points.items()]
    host = {"attributes": [{"key": "host.id", "value": {"stringValue": "i-1"}}]}
    return {"resourceMetrics": [{"resource": host, "scopeMetrics": [{"metrics": metrics}]}]}


def test_the_lines_of_a_scrape_are_one_reading_per_gpu(tmp_path: Path) -> None:
    """112.67 W stay watts, 40 % become 0.4, 15347724978 mJ stay a counter."""
    text = f"""# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{{{LABELS},container="c",namespace="n",pod="p",pod_uid=""}} 112.670000
DCGM_FI_DEV_GPU_TEMP{{{LABELS}}} 37
DCGM_FI_DEV_GPU_UTIL{{{LABELS}}} 40
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{LABELS}}} 15347724978
DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{LABELS}}} 0.401
DCGM_FI_PROF_SM_ACTIVE{{{LABELS}}} 0.2
"""
    (row,) = rows_of(read(tmp_path, text))
    assert (row["power_w"], row["utilisation_ratio"], row["energy_mj"]) == (112.67, 0.401, 15347724978)
    assert (row["host_id"], row["device_index"], row["device_uuid"]) == ("ip-10-0-180-136.ec2.internal", 6, "GPU-d0f25a6f")
    assert (row["run_key"], row["sample_start"], row["sample_end"]) == ("a", None, AT)
    assert (row["boundary"], row["meter"], row["evidence"], row["is_sampled"]) == ("chip", "dcgm", "measured", False)


def test_the_machine_in_the_key_comes_before_the_name_that_the_exporter_gives_itself(tmp_path: Path) -> None:
    text = f"DCGM_FI_DEV_POWER_USAGE{{{LABELS}}} 70 1775001630000\n"
    (row,) = rows_of(read(tmp_path, text, "host=i-0abc/dcgm.prom"))
    assert (row["host_id"], row["sample_end"], row["evidence"]) == ("i-0abc", AT, "power")
    (known,) = rows_of(read(tmp_path, text.replace("{", '{instance_id="i-9",', 1), "host=i-0abc/dcgm.prom", "sure"))
    assert known["host_id"] == "i-9"


@pytest.mark.parametrize(
    ("metric", "value", "figures"),
    [
        ("DCGM_FI_DEV_POWER_USAGE", "0", (0.0, None, None)),  # zero is a reading
        ("DCGM_FI_DEV_POWER_USAGE", "NaN", (None, None, None)),
        ("DCGM_FI_DEV_POWER_USAGE", "+Inf", (None, None, None)),
        ("DCGM_FI_DEV_POWER_USAGE", "140737488355328", (None, None, None)),  # DCGM's blank of a double
        ("DCGM_FI_DEV_GPU_UTIL", "2147483632", (None, None, None)),  # of 32 bits
        ("DCGM_FI_DEV_GPU_UTIL", "100", (None, 1.0, None)),
        ("DCGM_FI_DEV_GPU_UTIL", "1", (None, 0.01, None)),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "1", (None, 1.0, None)),
        ("DCGM_FI_PROF_SM_ACTIVE", "0.25", (None, 0.25, None)),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9223372036854775794", (None, None, None)),  # of 64 bits
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "9937726316", (None, None, 9937726316)),
        ("dcgm_power_usage", "67.5", (67.5, None, None)),
        ("DCGM_FI_DEV_BOARD_POWER_WATTS", "67.5", (67.5, None, None)),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total", "7", (None, None, 7)),
    ],
)
def test_each_metric_has_its_scale_and_its_mark_for_no_value(
    tmp_path: Path, metric: str, value: str, figures: tuple[float | None, ...]
) -> None:
    (row,) = rows_of(read(tmp_path, f'{metric}{{gpu="0",UUID="GPU-a"}} {value}\n', f"host=i-1/{SCRAPE}"))
    assert (row["power_w"], row["utilisation_ratio"], row["energy_mj"]) == figures


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('DCGM_FI_DEV_POWER_USAGE{gpu="0"} -5', "wrong_power"),
        ('DCGM_FI_DEV_POWER_USAGE{gpu="0"} 2e8', "wrong_power"),
        ('DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0"} 40', "wrong_power"),  # a percentage under the name of a fraction
        ('DCGM_FI_DEV_GPU_UTIL{gpu="0"} -1', "negative_utilisation"),
        ('DCGM_FI_DEV_POWER_USAGE{UUID="GPU-a"} 5', "missing_device"),
        ("DCGM_FI_DEV_POWER_USAGE{gpu=0} 5", "bad_text"),
        ('DCGM_FI_DEV_POWER_USAGE{gpu="0"} 5 17', "bad_time"),
    ],
)
def test_a_line_that_cannot_be_used_is_left_out_by_name(tmp_path: Path, line: str, reason: str) -> None:
    result = read(tmp_path, f"{line}\n", f"host=i-1/{SCRAPE}")
    assert reasons(result) == {reason: "1 left out"}
    assert all(row["power_w"] is None and row["utilisation_ratio"] is None for row in rows_of(result))


def test_a_scrape_without_a_time_needs_one_in_its_name(tmp_path: Path) -> None:
    assert reasons(read(tmp_path, 'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 5\n', "host=i-1/dcgm.prom")) == {"missing_time": "1 left out"}


def test_scrapes_without_times_in_one_file_are_kept_apart(tmp_path: Path) -> None:
    """Appended to one file they would all be of one instant: the name of the file dates the first."""
    scrapes = "".join(f'DCGM_FI_DEV_POWER_USAGE{{gpu="0"}} {watts}\n' for watts in (300, 300, 700, 500))
    result = read(tmp_path, scrapes, f"host=i-1/{SCRAPE}")
    assert ([row["power_w"] for row in rows_of(result)], reasons(result)) == ([300.0], {"missing_time": "2 left out"})


def test_mig_instances_repeat_the_watts_of_their_gpu_and_have_no_use_of_it(tmp_path: Path) -> None:
    """Three instances of an A800 each print the same 78.174 W: that is 78.174 W, not 234.522."""
    text = "".join(
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="GPU-a",GPU_I_PROFILE="2g.20gb",GPU_I_ID="{part}"}} 78.174000\n'
        f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="0",UUID="GPU-a",GPU_I_PROFILE="2g.20gb",GPU_I_ID="{part}"}} 0.9\n'
        for part in (3, 5, 6)
    )
    result = read(tmp_path, text, f"host=i-1/{SCRAPE}")
    (row,) = rows_of(result)
    assert (row["power_w"], row["utilisation_ratio"], row["evidence"]) == (78.174, None, "power")
    assert reasons(result) == {"mig_instance": "3 left out"}


def test_two_scrapes_of_one_instant_are_one_reading_and_the_greater_figure_counts(tmp_path: Path) -> None:
    text = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",pod="old"} 300\nDCGM_FI_DEV_POWER_USAGE{gpu="0",pod="new"} 310\n'
    (row,) = rows_of(read(tmp_path, text * 2, f"host=i-1/{SCRAPE}"))
    assert row["power_w"] == 310.0


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"{HEADER}\n2026/04/01 00:00:30.000, 3, GPU-3, {NAME}, 67.69 W, 40 %, 580.105.08\n", "host=i-1/smi.csv"),
        (f"{HEADER}\n2026/04/01 00:00:30.000, 3, GPU-3, {NAME}, 67.69, 40, 580.105.08\n", "host=i-1/smi.csv"),  # nounits
        (f"2026/04/01 00:00:30.000, 3, GPU-3, {NAME}, 67.69 W, 40 %, 580.105.08\n", "host=i-1/smi.csv"),  # noheader
        ("67.69, 40, 3, GPU-3, 2026/04/01 00:00:30.000\n",
         "host=i-1/query=power.draw,utilization.gpu,index,uuid,timestamp/smi.csv"),
        ("timestamp, power.draw.instant [W], index, power.draw.average [W], utilization.gpu [%], uuid\n"
         "2026/04/01 02:00:30.000, 90.00 W, 3, 67.69 W, 40 %, GPU-3\n", "host=i-1/timezone=+02:00/smi.csv"),
        ("timestamp, power.draw [W], utilization.gpu [%], uuid\n2026/04/01 00:00:30.000, 67.69 W, 40 %, GPU-3\n",
         "host=i-1/device=3/smi.csv"),
        (f"{HEADER}\n2026/03/31 20:00:30.000, 3, GPU-3, {NAME}, 67.69 W, 40 %, x\n",
         "host=i-1/timezone=America%2FNew_York/smi.csv"),
    ],
)  # fmt: skip
def test_nvidia_smi_is_read_by_the_names_of_its_fields_in_the_zone_of_its_key(tmp_path: Path, text: str, key: str) -> None:
    (row,) = rows_of(read(tmp_path, text, key))
    assert (row["power_w"], row["utilisation_ratio"], row["sample_end"], row["device_index"]) == (67.69, 0.4, AT, 3)
    assert (row["host_id"], row["device_uuid"], row["meter"], row["evidence"]) == ("i-1", "GPU-3", "nvml", "measured")


def test_the_limit_that_power_is_held_to_is_read_in_each_form(tmp_path: Path) -> None:
    csv = (
        "timestamp, index, power.limit [W], enforced.power.limit [W], power.draw [W]\n"
        "2026/04/01 00:00:30.000, 3, 700.00 W, 400.00 W, [N/A]\n2026/04/01 00:01:30.000, 3, 700.00 W, [N/A], [N/A]\n"
    )
    scrape = f"DCGM_FI_DEV_POWER_MGMT_LIMIT{{{LABELS}}} 400\nDCGM_FI_DEV_GPU_UTIL{{{LABELS}}} 50\n"
    found = {
        "csv": read(tmp_path, csv, "host=i-1/smi.csv", "csv"),
        "dcgm": read(tmp_path, scrape, place="dcgm"),
        "nvml": read(tmp_path, nvml(gpu(power_limit_w=400.0), gpu(1, power_limit_w=0)), "nvml.jsonl", "nvml"),
        "otlp": read(tmp_path, json.dumps(dcgm_export({"DCGM_FI_DEV_ENFORCED_POWER_LIMIT": 400}, gpu="0")), "dcgm.jsonl", "otlp"),
    }
    limits = {form: [row.get("power_limit_mw") for row in rows_of(result)] for form, result in found.items()}
    assert limits == {"csv": [400_000, 700_000], "dcgm": [400_000], "nvml": [400_000, None], "otlp": [400_000]}


@pytest.mark.parametrize("unknown", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[GPU requires reset]", "ERR!", ""])
def test_what_nvidia_smi_does_not_know_is_unknown_and_not_zero(tmp_path: Path, unknown: str) -> None:
    lines = (
        f"2026/04/01 00:00:30.000, 0, GPU-0, x, {unknown}, 40 %, y\n2026/04/01 00:00:31.000, 0, GPU-0, x, 0.00 W, {unknown}, y\n"
    )
    text = f"{HEADER}\n{lines}"
    rows = rows_of(read(tmp_path, text, "host=i-1/smi.csv"))
    assert [(row["power_w"], row["utilisation_ratio"], row["evidence"]) for row in rows] == [
        (None, 0.4, "measured"),
        (0.0, None, "power"),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2026/04/01 00:00:30.000, 0, GPU-0, x, 67 mW, 40 %, y", "wrong_type"),
        ("2026/04/01 00:00:30.000, 0, GPU-0, x, 67 W, 400 %, y", "wrong_power"),
        ("2026/04/01 00:00:30.000, GPU-0, x, 67 W, 40 %", "bad_text"),
        ("2026/04/01 00:00:30.000, [N/A], GPU-0, x, 67 W, 40 %, y", "missing_device"),
        ("2026/13/01 00:00:30.000, 0, GPU-0, x, 67 W, 40 %, y", "bad_time"),
        ("Unable to determine the device handle for GPU0000:02:00.0: Unknown Error", "bad_text"),
    ],
)
def test_a_line_of_nvidia_smi_that_is_none_is_left_out_by_name(tmp_path: Path, line: str, reason: str) -> None:
    result = read(tmp_path, f"{HEADER}\n{line}\n", "host=i-1/smi.csv")
    assert (result.rows, reasons(result)) == (0, {reason: "1 left out"})


def test_fields_without_names_that_are_not_ours_are_not_guessed(tmp_path: Path) -> None:
    """The third field of our query is an id; here it is watts and the fifth a temperature."""
    result = read(tmp_path, "2026/04/01 00:00:30.000, 0, 300.00, 97, 61, 4096, 1980\n", "host=i-1/smi.csv")
    assert (result.rows, reasons(result)) == (0, {"bad_text": "1 left out"})


def test_a_zone_that_is_none_and_a_file_without_an_owner_are_refused(tmp_path: Path) -> None:
    text = f"{HEADER}\n2026/04/01 00:00:30.000, 0, GPU-0, x, 67 W, 40 %, y\n"
    assert list(reasons(read(tmp_path, text, "host=i-1/timezone=Middle%2FEarth/smi.csv", "zone"))) == ["bad_time"]
    assert list(reasons(read(tmp_path, text, "smi.csv", "unowned"))) == ["missing_host"]


def test_a_recorders_line_is_a_reading_per_gpu(tmp_path: Path) -> None:
    text = nvml(
        gpu(0),
        gpu(1, power_w=None, energy_mj=None, utilization_percent=None),
        gpu(2, utilization_percent=None),
        gpu(3, power_w=0),
    )
    rows = rows_of(read(tmp_path, text, "nvml.jsonl"))
    assert [
        (row["device_index"], row["power_w"], row["utilisation_ratio"], row["energy_mj"], row["evidence"]) for row in rows
    ] == [
        (0, 412.5, 0.97, 1_000_000, "measured"),
        (1, None, None, None, "power"),
        (2, 412.5, None, 1_000_000, "power"),
        (3, 0.0, 0.97, 1_000_000, "measured"),
    ]
    assert {(row["host_id"], row["run_key"], row["accelerator_type"], row["meter"]) for row in rows} == {
        ("i-1", "run-a", "p5.48xlarge", "nvml")
    }
    broken = read(tmp_path, nvml(gpu(0, power_w=-1), gpu(-1)) + nvml(gpu(2), at="never"), "nvml.jsonl", "broken")
    assert (broken.rows, set(reasons(broken))) == (0, {"wrong_power", "missing_device", "bad_time"})


def test_an_export_request_has_the_exporters_names_or_those_of_the_receiver(tmp_path: Path) -> None:
    """412.5 W, 97 % and 15347724978 mJ; by the receiver 15347724.978 J, which are the same millijoules."""
    scraped = dcgm_export(
        {"DCGM_FI_DEV_POWER_USAGE": 412.5, "DCGM_FI_DEV_GPU_UTIL": 97, "DCGM_FI_DEV_FB_USED": 5}, gpu="3", UUID="GPU-a"
    )
    counter = dcgm_export({"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 15347724978}, is_sum=True, gpu="3", UUID="GPU-a")
    scraped["resourceMetrics"] += counter["resourceMetrics"]
    received = dcgm_export({"gpu.dcgm.utilization": 0.97}, gpu__number="3", gpu__uuid="GPU-a")
    joules = dcgm_export({"gpu.dcgm.energy_consumption": 15347724.978}, is_sum=True, gpu__number="3", gpu__uuid="GPU-a")
    received["resourceMetrics"] += joules["resourceMetrics"]
    result = read(tmp_path, f"{json.dumps(scraped)}\n{json.dumps(received)}\n", "otlp.jsonl")
    assert [(row["power_w"], row["utilisation_ratio"], row["energy_mj"]) for row in rows_of(result)] == [
        (412.5, 0.97, 15347724978),
        (None, 0.97, 15347724978),
    ]
    assert {
        (row["host_id"], row["device_index"], row["device_uuid"], row["sample_end"], row["meter"]) for row in rows_of(result)
    } == {("i-1", 3, "GPU-a", AT, "dcgm")}
    assert not result.refusals


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"timeUnixNano": "0"}, "missing_time"),
        ({"timeUnixNano": "17000"}, "bad_time"),
        ({"asDouble": -5.0}, "wrong_power"),
        ({"attributes": []}, "missing_device"),
        ({"asDouble": "five"}, "wrong_type"),
    ],
)
def test_a_point_of_an_export_that_cannot_be_used_is_left_out_by_name(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    document = dcgm_export({"DCGM_FI_DEV_POWER_USAGE": 5.0}, gpu="0")
    document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"][0].update(change)
    result = read(tmp_path, json.dumps(document), "otlp.json")
    assert (all(row["power_w"] is None for row in rows_of(result)), reasons(result)) == (True, {reason: "1 left out"})


HISTORY = {
    "metrics": [
        {"key": "system/gpu_3_power_usage_watts", "value": 412.5, "timestamp": 1775001630000, "step": 0, "run_id": "r-1"},
        {"key": "system/n-2/gpu_3_utilization_percentage", "value": 97, "timestamp": "1775001630000", "run_id": "r-1"},
        {"key": "system/gpu_3_memory_usage_percentage", "value": 5, "timestamp": 1775001630000},
    ]
}


def test_a_history_of_mlflow_is_a_reading_per_value(tmp_path: Path) -> None:
    """As metrics/get-history answers; a node's name is in the metric where the job gave its nodes names."""
    result = read(tmp_path, json.dumps(HISTORY), "history.json")
    assert [(row["run_key"], row["host_id"], row["device_index"], row["power_w"], row["utilisation_ratio"], row["sample_end"])
            for row in rows_of(result)] == [("r-1", None, 3, 412.5, None, AT), ("r-1", "n-2", 3, None, 0.97, AT)]  # fmt: skip
    assert not result.refusals


def test_what_came_on_top_is_no_counter(tmp_path: Path) -> None:
    """Ten joules since the export before it would be read as a counter that was reset."""
    document = dcgm_export({"gpu.dcgm.energy_consumption": 10.0}, is_sum=True, gpu__number="0")
    document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"]["aggregationTemporality"] = 1
    assert reasons(read(tmp_path, json.dumps(document), "otlp.json")) == {"delta_counter": "1 left out"}


SCRAPES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 700_000), st.integers(0, 100)), min_size=1, max_size=8
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scrapes=SCRAPES, draw=st.randoms(use_true_random=False))
def test_duplicated_permuted_and_rechunked_scrapes_give_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, scrapes: list[tuple[int, int, int, int]], draw: Any
) -> None:
    tmp_path = tmp_path_factory.mktemp("gpu")
    by_instant = {(index, minute): (watts, use) for index, minute, watts, use in scrapes}
    made = [
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="{index}"}} {watts / 1000} {(1775001600 + 60 * minute) * 1000}\n'
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="{index}"}} {use} {(1775001600 + 60 * minute) * 1000}\n'
        for (index, minute), (watts, use) in by_instant.items()
    ]
    whole = observed(read(tmp_path, "".join(made), "host=i-1/a.prom", "whole"))
    assert len(whole) == len(by_instant)
    shuffled = made * 2
    draw.shuffle(shuffled)
    cut = draw.randrange(len(shuffled) + 1)
    chunks = [
        read(tmp_path, "".join(part), "host=i-1/a.prom", f"c{n}")
        for n, part in enumerate((shuffled[:cut], shuffled[cut:]))
        if part
    ]
    assert set().union(*map(observed, chunks)) == whole


def observed(result: Converted) -> set[tuple[Any, ...]]:
    return {tuple(value for name, value in row.items() if name != "line_number") for row in rows_of(result)}


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("host=i-1/a.prom", 'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 5 1775001630000\n'),
        ("host=i-1/a.csv", "2026/04/01 00:00:30.000, 0, GPU-0, x, 5 W, 40 %, y\n"),
        ("host=i-1/a.jsonl", nvml(gpu(0, power_w=5))),
        ("a.jsonl", json.dumps(dcgm_export({"DCGM_FI_DEV_POWER_USAGE": 5.0}, gpu="0")) + "\n"),
    ],
)
def test_hostile_bytes_are_left_out_and_the_readings_beside_them_stay(tmp_path: Path, key: str, good: str) -> None:
    bad = (
        b'\xff\xfe\x00{}\n[[[[\n{"gpus":5}\nDCGM_FI_DEV_POWER_USAGE{gpu="'
        + b"9" * 5000
        + b'"} 1e999 99999999999999999999\n,,,,,,\n'
    )
    bad += b'{"collected_at":"2026-04-01T00:00:30Z","gpus":[{"index":1e30}]}\n' + b"[" * 100_000 + b"\n"
    result = read(tmp_path, bad + good.encode(), key)
    assert [row["power_w"] for row in rows_of(result)] == [5.0]
    assert result.refusals
