"""TPU metrics become samples of chips: a duty cycle is utilisation, any other metric proves that a chip lives."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.deliveries import Converted
from connectors.errors import ExportContentError
from connectors.formats.prometheus_text import labels_of, parse_prometheus
from tests.connectors.kit import converted, found, rows_of, write_bytes
from tests.shared import SHARED, SHARED_REASON

KIND = "tpu_monitoring"
KEY = "tpu/2026-04-01T12:00:00Z.json"
NOON = dt.datetime(2026, 4, 1, 12)
NODE = "//tpu.googleapis.com/projects/p/locations/us-west4-a/nodes/n-1"


def point(value: dict[str, Any], end: str = "2026-04-01T12:01:00Z", start: str | None = None) -> dict[str, Any]:
    """A gauge starts where it ends."""
    return {"interval": {"startTime": start or end, "endTime": end}, "value": value}


def series(metric: str, *points: dict[str, Any], chip: str = f"{NODE}-0", unit: str = "percent", **more: Any) -> dict[str, Any]:
    return {
        "metric": {"type": metric, "labels": {"accelerator_id": chip, "make": "cloud-tpu", "model": "tpu-v6e-slice"}},
        "resource": {"type": "k8s_container", "labels": {"pod_name": "pod-1"}},
        "metadata": {"systemLabels": {"zone": "a", "odd": [1]}, "userLabels": {}},
        "metricKind": "GAUGE",
        "valueType": "DOUBLE",
        "unit": unit,
        "points": list(points),
        **more,
    }


def duty(*points: dict[str, Any], **more: Any) -> dict[str, Any]:
    return series("kubernetes.io/container/accelerator/duty_cycle", *points, **more)


def answer(*listed: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"timeSeries": list(listed), "nextPageToken": "", "unit": "", **more}


def read(tmp_path: Path, content: Any, key: str = KEY) -> Converted:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    write_bytes(tmp_path / "tpu" / key, raw)
    return converted(KIND, tmp_path / "tpu", tmp_path / "landing")


def test_an_int64_value_is_text_and_a_duty_cycle_is_a_percentage(tmp_path: Path) -> None:
    one = duty(point({"int64Value": "75"}, "2026-04-01T12:02:00.123456789Z"), point({"doubleValue": 42.5}))
    rows = rows_of(read(tmp_path, answer(one)))
    assert [row["utilisation_ratio"] for row in rows] == [0.75, 0.425]
    assert [row["sample_end"] for row in rows] == [dt.datetime(2026, 4, 1, 12, 2, 0, 123456), dt.datetime(2026, 4, 1, 12, 1)]
    assert {(row["host_id"], row["device_index"], row["accelerator_type"]) for row in rows} == {(NODE, 0, "v6e")}
    assert {(row["evidence"], row["is_idle_by_absence"]) for row in rows} == {("measured", False)}


def test_a_gauges_point_has_no_length_and_an_aligned_one_has(tmp_path: Path) -> None:
    aligned = point({"doubleValue": 10.0}, "2026-04-01T12:10:00Z", "2026-04-01T12:00:00Z")
    rows = rows_of(read(tmp_path, answer(duty(point({"doubleValue": 10.0}), aligned))))
    assert [row["sample_start"] for row in rows] == [None, NOON]


def test_an_empty_start_is_no_start(tmp_path: Path) -> None:
    """It ended a whole refresh with a TypeError."""
    one = duty({"interval": {"startTime": "", "endTime": "2026-04-01T12:01:00Z"}, "value": {"doubleValue": 10.0}})
    (row,) = rows_of(read(tmp_path, answer(one)))
    assert (row["sample_start"], row["utilisation_ratio"]) == (None, 0.1)


@pytest.mark.parametrize(
    ("unit", "value", "ratio"),
    [("percent", 50.0, 0.5), ("%", 50.0, 0.5), ("1", 0.5, 0.5), ("10^2.%", 0.5, 0.5), ("%", 100.4, 1.0)],
)
def test_the_unit_decides_if_a_full_chip_reads_one_or_a_hundred(tmp_path: Path, unit: str, value: float, ratio: float) -> None:
    (row,) = rows_of(read(tmp_path, answer(duty(point({"doubleValue": value}), unit=unit))))
    assert row["utilisation_ratio"] == ratio


@pytest.mark.parametrize(("own", "ratio"), [("", 0.5), ("%", 0.005)])
def test_a_series_without_a_unit_has_that_of_its_answer(tmp_path: Path, own: str, ratio: float) -> None:
    (row,) = rows_of(read(tmp_path, answer(duty(point({"doubleValue": 0.5}), unit=own), unit="10^2.%")))
    assert row["utilisation_ratio"] == ratio


def test_a_missing_duty_cycle_on_a_live_node_is_idle(tmp_path: Path) -> None:
    """Google emits no duty cycle for an idle chip; its other metrics say that it is there."""
    alive = series("kubernetes.io/node/accelerator/tensorcore_utilization", point({"doubleValue": 0.22}), chip=f"{NODE}-3")
    (row,) = rows_of(read(tmp_path, answer(alive)))
    assert (row["utilisation_ratio"], row["is_idle_by_absence"], row["evidence"], row["device_index"]) == (
        0.0,
        True,
        "presence",
        3,
    )


def test_an_error_makes_what_is_absent_unknown_and_leaves_what_is_there(tmp_path: Path) -> None:
    alive = series(
        "kubernetes.io/node/accelerator/memory_total", point({"int64Value": "203465670656"}), chip=f"{NODE}-1", unit="By"
    )
    result = read(tmp_path, answer(duty(point({"doubleValue": 75.0})), alive, executionErrors=[{"code": 4, "message": "late"}]))
    measured, present = rows_of(result)
    assert measured["utilisation_ratio"] == 0.75
    assert (present["utilisation_ratio"], present["is_idle_by_absence"], present["evidence"]) == (None, False, "presence")
    assert [remark.reason for remark in result.refusals] == ["partial_answer"]


@pytest.mark.parametrize("value", [{}, {"doubleValue": "NaN"}, {"distributionValue": {"count": "1"}}])
def test_a_duty_cycle_without_a_number_is_unknown(tmp_path: Path, value: dict[str, Any]) -> None:
    (row,) = rows_of(read(tmp_path, answer(duty(point(value)))))
    assert (row["utilisation_ratio"], row["evidence"], row["is_idle_by_absence"]) == (None, "measured", False)


def test_a_pod_that_takes_over_a_chip_reports_the_same_point_and_the_same_hash(tmp_path: Path) -> None:
    old, new = duty(point({"doubleValue": 75.0})), duty(point({"doubleValue": 75.0}))
    new["resource"]["labels"]["pod_name"] = "pod-2"
    rows = rows_of(read(tmp_path, answer(old, new, duty(point({"doubleValue": 76.0})))))
    assert len({row["document_hash"] for row in rows}) == 2


def test_metrics_that_prove_the_same_chip_alive_are_one_observation(tmp_path: Path) -> None:
    names = ("tensorcore_utilization", "memory_bandwidth_utilization", "memory_used", "memory_total")
    listed = [series(f"kubernetes.io/node/accelerator/{name}", point({"doubleValue": n})) for n, name in enumerate(names)]
    rows = rows_of(read(tmp_path, answer(*listed)))
    assert len(rows) == 4 and len({row["document_hash"] for row in rows}) == 1


def test_cutting_an_answer_into_others_changes_nothing_but_its_place(tmp_path: Path) -> None:
    points = [point({"doubleValue": float(n)}, f"2026-04-01T12:{n:02}:00Z") for n in range(60)]
    whole = rows_of(read(tmp_path / "whole", answer(duty(*points))))
    pieces = [json.dumps(answer(duty(*points[start : start + 7]))) for start in range(0, 60, 7)]
    cut = rows_of(read(tmp_path / "cut", "\n".join(reversed(pieces)).encode(), "tpu/a.jsonl"))

    def content(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
        return {tuple(value for name, value in row.items() if name != "line_number") for row in rows}

    assert content(whole) == content(cut)


def test_a_host_is_found_by_accelerator_id_then_label_then_key(tmp_path: Path) -> None:
    by_id, by_label, by_key, nowhere = (duty(point({"doubleValue": 1.0})) for _ in range(4))
    for one in (by_label, by_key, nowhere):
        del one["metric"]["labels"]["accelerator_id"]
    by_label["metadata"]["userLabels"] = {"resource_id": "node-2"}
    by_label["metric"]["labels"]["chip"] = "1"
    result = read(tmp_path / "key", answer(by_id, by_label, by_key), "run=run%2Fa/host=node-3/2026-04-01.json")
    assert [(row["host_id"], row["device_index"], row["run_key"]) for row in rows_of(result)] == [
        (NODE, 0, "run/a"), ("node-2", 1, "run/a"), ("node-3", None, "run/a"),
    ]  # fmt: skip
    result = read(tmp_path / "bare", answer(by_id, nowhere), "2026-04-01.json")
    assert (result.rows, [remark.reason for remark in result.refusals]) == (1, ["missing_host"])


@pytest.mark.parametrize(
    ("labels", "key", "expected"),
    [
        ({"worker_id": "1"}, "run=run-a/1.json", [("run-a/worker-1", 3)]),
        ({"worker_id": "4804027646385371647"}, "1.json", [("4804027646385371647", 3)]),
        ({"node_name": "node-a"}, "1.json", [("node-a", 3)]),
        ({"worker_id": "1"}, "1.json", []),  # which of all workers 1?
    ],
)
def test_a_number_alone_is_a_chip_and_its_host_is_the_resources(
    tmp_path: Path, labels: dict[str, str], key: str, expected: list[Any]
) -> None:
    """Two workers of a TPU VM both number their chips from 0."""
    one = duty(point({"doubleValue": 1.0}), chip="3") | {
        "resource": {"type": "tpu.googleapis.com/GceTpuWorker", "labels": labels}
    }
    result = read(tmp_path, answer(one), key)
    assert ([(row["host_id"], row["device_index"]) for row in rows_of(result)] if expected else []) == expected
    assert [remark.reason for remark in result.refusals] == ([] if expected else ["missing_host"])


def test_a_run_may_stand_in_a_label(tmp_path: Path) -> None:
    one = duty(point({"doubleValue": 1.0}))
    one["metadata"]["userLabels"] = {"training_run_id": "Run A"}
    assert [row["run_key"] for row in rows_of(read(tmp_path, answer(one)))] == ["Run A"]


@pytest.mark.parametrize(
    "other",
    [
        series("kubernetes.io/container/accelerator/request", point({"int64Value": "4"})),
        series("tpu.googleapis.com/instance/uptime_total", point({"doubleValue": 60.0})),
        {
            **duty(point({"doubleValue": 1.0})),
            "metric": {"type": "x/duty_cycle", "labels": {"make": "nvidia", "accelerator_id": "g-0"}},
        },
        {**duty(point({"doubleValue": 1.0})), "metric": {"type": "node_memory_used", "labels": {}}},
        answer(),
        {},
    ],
)
def test_metrics_of_other_things_and_empty_answers_are_passed_over(tmp_path: Path, other: dict[str, Any]) -> None:
    result = read(tmp_path, answer(other) if "metric" in other else other)
    assert (result.rows, [refusal.reason for refusal in result.refusals]) == (0, ["no_known_metric"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(answer(duty(point({"doubleValue": 50.0}))), indent=2)),
        ("a.json", json.dumps([answer(duty(point({"doubleValue": 50.0})))])),
        ("a.json", "\n".join([json.dumps(answer()), json.dumps(answer(duty(point({"doubleValue": 50.0}))))])),
        ("a.jsonl", json.dumps(duty(point({"doubleValue": 50.0}))) + "\n"),
        ("a.prom", f'duty_cycle{{accelerator_id="{NODE}-0",make="cloud-tpu",model="tpu-v6e-slice"}} 50 1775044860000'),
        (
            "a.txt",
            'kubernetes_io:container_accelerator_duty_cycle{model="tpu-v6e-slice",'
            f'accelerator_id="{NODE}-0"}} 50 1775044860.0\n# EOF\n',
        ),
    ],
)
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_every_form_of_the_same_point_is_the_same_sample(tmp_path: Path, name: str, content: str, packing: str) -> None:
    raw = content.encode()
    raw = {"": raw, ".gz": gzip.compress(raw), ".zst": pa.Codec("zstd").compress(raw, asbytes=True)}[packing]
    (row,) = rows_of(read(tmp_path, raw, name + packing))
    assert {key: row[key] for key in ("host_id", "device_index", "sample_end", "utilisation_ratio", "accelerator_type")} == {
        "host_id": NODE, "device_index": 0, "sample_end": NOON + dt.timedelta(minutes=1), "utilisation_ratio": 0.5,
        "accelerator_type": "v6e",
    }  # fmt: skip


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_real_scrape_of_a_tpu7x_takes_its_time_from_the_key(tmp_path: Path) -> None:
    assert SHARED
    content = (SHARED / "samples/telemetry/gke_tpu_device_plugin_tpu7x.prom").read_bytes()
    rows = rows_of(read(tmp_path, content, "scrapes/2026-04-01T12-00-00Z.prom"))
    assert {(row["host_id"], row["accelerator_type"], row["sample_end"], row["sample_start"]) for row in rows} == {
        ("1234567890123456789", "v7x", NOON, None)
    }
    # duty cycles: 75 % in place 4 of the slice, 0 % in place 0; alive: 4 by its two memory lines, 0 by bandwidth and TensorCore
    found_rows = [(row["device_index"], row["utilisation_ratio"], row["evidence"]) for row in rows]
    assert found_rows == [
        (4, 0.75, "measured"), (0, 0.0, "measured"), (4, 0.0, "presence"), (4, 0.0, "presence"), (0, 0.0, "presence"),
        (0, 0.0, "presence"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "line", "reason"),
    [
        ("scrape.prom", b'duty_cycle{accelerator_id="a-0"} 50', "missing_time"),
        ("scrape.prom", b"<html>502 Bad Gateway</html>", "bad_text"),
        ("scrape.prom", b'duty_cycle{accelerator_id="\xff"} 50 1', "bad_text"),
        ("a.jsonl", b"{cut", "bad_json"),
        ("a.json", b'{"timeSeries": {}}', "wrong_type"),
        ("a.json", b'{"error": {"code": 403}}', "error_answer"),
        ("a.json", json.dumps(answer(duty(point({"doubleValue": -1.0})))).encode(), "negative_utilisation"),
        ("a.json", json.dumps(answer(duty(point({"doubleValue": 1.0}, "noon")))).encode(), "bad_time"),
        ("a.json", json.dumps(answer(duty(point({"int64Value": "many"})))).encode(), "wrong_type"),
    ],
)
def test_what_is_no_answer_is_left_out_with_its_reason(tmp_path: Path, key: str, line: bytes, reason: str) -> None:
    result = read(tmp_path, line, key)
    assert (result.rows, [remark.reason for remark in result.refusals]) == (0, [reason])


def test_a_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    content = gzip.compress(json.dumps(answer(duty(*(point({"doubleValue": n}) for n in range(500))))).encode())
    with pytest.raises(ExportContentError, match=r"a\.json\.gz is cut off"):
        read(tmp_path, content[:-20], "a.json.gz")


def test_labels_of_prometheus_text_may_hold_anything() -> None:
    one = parse_prometheus(r'm{a="x,y}=1",b="say \"hi\"\n\\",} NaN -5')
    assert one and labels_of(one.labels) == {"a": "x,y}=1", "b": 'say "hi"\n\\'}
    assert one.time == -5_000_000 and one.value != one.value
    assert parse_prometheus("# HELP m {a} 1") is None
    with pytest.raises(ValueError, match="labels"):
        parse_prometheus("m{a=1} 2")


def test_each_file_is_a_delivery(tmp_path: Path) -> None:
    for name in ("a.json", "b/c.prom.zst", "notes.md"):
        write_bytes(tmp_path / "tpu" / name, b"")
    assert [one.partition for one in found(KIND, tmp_path / "tpu")] == ["a.json", "b~c.prom.zst"]
