"""Controls of what speaks for runs: run records and telemetry. They say what is built again.

Nothing here costs anything or joins anything: months and names, always a superset of what SQL will use.
"""

from datetime import timedelta
from typing import Any

from dagster_project.base.months import months_touched
from dagster_project.landing.deriving.contents import Controls, Figures
from dagster_project.landing.deriving.one_reading import DIGEST, GROUPS, Asked, KindControls

# SQL finds what a gauge's point covers from the points of two days around it; a day more leaves no edge to think about
POINT_REACH = timedelta(days=3)
# and whether half a second lies between two samples, also on both sides of a month's end
SAMPLE_REACH = timedelta(seconds=1)
Rows = list[tuple[Any, ...]]
_RUN_KEYS = ("recorded_id", "alias_id", "started_at", "ended_at")
_ENDED = "(sample_end - INTERVAL 1 MICROSECOND)"


def _runs(_: str, rows: Rows) -> Controls:
    """Ids, aliases and months of run records."""
    # how far a run got says what was lost in any of its months, so a log is read with each of them: it has none of its own
    is_log = any(log for *_, log in rows)
    windows = [(start, end) for _, _, start, end, _ in rows if start is not None and not is_log]
    return Controls(
        run_ids=sorted({name for name, *_ in rows}),
        run_aliases=sorted({alias for _, alias, *_ in rows if alias}),
        run_months=sorted({month for start, end in windows for month in months_touched(start, end or start)}),
        open_run_month=min((f"{start:%Y-%m}" for start, end in windows if end is None), default=None),
        last_run_month=max((f"{end:%Y-%m}" for *_, end, _ in rows if end is not None and not is_log), default=None),
    )


RUNS = KindControls(
    Asked(keys={**dict(zip(_RUN_KEYS, _RUN_KEYS, strict=True)), "is_log": "part = 'progress' AND record_system <> 'run_json'"}),
    {"rows": f"SELECT DISTINCT delivery, {', '.join(_RUN_KEYS)}, is_log FROM {GROUPS}"},
    _runs,
)


def _samples(_: str, spans: Rows, named: Rows) -> Controls:
    """Months that samples lie in and reach, and the runs and hosts they name."""
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


SAMPLES = KindControls(
    Asked(
        keys={
            "first_day": f"CAST(CAST(least(coalesce(sample_start, {_ENDED}), {_ENDED}) AS DATE) AS TIMESTAMP)",
            "last_day": f"CAST(CAST({_ENDED} AS DATE) AS TIMESTAMP)",
            "is_point": "sample_start IS NULL",
            "run": "coalesce(run_key, '')",
            "host": "coalesce(host_id, '')",
        }
    ),
    {
        "spans": f"SELECT DISTINCT delivery, first_day, last_day, is_point FROM {GROUPS}",
        "named": f"SELECT DISTINCT delivery, run, host FROM {GROUPS}",
    },
    _samples,
)


def _figures(_: str, figures: Rows, named: Rows) -> Controls:
    """From which month on the organisation's own figures count, and the runs they name."""
    return Controls(
        figures=[Figures(first_month=month, is_of_one_month=one, digest=digest) for month, one, digest in figures],
        figure_runs=[run for (run,) in named],
    )


FIGURES = KindControls(
    Asked(
        keys={
            "first_month": "coalesce(strftime(valid_from, '%Y-%m'), '')",
            "is_of_one_month": "kind = 'measured_energy'",
            "run": "CASE WHEN kind = 'measured_energy' THEN key ELSE training_run_id END",
        }
    ),
    {
        "figures": f"SELECT delivery, first_month, is_of_one_month, {DIGEST} FROM {GROUPS} GROUP BY ALL ORDER BY ALL",
        "named": f"SELECT DISTINCT delivery, run FROM {GROUPS} WHERE run <> '' ORDER BY ALL",
    },
    _figures,
)
