"""Dagster's history stays below its bound: the oldest runs go, and neither what pages show nor what was issued rests on them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.assets import history, names
from dagster_project.assets.command_line import opened_instance
from dagster_project.commands.pruning import run as prune
from dagster_project.evidence import chain
from dagster_project.landing.judging.rules import RULES
from dagster_project.settings import Settings, load_settings
from dagster_project.warehouse.steps import Published, Step
from dagster_project.warehouse.upkeep import bytes_below
from tests.invented_build import show, steps_of
from tests.line.kit import write_small_exports

pytestmark = pytest.mark.slow  # names come from the parsed dbt project
RUNS = 8


def numbered(steps: Iterator[Step], build_id: str) -> Iterator[Step]:
    """The steps of an invented build, published under a name of its own."""
    for step in steps:
        yield step._replace(record={**step.record, "build_id": build_id}) if isinstance(step, Published) else step


@pytest.fixture(scope="module")
def refreshed_often(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with eight refreshes, of which the first landed a bill and a report was issued of the second."""
    folder = tmp_path_factory.mktemp("often") / "line"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
        patch.setenv("DAGSTER_HOME", "")
        write_small_exports(folder)
        settings = load_settings(folder / "trainledger.yaml")
        for number in range(RUNS):
            assert show(settings, numbered(steps_of(settings), f"build-{number}")) == []
    (settings.home / "reports/issued").mkdir(parents=True)
    chain.append(settings.home / "reports", {"report_id": "2026Q2-1", "build_id": "build-1"})
    return folder


@pytest.fixture
def settings(refreshed_often: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    monkeypatch.setenv("DAGSTER_HOME", "")
    shutil.copytree(refreshed_often, tmp_path / "line")
    return load_settings(tmp_path / "line/trainledger.yaml")


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    with opened_instance(settings.home) as opened:
        yield opened


def shard(settings: Settings, run_id: str) -> Path:
    return settings.home / ".dagster/history/runs" / f"{run_id}.db"


def test_the_oldest_runs_go_with_their_files_and_what_assets_and_checks_show_stays(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    ids = [run.run_id for run in instance.get_runs(ascending=True)]
    cur, before = names.landing_key("cur"), history._used(settings.home)
    newest = instance.get_latest_materialization_event(cur)
    assert newest and newest.run_id == ids[0]
    history.keep_bound(instance, settings.home, 500)
    assert [run.run_id for run in instance.get_runs(ascending=True)] == ids, "below the bound nothing goes"
    history.keep_bound(instance, settings.home, 0)  # and at the end of a refresh a few runs at most
    kept = [ids[1], *ids[-history.NEWEST :]]
    assert [run.run_id for run in instance.get_runs(ascending=True)] == kept, "the issued one stays, and the newest do"
    assert [one for one in ids if shard(settings, one).exists()] == kept
    assert instance.get_materialized_partitions(cur) == {"2026-04"}
    assert instance.get_latest_materialization_event(cur) == newest
    [stored] = instance.fetch_materializations(cur, limit=5).records
    assert (stored.partition_key, stored.timestamp) == ("2026-04", newest.timestamp)
    keys = [dg.AssetCheckKey(cur, rule.name) for rule in RULES]
    results = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    assert {results[key].status.value for key in keys} == {"SUCCEEDED"}
    # of a check that later runs asked again, what the removed ones found is gone
    taken = dg.AssetCheckKey(names.NEW_DELIVERIES, names.SOURCES)
    assert len(instance.event_log_storage.get_asset_check_execution_history(taken, limit=50)) == len(kept)
    assert history._used(settings.home) < before


def test_prune_brings_the_files_below_the_bound_and_states_what_it_would_free(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    size = bytes_below(settings.home / ".dagster")
    bound = settings.model_copy(update={"history_megabytes": 1})
    prune(bound, yes=False, wait=0, tell=lines.append, say=lines.append)
    assert lines == [
        f"would remove the oldest runs of Dagster's history ({size - 1_000_000} bytes above 1 MB)",
        "Nothing was removed. Give --yes to remove.",
    ]
    assert bytes_below(settings.home / ".dagster") == size
    prune(bound, yes=True, wait=0, tell=lines.append, say=lines.append)
    freed = size - bytes_below(settings.home / ".dagster")
    assert freed > 2 * 115_000, "a run has a file of at least so many bytes"
    assert lines[2:] == [f"removed the oldest runs of Dagster's history ({freed} bytes above 1 MB)"]


def test_a_refresh_that_found_nothing_leaves_its_line_in_the_list_and_nothing_else(
    settings: Settings, instance: dg.DagsterInstance
) -> None:
    [newest] = instance.get_runs(limit=1)
    with history.bounded(instance, newest, settings.home, 500):
        pass  # published nothing: its log is there until the next refresh has ended
    assert shard(settings, newest.run_id).exists()
    with history.bounded(instance, instance.get_runs(limit=2)[1], settings.home, 500):
        pass
    assert not shard(settings, newest.run_id).exists()
    assert len(instance.get_runs()) == RUNS
    assert instance.get_latest_materialization_event(names.PUBLICATION) is not None
    assert len(instance.get_records_for_run(newest.run_id).records) == 0
