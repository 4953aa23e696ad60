"""Months that did not change are built again on request, from the command line and from Dagster, and come out as they were.

The command line and Dagster go the same steps, and single models are never published.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from dagster_project.assets import names
from dagster_project.assets.graph import build_definitions
from dagster_project.base.failures import UsageError
from dagster_project.commands.refreshing import refresh
from dagster_project.settings import Settings, load_settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.site import Site
from tests.line.kit import date_files, day_of_hours, published_bytes, write_small_exports
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
MONTHS = ["2026-04", "2026-05"]


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Bills of April and May, refreshed once."""
    folder = tmp_path_factory.mktemp("months")
    exports = write_small_exports(folder)
    exports.bill(day_of_hours("i-tagged", 20.0, "2026-05"), period="2026-05")
    date_files(folder / "exports", datetime(2026, 6, 10, tzinfo=UTC))
    settings = load_settings(folder / "trainledger.yaml")
    with pytest.MonkeyPatch.context() as patched, without_dagster():
        patched.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
        assert refresh(settings, say=print).build
    return settings


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")


def build_id(home: Path) -> str:
    record = Site.of_home(home).publication()
    assert record is not None
    return str(record["build_id"])


def test_the_command_builds_the_asked_months_and_only_them(refreshed: Settings) -> None:
    before, first = published_bytes(refreshed.home), build_id(refreshed.home)
    with without_dagster():
        done = refresh(refreshed, months=MONTHS, say=print)
    assert done.build and done.build.months == [f"{month}-01" for month in MONTHS] and not done.build.is_full
    assert published_bytes(refreshed.home) == before and build_id(refreshed.home) != first


def test_a_month_without_anything_is_an_error_that_names_those_there_are(refreshed: Settings) -> None:
    with pytest.raises(UsageError, match=r"nothing of 2019-01.*2026-04 to"):
        refresh(refreshed, months=["2019-01"], say=print)
    assert not Site.of_home(refreshed.home).marker.exists(), "the next refresh has nothing to mend"


def test_in_dagster_a_range_of_months_is_one_run(refreshed: Settings) -> None:
    before, first = published_bytes(refreshed.home), build_id(refreshed.home)
    edges = {"dagster/asset_partition_range_start": MONTHS[0], "dagster/asset_partition_range_end": MONTHS[-1]}
    with dg.DagsterInstance.ephemeral() as instance, without_dagster():
        instance.add_dynamic_partitions(names.LEDGER_MONTHS, MONTHS)
        job = build_definitions(refreshed, wait=0).resolve_job_def("rebuild_months")
        done = job.execute_in_process(instance=instance, tags=edges)
        assert done.success
        shown = instance.get_materialized_partitions(names.MONTHS)
    assert set(MONTHS) <= shown
    assert published_bytes(refreshed.home) == before and build_id(refreshed.home) != first


def test_in_dagster_a_refresh_goes_the_steps_of_the_command_line_and_shows_each_once(refreshed: Settings) -> None:
    before, first = published_bytes(refreshed.home), build_id(refreshed.home)
    job = build_definitions(refreshed, wait=0).resolve_job_def("refresh")
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(instance=instance, run_config={"ops": {"build": {"config": {"full": True}}}})
        again = job.execute_in_process(instance=instance)
        lines = len(instance.all_logs(again.run_id))
    assert published_bytes(refreshed.home) == before and build_id(refreshed.home) != first
    shown = Counter((event.asset_key, event.partition) for event in done.all_events if event.is_step_materialization)
    assert set(shown.values()) == {1}
    manifest = modelling.project(refreshed.home)
    built = {names.node_key(node) for node in manifest["nodes"].values() if node["resource_type"] in ("model", "seed")}
    views = {names.raw_key(table) for table in names.raw_tables(manifest)}
    assert (
        {names.NEW_DELIVERIES, names.GATES, names.PUBLICATION} | views
        <= {key for key, _ in shown}
        <= {names.NEW_DELIVERIES, names.GATES, names.PUBLICATION, names.MONTHS} | views | built
    )
    assert {month for key, month in shown if key == names.MONTHS} >= set(MONTHS)
    checks = Counter(check.asset_check_key for check in done.get_asset_check_evaluations())
    assert set(checks.values()) == {1} and len(checks) > 100
    assert {event.asset_key for event in again.all_events if event.is_step_materialization} == {names.NEW_DELIVERIES}
    assert lines < 40, "a look without news plans and runs no model"


def test_in_dagster_a_refused_delivery_fails_the_run_at_its_last_step_after_the_rest_is_published(refreshed: Settings) -> None:
    first, runs = build_id(refreshed.home), refreshed.path.parent / "exports" / "runs"
    (runs / "wrong.run.json").write_text('{"training_run_id": 7}')
    job = build_definitions(refreshed, wait=0).resolve_job_def("refresh")
    with dg.DagsterInstance.ephemeral() as instance, without_dagster():
        done = job.execute_in_process(instance=instance, raise_on_error=False)
        again = job.execute_in_process(instance=instance, raise_on_error=False)
        alone = job.execute_in_process(instance=instance, op_selection=[names.SOURCES], raise_on_error=False)
    assert build_id(refreshed.home) != first
    for run in (done, again):  # for as long as it stays
        assert "runs " in why(run) and "wrong.run.json" in why(run) and not run.success
        assert [event.step_key for event in run.all_events if event.is_step_failure] == [names.SOURCES]
    assert "No source was looked at in this run" in why(alone)
    assert refresh(refreshed, say=print).exit_code == 3
    (runs / "wrong.run.json").unlink()


def test_in_dagster_single_models_are_built_and_never_published(refreshed: Settings) -> None:
    first, model = build_id(refreshed.home), dg.AssetKey(["marts", "fct_reconciliation"])
    definitions = build_definitions(refreshed, wait=0)
    job, publish = definitions.resolve_implicit_global_asset_job_def(), definitions.resolve_job_def("publish")
    with dg.DagsterInstance.ephemeral() as instance:
        nothing = publish.execute_in_process(instance=instance, raise_on_error=False)
        raw = job.execute_in_process(instance=instance, asset_selection=[names.raw_key("aws_cur")], raise_on_error=False)
        one = job.execute_in_process(instance=instance, asset_selection=[model])
        refused = publish.execute_in_process(instance=instance, raise_on_error=False)
    assert [event.asset_key for event in one.all_events if event.is_step_materialization] == [model]
    assert "no build under way" in why(nothing) and "never alone" in why(raw) and "Single models were run" in why(refused)
    assert build_id(refreshed.home) == first
    Site.of_home(refreshed.home).marker.unlink()


def test_in_dagster_gates_that_are_asked_alone_fail_their_run_after_the_last_of_them(refreshed: Settings) -> None:
    build_file, costs = Site.of_home(refreshed.home).build_file, dg.AssetKey(["marts", "fct_training_run_costs"])
    kept = build_file.read_bytes()
    with duckdb.connect(str(build_file)) as connection:
        connection.execute("update marts.fct_training_run_costs set status = 'wrong', effective_cost = effective_cost + 1")
    job = build_definitions(refreshed, wait=0).resolve_implicit_global_asset_job_def()
    asked = {key for key in job.asset_layer.asset_graph.asset_check_keys if key.asset_key == costs}
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.get_subset(asset_check_selection=asked).execute_in_process(instance=instance, raise_on_error=False)
    build_file.write_bytes(kept)
    failed = {check.check_name for check in done.get_asset_check_evaluations() if not check.passed}
    assert {one.partition("_fct_")[0] for one in failed} == {"assert_run_costs_are_sums_of_their_cells", "accepted_values"}
    assert not done.success and {check.asset_check_key for check in done.get_asset_check_evaluations()} == asked


def why(done: dg.ExecuteInProcessResult) -> str:
    """The words with which a run failed."""
    [failed] = [event.step_failure_data for event in done.all_events if event.is_step_failure]
    return str(failed.user_failure_data.description)
