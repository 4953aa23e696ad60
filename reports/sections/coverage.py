"""How much of the whole bill carries energy and emissions, and which services lack them. Of accelerators alone: headlines.py."""

from reports.sections.sql import ratio, within
from reports.sections.tables import table

_SHARES = ",\n    ".join(
    f"sum({part}) as {part},\n    {ratio(f'sum({part})', 'sum(effective_cost)')}"
    f" as {part.removeprefix('effective_cost_with_')}_coverage_ratio"
    for part in ("effective_cost_with_energy", "effective_cost_with_carbon")
)

COVERAGE_OF_THE_BILL = table("coverage_of_the_bill").answered_by(f"""\
select provider_name, billing_currency, sum(effective_cost) as effective_cost,
    {_SHARES},
    grouping(provider_name) > 0 as is_total
from marts.rpt_coverage
where {within()}
group by grouping sets ((provider_name, billing_currency), (billing_currency))
order by billing_currency, is_total, provider_name""")

COVERAGE_BY_SERVICE = table("coverage_by_service").answered_by(f"""\
select coverage.provider_name, coverage.service_code, services.service_name, coverage.billing_currency,
    sum(effective_cost) as effective_cost,
    {_SHARES}
from marts.rpt_coverage as coverage
left join marts.dim_services as services using (provider_name, service_code)
where {within()}
group by coverage.provider_name, coverage.service_code, services.service_name, coverage.billing_currency
order by coverage.billing_currency, effective_cost desc, coverage.provider_name, coverage.service_code""")
