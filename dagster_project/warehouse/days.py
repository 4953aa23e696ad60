"""Which days of a month's samples a build reads and writes again: those of which something changed.

neuron-monitor writes every five seconds and the driver's power comes every minute, and a new hour of them changes nothing in the
days before. The one model that reads the landed samples of such a kind is built by day (`meta={'by_day': ..., 'of_landed_days':
<kind>}`): every row belongs to one day and is made of samples that lie within minutes of it, so that the rows of a day are the
same whether one day is built or all. What is made of its rows is built by day or by month.

The version of a day is a hash of the deliveries of the kind whose samples reach it, of the code, and of how their rows are read.
Beside the table lie the versions of the days that it was made of (states.py). A build that goes on with what another left undone
reads all days of its months: gates that the other did not pass are asked of all that it wrote.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from dagster_project.base.code import code_version
from dagster_project.base.kinds import Kind
from dagster_project.warehouse import states

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election
    from dagster_project.warehouse.statements import Statement
    from dagster_project.warehouse.states import State

# of each kind that is built by day the model for which all of its samples are read; beside it only gates read them
MODELS = {
    Kind("neuron_monitor"): "intermediate.int_device_minutes",
    Kind("neuron_power"): "intermediate.int_power_samples",
}


def to_build(
    connection: duckdb.DuckDBPyConnection,
    before: Mapping[str, State],
    election: Election,
    months: Iterable[date],
    made: str,
    *,
    is_all: bool,
) -> dict[str, dict[date, str]]:
    """By kind, the days of some months that are built again, with the version of each: '' where nothing is left of it.

    `before` are the states of the build file, `made` is the version of how raw rows are made.
    """
    texts = {f"{month:%Y-%m}" for month in months}
    found: dict[str, dict[date, str]] = {}
    for kind, model in MODELS.items():
        now = versions(election, kind, texts, made)
        last = {day: version for day, version in _last(connection, model, before.get(model)).items() if day[:7] in texts}
        changed = (day for day in now.keys() | last.keys() if is_all or now.get(day) != last.get(day))
        found[kind] = {date.fromisoformat(day): now.get(day, "") for day in sorted(changed)}
    return found


def versions(election: Election, kind: Kind, months: set[str], made: str) -> dict[str, str]:
    """The version of each day of some months that samples of a kind built by day reach."""
    found = defaultdict[str, list[Any]](list)
    for member in (member for member in election.of_fact("telemetry") if member.generation.kind == kind):
        if reached := [day for day in member.contents.controls.reached_days if day[:7] in months]:
            rows = states.rows_of(member)
            for day in reached:
                found[day].append(rows)
    return {day: states.sha256(code_version(), made, sorted(rows)) for day, rows in found.items()}


def _last(connection: duckdb.DuckDBPyConnection, model: str, state: State | None) -> dict[str, str]:
    """The versions of the days that the table in the build file was made of; none where it is not there."""
    schema, _, name = model.partition(".")
    there = "select 1 from duckdb_tables() where schema_name = ? and table_name = ? and database_name = current_database()"
    if state is None or state.days is None or not connection.execute(there, [schema, name]).fetchall():
        return {}
    found: dict[str, str] = json.loads(state.days)
    return found


def versions_by_sums(reads: Sequence[tuple[Any, Statement | None]]) -> dict[str, str]:
    """The version of each day of which a table by day can have rows: of what it reads, the sums of the day.

    `reads` are the sums of a table by month and its statement, or the version of anything else and None. Of a table by month
    that has no days it is the sums of the month.
    """
    by_day = [(_by_day(sums, statement), statement) for sums, statement in reads]
    named = {day for found, statement in by_day if statement and _has_days(statement) for day in found}

    def of_day(found: Any, statement: Statement | None, day: str) -> Any:
        return found if statement is None else found.get(day if _has_days(statement) else day[:7])

    return {day: states.sha256([of_day(found, statement, day) for found, statement in by_day]) for day in named}


def _has_days(statement: Statement) -> bool:
    return bool(statement.by_day or statement.days or statement.reaches)


def _by_day(sums: Any, statement: Statement | None) -> Any:
    """Sums by day, or by month; of what reaches several days by each of them, with the part that each is of."""
    if statement is None or not statement.reaches:
        return sums if statement is None else sums["parts"]
    found = defaultdict[str, list[Any]](list)
    for part, days in sorted(sums["reached"].items()):
        for day, of_day in days.items():
            found[day].append((part, of_day))
    return found


def of_build(connection: duckdb.DuckDBPyConnection, kind: str) -> dict[str, str]:
    """The days of a kind that this build writes again, with their versions."""
    asked = "select cast(usage_day as varchar), version from raw.build_days where kind = ? order by 1"
    return dict(connection.execute(asked, [kind]).fetchall())


def after(connection: duckdb.DuckDBPyConnection, kind: str, before: State | None, *, is_whole: bool) -> str:
    """The versions of the days that the table of a kind is made of once this build has written it, as JSON."""
    kept = json.loads(before.days) if before and before.days and not is_whole else {}
    found = kept | of_build(connection, kind)
    return json.dumps({day: version for day, version in sorted(found.items()) if version})
