"""What the command line does, as Dagster shows it: a run with every materialisation and check, at the time of each."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.tags import REPOSITORY_LABEL_TAG

from dagster_project.assets import internals, names, results
from dagster_project.assets.command_line import refresh_run, show_report
from dagster_project.base.failures import GateError
from dagster_project.landing.judging.rules import RULES
from dagster_project.landing.missing import Missing
from dagster_project.landing.planning import Problem
from dagster_project.settings import Settings, load_settings
from dagster_project.warehouse import steps
from dagster_project.warehouse.home import Home
from tests.invented_build import FAILURE, MODEL, RAW_SECONDS, ROWS, TEST, show, steps_of
from tests.line.kit import write_small_exports

pytestmark = pytest.mark.slow  # names come from the parsed dbt project


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    monkeypatch.setenv("DAGSTER_HOME", "")
    write_small_exports(tmp_path)
    return load_settings(tmp_path / "trainledger.yaml")


def instance_of(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> dg.DagsterInstance:
    monkeypatch.setenv("DAGSTER_HOME", str(settings.home / ".dagster"))
    return dg.DagsterInstance.get()


def failures(instance: dg.DagsterInstance, run_id: str) -> dict[str, Any]:
    """Each failed step of a run with its failure, in order."""
    logged = [one.dagster_event for one in instance.all_logs(run_id) if one.step_key and one.dagster_event]
    return {one.step_key: one.step_failure_data.user_failure_data for one in logged if one.is_step_failure}


def checks_of(instance: dg.DagsterInstance, run_id: str) -> list[dg.AssetCheckEvaluation]:
    """Each check of a run, as it came out."""
    logged = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    return [one.dagster_event.asset_check_evaluation_data for one in logged if one.dagster_event]


def test_a_refresh_is_a_run_with_its_landings_models_checks_and_publication(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert show(settings, steps_of(settings)) == []
    with instance_of(settings, monkeypatch) as instance:
        [run] = instance.get_runs()
        assert (run.job_name, run.status.value, run.tags["trainledger/started_by"]) == ("refresh", "SUCCESS", "command line")

        def materialized(key: dg.AssetKey) -> dg.AssetMaterialization:
            return instance.get_latest_materialization_event(key).asset_materialization

        bill = materialized(names.landing_key("cur"))
        assert (bill.partition, bill.metadata["billed cost USD"].value) == ("2026-04", "1558.98")
        assert len(bill.tags["dagster/data_version"]) == 64
        assert materialized(names.landing_key("runs")).partition is None
        assert instance.get_dynamic_partitions(names.source_months("cur")) == ["2026-04"]
        assert instance.get_dynamic_partitions(names.source_months("runs")) == []
        assert instance.get_dynamic_partitions(names.QUARTERS) == ["2026Q2"]
        assert materialized(dg.AssetKey(["marts", MODEL])).metadata["dagster/row_count"].value == 7
        assert materialized(names.raw_key("aws_cur")).metadata["elected deliveries"].value == 1
        assert materialized(names.raw_key("aws_cur")).metadata[results.SECONDS_OF_RAW].value == RAW_SECONDS
        assert materialized(names.PUBLICATION).metadata["tables"].value.records[0].data["rows"] == 7
        assert materialized(names.MONTHS).partition == "2026-04"
        keys = [
            dg.AssetCheckKey(dg.AssetKey(["marts", MODEL]), TEST),
            *(dg.AssetCheckKey(names.landing_key("cur"), rule.name) for rule in RULES),
            dg.AssetCheckKey(names.landing_key("carbon"), names.LANDING_CHECK),
        ]
        found = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
        assert {found[key].status.value for key in keys} == {"SUCCEEDED"}


def test_a_failed_gate_is_a_failed_run_with_its_first_rows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GateError):
        show(settings, steps_of(settings, FAILURE), [Problem("cur", "", "its folder is gone. Look at it.")])
    with instance_of(settings, monkeypatch) as instance:
        [run] = instance.get_runs()
        assert run.status.value == "FAILURE"
        failed = failures(instance, run.run_id)
        assert list(failed) == [names.BUILD, names.SOURCES]  # whoever mends one sees the other
        assert ROWS in failed[names.BUILD].description
        assert failed[names.BUILD].metadata["remedy"].value == "Correct the cause."
        assert failed[names.SOURCES].description == "cur: its folder is gone. Look at it."
        gate = dg.AssetCheckKey(dg.AssetKey(["marts", MODEL]), TEST)
        source = dg.AssetCheckKey(names.landing_key("cur"), names.LANDING_CHECK)
        found = instance.event_log_storage.get_latest_asset_check_execution_by_key([gate, source])
        evaluations = {key: record.event.dagster_event.asset_check_evaluation_data for key, record in found.items()}
        assert not evaluations[gate].passed and evaluations[gate].metadata["first rows"].value == ROWS
        assert not evaluations[source].passed and "its folder is gone" in evaluations[source].description
        assert instance.get_latest_materialization_event(names.PUBLICATION) is None


def test_a_refresh_without_a_source_is_a_failed_run_unless_it_is_expected_to_be_missing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = [Problem("cur", "", "its folder is gone.", "Look at it.")]
    expecting = settings.model_copy(update={"expected_missing": ["cur"]})
    for configured in (settings, expecting):
        assert show(configured, steps_of(configured), gone) == []
    with instance_of(settings, monkeypatch) as instance:
        excused, run = instance.get_runs()
        assert (excused.status.value, run.status.value) == ("SUCCESS", "FAILURE")
        failed = failures(instance, run.run_id)
        assert {step: failure.description for step, failure in failed.items()} == {
            names.SOURCES: "cur: its folder is gone. Look at it."
        }
        assert instance.get_latest_materialization_event(names.PUBLICATION) is not None
        found = instance.event_log_storage.get_latest_asset_check_execution_by_key([results.SOURCES_CHECK])
        shown = found[results.SOURCES_CHECK].event.dagster_event.asset_check_evaluation_data
        assert shown.passed and shown.description == "Expected to be missing: cur: its folder is gone. Look at it."


def test_a_refresh_without_a_report_table_is_a_failed_run_as_its_exit_code_is(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_one() -> Iterator[steps.Step]:
        for step in steps_of(settings):
            if isinstance(step, steps.Published):
                step.record["absent"]["rpt_coverage"] = "its test failed"
            yield step

    assert show(settings, without_one()) == []
    with instance_of(settings, monkeypatch) as instance:
        [run] = instance.get_runs()
        assert run.status.value == "FAILURE"
        [(step, failure)] = failures(instance, run.run_id).items()
        assert step == names.BUILD and "rpt_coverage is not published, the ledger is: its test failed" in failure.description


def test_a_look_shows_what_a_source_is_again_only_where_that_is_news(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        show(settings, steps_of(settings))
    with instance_of(settings, monkeypatch) as instance:
        again, first = [
            {one.asset_key for one in checks_of(instance, run.run_id) if one.check_name == names.LANDING_CHECK}
            for run in instance.get_runs()
        ]
    assert first == {names.landing_key(name) for name in ("cur", "carbon", "runs")} and again == set()


def test_a_report_is_a_materialisation_of_its_quarter(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    show_report(settings.home, "2026Q2", settings.home / "reports" / "2026Q2" / "index.html", "final", printed.append)
    assert printed == []
    with instance_of(settings, monkeypatch) as instance:
        report = instance.get_latest_materialization_event(names.QUARTERLY).asset_materialization
        assert (report.partition, report.metadata["status"].value) == ("2026Q2", "final")
        forms = {"report.pdf", "report.xlsx", "report.json", "tables"}
        assert forms <= {Path(value.value).name for value in report.metadata.values()}


def test_what_dagster_is_given_is_for_the_owner_alone(settings: Settings) -> None:
    before = os.umask(0)
    try:
        show_report(settings.home, "2026Q2", settings.home / "reports/2026Q2/report.html", "final", [].append)
    finally:
        os.umask(before)
    paths = [settings.home / ".dagster", *(settings.home / ".dagster").rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}


def test_an_instance_that_cannot_be_opened_is_one_line_and_costs_nothing_else(settings: Settings) -> None:
    settings.home.mkdir(parents=True)
    (settings.home / ".dagster").write_text("a file where a folder must be")
    [line] = show(settings, steps_of(settings))
    assert "Dagster UI does not show this" in line and "is not affected" in line


def test_an_event_that_dagster_does_not_take_is_one_line_and_the_last_of_its_run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(SqliteEventLogStorage, "_store_asset_event", refuses)
    [line] = show(settings, steps_of(settings))
    assert "no space left on device" in line


def test_a_run_has_the_times_at_which_its_steps_began_and_ended(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    began = 1_790_000_000.0
    clock = iter([began + 1, *(began + second for second in (60, 61, 62, 63, 64, 65, 66, 67, 68, 90))])
    now = [began]

    def ticks() -> float:
        now[0] = next(clock, now[0])
        return now[0]

    monkeypatch.setattr("dagster_project.assets.command_line.time.time", ticks)
    with refresh_run(Home.of(settings), began, print) as run:
        run.show(steps.Looked([], [], [], Missing([], [])))
    with instance_of(settings, monkeypatch) as instance:
        [record] = instance.get_run_records()
        assert record.start_time == began and record.end_time == now[0] > began + 60
        seconds = {
            step.step_key: step.end_time - step.start_time for step in instance.get_run_step_stats(record.dagster_run.run_id)
        }
        assert seconds.keys() == {names.LOOK, names.BUILD, names.SOURCES} and sum(seconds.values()) == record.end_time - began


def test_a_run_is_listed_while_it_goes_on_and_one_that_was_killed_is_ended_by_the_next(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = 1_790_000_000.0
    killed = refresh_run(Home.of(settings), began, print)
    killed.__enter__()
    with instance_of(settings, monkeypatch) as instance:
        [run] = instance.get_runs()
        assert run.status is dg.DagsterRunStatus.STARTED
        show(settings, steps_of(settings))
        assert [one.status.value for one in instance.get_runs()] == ["SUCCESS", "FAILURE"]
        ended = instance.get_run_record_by_id(run.run_id)
        assert ended and ended.end_time == began, "it lasted until its last event, not until somebody found it"


def test_an_interrupted_refresh_is_a_cancelled_run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt), refresh_run(Home.of(settings), 1.0, print):
        raise KeyboardInterrupt
    with instance_of(settings, monkeypatch) as instance:
        assert [run.status.value for run in instance.get_runs()] == ["CANCELED"]


def test_the_parts_of_dagster_that_are_not_public_are_where_they_were() -> None:
    storage = SqliteEventLogStorage.__init__.__code__.co_names
    assert callable(getattr(SqliteEventLogStorage, internals.OPENS_A_FILE)), "Dagster moved what one_commit replaces"
    assert internals.LOCK in storage, "Dagster moved the lock that one_commit sets anew"

    of_history = ("path_for_shard", "index_connection", "run_connection", "delete_events_for_run")
    for method in ("get_concurrency_info", "free_concurrency_slots_for_run", *of_history, *internals.ASKED_OF_EVERY_EVENT):
        assert callable(getattr(SqliteEventLogStorage, method)), f"Dagster moved {method}, which is called here"
    assert list(internals.REPOSITORY) == [REPOSITORY_LABEL_TAG], "Dagster renamed the tag by which a job finds its runs"


def test_hundreds_of_events_take_one_commit_for_each_file(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(json.dumps({"telemetry": {"enabled": False}}))
    opened: list[str] = []

    class Counted(SqliteEventLogStorage):
        def _connect(self, shard: str):
            opened.append(shard)
            return super()._connect(shard)

    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        instance.event_log_storage.__class__ = Counted
        with internals.one_commit(instance):
            for number in range(20):
                instance.report_runless_asset_event(dg.AssetMaterialization(["marts", f"m{number}"]))
        assert sorted(opened) == ["", "index"]
        assert instance.get_latest_materialization_event(dg.AssetKey(["marts", "m19"])) is not None
        opened.clear()
        with pytest.raises(RuntimeError), internals.one_commit(instance):
            instance.report_runless_asset_event(dg.AssetMaterialization(["marts", "lost"]))
            raise RuntimeError("in the middle")
        assert instance.get_latest_materialization_event(dg.AssetKey(["marts", "lost"])) is None
