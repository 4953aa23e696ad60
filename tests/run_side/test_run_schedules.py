"""What runs by itself: on or off by the configuration, at which times, and each thing once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_project.assets.graph import build_definitions
from dagster_project.assets.names import COMPARISON, PUBLICATION, landing_key
from dagster_project.assets.partitions import register_ledger
from dagster_project.assets.quarterly import KEY
from dagster_project.assets.schedules import require_times
from dagster_project.base.failures import UsageError
from dagster_project.settings import Settings, load_settings

pytestmark = pytest.mark.slow  # the graph needs the parsed dbt project
SOURCES = "".join(
    f"  - {{name: {name}, kind: {kind}, location: ./exports}}\n"
    for name, kind in (("cur", "aws_cur"), ("carbon", "aws_carbon"), ("runs", "training_runs"), ("fx", "fx_rates"))
)


def configured(folder: Path, schedules: str = "") -> Settings:
    config = folder / "trainledger.yaml"
    config.write_text(f"organisation: {{name: Test}}\nhome: ./home\n{schedules}\nsources:\n{SOURCES}")
    return load_settings(config)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    written = 'schedules: {new_deliveries: true, quarterly: true, comparison: "0 9 23 * *", prune: "0 3 * * 0"}'
    return configured(tmp_path_factory.mktemp("schedules"), written)


@pytest.fixture(scope="module")
def definitions(settings: Settings) -> dg.Definitions:
    return build_definitions(settings)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}")
    with dg.DagsterInstance.from_config(str(tmp_path)) as opened:
        yield opened


def in_force(definitions: dg.Definitions) -> dict[str, bool]:
    found = [*(definitions.schedules or ()), *(definitions.sensors or ())]
    return {one.name: one.default_status.value == "RUNNING" for one in found}


def test_what_the_configuration_names_is_in_force_without_a_click(definitions: dg.Definitions, tmp_path: Path) -> None:
    # beside the sensor no schedule of a refresh is offered, and the other way round
    definitions.get_repository_def().load_all_definitions()  # as a code server does, which compares all names
    on = dict.fromkeys(("new_deliveries", "quarterly", "quarter_is_final", "comparison", "prune"), True)
    assert in_force(definitions) == on
    by_time = build_definitions(configured(tmp_path, "schedules: {refresh: true, quarterly: false}"))
    off = dict.fromkeys(("quarterly", "quarter_is_final", "comparison", "prune"), False)
    assert in_force(by_time) == {**off, "refresh": True}
    # daily, and once more on the days on which both providers publish carbon
    assert by_time.resolve_schedule_def("refresh").cron_schedule == ("0 6 * * *", "0 14 15-21 * *")
    nothing = in_force(build_definitions(configured(tmp_path)))
    assert nothing == {**off, "refresh": False, "new_deliveries": False}


def test_times_that_dagster_does_not_take_are_named_with_their_line_and_an_example(tmp_path: Path) -> None:
    settings = configured(tmp_path, 'schedules:\n  prune: "61 3 * * 0"')
    with pytest.raises(UsageError, match=r"'schedules.prune': '61 3 \* \* 0' is no cron .*, line 4\)") as raised:
        require_times(settings)
    assert raised.value.remedy and 'prune: "0 3 * * 0"' in raised.value.remedy


def published(settings: Settings, instance: dg.DagsterInstance, fingerprint: str) -> None:
    """The record of a publication of a quarter, without its tables."""
    folder, units = settings.home / "published", {"AWS/2025-12": fingerprint, "~shared": "another"}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trainledger.duckdb").touch()
    (folder / "PUBLICATION.json").write_text(json.dumps({"build_id": "b", "fingerprint": "f", "units": units}))
    register_ledger(instance, units)


def test_the_quarter_that_ended_is_reported_on_day_22_and_again_where_its_figures_are_others(
    settings: Settings, definitions: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    schedule = definitions.resolve_schedule_def("quarterly")
    assert schedule.cron_schedule == "0 8 22 1,4,7,10 *"
    at, repository = datetime(2026, 1, 22, 8, tzinfo=UTC), definitions.get_repository_def()

    def tick() -> Any:
        with dg.build_schedule_context(instance, scheduled_execution_time=at, repository_def=repository) as context:
            found = schedule.evaluate_tick(context)
            return found.run_requests[0] if found.run_requests else found.skip_message

    assert tick() == "Nothing of 2025Q4 is published yet."
    published(settings, instance, "first")
    first = tick()
    assert (first.partition_key, first.run_key) == ("2025Q4", first.tags[KEY])
    instance.add_run(dg.DagsterRun(job_name="quarterly_report", tags=dict(first.tags)))
    assert tick() == "2025Q4 was reported as it is published."
    published(settings, instance, "restated")
    assert tick().run_key != first.run_key


def test_the_comparison_waits_for_the_first_publication_after_its_time(
    definitions: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    chosen, cursor = dg.AssetSelection.assets(COMPARISON), None
    requested = []
    for hour in (8, 10, 11, 12):
        if hour == 11:
            instance.report_runless_asset_event(dg.AssetMaterialization(PUBLICATION))
        at = datetime(2030, 6, 23, hour, tzinfo=UTC)
        found = dg.evaluate_automation_conditions(
            definitions, instance, asset_selection=chosen, evaluation_time=at, cursor=cursor
        )
        cursor = found.cursor
        requested.append(found.total_requested)
    assert requested == [0, 0, 1, 0], "its time is 09:00, and the publication came between 10:00 and 11:00"


def test_what_providers_promise_is_watched_and_what_has_no_promise_is_not(definitions: dg.Definitions) -> None:
    graph = definitions.get_repository_def().asset_graph
    found = {key: policy for key in graph.get_all_asset_keys() if (policy := graph.get(key).freshness_policy)}
    hours = {
        key.path[-1]: (
            policy.warn_window.to_timedelta().total_seconds() / 3600,
            policy.fail_window.to_timedelta().total_seconds() / 3600,
        )
        for key, policy in found.items()
    }
    assert hours["cur"] == hours["publication"] == hours["fct_reconciliation"] == (30, 48)
    # a month after the 20th and the 21st of the next month, from the day on which a month can come first
    assert hours["carbon"] == hours["fct_residual_emissions"] == (37 * 24, 38 * 24)
    assert hours["runs"] == hours["dim_training_runs"] == (35 * 24, 100 * 24)
    assert landing_key("fx") not in found and dg.AssetKey(["marts", "fct_telemetry_matches"]) not in found
