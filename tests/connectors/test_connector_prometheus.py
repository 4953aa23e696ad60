"""Answers of PromQL as readings: which figure of which device a series has, what a gap is, and which answers are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from connectors.errors import ExportContentError
from connectors.power.promql import CATALOGUE, QUESTIONS, counted_of, is_counter, metric_of
from tests.connectors.kit import converted, write_bytes

T0 = 1_775_001_600  # 2026-04-01T00:00:00Z
Values = Iterable[tuple[int, Any]]
HOST = {"instance_id": "i-1"}


def answer(*series: tuple[dict[str, str], Values], **more: Any) -> dict[str, Any]:
    """An answer as Prometheus writes it; a value of n minutes after T0."""
    result = [{"metric": labels, "values": [[T0 + 60 * at, str(value)] for at, value in values]} for labels, values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}


def asked(metric: str, *series: tuple[dict[str, str], Values], **more: Any) -> dict[str, Any]:
    """An answer with its question, as it is landed: ten minutes from T0 on."""
    query = next(question.query for question in QUESTIONS if question.metric == metric)
    start = T0 if is_counter(metric) else T0 + 60
    return {"query": query, "start": start, "end": T0 + 600, "step": 60, "answer": answer(*series, **more)}


def read(folder: Path, *documents: Any, key: str = "a.jsonl") -> list[dict[str, Any]]:
    """The rows of a file of these lines, without what is null or of no matter here."""
    table = pq.read_table(write(folder, *documents, key=key).parts[0].path)
    left_out = {"document_hash", "line_number", "is_sampled", "is_idle_by_absence", "sample_start", "sample_end", "spacing_us"}
    return [
        {name: value for name, value in row.items() if value is not None and name not in left_out}
        | {"minutes": tuple(minute(row[name]) for name in ("sample_start", "sample_end"))}
        for row in table.to_pylist()
    ]


def minute(at: Any) -> float | None:
    return None if at is None else (at.timestamp() - T0) / 60


def write(folder: Path, *documents: Any, key: str = "a.jsonl") -> Any:
    content = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in documents)
    write_bytes(folder / "source" / key, content)
    return converted("prometheus", folder / "source", folder / "landing")


def watts(rows: list[dict[str, Any]]) -> list[Any]:
    return [(row["minutes"], row.get("power_w")) for row in rows]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: f"{one.metric}{' counted' * one.is_of_window}")
def test_each_question_is_read_by_the_rule_of_its_metric(question: Any) -> None:
    if question.is_of_window:
        assert counted_of(question.query.replace("WINDOW", "59999ms")) == question.metric
        return
    assert metric_of(question.query) == question.metric
    assert question.query.startswith("last_over_time" if is_counter(question.metric) else CATALOGUE[question.metric].how)


def test_a_gpus_counter_takes_the_place_of_the_mean_of_its_watts_and_a_gap_is_a_gap(tmp_path: Path) -> None:
    # readings of the moment have 300 W, 18,600 J a minute are 310 W; nothing from minute 3 to 16; the counter restarts at 18
    gpu = HOST | {"gpu": "3", "UUID": "GPU-1", "modelName": "NVIDIA H100"}
    joules = [(0, 0), (1, 18_600), (2, 37_200), (16, 400_000), (17, 418_600), (18, 5)]
    rows = read(
        tmp_path,
        asked("DCGM_FI_DEV_POWER_USAGE", (gpu, [(1, 300), (2, 300), (17, 300), (18, 300)])),
        asked("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", (gpu, [(at, value * 1000) for at, value in joules])),
        asked("DCGM_FI_DEV_GPU_UTIL", (gpu, [(1, 50), (2, "NaN")])),
    )
    assert watts(rows) == [((0, 1), 310.0), ((1, 2), 310.0), ((16, 17), 310.0), ((17, 18), 300.0)]
    assert [row.get("moment_mw") for row in rows] == [300_000, 300_000, 300_000, None]  # what is beside a counter
    assert [row.get("utilisation_ratio") for row in rows] == [0.5, None, None, None]
    assert {(row["host_id"], row["device_index"], row["meter"], row["boundary"]) for row in rows} == {("i-1", 3, "dcgm", "chip")}
    assert [row["evidence"] for row in rows] == ["measured", "power", "power", "power"]


def test_a_mean_of_readings_has_how_far_apart_they_are_by_their_number(tmp_path: Path) -> None:
    """GPU 0 has two minutes and 8 readings, 15 s apart; GPU 1 was not counted: a step. A BMC's own mean has none."""
    gpus = [HOST | {"gpu": str(number)} for number in range(4)]
    power, joules = "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
    counted = {"start": T0 + 600, "step": 600, "query": f"count_over_time({power}[599999ms])"}
    counts = asked(power, (gpus[0], [(10, 8)]), (gpus[2], [(10, 8)]), (gpus[3], [(10, "NaN")])) | counted
    documents = (
        counts,
        asked(power, *((gpu, [(1, 300), (2, 310)]) for gpu in gpus)),
        asked(joules, (gpus[2], [(0, 0), (1, 18_000_000)])),
        asked("redfish_chassis_power_average_consumed_watts", ({"node": "n"}, [(1, 3000)])),
    )
    assert spacings(tmp_path / "a", *documents) == {
        (0, 1): 15, (0, 2): 15, (1, 1): 60, (1, 2): 60, (2, 1): 15, (2, 2): 15, (3, 1): 60, (3, 2): 60, (None, 1): None,
    }  # fmt: skip
    # a reading without a function, or a mean of less than its step, is as far from the next as a step is long
    for query in (power, f"avg_over_time({power}[30s])"):
        saved = asked(power, (gpus[0], [(1, 300)])) | {"query": query}
        assert spacings(tmp_path / query[:3], saved, counts) == {(0, 1): 60}
    # counts of five minutes at each minute have each reading five times
    minutes = counts | {"step": 60, "query": f"count_over_time({power}[5m])"}
    assert [refusal.reason for refusal in write(tmp_path / "b", minutes).refusals] == ["other_query"]


def test_readings_that_are_further_apart_than_steps_are_points(tmp_path: Path) -> None:
    """A PDU is looked at every five minutes; a GPU each minute, and its gap is a gap."""
    metric = "raritan_pdu_activepower_watt"
    outlet = {"instance": "pdu-b", "outletid": "1"}
    rows = read(tmp_path / "a", asked(metric, (outlet, [(2, 1500), (7, 1510), (12, 1490)])))
    assert watts(rows) == [((None, 2), 1500.0), ((None, 7), 1510.0), ((None, 12), 1490.0)]
    gpu = HOST | {"gpu": "0"}
    rows = read(tmp_path / "b", asked("DCGM_FI_DEV_POWER_USAGE", (gpu, [(1, 300), (2, 300), (9, 300), (10, 300)])))
    assert [at for at, _ in watts(rows)] == [(0, 1), (1, 2), (8, 9), (9, 10)]


def spacings(folder: Path, *documents: Any) -> dict[tuple[int | None, float], float | None]:
    """How many seconds lie between readings, by device and the minute that ends a step."""
    rows = pq.read_table(write(folder, *documents).parts[0].path).to_pylist()
    return {
        (row["device_index"], (row["sample_end"].timestamp() - T0) / 60): None if (us := row["spacing_us"]) is None else us / 1e6
        for row in rows
    }


def test_the_limit_of_a_step_is_beside_its_use(tmp_path: Path) -> None:
    gpu = HOST | {"gpu": "0"}
    rows = read(
        tmp_path,
        asked("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", (gpu, [(1, 400), (2, 700)])),
        asked("DCGM_FI_DEV_GPU_UTIL", (gpu, [(1, 50)])),
    )
    assert [(row.get("power_limit_mw"), row.get("utilisation_ratio")) for row in rows] == [(400_000, 0.5), (700_000, None)]


def test_a_counter_is_of_the_time_since_it_moved_and_after_ten_minutes_without_it_stands_still(tmp_path: Path) -> None:
    """GPU 0 is looked at every second minute: 37,200 J are 310 W in both. GPU 1's counter is stuck."""
    joules = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
    moved = (HOST | {"gpu": "0"}, [(at, at // 2 * 37_200_000) for at in range(5)])
    rows = read(tmp_path, asked(joules, moved, (HOST | {"gpu": "1"}, [(at, 7) for at in range(11)])))
    assert [row["power_w"] for row in rows] == [310.0] * 4 + [0.0] * 10


def test_the_instances_of_a_gpu_repeat_its_watts_and_a_mark_for_no_value_is_none(tmp_path: Path) -> None:
    halves = [(HOST | {"gpu": "0", "GPU_I_ID": number}, [(1, 300), (2, 2147483632 / 4)]) for number in ("1", "2")]
    rows = read(tmp_path, asked("DCGM_FI_DEV_POWER_USAGE", *halves))
    assert watts(rows) == [((0, 1), 300.0), ((1, 2), None)]


def test_cores_become_devices_and_a_machine_that_lists_none_is_idle(tmp_path: Path) -> None:
    # two devices of two cores; two processes use 0.7 and 0.6 of core 1, which are full; core 2 is unknown at 2; nothing runs at 3
    hardware = HOST | {"neuron_device_count": "2", "neuroncore_per_device_count": "2", "instance_type": "trn1.32xlarge"}
    core = HOST | {"instance_type": "trn1.32xlarge"}
    uses = [("0", "a", [(1, 0.5)]), ("1", "a", [(1, 0.7)]), ("1", "b", [(1, 0.6)]), ("2", "a", [(1, 0.2), (2, "NaN")])]
    rows = read(
        tmp_path,
        asked("neuron_hardware_info", (hardware, [(1, 1), (2, 1), (3, 1)])),
        asked("neuroncore_utilization_ratio", *((core | {"neuroncore": n, "runtime_tag": tag}, of) for n, tag, of in uses)),
    )
    found = {(row["device_index"], row["minutes"][1]): (row.get("utilisation_ratio"), row["evidence"]) for row in rows}
    assert found == {
        (0, 1): (0.75, "measured"),
        (1, 1): (0.1, "measured"),
        (0, 2): (0.0, "measured"),
        (1, 2): (None, "power"),
        (0, 3): (0.0, "presence"),
        (1, 3): (0.0, "presence"),
    }


def test_opentelemetrys_copy_has_per_cent_and_names_the_pods_run(tmp_path: Path) -> None:
    hardware = {"neuron_device_count": "1", "neuroncore_per_device_count": "2", "@resource.host.id": "i-1"}
    core = {"@resource.host.id": "i-1", "aws.neuron.core": "1", "k8s.pod.label.training_run_id": "llama"}
    hardware["k8s.pod.label.training_run_id"] = "llama"
    documents = asked("neuron_hardware_info", (hardware, [(1, 1)])), asked("neuroncore_utilization_ratio", (core, [(1, 80)]))
    [row] = read(tmp_path / "label", *documents)
    assert (row["host_id"], row["run_key"], row["utilisation_ratio"]) == ("i-1", "llama", 0.4)
    job = {"k8s.job.name": "train", "k8s.namespace.name": "ml", "gpu": "0"}
    [row] = read(tmp_path / "job", asked("DCGM_FI_DEV_POWER_USAGE", (HOST | job, [(1, 300)])))
    assert row["run_key"] == "ml/train"


def test_a_neuron_drivers_share_is_of_the_minute_before_and_observers_of_its_own(tmp_path: Path) -> None:
    device = HOST | {"aws_neuron_device": "5"}
    otel, observer = (name for name in ("aws_neuron_device_power_utilization_ratio", "neuron_device_power_utilization_avg"))
    rows = read(tmp_path, asked(otel, (device, [(2, 0.25)])), asked(observer, (HOST | {"neuron_device": "5"}, [(2, 30)])))
    assert [(row["meter"], row["power_ratio"], row["minutes"]) for row in rows] == [
        ("neuron_otel", 0.25, (0.0, 1.0)),
        ("neuron_observer", 0.3, (1.0, 2.0)),
    ]


def test_a_tpu_that_lives_without_a_duty_cycle_is_idle(tmp_path: Path) -> None:
    chip = {"make": "cloud-tpu", "model": "tpu-v5-lite-podslice", "location": "us-west4-a"}
    duty = (chip | {"accelerator_id": "4242424242-0"}, [(1, 90)])
    lives = [(chip | {"accelerator_id": f"4242424242-{number}"}, [(1, 7e9)]) for number in (0, 1)]
    names = "kubernetes_io:node_accelerator_duty_cycle", "kubernetes_io:node_accelerator_memory_used"
    rows = read(tmp_path, asked(names[0], duty), asked(names[1], *lives))
    assert [(row["device_index"], row["evidence"], row["utilisation_ratio"], row["region_id"]) for row in rows] == [
        (0, "measured", 0.9, "us-west4"),
        (0, "presence", 0.0, "us-west4"),
        (1, "presence", 0.0, "us-west4"),
    ]
    assert {(row["host_id"], row["accelerator_type"], row["meter"]) for row in rows} == {("4242424242", "v5e", "cloud_tpu")}


def test_machines_are_read_by_their_bmc_and_outlets_by_the_name_that_the_configuration_maps(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        asked("ipmi_dcmi_power_consumption_watts", ({"instance": "10.0.0.7:9290", "node": "n-7"}, [(1, 3000)])),
        asked("idrac_power_control_consumed_watts", *(({"id": part, "node": "n-8"}, [(1, 2000)]) for part in ("0", "1"))),
        asked("rPDU2OutletMeteredStatusPower", ({"instance": "pdu-a", "rPDU2OutletMeteredStatusIndex": "12"}, [(1, 1500)])),
        asked("raritan_pdu_activepower_watt", ({"instance": "pdu-b", "inletid": "I1"}, [(1, 9000)])),
        asked("kepler_node_platform_joules_total", *(
            ({"instance": "n-9", "mode": mode}, [(0, 0), (1, 60 * watt)]) for mode, watt in (("idle", 400), ("dynamic", 100))
        )),
    )  # fmt: skip
    assert [(row["host_id"], row["meter"], row.get("component"), row["power_w"]) for row in rows] == [
        ("n-7", "bmc", None, 3000.0),
        ("n-8", "bmc", None, 2000.0),
        ("pdu-a:12", "pdu", "pdu-a:12", 1500.0),
        ("n-9", "bmc", "idle", 400.0),
        ("n-9", "bmc", "dynamic", 100.0),
    ]
    assert {row["boundary"] for row in rows} == {"node"}


def test_an_answer_that_a_person_saved_has_its_metrics_name_and_its_own_step(tmp_path: Path) -> None:
    gpu = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0"}
    saved = answer((gpu, [(5, 400), (10, 410), (20, 420)]), ({"__name__": "up"}, [(5, 1)]))
    rows = read(tmp_path, saved, key="run=a/host=i-1/answer.json")
    assert watts(rows) == [((0, 5), 400.0), ((5, 10), 410.0), ((15, 20), 420.0)]
    assert {(row["host_id"], row["run_key"]) for row in rows} == {("i-1", "a")}


def test_pieces_of_a_day_in_any_files_give_the_same_rows(tmp_path: Path) -> None:
    gpu = HOST | {"gpu": "0"}
    whole = asked("DCGM_FI_DEV_POWER_USAGE", (gpu, [(1, 300), (2, 310)]))
    halves = [asked("DCGM_FI_DEV_POWER_USAGE", (gpu, [one])) | {"end": T0 + 60 * one[0]} for one in ((1, 300), (2, 310))]

    def hashes(folder: Path, *documents: Any) -> set[str]:
        table = pq.read_table(write(folder, *documents).parts[0].path)
        return set(table.column("document_hash").to_pylist())

    assert len(hashes(tmp_path / "a", whole)) == 2
    assert hashes(tmp_path / "a", whole) == hashes(tmp_path / "b", *halves)


@pytest.mark.parametrize(
    ("document", "what"),
    [
        (asked("DCGM_FI_DEV_POWER_USAGE", warnings=["500 series"]), "has a warning of the server"),
        (json.dumps(asked("DCGM_FI_DEV_POWER_USAGE")).encode()[:-9], "is cut off"),
    ],
)
def test_an_answer_that_is_not_whole_refuses_the_file(tmp_path: Path, document: Any, what: str) -> None:
    with pytest.raises(ExportContentError, match=what) as error:
        write(tmp_path, asked("DCGM_FI_DEV_GPU_UTIL", (HOST | {"gpu": "0"}, [(1, 50)])), document)
    assert (error.value.reason, error.value.row_number) == ("incomplete_answer", 2)


def test_an_answer_without_series_is_no_remark_and_other_figures_are(tmp_path: Path) -> None:
    assert write(tmp_path / "none", asked("DCGM_FI_DEV_POWER_USAGE")).refusals == ()
    gpu = HOST | {"gpu": "0"}
    rate = asked("DCGM_FI_DEV_POWER_USAGE", (gpu, [(1, 5)])) | {"query": "max_over_time(DCGM_FI_DEV_POWER_USAGE[60s])"}
    error = {"status": "error", "errorType": "bad_data"}
    one = {"__name__": "DCGM_FI_DEV_POWER_USAGE"} | gpu
    documents = (
        rate,
        error,
        answer((one, [(1, 5)])),
        answer((HOST | {"__name__": "up"}, [(1, 1)])),
        asked("neuroncore_utilization_ratio", (HOST | {"neuroncore": "0"}, [(1, 0.5)])),
    )
    found = write(tmp_path / "some", *documents)
    assert found.rows == 0
    assert [refusal.reason for refusal in found.refusals] == ["other_query", "error_answer", "missing_step", "missing_hardware"]
