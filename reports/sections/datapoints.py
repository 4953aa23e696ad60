"""Section 6: the datapoints of disclosure frameworks, each with its figure or the reason why there is none.

The figures are rows of a published table. What each of them means in the reader's own inventory is in
docs/methodology/disclosure.md.
"""

from reports.model import Section
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import Quarter


def section(publication: Publication, quarter: Quarter) -> Section:
    """The chapter, its lead made from its rows."""
    tables = answered(publication, quarter, "datapoints_by_framework", "datapoints")
    rows = tables["datapoints"].rows if "datapoints" in tables else ()
    lead = ""
    if rows:
        filled, frameworks = sum(row["value"] is not None for row in rows), len({row["framework"] for row in rows})
        lead = (
            f"{filled} of {len(rows)} datapoints of {frameworks} frameworks have a figure; the others say why not. Tonnes of a "
            "cloud are Scope 3, category 1 of our own inventory, also where they are the provider's Scope 2. No framework asks "
            "for quarterly figures: this is management information until a report is issued."
        )
    return Section("disclosure", "Disclosure datapoints", lead, tuple(tables.values()))
