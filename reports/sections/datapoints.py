"""Section 6: what a quarter contributes to the disclosures of its year, each figure whole or with the reason why there is none.

The figures are rows of a published table. What each of them means in the reader's own inventory is in
docs/methodology/disclosure.md; the lists of frameworks are of fiscal years (yearly.py).
"""

from reports.model import Section
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import Quarter

LEAD = (
    "Tonnes of a cloud are Scope 3, category 1 of our own inventory, also where they are the provider's Scope 2, and of the two "
    "answers of providers one is filed. No framework asks for quarterly figures: this is what the quarter adds to the year, "
    "whose lists are in `trainledger report yearly`."
)


def section(publication: Publication, quarter: Quarter) -> Section:
    """The chapter: contributions, and what is stated of the years in which the quarter is."""
    tables = answered(publication, quarter, "datapoints", "own_figures")
    return Section("disclosure", "Disclosure datapoints", LEAD if "datapoints" in tables else "", tuple(tables.values()))
