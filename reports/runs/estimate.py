"""What a run that goes on will have cost by now: the last effective rate of its accelerators, times the chip-hours that it held.

An estimate for people who wait for the bill. It is labelled as one wherever it is shown, and is in no published table.

*Example.* August's runs on trn1.32xlarge in us-west-2 held 10,000 chip-hours for 13,400 USD of accelerators, 1.34 a chip-hour.
A run that began ten hours ago and holds 16 chips there: 10 x 16 x 1.34, about 214 USD.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from reports.publication import Publication
from reports.runs.account import Account, literal

HOURS = """select cast(sum(greatest(epoch(coalesce(ended_at, {until}) - started_at), 0)) as decimal(38, 6)) / 3600 as hours
from marts.fct_run_attempts
where training_run_id = {run}"""
# of runs with one type and one region; a month whose bill is not published has costs of 0
RATE = """select
    usage_month, billing_currency, count(distinct training_run_id) as run_count,
    cast(sum(effective_cost) as double) / cast(sum(reserved_chip_hours) as double) as cost_per_chip_hour
from (
    select training_run_id, usage_month, billing_currency, sum(effective_cost) as effective_cost
    from marts.fct_training_run_costs
    where cost_component = 'accelerator' and status not in ('not_published', 'no_cell')
    group by all
) as costs
inner join marts.fct_training_run_energy as energy using (training_run_id, usage_month)
inner join marts.dim_training_runs as dim using (training_run_id)
where accelerator_type = {type} and ({region}) and not is_multi_accelerator and not is_multi_region and reserved_chip_hours > 0
group by all
having sum(effective_cost) > 0
order by usage_month desc, run_count desc, billing_currency
limit 1"""


def estimate(publication: Publication, account: Account, until: datetime) -> dict[str, Any] | None:
    """The estimate of a run without an end, until an instant in UTC; None for one that ended. Without a rate: why."""
    if account["ended_at"] is not None or account["started_at"] is None:
        return None
    run, type_ = literal(account["training_run_id"]), account["accelerator_type"]
    instant = f"timestamp {literal(f'{until:%Y-%m-%d %H:%M:%S}')}"
    [held] = publication.rows(HOURS.format(run=run, until=instant))
    stated: dict[str, Any] = {"is_estimate": True, "until": until.replace(tzinfo=None), "hours": held["hours"]}
    if not type_ or account["chip_count"] is None:
        return stated | {"value": None, "unknown_because": "the record does not state how many chips of which type it holds"}
    region = account["region_id"]
    asked = f"region_id = {literal(region)}" if region else "true"
    found = publication.rows(RATE.format(type=literal(type_), region=asked))
    if not found:
        where = f" in {region}" if region else ""
        return stated | {"value": None, "unknown_because": f"no month of the ledger has a cost of {type_}{where}"}
    [rate] = found
    chip_hours = Decimal(str(held["hours"])) * account["chip_count"]
    per_hour = Decimal(repr(rate["cost_per_chip_hour"]))
    return stated | {
        "value": (chip_hours * per_hour).quantize(Decimal("0.01")),
        "unit": rate["billing_currency"],
        "chip_hours": chip_hours.quantize(Decimal("0.001")),
        "cost_per_chip_hour": per_hour.quantize(Decimal("0.0001")),
        "rate_month": rate["usage_month"],
        "rate_runs": rate["run_count"],
        "rate_region": region,
    }
