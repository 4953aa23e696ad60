"""Dagster's own tables of its history, read and removed from by SQL: what its public interface has no word for.

How much they take, which publication a run made, what goes with a run that is removed. When something goes is history.py's.
"""

from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.events import DagsterEventType
from sqlalchemy import text

from dagster_project.assets.names import PUBLICATION


def is_sharded(instance: dg.DagsterInstance) -> bool:
    """Whether each run has a file of its own, as with SQLite below a home; PostgreSQL keeps all in one table."""
    return hasattr(instance.event_log_storage, "path_for_shard")


def bytes_on_server(instance: dg.DagsterInstance) -> int:
    """Bytes of events and results in PostgreSQL, and a third more, which is what their indexes take.

    Its files also have the room of removed ones, until new ones take it.
    """
    storage: Any = instance.event_log_storage
    with storage.index_connection() as connection:
        return int(connection.execute(text(KEPT_ON_SERVER)).scalar()) * 4 // 3


KEPT_ON_SERVER = """
    select
        (select coalesce(sum(pg_column_size(event)), 0) from event_logs)
        + (select coalesce(sum(pg_column_size(evaluation_event)), 0) from asset_check_executions)
"""


def published_by(instance: dg.DagsterInstance, run_id: str) -> str:
    """The publication that a run made, as Dagster stored it; '' of a run that made none."""
    storage: Any = instance.event_log_storage
    asked = text("select event from event_logs where run_id = :run and asset_key = :asset and dagster_event_type = :kind")
    values = {"run": run_id, "asset": PUBLICATION.to_string(), "kind": DagsterEventType.ASSET_MATERIALIZATION.value}
    with storage.index_connection() as connection:
        return "".join(event for (event,) in connection.execute(asked, values))


# Without a run they are what `report_runless_asset_event` writes, and stay when a run goes. `+` keeps SQLite from the index of
# types, and a result is found by asset, check and run: whatever else would read what all runs left. In braces are DIALECTS.
NEWEST_STAY = (
    """
    update event_logs set run_id = ''
    where run_id = :run and {plus}dagster_event_type = 'ASSET_MATERIALIZATION' and not exists (
        select 1 from event_logs as later
        where later.asset_key = event_logs.asset_key and later.dagster_event_type = 'ASSET_MATERIALIZATION'
            and later.partition {same} event_logs.partition and later.id > event_logs.id
    )
    """,
    """
    delete from asset_check_executions where id in (
        select result.id
        from (
            select run_id, {event} -> 'dagster_event' -> 'event_specific_data' as found
            from event_logs
            where run_id = :run and {plus}dagster_event_type = 'ASSET_CHECK_EVALUATION'
        ) as written
        inner join asset_check_executions as result
            on result.asset_key = replace(written.found -> 'asset_key' ->> 'path', '","', '", "')
            and result.check_name = written.found ->> 'check_name'
            and result.run_id = written.run_id
        where exists (
            select 1 from asset_check_executions as later
            where later.asset_key = result.asset_key and later.check_name = result.check_name and later.id > result.id
        )
    )
    """,
)
DIALECTS = {
    "sqlite": {"plus": "+", "same": "is", "event": "event"},
    "postgresql": {"plus": "", "same": "is not distinct from", "event": "cast(event as json)"},
}


def forget(instance: dg.DagsterInstance, run_id: str, *, is_listed: bool = False) -> None:
    """Remove a run with its events and its log, or only these; the newest of what it did of each asset, month and check stays."""
    storage: Any = instance.event_log_storage
    with storage.index_connection() as connection:
        for statement in NEWEST_STAY:
            connection.execute(text(statement.format(**DIALECTS[connection.dialect.name])), {"run": run_id})
        storage.delete_events_for_run(connection, run_id)  # `delete_run` would empty the run's own file too, which goes as it is
    if not is_listed:
        instance.run_storage.delete_run(run_id)
    for ending in ("", "-wal", "-shm") if is_sharded(instance) else ():
        Path(f"{storage.path_for_shard(run_id)}{ending}").unlink(missing_ok=True)
    instance.compute_log_manager.delete_logs(prefix=[run_id])


# no run wrote them, so they go with none: the daemon writes one whenever an asset becomes fresh, late or failed
SUPERSEDED_STATES = """
    delete from event_logs
    where dagster_event_type = 'FRESHNESS_STATE_CHANGE' and id not in (
        select max(id) from event_logs where dagster_event_type = 'FRESHNESS_STATE_CHANGE' group by asset_key
    )
"""


def forget_states(instance: dg.DagsterInstance) -> None:
    """Remove what each asset's freshness was before: pages show the newest."""
    storage: Any = instance.event_log_storage
    for connect in (storage.index_connection, *([lambda: storage.run_connection("")] if is_sharded(instance) else [])):
        with connect() as connection:
            connection.execute(text(SUPERSEDED_STATES))
