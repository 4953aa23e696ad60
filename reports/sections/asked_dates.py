"""The comparison's tables about dates that somebody asked for: those of the quarterly report, asked about these dates.

A quarterly table speaks of its quarter and of the four quarters that end with it; here both are the same span.
"""

from dataclasses import replace

from reports.model import TableSpec
from reports.sections import verdicts

WORDS_OF_A_QUARTER = {
    "the four quarters to the end of $quarter": "these dates",
    "the end of $quarter": "the end of these dates",
    "in the quarter": "in these dates",
    "in this quarter": "in these dates",
}


def words_of_dates(text: str) -> str:
    """A sentence of the quarterly report, of one span alone."""
    for of_quarter, of_dates in WORDS_OF_A_QUARTER.items():
        text = text.replace(of_quarter, of_dates)
    return text


def of_dates(spec: TableSpec) -> TableSpec:
    """Without the column that shows which of the two spans a row is about."""
    columns = tuple(column for column in spec.columns if column.key != "span")
    key = tuple(name for name in spec.key if name != "span")
    return replace(spec, columns=columns, key=key, method=words_of_dates(spec.method), empty=words_of_dates(spec.empty))


TABLES = (
    *(verdicts.VERDICTS, verdicts.BY_KPI, verdicts.STRATA, verdicts.SENSITIVITIES, verdicts.BREAK_EVEN, verdicts.PAIRS),
    *(verdicts.RESIDUAL_SHARES, "calibrated_watts"),
)
LEAD = verdicts.LEAD.replace("attempts, matched", "attempts that ended in these dates, matched")
