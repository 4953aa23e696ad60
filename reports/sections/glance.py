"""At a glance: the page in sentences, the five figures, two totals side by side, and the other headline figures."""

from reports.model import Figure, Section, answer, answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import currencies, emissions
from reports.sections.compared import RESIDUAL_SHARES
from reports.sections.coverage import COVERAGE_BY_SERVICE, COVERAGE_OF_THE_BILL
from reports.sections.headlines import ON_THE_PAGE, WORDS
from reports.sections.lost_work import LOST_WORK_BY_CAUSE
from reports.sections.summary import sentences
from reports.sections.tables import table

LABELS = "\n        ".join(f"when '{id}' then '{words['label']}'" for id, words in WORDS.items())
ORDER = "\n        ".join(f"when '{id}' then {n}" for n, id in enumerate(WORDS))
# a figure that neither quarter has is no row: a provider without a split of Scope 3 has none in any
OTHERS = table("other_headlines").answered_by(f"""select figure_id,
    case figure_id
        {LABELS}
    end as label,
    unit, value, low, high, prior_value, change, change_ratio, coalesce(not_available_reason, change_reason) as change_reason
from marts.rpt_quarterly_figures
where quarter = '$quarter' and figure_id not in ({", ".join(f"'{id}'" for id in ON_THE_PAGE)})
    and (value is not null or prior_value is not null)
order by case figure_id
        {ORDER}
    end, unit""")


def section(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
    costs = (currencies.BY_CURRENCY, currencies.IN_REPORTING_CURRENCY)
    coverage = (COVERAGE_OF_THE_BILL, COVERAGE_BY_SERVICE)
    tables = answered(publication, quarter, emissions.TOTALS_TWICE, *coverage, OTHERS, *costs)
    totals = tables.get(emissions.TOTALS_TWICE.id)
    if totals and all(value is None for row in totals.rows for key, value in row.items() if key.endswith("_kgco2e")):
        del tables[totals.id]  # nothing but dashes: a sentence names what is missing
    lost = answer(publication, quarter, LOST_WORK_BY_CAUSE)
    shares = answer(publication, quarter, RESIDUAL_SHARES)
    found = sentences(
        quarter,
        figures,
        coverage=tables.get(COVERAGE_OF_THE_BILL.id),
        lost=None if lost.absent else lost,
        uncarried=None if shares.absent else shares,
    )
    return Section("glance", "At a glance", tables=tuple(tables.values()), sentences=found)
