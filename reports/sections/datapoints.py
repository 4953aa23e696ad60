"""Section 6: the datapoints of disclosure frameworks, each with its figure or the reason why there is none.

The figures are rows of a published table. What each of them means in the reader's own inventory is in
docs/methodology/disclosure.md.
"""

from reports.model import Column, Figure, Section, TableSpec, answered, columns
from reports.publication import Publication
from reports.quarter import Quarter

IN_ORDER = """case framework when 'ESRS-2023' then 1 when 'ESRS-2026' then 2 when 'IFRS-S2' then 3 when 'CDP' then 4
        when 'SB-253' then 5 when 'GRI' then 6 else 7 end"""
NOT_ASKED = "not asked by this framework, or not available"


def _of(measure: str) -> str:
    """A framework takes a measure once, or never."""
    return f"max(disclosure.value) filter (where datapoints.measure = '{measure}')"


BY_FRAMEWORK = TableSpec(
    id="datapoints_by_framework",
    title="What each framework asks and this ledger knows",
    sql=f"""select
    framework,
    count(*) as datapoint_count,
    count(disclosure.value) as filled_count,
    {_of("cloud_total_location_based")} as cloud_location_based_tco2e,
    {_of("cloud_total_market_based")} as cloud_market_based_tco2e,
    {_of("energy_facility")} as training_energy_mwh
from marts.rpt_quarterly_disclosure as disclosure
inner join marts.dim_datapoints as datapoints using (framework, datapoint_id)
where disclosure.quarter = '$quarter'
group by framework
order by {IN_ORDER}""",
    columns=(
        Column("framework", "Framework", "code"),
        *columns(datapoint_count="Datapoints", filled_count="with a figure"),
        *(
            Column(
                f"cloud_{way}_based_tco2e", f"{way.title()}-based", "statistic", NOT_ASKED, "tCO2e", "Cloud, Scope 3 category 1"
            )
            for way in ("location", "market")
        ),
        Column("training_energy_mwh", "Energy of training runs", "statistic", NOT_ASKED, "MWh"),
    ),
    method="Cloud: what providers report for all usage of the quarter, in our own inventory a part of Scope 3, category 1. "
    "Energy: facility, modelled, of training runs on record. The frameworks ask for the same figures: never add them.",
    empty="No run ended or was billed in this quarter.",
    is_dropped_when_empty=True,
)

DATAPOINTS = TableSpec(
    id="datapoints",
    title="Disclosure datapoints by framework",
    sql=f"""select
    disclosure.framework,
    disclosure.datapoint_id,
    datapoints.reference,
    disclosure.datapoint,
    disclosure.value,
    disclosure.unit,
    case when disclosure.not_available_reason is null then disclosure.method end as method,
    coalesce('not available: ' || disclosure.not_available_reason, disclosure.report_status) as availability,
    datapoints.confidence as reference_confidence,
    datapoints.xbrl_name,
    datapoints.source
from marts.rpt_quarterly_disclosure as disclosure
inner join marts.dim_datapoints as datapoints using (framework, datapoint_id)
where disclosure.quarter = '$quarter'
order by {IN_ORDER}, datapoints.position""",
    columns=(
        Column("framework", "Framework", "code", is_quiet_when_repeated=True),
        Column("datapoint_id", "Datapoint", "code", is_data_only=True),
        Column("reference", "Reference", is_quiet_when_repeated=True),
        Column("datapoint", "Datapoint"),
        Column("value", "Value", "statistic", note="not available, for the reason in the row"),
        Column("unit", "Unit"),
        Column("method", "Method", note="no figure, so no method"),
        Column("availability", "Status"),
        Column("reference_confidence", "Sure of the reference", "state"),
        Column("xbrl_name", "XBRL name", note="none known", is_data_only=True),
        Column("source", "Source of the reference", is_data_only=True),
    ),
    key=("framework", "datapoint_id"),
    method="A figure is whole or it is not there. Rows of one framework contain each other and are never added, and "
    "neither are location-based and market-based rows. Sure of the reference: high, the framework's own text was read; medium, "
    "another party quotes it; low, from memory or inferred. The data files carry every digit.",
    empty="No run ended or was billed in this quarter.",
    is_dropped_when_empty=True,
    page_rows=200,
)


def section(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
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
