"""At a glance: the page in sentences, the five figures, two totals side by side, and the other headline figures."""

from reports.model import Figure, Section
from reports.pages import answer, answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import currencies, emissions
from reports.sections.headlines import ON_THE_PAGE, WORDS
from reports.sections.lost_work import LOST_WORK_BY_CAUSE
from reports.sections.summary import sentences
from reports.sections.tables import chosen
from reports.sections.verdicts import RESIDUAL_SHARES, VERDICTS, verdict_sentences

COVERAGE = ("coverage_of_the_bill", "coverage_by_service")
LABELS = "\n        ".join(f"when '{id}' then '{words['label']}'" for id, words in WORDS.items())
# a figure that neither quarter has is no row: a provider without a split of Scope 3 has none in any
OTHERS = chosen(
    "other_headlines",
    f"""marts.rpt_quarterly_figures
where quarter = '$quarter' and figure_id not in {ON_THE_PAGE} and (value is not null or prior_value is not null)""",
    f"list_position({list(WORDS)}, figure_id), unit",
    label=f"case figure_id\n        {LABELS}\n    end",
    change_reason="coalesce(not_available_reason, change_reason)",
)


def section(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
    costs = (currencies.BY_CURRENCY, currencies.IN_REPORTING_CURRENCY)
    tables = answered(publication, quarter, emissions.TOTALS_TWICE, *COVERAGE, OTHERS, *costs)
    totals = tables.get(emissions.TOTALS_TWICE.id)
    if totals and all(value is None for row in totals.rows for key, value in row.items() if key.endswith("_kgco2e")):
        del tables[totals.id]  # nothing but dashes: a sentence names what is missing
    found = sentences(
        quarter,
        figures,
        coverage=tables.get(COVERAGE[0]),
        lost=answer(publication, quarter, LOST_WORK_BY_CAUSE),
        uncarried=answer(publication, quarter, RESIDUAL_SHARES),
    )
    if decided := answered(publication, quarter, VERDICTS).get(VERDICTS):
        found += verdict_sentences(decided)
    return Section("glance", "At a glance", tables=tuple(tables.values()), sentences=found)
