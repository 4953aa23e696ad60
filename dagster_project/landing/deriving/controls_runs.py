"""Controls of what speaks for runs: run records and telemetry. They say what is built again.

Nothing here costs anything or joins anything: months and names, always a superset of what SQL will use.
"""

from datetime import timedelta
from typing import Any

import duckdb

from connectors.formats.schema import Schema
from dagster_project.landing.deriving.contents import Controls
from dagster_project.months import months_touched

# SQL finds what a gauge's point covers from the points of two days around it; a day more leaves no edge to think about
POINT_REACH = timedelta(days=3)
# and whether half a second lies between two samples, also on both sides of a month's end
SAMPLE_REACH = timedelta(seconds=1)


def run_controls(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """Ids, aliases and months of run records."""
    runs = con.execute(f"SELECT DISTINCT recorded_id FROM {relation} ORDER BY 1").fetchall()
    aliases = con.execute(f"SELECT DISTINCT alias_id FROM {relation} WHERE alias_id <> '' ORDER BY 1").fetchall()
    windows = con.execute(f"SELECT started_at, ended_at FROM {relation} WHERE started_at IS NOT NULL").fetchall()
    last = con.execute(f"SELECT strftime(max(ended_at), '%Y-%m') FROM {relation}").fetchall()
    return Controls(
        run_ids=_first(runs),
        run_aliases=_first(aliases),
        run_months=sorted({month for start, end in windows for month in months_touched(start, end or start)}),
        open_run_month=min((f"{start:%Y-%m}" for start, end in windows if end is None), default=None),
        last_run_month=_first(last)[0],
    )


def sample_controls(con: duckdb.DuckDBPyConnection, partition: str, relation: str, schema: Schema) -> Controls:
    """Months that samples lie in and reach, and the runs and hosts they name."""
    spans = con.execute(
        f"""
        SELECT DISTINCT CAST(CAST(least(coalesce(sample_start, ended), ended) AS DATE) AS TIMESTAMP),
            CAST(CAST(ended AS DATE) AS TIMESTAMP), sample_start IS NULL
        FROM (SELECT sample_start, sample_end - INTERVAL 1 MICROSECOND AS ended FROM {relation})
        """
    ).fetchall()
    named = con.execute(f"SELECT DISTINCT coalesce(run_key, ''), coalesce(host_id, '') FROM {relation}").fetchall()
    last = timedelta(days=1)  # days are whole
    reached = [(start, end, POINT_REACH if is_point else SAMPLE_REACH) for start, end, is_point in spans]
    return Controls(
        sample_months=sorted({month for start, end, _ in spans for month in months_touched(start, end + last)}),
        reached_months=sorted(
            {month for start, end, reach in reached for month in months_touched(start - reach, end + last + reach)}
        ),
        sample_runs=sorted({run for run, _ in named} - {""}),
        sample_hosts=sorted({host for _, host in named} - {""}),
    )


def _first(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [row[0] for row in rows]
