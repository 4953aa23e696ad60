"""What the page knows of a month: costs, energy and emissions by team, model and accelerator, what was lost, what no run carries.

A cell is one team, model and accelerator. A month with more than `MOST_CELLS` shows the rest of them as one, so that its file
stays small; sums over all cells stay those of the marts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from reports.door import Row
from reports.publication import Publication

MOST_CELLS = 400
OTHERS = ("(all others)", "(all others)", "(all others)", "none")
Document = dict[str, Any]

# Parts of a month: the columns after the cell, in the order in which the page reads them. `{cell}` are the columns of a cell,
# `{months}` chooses months. Rows that fall together among the others are added up, texts and counts alike.
CELL = "coalesce({of}.team, '') as team, coalesce({of}.model_name, '') as model, coalesce({of}.accelerator_type, '') as chip"
IN_CELLS = {
    # of rows without a bill the cost is 0 in some currency: unknown has how many there are
    "costs": """select usage_month, {dim}, dim.accelerator_family as family, billing_currency as currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost, cast(sum(billed_cost) as decimal(38, 12)) as billed_cost
from marts.fct_training_run_costs as costs
inner join marts.dim_training_runs as dim using (training_run_id)
where {months}
group by all
order by effective_cost desc, team, model, chip, family, currency""",
    "figures": """select usage_month, {own}, own.accelerator_family as family,
    count(*) as run_months,
    cast(coalesce(sum(facility_energy_kwh), 0) as decimal(38, 9)) as energy_kwh,
    cast(coalesce(sum(facility_energy_kwh_low), 0) as decimal(38, 9)) as energy_kwh_low,
    cast(coalesce(sum(facility_energy_kwh_high), 0) as decimal(38, 9)) as energy_kwh_high,
    count(*) - count(facility_energy_kwh) as energy_unknown,
    count(*) - count(provider_scope_2_location_based_kgco2e) as location_unknown,
    count(*) - count(provider_scope_2_market_based_kgco2e) as market_unknown
from marts.run_month_summary as own
where {months}
group by all
order by team, model, chip, family""",
    "emissions": """select usage_month, {dim}, dim.accelerator_family as family,
    emissions.provider_name as provider, provider_model_version as version,
    cast(coalesce(sum(provider_scope_2_location_based_kgco2e), 0) as decimal(38, 9)) as location_kgco2e,
    cast(coalesce(sum(provider_scope_2_market_based_kgco2e), 0) as decimal(38, 9)) as market_kgco2e,
    count(*) as run_months
from marts.fct_training_run_emissions as emissions
inner join marts.dim_training_runs as dim using (training_run_id)
where {months} and provider_model_version is not null
group by all
order by team, model, chip, family, provider, version""",
    # a cost in two currencies is known in each of them
    "unknown": """select usage_month, {own}, own.accelerator_family as family, reason, count(*) as run_months
from (select *, unnest(string_split(unknown_because, '; ')) as reason from marts.run_month_summary where {months}) as own
where (reason like 'cost:%' or reason like 'energy:%' or reason like 'emissions:%')
    and reason <> 'cost: billed in more than one currency'
group by all
order by team, model, chip, family, reason""",
    "lost": """select usage_month, {dim}, coalesce(dim.accelerator_family, 'none') as family, cause, billing_currency as currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
    cast(coalesce(sum(facility_energy_kwh), 0) as decimal(38, 9)) as energy_kwh,
    count(*) - count(facility_energy_kwh) as energy_unknown
from marts.fct_lost_work
left join marts.dim_training_runs as dim using (training_run_id)
where {months}
group by all
order by team, model, chip, family, cause, currency""",
}
OF_MONTHS = {
    "bill": """select usage_month, provider_name, unit_or_currency, provider_total, runs_total, residual_total, quarantined_total
from ops.reconciled_months
where measure = 'effective_cost' and {months}
order by 1, 2, 3""",
    "residuals": """select usage_month, billing_currency, reason, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost
from ops.residual_months
where {months}
group by all
order by 1, 2, 3""",
    "coverage": """select usage_month, provider_name, billing_currency,
    cast(sum(effective_cost) as decimal(38, 12)) as effective_cost,
    cast(sum(effective_cost_with_energy) as decimal(38, 12)) as effective_cost_with_energy,
    cast(sum(effective_cost_with_carbon) as decimal(38, 12)) as effective_cost_with_carbon
from marts.rpt_coverage
where {months}
group by all
order by 1, 2, 3""",
}
CELL_NAMES = ("team", "model", "chip", "family")


def month_documents(publication: Publication, months: Sequence[date], *, has_runs: bool) -> dict[date, Document]:
    """The document of each of these months; without `has_runs` what was lost is all that is summed of runs.

    A part of what is needed would leave out what is unknown, and half a total is not a total.
    """
    if not months:
        return {}
    dates = ", ".join(f"date '{month}'" for month in months)
    chosen = f"usage_month in ({dates})"
    words = {"dim": CELL.format(of="dim"), "own": CELL.format(of="own"), "months": chosen}
    cells: dict[date, dict[tuple[str, ...], int]] = {month: {} for month in months}
    documents: dict[date, Document] = {month: {"month": f"{month:%Y-%m}"} for month in months}
    for part, sql in IN_CELLS.items() if has_runs else [("lost", IN_CELLS["lost"])]:
        for month, rows in _by_month(publication.rows_if_there(sql.format(**words))).items():
            documents[month][part] = _folded(rows, cells[month])
    for part, sql in OF_MONTHS.items():
        for month, rows in _by_month(publication.rows_if_there(sql.format(**words))).items():
            documents[month][part] = [[*row.values()] for row in rows]
    for month, known in cells.items():
        documents[month]["cells"] = [list(cell) for cell in known]
    return documents


def _by_month(rows: Iterable[Row]) -> dict[date, list[Row]]:
    """The rows of each month, without it."""
    found: dict[date, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.pop("usage_month")].append(row)
    return found


def _folded(rows: Sequence[Row], cells: dict[tuple[str, ...], int]) -> list[list[Any]]:
    """Each row as the number of its cell, then its columns; what falls together is added up. New cells get the next number."""
    added: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        cell = tuple(row.pop(name) for name in CELL_NAMES)
        if cell not in cells:
            if len(cells) >= MOST_CELLS:
                cell = OTHERS
            cells.setdefault(cell, len(cells))
        texts = (cells[cell], *(value for value in row.values() if not isinstance(value, Decimal | int)))
        numbers = [value for value in row.values() if isinstance(value, Decimal | int)]
        before = added.get(texts, [0] * len(numbers))
        added[texts] = [one + other for one, other in zip(before, numbers, strict=True)]
    return [[*texts, *numbers] for texts, numbers in added.items()]
