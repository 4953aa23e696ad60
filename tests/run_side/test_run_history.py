"""Dagster's history stays below its bound: the oldest runs go, and neither what pages show nor what was issued rests on them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.assets.command_line import opened_instance
from dagster_project.commands.pruning import run as prune
from dagster_project.settings import Settings, load_settings
from dagster_project.warehouse.upkeep import bytes_below
from tests.line.kit import write_small_exports
from tests.run_side.histories import refresh_often, require_that_one_without_news_is_a_line, require_that_the_oldest_go

pytestmark = pytest.mark.slow  # names come from the parsed dbt project


@pytest.fixture(scope="module")
def refreshed_often(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with eight refreshes, of which the first landed a bill and a report was issued of the second."""
    folder = tmp_path_factory.mktemp("often") / "line"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
        patch.setenv("DAGSTER_HOME", "")
        write_small_exports(folder)
        settings = load_settings(folder / "trainledger.yaml")
        refresh_often(settings)
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
    ids, kept = require_that_the_oldest_go(instance, settings)
    assert [one for one in ids if shard(settings, one).exists()] == kept


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
    require_that_one_without_news_is_a_line(instance, settings, lambda run: shard(settings, run).exists())
