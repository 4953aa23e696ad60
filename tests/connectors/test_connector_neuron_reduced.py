"""Lines of a recorder that reduces: a device's minute with its sum, and what contradicts itself is left out by name."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.connectors.kit import rows_of
from tests.connectors.neuron import NOON, document, read, reduced, runtime, wrapped

HOST = {"resource_id": "i-0abc"}
UNKNOWN = {"evidence": "unknown", "known_us": 0, "used_ppm_us": 0, "least_ppm": None, "greatest_ppm": None}
PRESENCE = {"evidence": "presence", "used_ppm_us": 0, "least_ppm": 0, "greatest_ppm": 0}


def test_a_line_is_one_row_with_the_exact_sum_and_the_mean_of_the_minute(tmp_path: Path) -> None:
    (row,) = rows_of(read(tmp_path, {"host": HOST, "reduced": reduced()}))
    assert (row["host_id"], row["run_key"], row["device_index"], row["device_count"]) == ("i-0abc", "run-a", 1, 16)
    assert (row["accelerator_type"], row["region_id"]) == ("trn1.32xlarge", "us-east-1")
    assert row["sample_start"] == NOON - dt.timedelta(microseconds=4_969_000)
    assert row["sample_end"] == NOON + dt.timedelta(microseconds=55_072_000)
    assert (row["utilisation_ratio"], row["used_ppm_us"], row["evidence"]) == (0.5, 30_020_500_000_000, "measured")


def test_what_was_unknown_and_a_machine_on_which_nothing_ran_are_samples_without_a_sum(tmp_path: Path) -> None:
    lines = [{"host": HOST, "reduced": reduced(**more)} for more in (UNKNOWN, PRESENCE)]
    found = [(row["utilisation_ratio"], row["evidence"], row["is_idle_by_absence"]) for row in rows_of(read(tmp_path, *lines))]
    assert found == [(None, "measured", False), (0.0, "presence", True)]
    assert [row["used_ppm_us"] for row in rows_of(read(tmp_path, *lines))] == [None, None]


def test_documents_and_reduced_minutes_may_lie_in_one_file_and_the_key_names_the_host_where_the_line_does_not(
    tmp_path: Path,
) -> None:
    rows = rows_of(read(tmp_path, wrapped(document(runtime(50, 50))), {"reduced": reduced()}))
    assert [(row["line_number"], row["host_id"], row["used_ppm_us"]) for row in rows] == [
        (1, "i-0abc", None),
        (2, "i-0abc", 30_020_500_000_000),
    ]


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("evidence", {"evidence": "guessed"}),
        ("device", {"device": 16}),
        ("samples", {"samples": 0}),
        ("last", {"last": "2026-04-01T11:59:55.031000Z"}),
        ("last", {"last": "2026-04-01T12:10:00Z"}),
        ("minute", {"minute": "2026-04-01T12:00:00.5Z"}),
        ("minute", {"minute": "2026-04-01T11:58:00Z"}),
        ("covered_us", {"covered_us": 60_000_000}),
        ("known_us", {"known_us": 1}),
        ("least_ppm", {"least_ppm": 700_000}),
        ("used_ppm_us", {"used_ppm_us": 60_041_000_000_000}),
        ("used_ppm_us", {"least_ppm": 500_001}),
        ("greatest_ppm", {**PRESENCE, "greatest_ppm": 1}),
    ],
)
def test_a_line_that_contradicts_itself_is_left_out_by_the_name_of_its_field(
    tmp_path: Path, field: str, more: dict[str, Any]
) -> None:
    result = read(tmp_path, {"host": HOST, "reduced": reduced(**more)}, {"host": HOST, "reduced": reduced()})
    assert len(rows_of(result)) == 1
    (refusal,) = result.refusals
    assert (refusal.reason, refusal.row_number, refusal.column_name) == ("contradictory_minute", 1, f"reduced.{field}")
    assert "--reduce 60s" in refusal.remedy


@pytest.mark.parametrize(
    ("more", "reason"),
    [({"samples": "12"}, "wrong_type"), ({"used_ppm_us": -1}, "wrong_type"), ({"first": "noon"}, "bad_time")],
)
def test_a_value_that_is_none_is_named(tmp_path: Path, more: dict[str, Any], reason: str) -> None:
    (refusal,) = read(tmp_path, {"host": HOST, "reduced": reduced(**more)}).refusals
    assert refusal.reason == reason


@given(
    field=st.sampled_from([*reduced()]),
    value=st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.lists(st.none(), max_size=2),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_in_any_field_is_read_or_refused_and_never_a_crash(tmp_path: Path, field: str, value: Any) -> None:
    result = read(tmp_path, {"host": HOST, "reduced": reduced(**{field: value})})
    assert result.rows + len(result.refusals) == 1
