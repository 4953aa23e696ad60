"""The sensor of new deliveries: what requests a refresh, and what does not request a second one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_project.assets.internals import WrittenRun
from dagster_project.assets.names import BY_COMMAND_LINE, LOOK
from dagster_project.assets.sensors import new_deliveries_sensor
from tests.landing.kit import Organisation, bill_line

BIGQUERY = {"name": "google", "kind": "gcp_billing", "location": "bq://acme.exports.bill"}
METRICS = {"name": "metrics", "kind": "prometheus", "location": "prom+http://127.0.0.1:9"}


class Watched:
    """An organisation under the eye of the sensor, whose cursor goes from look to look."""

    def __init__(self, organisation: Organisation, instance: dg.DagsterInstance) -> None:
        self.organisation, self.instance, self.cursor = organisation, instance, ""
        job = dg.GraphDefinition(name="refresh").to_job()
        self.sensor = new_deliveries_sensor(organisation.settings, job, is_on=True, seconds=900)

    def look(self) -> dg.RunRequest | str:
        """What the next look requests, or why it requests nothing."""
        with dg.build_sensor_context(self.instance, cursor=self.cursor or None) as context:
            found: Any = self.sensor(context)
            self.cursor = context.cursor or ""
        return found if isinstance(found, dg.RunRequest) else found.skip_message

    def publish(self) -> None:
        """Land what is there, and leave the record of a publication of exactly that."""
        self.organisation.refresh()
        line, published = self.organisation.line, self.organisation.settings.home / "published"
        published.mkdir(exist_ok=True)
        (published / "trainledger.duckdb").touch()
        record = {"build_id": "b", "fingerprint": line.fingerprint(line.elect())}
        (published / "PUBLICATION.json").write_text(json.dumps(record))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster/dagster.yaml").write_text("telemetry: {enabled: false}")
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as opened:
        yield opened


@pytest.fixture
def watched(tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T08:00:00Z")
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    return Watched(organisation, instance)


def test_a_refresh_is_requested_for_each_thing_that_is_new_and_for_none_twice(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(watched.look(), dg.RunRequest)
    assert watched.look() == "What is there was there when a refresh was requested today."
    watched.publish()
    assert watched.look() == "Nothing is new."
    watched.organisation.deliver([bill_line(day="2026-05-01")], at="2026-06-09", month="2026-05")
    assert isinstance(watched.look(), dg.RunRequest)
    # a refresh that landed it and was not published, as one that a gate refused: once more, then not before tomorrow
    watched.organisation.refresh()
    assert isinstance(watched.look(), dg.RunRequest)
    assert watched.look() == "What is there was there when a refresh was requested today."
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-11T00:00:00Z")
    assert isinstance(watched.look(), dg.RunRequest)
    watched.publish()
    assert watched.look() == "Nothing is new."


def test_a_month_that_turns_final_by_the_clock_alone_is_published(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    watched.publish()
    assert watched.look() == "Nothing is new."
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-15T00:00:00Z")
    assert isinstance(watched.look(), dg.RunRequest)


def test_a_location_that_cannot_be_read_makes_one_red_run_a_day(watched: Watched, tmp_path: Path) -> None:
    watched.publish()
    folder = tmp_path / "exports/cur"
    folder.rename(tmp_path / "away")
    assert isinstance(watched.look(), dg.RunRequest)
    assert watched.look() == "What is there was there when a refresh was requested today."
    (tmp_path / "away").rename(folder)
    assert watched.look() == "Nothing is new."


def test_no_refresh_is_requested_while_one_is_queued_or_runs_and_none_is_lost(watched: Watched) -> None:
    run = watched.instance.add_run(dg.DagsterRun(job_name="refresh", status=dg.DagsterRunStatus.NOT_STARTED))
    assert watched.look() == f"Run {run.run_id} is not over. The next look requests what is still new then."
    watched.instance.report_run_failed(run)
    assert isinstance(watched.look(), dg.RunRequest)


def test_a_refresh_of_the_command_line_that_was_killed_is_ended_and_stops_nothing(watched: Watched) -> None:
    killed = WrittenRun(watched.instance, BY_COMMAND_LINE, 1_790_000_000.0)
    killed.begin(LOOK, 1_790_000_000.0)
    killed.write()
    assert isinstance(watched.look(), dg.RunRequest)
    assert [run.status for run in watched.instance.get_runs()] == [dg.DagsterRunStatus.FAILURE]


@pytest.mark.parametrize("source", [[BIGQUERY], [METRICS], [BIGQUERY, METRICS]], ids=["table", "metrics", "both"])
def test_tables_and_servers_of_metrics_are_asked_once_a_day_and_by_the_refresh(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, source: list[dict[str, str]]
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T08:00:00Z")
    monkeypatch.setitem(__import__("sys").modules, "google.cloud.bigquery", None)  # who asks a table here fails
    monkeypatch.setitem(__import__("sys").modules, "connectors.stores.prometheus", None)  # and a server of metrics
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, *source)
    organisation.deliver([bill_line()], at="2026-05-02")
    watched = Watched(organisation, instance)

    def looked_at() -> Any:
        found = watched.look()
        return found.run_config if isinstance(found, dg.RunRequest) else found

    folders_only = {"ops": {"new_deliveries": {"config": {"only": ["cur"]}}}}
    assert looked_at() == {}  # all of them
    organisation.deliver([bill_line(2.0)], at="2026-05-03")
    assert looked_at() == folders_only
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-11T00:00:00Z")
    assert looked_at() == {}
    assert looked_at() == "What is there was there when a refresh was requested today."
