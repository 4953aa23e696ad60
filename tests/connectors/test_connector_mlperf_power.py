"""MLPerf power logs by the official rule: efficiency x mean of the power window x time to train."""

from __future__ import annotations

import datetime as dt
import random
import shutil
from pathlib import Path

import pytest

from connectors.deliveries import Converted
from connectors.errors import ExportContentError
from tests.connectors.kit import converted, found, rows_of
from tests.connectors.mlperf import event, node_log, run_log, write_result
from tests.shared import SHARED, SHARED_REASON

RUN = "4xTPU/bert/result_0"
EVEN = [(20, 1000), (120, 2000)]  # (1,000 x 20 + 2,000 x 100) / 120 = 1,833.33 W


def read(tmp_path: Path, **files: str) -> Converted:
    return converted("power_meters", write_result(tmp_path / "in", **files), tmp_path / "landing")


def reasons(result: Converted) -> set[str]:
    return {refusal.reason for refusal in result.refusals}


def test_a_result_with_its_power_logs_is_one_delivery_and_its_readings_cover_the_run(tmp_path: Path) -> None:
    result = read(tmp_path, result_0=run_log(100), node_1=node_log(EVEN), node_2=node_log(EVEN, efficiency=None))
    first, second = rows_of(result)
    assert [row["host_id"] for row in (first, second)] == [f"{RUN}/node_0", f"{RUN}/node_1"]  # counted from 1, meant from 0
    assert first["power_w"] == float(0.94 * (1000 * 20 + 2000 * 100) / 120) == 1723.3333333333333
    assert second["power_w"] == (1000 * 20 + 2000 * 100) / 120  # without an efficiency it is 1
    assert (first["run_key"], first["meter"], first["boundary"], first["component"]) == (RUN, "mlperf", "node", None)
    assert (first["sample_end"] - first["sample_start"]) == dt.timedelta(seconds=100)
    assert not result.refusals


def test_a_switch_is_its_estimate_and_readings_in_its_log_do_not_count(tmp_path: Path) -> None:
    estimate = f"{event(1, 'conversion_eff', 0.5)}\n{event(1, 'interconnect_power_est', 16100, switch_id='sw_01')}\n"
    result = read(tmp_path, result_0=run_log(), node_0=node_log(EVEN), node_1=node_log(EVEN), sw_0=estimate, sw_1=node_log(EVEN))
    switches = [row for row in rows_of(result) if row["component"] == "switch"]
    assert [(row["power_w"], row["host_id"]) for row in switches] == [(8050.0, None), (None, None)]
    assert reasons(result) == {"switch_without_estimate"}


def test_a_window_without_an_end_ends_with_its_last_reading(tmp_path: Path) -> None:
    """Supermicro's logs of v4.0 stop at their own start, and repeat `metadata` as an empty text."""
    same = node_log(EVEN, efficiency=None).replace(
        f'"time_ms": {1_780_000_120_000}, "key": "power_measurement_stop"',
        '"time_ms": 1780000000000, "key": "power_measurement_stop"',
    )
    result = read(tmp_path, result_0=run_log(), node_0=node_log(EVEN, efficiency=None, stop=None), node_1=same)
    assert [row["power_w"] for row in rows_of(result)] == [(1000 * 20 + 2000 * 100) / 120] * 2


def test_what_was_not_measured_is_unknown_and_never_zero(tmp_path: Path) -> None:
    result = read(tmp_path, result_0=run_log(), node_0=node_log([]), node_1=node_log([(20, None), (120, 0)]))
    assert [row["power_w"] for row in rows_of(result)] == [None, 0.0]
    assert reasons(result) == {"no_power_window"}
    assert reasons(read(tmp_path / "b", result_0=run_log(), node_0=node_log(EVEN))) == {"nodes_without_meter"}


def test_a_power_log_without_the_log_of_its_run_is_refused_until_it_comes(tmp_path: Path) -> None:
    with pytest.raises(ExportContentError, match="no log of the run") as caught:
        read(tmp_path, node_0=node_log(EVEN))
    assert caught.value.reason == "missing_result_log"
    with pytest.raises(ExportContentError) as caught:
        read(tmp_path / "b", result_0=event(1, "run_start"), node_0=node_log(EVEN))
    assert caught.value.reason == "missing_run_window"


def test_the_order_of_lines_and_broken_ones_between_them_change_nothing(tmp_path: Path) -> None:
    lines = node_log(EVEN).splitlines()
    random.Random(1).shuffle(lines)
    result = read(
        tmp_path, result_0=run_log(), node_0="\n".join([*lines, ':::MLLOG {"time_ms": ', "\x00"]), node_1=node_log(EVEN)
    )
    assert len({row["power_w"] for row in rows_of(result)}) == 1
    assert reasons(result) == {"bad_json"}


def test_beside_results_descriptions_of_systems_are_no_readings(tmp_path: Path) -> None:
    root = write_result(tmp_path / "in", result_0=run_log(), node_0=node_log(EVEN))
    (root / "Acme/results/4xTPU/bert/scaling.json").write_text("{}")
    (delivery,) = found("power_meters", root)
    assert [info.key.rpartition("/")[2] for info in delivery.objects] == ["result_0.txt", "4xTPU.json", "node_0.txt"]  # type: ignore[union-attr]


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_lenovos_b200_took_two_million_joules_for_bert(tmp_path: Path) -> None:
    """211 readings over 222 s have a mean of 9,665.16 W of AC power; x 0.94 x 220.176 s = 2,000,354.54 J = 0.55565 kWh."""
    assert SHARED is not None
    samples, folder = SHARED / "samples/telemetry", tmp_path / "in/Lenovo/results/SR780aV3-8xB200_SXM_180GB/bert"
    (folder / "power/result_0").mkdir(parents=True)
    (tmp_path / "in/Lenovo/systems").mkdir()
    shutil.copy(samples / "mlperf_v50_b200_bert_result_0.txt", folder / "result_0.txt")
    shutil.copy(samples / "mlperf_v50_b200_bert_power_node_0.txt", folder / "power/result_0/node_0.txt")
    shutil.copy(samples / "mlperf_v50_b200_system.json", tmp_path / "in/Lenovo/systems/SR780aV3-8xB200_SXM_180GB.json")
    result = converted("power_meters", tmp_path / "in", tmp_path / "landing")
    (row,) = rows_of(result)
    seconds = (row["sample_end"] - row["sample_start"]).total_seconds()
    assert seconds == (1745514325635 - 1745514105459) / 1000 == 220.176
    assert round(row["power_w"] / 0.94, 1) == 9665.2
    assert round(row["power_w"] * seconds, 2) == 2_000_354.54
    assert round(row["power_w"] * seconds / 3_600_000, 5) == 0.55565
    assert not result.refusals
