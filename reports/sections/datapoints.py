"""Section 6: the datapoints of disclosure frameworks, each with its figure or the reason why there is none.

The figures are rows of a published table. What each of them means in the reader's own inventory is in
docs/methodology/disclosure.md.
"""

from reports.model import Section
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections.tables import chosen, summed

IN_ORDER = """case framework when 'ESRS-2023' then 1 when 'ESRS-2026' then 2 when 'IFRS-S2' then 3 when 'CDP' then 4
        when 'SB-253' then 5 when 'GRI' then 6 else 7 end"""


ROWS = """marts.rpt_quarterly_disclosure as disclosure
inner join marts.dim_datapoints as datapoints using (framework, datapoint_id)
where disclosure.quarter = '$quarter'"""


def _of(measure: str) -> str:
    """A framework takes a measure once, or never."""
    return f"max(disclosure.value) filter (where datapoints.measure = '{measure}')"


BY_FRAMEWORK = summed(
    "datapoints_by_framework",
    ROWS,
    f"min({IN_ORDER})",
    datapoint_count="count(*)",
    filled_count="count(disclosure.value)",
    cloud_location_based_tco2e=_of("cloud_total_location_based"),
    cloud_market_based_tco2e=_of("cloud_total_market_based"),
    training_energy_mwh=_of("energy_facility"),
)
DATAPOINTS = chosen(
    "datapoints",
    ROWS,
    f"{IN_ORDER}, datapoints.position",
    datapoint="disclosure.datapoint",
    unit="disclosure.unit",
    method="case when disclosure.not_available_reason is null then disclosure.method end",
    availability="coalesce('not available: ' || disclosure.not_available_reason, disclosure.report_status)",
    reference_confidence="datapoints.confidence",
)


def section(publication: Publication, quarter: Quarter) -> Section:
    """The chapter, its lead made from its rows."""
    tables = answered(publication, quarter, BY_FRAMEWORK, DATAPOINTS)
    rows = tables[DATAPOINTS.id].rows if DATAPOINTS.id in tables else ()
    lead = ""
    if rows:
        filled, frameworks = sum(row["value"] is not None for row in rows), len({row["framework"] for row in rows})
        lead = (
            f"{filled} of {len(rows)} datapoints of {frameworks} frameworks have a figure; the others say why not. Tonnes of a "
            "cloud are Scope 3, category 1 of our own inventory, also where they are the provider's Scope 2. No framework asks "
            "for quarterly figures: this is management information until a report is issued."
        )
    return Section("disclosure", "Disclosure datapoints", lead, tuple(tables.values()))
