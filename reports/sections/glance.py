"""At a glance: the page in sentences, the five figures, the tables of the board's two pages, and what is behind them."""

from reports.model import Figure, Section
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections.summary import sentences
from reports.sections.verdicts import RESIDUAL_SHARES, VERDICTS, verdict_sentences

WASTE = "board_waste"
BOARD = ("board_figures", WASTE, "board_changes", "board_sureness")
COSTS = ("totals_by_currency", "cost_in_reporting_currency")
COVERAGE = ("coverage_of_the_bill", "coverage_by_service")


def section(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
    tables = answered(publication, quarter, *BOARD, "totals_twice", *COVERAGE, "other_headlines", *COSTS)
    totals = tables.get("totals_twice")
    if totals and all(value is None for row in totals.rows for key, value in row.items() if key.endswith("_kgco2e")):
        del tables[totals.id]  # nothing but dashes: a sentence names what is missing
    found = sentences(
        quarter,
        figures,
        coverage=tables.get(COVERAGE[0]),
        waste=tables.get(WASTE),
        uncarried=answered(publication, quarter, RESIDUAL_SHARES).get(RESIDUAL_SHARES),
        contributions=answered(publication, quarter, "datapoints").get("datapoints"),
    )
    if decided := answered(publication, quarter, VERDICTS).get(VERDICTS):
        found += verdict_sentences(decided)
    return Section("glance", "At a glance", tables=tuple(tables.values()), sentences=found)
