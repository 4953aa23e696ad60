"""Eight refreshes that never ran, and what is left of them once the oldest had to go: on SQLite and on PostgreSQL the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import dagster as dg
from dagster._core.definitions.freshness import FreshnessState, FreshnessStateChange
from sqlalchemy import text

from dagster_project.assets import history, names
from dagster_project.evidence import chain
from dagster_project.landing.judging.rules import RULES
from dagster_project.settings import Settings
from dagster_project.warehouse.steps import Published, Step
from tests.invented_build import show, steps_of

RUNS = 8


def numbered(steps: Iterator[Step], build_id: str) -> Iterator[Step]:
    """The steps of an invented build, published under a name of its own."""
    for step in steps:
        yield step._replace(record={**step.record, "build_id": build_id}) if isinstance(step, Published) else step


def refresh_often(settings: Settings) -> None:
    """Eight refreshes, of which the first landed a bill and a report was issued of the second."""
    for number in range(RUNS):
        assert show(settings, numbered(steps_of(settings), f"build-{number}")) == []
    (settings.home / "reports/issued").mkdir(parents=True)
    chain.append(settings.home / "reports", {"report_id": "2026Q2-1", "build_id": "build-1"})


def freshness_rows(instance: dg.DagsterInstance) -> int:
    """How many states of freshness the history has."""
    with instance.event_log_storage.index_connection() as connection:
        counted = connection.execute(text("select count(*) from event_logs where dagster_event_type = 'FRESHNESS_STATE_CHANGE'"))
        return counted.scalar()


def require_that_the_oldest_go(instance: dg.DagsterInstance, settings: Settings) -> tuple[list[str], list[str]]:
    """Bound the history, and see that what assets and checks show stays. Returns which runs there were and which are kept."""
    ids = [run.run_id for run in instance.get_runs(ascending=True)]
    cur, before = names.landing_key("cur"), history.used(instance, settings.home)
    newest = instance.get_latest_materialization_event(cur)
    assert newest and newest.run_id == ids[0]
    history.keep_bound(instance, settings.home, 500)
    assert [run.run_id for run in instance.get_runs(ascending=True)] == ids, "below the bound nothing goes"
    states = [state for _ in range(20) for state in (FreshnessState.FAIL, FreshnessState.PASS)]
    for state in states:  # as the daemon writes them
        changed = {"new_state": state, "previous_state": FreshnessState.UNKNOWN, "state_change_timestamp": newest.timestamp}
        instance._report_runless_asset_event(FreshnessStateChange(key=cur, **changed))
    assert freshness_rows(instance) == len(states)
    history.keep_bound(instance, settings.home, 0)  # and at the end of a refresh a few runs at most
    kept = [ids[1], *ids[-history.NEWEST :]]
    assert [run.run_id for run in instance.get_runs(ascending=True)] == kept, "the issued one stays, and the newest do"
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
    assert freshness_rows(instance) == 1
    assert instance.event_log_storage.get_freshness_state_records([cur])[cur].freshness_state is FreshnessState.PASS
    assert history.used(instance, settings.home) < before
    return ids, kept


def require_that_one_without_news_is_a_line(
    instance: dg.DagsterInstance, settings: Settings, has_log: Callable[[str], bool]
) -> None:
    """A refresh that published nothing has its log until the next one has ended, then its line alone."""
    newest, other = instance.get_runs(limit=2)
    listed = instance.get_runs_count()
    with history.bounded(instance, newest, settings.home, 500):
        pass
    assert has_log(newest.run_id)
    with history.bounded(instance, other, settings.home, 500):
        pass
    assert not has_log(newest.run_id) and not instance.get_records_for_run(newest.run_id).records
    assert instance.get_runs_count() == listed
    assert instance.get_latest_materialization_event(names.PUBLICATION) is not None
