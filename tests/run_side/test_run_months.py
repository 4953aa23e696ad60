"""Months that did not change are built again on request, from the command line and from Dagster, and come out as they were."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.assets import names
from dagster_project.assets.graph import build_definitions
from dagster_project.commands.refreshing import refresh
from dagster_project.failures import UsageError
from dagster_project.settings import Settings, load_settings
from dagster_project.warehouse.site import Site
from tests.line.kit import date_files, day_of_hours, published_bytes, write_small_exports
from tests.warm import warm_dbt

pytestmark = pytest.mark.slow
MONTHS = ["2026-04", "2026-05"]


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Bills of April and May, refreshed once."""
    folder = tmp_path_factory.mktemp("months")
    exports = write_small_exports(folder)
    rows = day_of_hours("i-tagged", 20.0)
    for row in rows:
        for edge in ("line_item_usage_start_date", "line_item_usage_end_date"):
            row[edge] = row[edge].replace(month=5)
    exports.bill(rows, period="2026-05")
    date_files(folder / "exports", datetime(2026, 6, 10, tzinfo=UTC))
    settings = load_settings(folder / "trainledger.yaml")
    with pytest.MonkeyPatch.context() as patched, warm_dbt():
        patched.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
        assert refresh(settings, say=print).built
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
    with warm_dbt():
        done = refresh(refreshed, months=MONTHS, say=print)
    assert done.built and done.built.build.months == [f"{month}-01" for month in MONTHS] and not done.built.build.is_full
    assert published_bytes(refreshed.home) == before and build_id(refreshed.home) != first


def test_a_month_without_anything_is_an_error_that_names_those_there_are(refreshed: Settings) -> None:
    with pytest.raises(UsageError, match=r"nothing of 2019-01.*2026-04 to"):
        refresh(refreshed, months=["2019-01"], say=print)
    assert not Site.of_home(refreshed.home).marker.exists(), "the next refresh has nothing to mend"


def test_in_dagster_a_range_of_months_is_one_run(refreshed: Settings) -> None:
    before, first = published_bytes(refreshed.home), build_id(refreshed.home)
    edges = {"dagster/asset_partition_range_start": MONTHS[0], "dagster/asset_partition_range_end": MONTHS[-1]}
    with dg.DagsterInstance.ephemeral() as instance, warm_dbt():
        instance.add_dynamic_partitions(names.LEDGER_MONTHS, MONTHS)
        job = build_definitions(refreshed, wait=0).resolve_job_def("rebuild_months")
        done = job.execute_in_process(instance=instance, tags=edges)
        assert done.success
        shown = instance.get_materialized_partitions(names.MONTHS)
    assert set(MONTHS) <= shown
    assert published_bytes(refreshed.home) == before and build_id(refreshed.home) != first
