"""Files that register pairs of a comparison: plans as CSV, and what a recorder writes when a run starts."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import ExportContentError, ExportSchemaError
from tests.connectors.kit import converted, rows_of, write_csv
from tests.connectors.records import part, read, refused

HEADER = "workload_key,pair_key,first_day,pairs,promise,target_metric,target_direction,target_value,tokens,source\n"
TARGET = "w,seed-*,2026-07-01,12,to_target,loss,below,2.1,,team\n"
REGISTRATION: dict[str, Any] = {
    "training_run_id": "Run A/1",
    "workload_key": "w",
    "pair_key": "seed-7",
    "target_metric": "loss",
    "target_direction": "below",
    "target_value": 2.1,
}


def test_a_plan_names_pairs_their_number_first_day_and_promise(tmp_path: Path) -> None:
    write_csv(tmp_path / "in/w.plan.csv", HEADER + TARGET + "w,p-1,2026-07-01,1,fixed_work,,,,1000000000,team\n")
    target, work = rows_of(converted("user_inputs", tmp_path / "in", tmp_path / "landing"))
    assert (target["kind"], target["key"], target["pair_key"], target["value"]) == ("comparison_plan", "w", "seed-*", "12")
    assert (target["valid_from"], target["promise"], target["target_value"]) == (dt.date(2026, 7, 1), "to_target", "2.1")
    assert (work["pair_key"], work["promise"], work["tokens"]) == ("p-1", "fixed_work", "1000000000")


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("w,se*ed-*,2026-07-01,12,to_target,loss,below,2.1,,team", "pair_key"),
        ("w,seed-*,2026-07-01,0,to_target,loss,below,2.1,,team", "pairs"),
        ("w,seed-*,2026-07-01,1.5,to_target,loss,below,2.1,,team", "pairs"),
        ("w,seed-*,2026-07-01,99999,to_target,loss,below,2.1,,team", "pairs"),
        ("w,seed-*,2026-07-01,12,hope,loss,below,2.1,,team", "promise"),
        ("w,seed-*,2026-07-01,12,to_target,,below,2.1,,team", "target_metric"),
        ("w,seed-*,2026-07-01,12,to_target,loss,lower,2.1,,team", "target_direction"),
        ("w,seed-*,2026-07-01,12,to_target,loss,below,,,team", "target_value"),
        ("w,seed-*,2026-07-01,12,to_target,loss,below,2.1,5,team", "tokens"),
        ("w,seed-*,2026-07-01,12,fixed_work,,,,,team", "tokens"),
        ("w,seed-*,2026-07-01,12,fixed_work,,,,0,team", "tokens"),
        ("w,seed-*,2026-07-01,12,fixed_work,,,2.1,5,team", "target_value"),
    ],
)
def test_a_wrong_plan_is_refused_whole_by_its_row_and_column(tmp_path: Path, row: str, column: str) -> None:
    write_csv(tmp_path / "in/w.plan.csv", HEADER + f"{TARGET.replace('seed', 'first')}{row}\n")
    with pytest.raises(ExportContentError) as wrong:
        converted("user_inputs", tmp_path / "in", tmp_path / "landing")
    assert (wrong.value.row_number, wrong.value.column_name, wrong.value.reason) == (2, column, "wrong_value")


def test_what_a_file_is_shows_in_its_name_because_the_first_version_of_a_plan_counts(tmp_path: Path) -> None:
    write_csv(tmp_path / "named/figures.csv", HEADER + TARGET)
    with pytest.raises(ExportContentError, match=r"its name does not end in \.plan\.csv") as wrong:
        converted("user_inputs", tmp_path / "named", tmp_path / "landing")
    assert wrong.value.reason == "bad_file_name"
    write_csv(tmp_path / "figures/own.plan.csv", "kind,key,value,unit,source\npue,us-east-1,1.2,ratio,meter\n")
    with pytest.raises(ExportSchemaError, match="missing columns workload_key, pair_key"):
        converted("user_inputs", tmp_path / "figures", tmp_path / "landing")


def test_a_registration_is_no_record_of_its_run(tmp_path: Path) -> None:
    done = read(tmp_path, REGISTRATION, "a.registered.json")
    assert done.refusals == () and done.rows == 1  # a record without machines would be remarked upon
    assert part(done, "registration") == [
        {"part": "registration", "record_system": "registration", "recorded_id": "Run A/1"}
        | {name: value for name, value in REGISTRATION.items() if name != "training_run_id"}
    ]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [("pair_key", None, "missing_value"), ("workload_key", " ", "missing_value"), ("training_run_id", 5, "wrong_type"),
     ("target_value", "low", "wrong_type"), ("tokens", -1, "wrong_type")],
)  # fmt: skip
def test_a_registration_that_names_no_pair_is_refused_by_its_field(tmp_path: Path, field: str, value: Any, reason: str) -> None:
    wrong = refused(tmp_path, REGISTRATION | {field: value}, "a.registered.json")
    assert (wrong.column_name, wrong.reason) == (field, reason)
