"""When the line runs by itself."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.assets.graph import build_definitions
from dagster_project.assets.partitions import register_ledger
from dagster_project.settings import load_settings

pytestmark = pytest.mark.slow  # the graph needs the parsed dbt project


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    config: Path = tmp_path_factory.mktemp("schedules") / "trainledger.yaml"
    config.write_text(
        "organisation: {name: Test, reporting_currency: USD}\nhome: ./home\n"
        "sources:\n  - {name: runs, kind: training_runs, location: ./runs}\n"
    )
    return build_definitions(load_settings(config))


def test_the_quarter_that_ended_is_reported_on_day_22_if_anything_of_it_is_published(
    definitions: dg.Definitions, tmp_path: Path
) -> None:
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}")
    schedule = definitions.resolve_schedule_def("quarterly_on_day_22")
    assert schedule.cron_schedule == "0 8 22 1,4,7,10 *"
    at = datetime(2026, 1, 22, 8, tzinfo=UTC)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        repository = definitions.get_repository_def()
        with dg.build_schedule_context(instance, scheduled_execution_time=at, repository_def=repository) as context:
            assert "2025Q4" in schedule.evaluate_tick(context).skip_message
            register_ledger(instance, {"AWS/2025-12": "its fingerprint", "~shared": "another"})
            [request] = schedule.evaluate_tick(context).run_requests
    assert request.partition_key == "2025Q4"


def test_bills_are_looked_for_daily_and_carbon_in_its_window(definitions: dg.Definitions) -> None:
    crons = {schedule.name: schedule.cron_schedule for schedule in definitions.schedules}
    assert crons["refresh_daily"] == "0 6 * * *"
    assert crons["carbon_window"] == "0 14 15-21 * *"


def test_the_comparison_is_made_once_a_month_after_the_emissions_of_the_last(definitions: dg.Definitions) -> None:
    [monthly] = [schedule for schedule in definitions.schedules if schedule.name == "comparison_monthly"]
    assert monthly.cron_schedule == "30 8 22 * *"
    assert monthly.job_name == "comparison_report"
