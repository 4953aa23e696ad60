"""What idle machines and lost attempts cost, used and emitted: by team, and by week. How whole runs ended: costs.py."""

from reports.model import Column, TableSpec, columns
from reports.sections.sql import lines, whole, within

UNKNOWN = "the energy of a part is not known"
_SUMS = lines(
    (
        "sum(lost.effective_cost) as effective_cost",
        whole("lost.facility_energy_kwh", "facility_energy_kwh"),
        whole("lost.modelled_location_based_kgco2e", "modelled_location_based_kgco2e"),
        "nullif(count(distinct nullif(lost.training_run_id, '')), 0) as run_count",
    )
)
_MEASURES = (
    *columns(billing_currency="Currency", effective_cost="Effective cost"),
    Column("facility_energy_kwh", "Facility energy", "energy", note=UNKNOWN),
    Column("modelled_location_based_kgco2e", "Modelled emissions", "mass", note=UNKNOWN),
    Column("run_count", "Runs", "count", note="not of a run"),
)
METHOD = (
    "Each hour of the bill is of the attempt that used most of it; what a checkpoint saved is not lost where one is on record. "
    "Energy (modelled) and emissions (modelled, location-based) follow the price of the hours. Idle: hours of machines that no "
    "run held, though some run held them in the month."
)

LOST_WORK_BY_CAUSE = TableSpec(
    id="lost_work_by_cause",
    title="Idle machines, failed and interrupted work",
    sql=f"""select lost.cause, lost.billing_currency,
    {_SUMS}
from marts.fct_lost_work as lost
where {within("lost.usage_month")}
group by lost.cause, lost.billing_currency
order by lost.billing_currency, lost.cause""",
    columns=(Column("cause", "Cause", "state"), *_MEASURES),
    key=("billing_currency", "cause"),
    method=METHOD,
    empty="No attempt failed or was interrupted, and no machine was idle.",
)

LOST_WORK_BY_TEAM = TableSpec(
    id="lost_work_by_team",
    title="Idle machines, failed and interrupted work, by team",
    sql=f"""select coalesce(runs.team, case when lost.cause = 'idle' then 'no run' end) as team, lost.cause,
    lost.billing_currency,
    {_SUMS}
from marts.fct_lost_work as lost
left join marts.dim_training_runs as runs using (training_run_id)
where {within("lost.usage_month")}
group by runs.team, lost.cause, lost.billing_currency
order by lost.billing_currency, lost.cause, effective_cost desc, team""",
    columns=(Column("cause", "Cause", "state", is_quiet_when_repeated=True), Column("team", "Team"), *_MEASURES),
    key=("billing_currency", "cause", "team"),
    method=METHOD,
    empty="No attempt failed or was interrupted, and no machine was idle.",
)

LOST_WORK_BY_WEEK = TableSpec(
    id="lost_work_by_week",
    title="Idle machines, failed and interrupted work, by week",
    sql=f"""select lost.week_start, lost.cause, lost.billing_currency,
    {_SUMS}
from marts.fct_lost_work as lost
where {within("lost.usage_month")}
group by lost.week_start, lost.cause, lost.billing_currency
order by lost.billing_currency, lost.week_start, lost.cause""",
    columns=(
        Column("week_start", "Week from Monday", "date", is_quiet_when_repeated=True),
        Column("cause", "Cause", "state"),
        *_MEASURES,
    ),
    key=("billing_currency", "week_start", "cause"),
    method=f"{METHOD} Weeks begin on Monday (UTC); of the first and the last only the days of the quarter.",
    empty="No attempt failed or was interrupted, and no machine was idle.",
)
