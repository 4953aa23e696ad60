"""What idle machines and lost attempts cost, used and emitted: by team, and by week. How whole runs ended: costs.py."""

from reports.sections.sql import within
from reports.sections.tables import summed

RUN_COUNT = "nullif(count(distinct nullif(training_run_id, '')), 0)"
ROWS = f"marts.fct_lost_work\nwhere {within()}"

LOST_WORK_BY_CAUSE = summed("lost_work_by_cause", ROWS, run_count=RUN_COUNT)
LOST_WORK_BY_TEAM = summed(
    "lost_work_by_team",
    f"marts.fct_lost_work\nleft join marts.dim_training_runs as runs using (training_run_id)\nwhere {within()}",
    "billing_currency, cause, effective_cost desc, team",
    team="coalesce(runs.team, case when cause = 'idle' then 'no run' end)",
    run_count=RUN_COUNT,
)
LOST_WORK_BY_WEEK = summed("lost_work_by_week", ROWS, run_count=RUN_COUNT)
