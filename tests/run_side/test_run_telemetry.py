"""The lines of `status` about a publication: how much telemetry met a run, the names of the rest, and contradictions."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from dagster_project.commands.last_publication import (
    TelemetryMet,
    contradictions,
    doubted_power,
    telemetry_line,
    telemetry_met,
)
from dagster_project.commands.status import Status
from dagster_project.commands.status_table import table_text

ROWS = [
    ("neuron", "i-1", "a", 900, 900, None),
    ("neuron", "i-2", "", 40, 0, "no_run"),
    ("neuron", "i-3", "nobody", 60, 0, "unknown_run_key"),
    ("neuron", "i-4", "nobody", 10, 10, "unknown_run_key"),
    ("tpu", "node", "b", 500, 500, "type_differs"),
]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    file = tmp_path / "trainledger.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "create schema marts; create table marts.fct_telemetry_matches (source_name varchar, host varchar, run_key varchar,"
            " sample_count bigint, matched_sample_count bigint, reason varchar)"
        )
        connection.executemany("insert into marts.fct_telemetry_matches values (?, ?, ?, ?, ?, ?)", ROWS)
    return file


def test_samples_that_met_no_run_are_named_before_what_contradicts_a_record(published: Path) -> None:
    met = telemetry_met(published)
    assert met == TelemetryMet(
        1510, 1410, [("nobody", "unknown_run_key", 70), ("i-2", "no_run", 40), ("node", "type_differs", 500)]
    )
    assert telemetry_line(met) == (
        "1,410 of 1,510 samples met a run; nobody (unknown run key), i-2 (no run), node (type differs)"
    )


def test_only_the_first_names_are_shown_and_how_many_there_are_more() -> None:
    line = telemetry_line(TelemetryMet(9, 2, [(f"i-{number}", "no_run", 1) for number in range(7)]))
    assert line.endswith("i-4 (no run), 2 more in fct_telemetry_matches")
    assert telemetry_line(TelemetryMet(9, 9, [])) == "9 of 9 samples met a run"


def test_without_a_publication_or_with_an_older_one_nothing_is_shown(tmp_path: Path) -> None:
    assert telemetry_met(tmp_path / "absent.duckdb") is None
    with duckdb.connect(str(tmp_path / "old.duckdb")) as connection:
        connection.execute("create schema marts")
    assert telemetry_met(tmp_path / "old.duckdb") is None


def test_a_publication_without_telemetry_has_no_line(published: Path) -> None:
    with duckdb.connect(str(published)) as connection:
        connection.execute("delete from marts.fct_telemetry_matches")
    assert telemetry_met(published) is None


def test_status_shows_how_much_telemetry_met_a_run() -> None:
    status = Status(datetime(2026, 10, 10, tzinfo=UTC), [], TelemetryMet(9, 8, [("i-[0]", "no_run", 1)]))
    assert "telemetry 8 of 9 samples met a run; i-[0] (no run)" in table_text(status, 200)


def test_readings_that_are_doubted_and_meters_that_disagree_are_a_sentence_each(published: Path, tmp_path: Path) -> None:
    assert doubted_power(tmp_path / "absent.duckdb") == doubted_power(published) == []
    chip = ("gpu", "chip 0 of i-1 draws 1 to 9 W; milliwatts", "implausible_power")
    shifted = [("a", "clock_offset", "telemetry of i-1", "120 s"), ("b", "clock_offset", "telemetry of i-2", "90 s")]
    with duckdb.connect(str(published)) as connection:
        connection.execute("create table marts.fct_quarantine (source_name varchar, remedy varchar, reason varchar)")
        connection.executemany("insert into marts.fct_quarantine values (?, ?, ?)", [chip, chip, ("runs", "r", "no_rows")])
        columns = ", ".join(f"{name} varchar" for name in ("training_run_id", "field", "source_b", "value_b"))
        connection.execute(f"create table marts.fct_run_conflicts ({columns})")
        rows = [*shifted, ("a", "steps", "log", "9")]
        connection.executemany("insert into marts.fct_run_conflicts values (?, ?, ?, ?)", rows)
    implausible, offset = doubted_power(published)
    assert implausible == "gpu: implausible_power, devices: 1, such as chip 0 of i-1 draws 1 to 9 W; milliwatts"
    assert offset.startswith("clock_offset, runs: 2, such as a (telemetry of i-1: 120 s): all samples of a machine")


def test_contradictions_about_jobs_are_counted_by_field(published: Path) -> None:
    with duckdb.connect(str(published)) as connection:
        connection.execute("create table marts.fct_run_conflicts (training_run_id varchar, field varchar)")
        rows = [("a", "state"), ("b", "state"), ("a", "machines"), ("a", "resource i-1"), ("b", "hours held of i-1 in 2026-07")]
        connection.executemany("insert into marts.fct_run_conflicts values (?, ?)", rows)
    found = contradictions(published)
    assert found == {"state": 2, "machines": 1}
    text = table_text(Status(datetime(2026, 7, 1, tzinfo=UTC), [], contradictions=found), 120)
    assert "contradictions 2 of state, 1 of machines; fct_run_conflicts has both sides" in text
