"""How much of the whole bill carries energy and emissions, and which services lack them. Of accelerators alone: headlines.py."""

from reports.model import Column, TableSpec, columns, named
from reports.sections.sql import nine_digits, within

NOTHING = "nothing was billed"
_SHARES = ",\n    ".join(
    f"sum({part}) as {part},\n    {nine_digits(f'cast(sum({part}) as double) / nullif(cast(sum(effective_cost) as double), 0)')}"
    f" as {part.removeprefix('effective_cost_with_')}_coverage_ratio"
    for part in ("effective_cost_with_energy", "effective_cost_with_carbon")
)
_COLUMNS = (
    *columns(billing_currency="Currency", effective_cost="Bill, effective"),
    Column("effective_cost_with_energy", "With energy", "money", group="Energy"),
    Column("energy_coverage_ratio", "Share", "ratio", note=NOTHING, group="Energy"),
    Column("effective_cost_with_carbon", "With emissions", "money", group="Emissions"),
    Column("carbon_coverage_ratio", "Share", "ratio", note=NOTHING, group="Emissions"),
)
METHOD = (
    "Energy: machines of runs in months of which the energy is known; idle machines, storage and other services have none of "
    "their own. Emissions: use in accounts, services and regions that the provider gives emissions; fees, taxes and credits "
    "have none."
)

COVERAGE_OF_THE_BILL = TableSpec(
    id="coverage_of_the_bill",
    title="Share of the whole bill that carries energy and emissions",
    sql=f"""select provider_name, billing_currency, sum(effective_cost) as effective_cost,
    {_SHARES},
    grouping(provider_name) > 0 as is_total
from marts.rpt_coverage
where {within()}
group by grouping sets ((provider_name, billing_currency), (billing_currency))
order by billing_currency, is_total, provider_name""",
    columns=(Column("provider_name", "Provider"), *_COLUMNS),
    method=METHOD,
    empty="No bill in this quarter.",
)

COVERAGE_BY_SERVICE = TableSpec(
    id="coverage_by_service",
    title="Share of the bill that carries energy and emissions, by service",
    sql=f"""select coverage.provider_name, coverage.service_code, services.service_name, coverage.billing_currency,
    sum(effective_cost) as effective_cost,
    {_SHARES}
from marts.rpt_coverage as coverage
left join marts.dim_services as services using (provider_name, service_code)
where {within()}
group by coverage.provider_name, coverage.service_code, services.service_name, coverage.billing_currency
order by coverage.billing_currency, effective_cost desc, coverage.provider_name, coverage.service_code""",
    columns=(
        Column("provider_name", "Provider"),
        *named("service_code", "Service", "service_name", "Service's name", note="the row names no service"),
        *_COLUMNS,
    ),
    key=("billing_currency", "provider_name", "service_code"),
    method=METHOD,
    empty="No bill in this quarter.",
    is_ranked=True,
)
