"""Meters of nodes: our own rows, Redfish, CodeCarbon; units, missing, error and zero differ. MLPerf has a file of its own."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.deliveries import Converted
from connectors.errors import ConnectorError, ExportContentError
from tests.connectors.kit import converted, rows_of, write_bytes
from tests.shared import SHARED, SHARED_REASON

KIND = "power_meters"
NOON = dt.datetime(2026, 4, 1, 12)
CODECARBON = "timestamp,project_name,run_id,duration,energy_consumed,gpu_energy,country_iso_code,codecarbon_version"


def read(tmp_path: Path, content: str | bytes, key: str = "m.csv") -> Converted:
    write_bytes(tmp_path / "meters" / key, content if isinstance(content, bytes) else content.encode())
    return converted(KIND, tmp_path / "meters", tmp_path / "landing")


def reasons(result: Converted) -> list[str]:
    return [refusal.reason for refusal in result.refusals]


def test_a_row_is_a_point_of_one_outlet_and_zero_is_no_gap(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        "Time,host,outlet,watts,meter,room\n2026-04-01T12:00:00Z,n-1,7,412.5,PDU,a\n2026-04-01T14:00:00+02:00,n-1,8,0,,a\n"
        "1775044800,n-2,,N/A,bmc,a\n1775044800000,n-3,,,bmc,a\n",
    )
    rows = rows_of(result)
    assert [(row["host_id"], row["component"], row["power_w"], row["meter"]) for row in rows] == [
        ("n-1", "7", 412.5, "pdu"),
        ("n-1", "8", 0.0, "pdu"),
        ("n-2", None, None, "bmc"),
        ("n-3", None, None, "bmc"),
    ]
    assert {row["sample_end"] for row in rows} == {NOON}
    assert {(row["boundary"], row["sample_start"], row["device_index"], row["is_sampled"]) for row in rows} == {
        ("node", None, None, False)
    }
    assert not result.refusals


def test_a_counter_is_joules_whatever_its_unit(tmp_path: Path) -> None:
    rows = rows_of(read(tmp_path, "time,host,kwh\n2026-04-01T12:00:00Z,n-1,0.5\n"))
    assert [(row["counter_j"], row["power_w"], row["series"]) for row in rows] == [(1_800_000.0, None, "")]
    rows = rows_of(read(tmp_path, "time,host,joules,sensor\n2026-04-01T12:00:00Z,n-1,1800000,PSU1\n"))
    assert [(row["counter_j"], row["power_w"], row["series"]) for row in rows] == [(1_800_000.0, None, "PSU1")]


def test_the_same_reading_in_two_files_has_one_hash_and_another_none_of_it(tmp_path: Path) -> None:
    line = {"time": "2026-04-01T12:00:00Z", "host": "n-1", "watts": 400}
    rows = rows_of(read(tmp_path, "\n".join(json.dumps(line | more) for more in ({}, {"room": "a"}, {"watts": 401})), "m.jsonl"))
    same, again, other = (row["document_hash"] for row in rows)
    assert same == again != other


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"watts": "412 W"}, "wrong_type"),
        ({"watts": -1}, "wrong_power"),
        ({"watts": 4e8}, "wrong_power"),  # milliwatts
        ({"watts": True}, "wrong_type"),
        ({"joules": -1}, "wrong_power"),
        ({"watts": 1, "time": "yesterday"}, "bad_time"),
        ({"watts": 1, "time": None}, "missing_time"),
        ({"watts": 1, "host": None}, "missing_host"),
        ({"watts": 1, "meter": "ammeter"}, "wrong_value"),
        ({"watts": 1, "start": "2026-04-01T13:00:00Z"}, "ends_before_start"),
    ],
)
def test_a_row_that_is_no_reading_is_left_out_and_named(tmp_path: Path, line: dict[str, object], reason: str) -> None:
    good = {"time": "2026-04-01T12:00:00Z", "host": "n-1", "watts": 1}
    result = read(tmp_path, f"{json.dumps(good | {'watts': None} | line)}\n{json.dumps(good)}\n", "m.jsonl")
    assert (result.rows, reasons(result)) == (1, [reason])


def test_a_bmc_answers_by_itself_with_host_and_time_in_the_key(tmp_path: Path) -> None:
    """From DMTF's schema of Power (PowerControl) and EnvironmentMetrics (PowerWatts)."""
    power = {
        "@odata.id": "/redfish/v1/Chassis/1/Power",
        "PowerControl": [{"PowerConsumedWatts": 344, "PowerCapacityWatts": 800}, {}],
    }
    (row,) = rows_of(read(tmp_path, json.dumps(power), "host=n-1/2026-04-01T12-00-00Z.json"))
    assert (row["host_id"], row["power_w"], row["meter"], row["sample_end"]) == ("n-1", 344.0, "bmc", NOON)
    wrapped = {
        "collected_at": "2026-04-01T12:00:00Z",
        "host": {"resource_id": "n-2"},
        "document": {"PowerWatts": {"Reading": None}},
    }
    (row,) = rows_of(read(tmp_path / "b", json.dumps(wrapped) + "\n", "b.jsonl"))
    assert (row["host_id"], row["power_w"], row["sample_end"]) == ("n-2", None, NOON)


def test_a_file_without_times_or_figures_is_refused_by_their_names(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="is missing time, watts") as caught:
        read(tmp_path, "host,amps\nn-1,3\n")
    assert (caught.value.reason, caught.value.source_object) == ("missing_column", "m.csv")


def test_codecarbon_is_a_counter_since_the_start_of_its_run(tmp_path: Path) -> None:
    """0.001 kWh in 100 s are 3,600 J and 36 W; without GPU energy it saw processor and memory alone."""
    result = read(
        tmp_path,
        f"{CODECARBON}\n2026-04-01T14:00:00,p,r-1,100,0.001,0.0004,FRA,3.0.1\n2026-04-01T14:00:00,p,r-2,100,0.001,0,FRA,3.0.1\n"
        "2026-04-01T14:00:00,p,r-3,100,,0.1,FRA,3.0.1\n",
        "tz=Europe%2FParis/emissions.csv",
    )
    seen, host_only, unknown = rows_of(result)
    assert (seen["sample_start"], seen["sample_end"]) == (NOON - dt.timedelta(seconds=100), NOON)
    assert (seen["run_key"], seen["series"], seen["counter_j"], seen["power_w"], seen["component"]) == (
        "r-1",
        "r-1",
        3600.0,
        36.0,
        None,
    )
    assert (host_only["component"], host_only["power_w"]) == ("processor and memory", 36.0)
    assert (unknown["power_w"], unknown["counter_j"], unknown["component"]) == (None, None, None)
    assert not result.refusals


def test_times_without_a_zone_are_read_as_utc_with_a_remark(tmp_path: Path) -> None:
    line = f"{CODECARBON}\n2026-04-01T12:00:00,p,,100,0.001,1,FRA,3.0.1\n"
    result = read(tmp_path, line, "run=my-run/emissions.csv")
    (row,) = rows_of(result)
    assert (row["sample_end"], row["run_key"], reasons(result)) == (NOON, "my-run", ["time_without_zone"])
    with pytest.raises(ExportContentError, match="is no time zone") as caught:
        read(tmp_path / "b", line, "tz=Mars%2FBase/emissions.csv")
    assert caught.value.reason == "unknown_zone"


def test_a_row_of_codecarbon_that_names_no_run_is_left_out(tmp_path: Path) -> None:
    result = read(tmp_path, f"{CODECARBON}\n2026-04-01T12:00:00,p,,100,0.001,1,FRA,3.0.1\n", "tz=UTC/emissions.csv")
    assert (result.rows, reasons(result)) == (0, ["missing_run"])


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ("2026-04-01T12:00:00,p,r,100,0.001,0,FRA", None, "7 values"),  # an all-empty column was dropped when it appended
        ("2026-04-01T12:00:00,p,r,exp-1,100,0.001,0,FRA,3.0.1", None, "9 values"),  # of a newer version
        ("2026-04-01T12:00:00,p,r,exp-1,100,0.001,0,FRA", "duration", "exp-1"),
        ("2026-04-01T12:00:00,p,r,100,0.001,0,0.25,3.0.1", "country_iso_code", "0.25"),
        ("p,r,2026-04-01T12:00:00,100,0.001,0,FRA,3.0.1", "timestamp", "p"),
    ],
)
def test_slipped_columns_refuse_the_file_with_object_row_and_remedy(
    tmp_path: Path, row: str, column: str | None, value: str
) -> None:
    good = "2026-04-01T12:00:00,p,r,100,0.001,0,FRA,3.0.1"
    with pytest.raises(ExportContentError) as caught:
        read(tmp_path, f"{CODECARBON}\n{good}\n{row}\n", "tz=UTC/emissions.csv")
    error = caught.value
    assert (error.reason, error.source_object, error.row_number) == ("slipped_columns", "tz=UTC/emissions.csv", 2)
    assert (error.column_name, error.value) == (column, value)
    assert "under its own header" in error.remedy


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_codecarbons_own_example_gives_what_a_person_adds_up(tmp_path: Path) -> None:
    """28 rows, of which 5 name no run. The six rows of 8a1d9822 tell one run: 6.403828607971138e-05 kWh at its end, 230.54 J."""
    assert SHARED is not None
    content = (SHARED / "samples/telemetry/codecarbon_emissions_v2.csv").read_bytes()
    result = read(tmp_path, content, "tz=Europe%2FParis/emissions.csv")
    rows = rows_of(result)
    assert (len(rows), reasons(result)) == (23, ["missing_run"])
    last = max((row for row in rows if row["run_key"].startswith("8a1d9822")), key=lambda row: row["counter_j"])
    assert last["counter_j"] == 6.403828607971138e-05 * 3_600_000
    assert last["power_w"] == last["counter_j"] / 91.82258701324464
    assert last["sample_end"] == dt.datetime(2024, 5, 31, 9, 10, 56)  # 11:10:56 in Paris
    keyed = rows_of(read(tmp_path / "b", content, "tz=Europe%2FParis/run=r/emissions.csv"))
    assert (len(keyed), sum(row["power_w"] is None for row in keyed)) == (28, 2)  # two rows have no energy: unknown, not 0


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_codecarbons_newest_header_is_read_by_name_and_saw_no_accelerator(tmp_path: Path) -> None:
    """0.00057442898176 kWh in 161.20380687713623 s are 12.828 W of processor and memory: it has no GPU."""
    assert SHARED is not None
    content = (SHARED / "samples/telemetry/codecarbon_emissions_v3_headers.csv").read_bytes()
    (row,) = rows_of(read(tmp_path, content, "emissions.csv"))
    assert row["power_w"] == 0.00057442898176 * 3_600_000 / 161.20380687713623
    assert (row["component"], row["sdk_version"]) == ("processor and memory", "2.1.3")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(["m.csv", "m.jsonl", "m.json", "emissions.csv.gz"]),
    st.binary(max_size=80),
    st.sampled_from(["", CODECARBON + "\n"]),
)
def test_any_bytes_are_read_or_refused_by_name(tmp_path: Path, key: str, content: bytes, before: str) -> None:
    try:
        result = read(tmp_path / key.replace(".", "-"), before.encode() + content, key)
    except ConnectorError as error:
        assert error.reason
    else:
        assert result.rows == len(rows_of(result))
