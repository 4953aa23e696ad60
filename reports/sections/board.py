"""The two pages for the board: which of the report they have, and its headings.

They have no figure of their own: sentences and tables are those of the section at a glance, in the same words.
"""

from collections.abc import Sequence

from reports.model import Section, Sentence, Table
from reports.page.words import WORDS
from reports.sections.verdicts import VERDICT, VERDICTS

MOST_VERDICTS = 8  # decided ones come first


def verdicts_of(section: Section) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences of a section that are a workload's verdict, and the others."""
    decided = [sentence for sentence in section.sentences if sentence.id.startswith(VERDICT)]
    return decided, [sentence for sentence in section.sentences if sentence not in decided]


def tables_of(sections: Sequence[Section]) -> list[Table]:
    """The tables of the second page."""
    return [table for section in sections for table in section.tables if table.spec.is_for_the_board]


def headings(sections: Sequence[Section]) -> dict[str, str]:
    """Headings of the pages, where the annex is, and how many workloads are there alone."""
    decided, _ = verdicts_of(sections[0])
    rest = decided[MOST_VERDICTS:]
    code = next((table.code for section in sections for table in section.tables if table.id == VERDICTS), "")
    others = f"{len(rest)} of {len(decided)} workloads that ran on both are in table {code} of the annex alone." if rest else ""
    return {**WORDS["board"], "others": others if decided else "No workload has finished runs on both platforms."}
