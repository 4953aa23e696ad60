"""The two pages for the board: their headings, and what of the annex they leave out.

They have no figure of their own: sentences and tables are those of the report, in the same words.
"""

from collections.abc import Sequence

from reports.model import VERDICTS_FOR_THE_BOARD, Section
from reports.page.words import WORDS
from reports.sections.verdicts import VERDICTS


def headings(sections: Sequence[Section]) -> dict[str, str]:
    """Headings, where the annex is, and how many workloads have their verdict there alone."""
    decided = [sentence for section in sections for sentence in section.verdicts]
    rest = decided[VERDICTS_FOR_THE_BOARD:]
    code = next((table.code for section in sections for table in section.tables if table.id == VERDICTS), "")
    others = f"{len(rest)} of {len(decided)} workloads that ran on both are in table {code} of the annex alone." if rest else ""
    return {**WORDS["board"], "others": others if decided else "No workload has finished runs on both platforms."}
