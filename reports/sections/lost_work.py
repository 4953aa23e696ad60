"""What idle machines and lost attempts cost, used and emitted: by team, and by week. How whole runs ended: costs.py."""

from reports.sections.sql import lines, whole, within
from reports.sections.tables import table

_SUMS = lines(
    (
        "sum(lost.effective_cost) as effective_cost",
        whole("lost.facility_energy_kwh", "facility_energy_kwh"),
        whole("lost.modelled_location_based_kgco2e", "modelled_location_based_kgco2e"),
        "nullif(count(distinct nullif(lost.training_run_id, '')), 0) as run_count",
    )
)

LOST_WORK_BY_CAUSE = table("lost_work_by_cause").answered_by(f"""select lost.cause, lost.billing_currency,
    {_SUMS}
from marts.fct_lost_work as lost
where {within("lost.usage_month")}
group by lost.cause, lost.billing_currency
order by lost.billing_currency, lost.cause""")

LOST_WORK_BY_TEAM = table("lost_work_by_team").answered_by(f"""\
select coalesce(runs.team, case when lost.cause = 'idle' then 'no run' end) as team, lost.cause,
    lost.billing_currency,
    {_SUMS}
from marts.fct_lost_work as lost
left join marts.dim_training_runs as runs using (training_run_id)
where {within("lost.usage_month")}
group by runs.team, lost.cause, lost.billing_currency
order by lost.billing_currency, lost.cause, effective_cost desc, team""")

LOST_WORK_BY_WEEK = table("lost_work_by_week").answered_by(f"""select lost.week_start, lost.cause, lost.billing_currency,
    {_SUMS}
from marts.fct_lost_work as lost
where {within("lost.usage_month")}
group by lost.week_start, lost.cause, lost.billing_currency
order by lost.billing_currency, lost.week_start, lost.cause""")
