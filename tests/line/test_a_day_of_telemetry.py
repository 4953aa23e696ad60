"""A new hour of telemetry costs its day: what a refresh reads and writes again of a month, and that it is enough."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from dagster_project.commands.refreshing import refresh
from dagster_project.settings import Settings
from tests.landing.kit import Organisation, set_time, write_run
from tests.line.kit import published_bytes
from tests.oracle.google_builders import neuron_document
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
NODE = "i-0123456789abcdef0"
START = datetime(2026, 4, 2, tzinfo=UTC)


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """A run that holds a node of two chips from 2 to 8 April."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")
    kinds = {"neuron": "neuron_monitor", "power": "neuron_power", "runs": "training_runs"}
    organisation = Organisation(tmp_path, *({"name": name, "kind": kind} for name, kind in kinds.items()))
    held = {"started_at": "2026-04-02T00:00:00Z", "ended_at": "2026-04-08T00:00:00Z", "accelerator_type": "trn1.32xlarge"}
    write_run(tmp_path / "exports/runs/a.run.json", "run-a", at="2026-05-01", nodes=[{"resource_id": NODE, "chips": 16, **held}])
    return organisation


def deliver(organisation: Organisation, begins: tuple[int, int, int], places: Iterable[int], percent: float, at: str) -> None:
    """A file of documents of five seconds each, which begin a second early; its name is the time from which it is."""
    day, hour, minute = begins
    begun = START + timedelta(days=day - 2, hours=hour, minutes=minute)
    document = neuron_document({0: percent, 2: percent / 2}, devices=16, period=6.0)
    ends = [begun + timedelta(seconds=5 * (place + 1)) for place in places]
    lines = [{"collected_at": f"{end:%Y-%m-%dT%H:%M:%SZ}", "host": {"resource_id": NODE}, "document": document} for end in ends]
    path = organisation.folder / f"exports/neuron/run=run-a/host={NODE}/{begun:%Y-%m-%dT%H-%M-%SZ}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    set_time(path, at)


def deliver_power(organisation: Organisation, begins: tuple[int, int, int], minutes: int, share: float, at: str) -> None:
    """A file of the driver's lines of two devices, a minute each."""
    day, hour, minute = begins
    begun = START + timedelta(days=day - 2, hours=hour, minutes=minute)
    lines = []
    for end in (begun + timedelta(minutes=number + 1) for number in range(minutes)):
        text = f"POWER_STATUS_VALID,{int(end.timestamp())},{share - 9:.2f},{share + 9:.2f},{share:.2f}"
        shared = {"collected_at": f"{end:%Y-%m-%dT%H:%M:%SZ}", "host": {"resource_id": NODE}, "text": text}
        lines += [
            shared | {"path": f"/sys/devices/virtual/neuron_device/neuron{number}/stats/power/utilization"} for number in (0, 1)
        ]
    path = organisation.folder / f"exports/power/host={NODE}/{begun:%Y-%m-%dT%H-%M-%SZ}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    set_time(path, at)


def refreshed(settings: Settings) -> None:
    done = refresh(settings, say=print)
    assert done.exit_code == 0, done.problems


def asked(settings: Settings, query: str) -> list[tuple]:
    with duckdb.connect(str(settings.home / "build.duckdb"), read_only=True) as connection:
        return connection.execute(query).fetchall()


def days_of_the_build(settings: Settings) -> list[int]:
    return [day for (day,) in asked(settings, "select day(usage_day) from raw.build_days order by 1")]


def test_a_new_hour_is_read_with_the_files_of_its_day_and_the_rest_of_the_month_stays(organisation: Organisation) -> None:
    settings = organisation.settings
    with without_dagster():
        for day in (2, 3, 4, 5):
            deliver(organisation, (day, 9, 0), range(50), 40.0 + day, "2026-05-01")
        deliver(organisation, (3, 23, 58), range(48), 70.0, "2026-05-01")  # over midnight
        refreshed(settings)
        assert days_of_the_build(settings) == [2, 3, 4, 5]
        before = asked(settings, "select usage_day, sum(sample_count) from intermediate.int_device_minutes group by 1 order by 1")
        assert [count for _, count in before] == [16 * 50, 16 * (50 + 24), 16 * (50 + 24), 16 * 50]

        # between the first twenty documents and the rest, so minutes of the file that was there are cut
        deliver(organisation, (5, 9, 1), range(3, 40, 2), 99.0, "2026-05-02")
        refreshed(settings)
        assert days_of_the_build(settings) == [5], "the other days are as they were"
        objects = asked(settings, "select distinct source_object from raw.landed_files where source_name = 'neuron'")
        assert len(objects) == 2 and all("2026-04-05" in name for (name,) in objects), "and their files are not read"

        deliver(organisation, (3, 23, 58), range(30), 10.0, "2026-05-03")  # the same file, restated: of the next day six are left
        refreshed(settings)
        assert days_of_the_build(settings) == [3, 4]
        deliver(organisation, (7, 0, 0), range(20), 55.0, "2026-05-04")  # it begins just at midnight
        refreshed(settings)
        assert days_of_the_build(settings) == [6, 7], "what lies within minutes of a day may change it"

        write_run(organisation.folder / "exports/runs/b.run.json", "run-b", at="2026-05-05")
        refreshed(settings)
        assert days_of_the_build(settings) == [], "a record changes no sample"

        by_days, rows = published_bytes(settings.home), asked(settings, MINUTES)
        assert refresh(settings, full=True, say=print).exit_code == 0
        assert asked(settings, MINUTES) == rows
        assert published_bytes(settings.home) == by_days


MINUTES = "from intermediate.int_device_minutes order by all"


def test_a_new_hour_of_the_drivers_power_is_read_with_its_day_and_no_sample_of_use_with_it(organisation: Organisation) -> None:
    settings = organisation.settings
    with without_dagster():
        for day in (2, 3, 4, 5):
            deliver(organisation, (day, 9, 0), range(50), 40.0 + day, "2026-05-01")
            deliver_power(organisation, (day, 9, 0), 10, 50.0 + day, "2026-05-01")
        refreshed(settings)
        before = asked(settings, READINGS)
        assert [count for _, count in before] == [20, 20, 20, 20]

        deliver_power(organisation, (4, 23, 55), 8, 70.0, "2026-05-02")  # over midnight
        refreshed(settings)
        assert asked(settings, "select kind, day(usage_day) from raw.build_days order by all") == [
            ("neuron_power", 4),
            ("neuron_power", 5),
        ]
        objects = asked(
            settings, "select source_name, source_object from raw.landed_files where source_name in ('neuron', 'power')"
        )
        assert len(objects) == 3 and all(source == "power" for source, _ in objects)
        assert [count for _, count in asked(settings, READINGS)] == [20, 20, 30, 26]
        matched = asked(settings, "select sum(sample_count), sum(matched_sample_count) from marts.fct_telemetry_matches")
        assert matched == [(4 * 16 * 50 + 96, 4 * 16 * 50 + 96)]

        by_days = published_bytes(settings.home)
        assert refresh(settings, full=True, say=print).exit_code == 0
        assert published_bytes(settings.home) == by_days


READINGS = "select usage_day, count(*) from intermediate.int_metered_power group by 1 order by 1"


def test_a_build_that_goes_on_with_anothers_reads_all_days_of_its_months(organisation: Organisation) -> None:
    """A gate that the other did not pass is asked of all that it wrote, not of the days that changed since."""
    settings = organisation.settings
    with without_dagster():
        for day in (2, 3):
            deliver(organisation, (day, 9, 0), range(20), 40.0, "2026-05-01")
        refreshed(settings)
        deliver(organisation, (3, 10, 0), range(20), 40.0, "2026-05-02")
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ZeroDivisionError):
            patch.setattr("dagster_project.warehouse.building.require_publishable", lambda *_: 1 / 0)
            refresh(settings, say=print)
        assert days_of_the_build(settings) == [3]
        refreshed(settings)
        assert days_of_the_build(settings) == [2, 3]
