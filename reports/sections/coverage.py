"""How much of the whole bill carries energy and emissions, and which services lack them. Of accelerators alone: headlines.py."""

from reports.sections.sql import ratio, within
from reports.sections.tables import summed

SHARES = {
    f"{what}_coverage_ratio": ratio(f"sum(effective_cost_with_{what})", "sum(effective_cost)") for what in ("energy", "carbon")
}

COVERAGE_OF_THE_BILL = summed("coverage_of_the_bill", f"marts.rpt_coverage\nwhere {within()}", total="billing_currency", **SHARES)
COVERAGE_BY_SERVICE = summed(
    "coverage_by_service",
    f"marts.rpt_coverage\nleft join marts.dim_services using (provider_name, service_code)\nwhere {within()}",
    "billing_currency, effective_cost desc, provider_name, service_code",
    **SHARES,
)
