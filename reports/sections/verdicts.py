"""Trainium and TPU side by side: the verdicts, what they rest on, and what would change them. No statistics here."""

from collections.abc import Iterable
from urllib.parse import quote

from reports import pages
from reports.door import Row
from reports.model import VERDICT, Section, Sentence, Table
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections.charts import ratio_chart
from reports.sections.words import declared

TITLE = "Trainium and TPU side by side"
VERDICTS, MODELLED, BY_KPI, STRATA = "verdicts", "modelled_verdicts", "verdicts_by_kpi", "comparison_strata"
SENSITIVITIES, BREAK_EVEN, PAIRS = "comparison_sensitivities", "break_even", "pair_ratios"
COMPARED, RESIDUAL_SHARES, DISAGREEMENT = "compared_runs", "residual_shares", "ratios_that_disagree"
LEAD = (
    "Compared are whole runs with all their attempts, matched by pair key; below 1 the TPU side took less. A side is "
    "named over six closed halves of a quarter or more, by pairs that were registered before their later side began, where the "
    "power of the chips is not assumed, and less is left without a run than the sides differ. Of drawn reports with five pairs a "
    "quarter at a true ratio of 0.8, 54.5 % name the side by quarter 4 and 99.3 % by quarter 8 (at a spread of 0.25 14.6 % and "
    "74.0 %); before three quarters none can."
)
WORDS = declared()["verdict_sentences"]


def verdict_sentences(table: Table) -> tuple[Sentence, ...]:
    """One for each workload, decided ones first, with the reason as the table has it."""
    return tuple(
        Sentence(f"{VERDICT}{quote(name)}", (f"{name}, {row['measure'].lower()}: {WORDS[row['verdict']]}. ", row["reason"]))
        for name, row in decided_first(table).items()
    )


def decided_first(table: Table) -> dict[str, Row]:
    """The verdict of each workload: of four quarters, else of the quarter."""
    rows: dict[str, Row] = {}
    for row in sorted(table.rows, key=lambda row: (row["span"] == "quarter", row["verdict"] == "not_comparable")):
        rows.setdefault(str(row["workload_key"]), row)
    return dict(sorted(rows.items(), key=lambda one: ([*WORDS].index(one[1]["verdict"]), one[0])))


def disagreement(row: Row) -> Sentence:
    words = (
        f"{row['workload_key']}: location-based emissions per 1M useful tokens on TPU are {row['allocated_ratio']:.2f} times "
        f"Trainium's as the "
        f"providers allocate them ({row['allocated_pairs']} pairs) and {row['modelled_ratio']:.2f} times as modelled from "
        f"power, each in its own "
        f"region ({row['modelled_pairs']} pairs): providers allocate by list price, which does not see how busy a chip was or "
        f"what it "
        "draws; the model does not see what else they allocate. Neither is a verdict."
    )
    return Sentence(f"ratios_disagree,{row['workload_key']}", (words,))


def side_by_side(
    tables: dict[str, Table], lead: str, apart: Iterable[Row], span: str = " in four quarters", absent: str = ""
) -> Section:
    """The chapter of these tables: the chart of the pairs of a span of time, and where two ways of counting disagree."""
    order = [*decided_first(tables[VERDICTS])] if VERDICTS in tables else []
    found = tables[PAIRS].rows if PAIRS in tables else ()
    pairs = tuple(sorted(found, key=lambda row: order.index(row["workload_key"]) if row["workload_key"] in order else len(order)))
    # beside the pairs of a chart stand the figures of its span: of the two of a quarterly report the four quarters
    beside = [row for row in tables[BY_KPI].rows if row["factor_view"] == "chip"] if pairs else []
    rated = (row for row in beside if row["window_start"] == pairs[0]["window_start"])
    drawn = ratio_chart(pairs, tuple(rated), span)
    charts = {VERDICTS: drawn} if drawn else {}
    return Section("side_by_side", TITLE, lead, tuple(tables.values()), charts, absent, tuple(map(disagreement, apart)))


def section(publication: Publication, quarter: Quarter) -> Section:
    """The chapter. With one platform or none, the reason why it is empty."""
    ids = (VERDICTS, MODELLED, BY_KPI, STRATA, SENSITIVITIES, BREAK_EVEN, PAIRS)
    tables = answered(publication, quarter, *ids, COMPARED, RESIDUAL_SHARES)
    made = tables.get(COMPARED)
    if not made:
        return side_by_side({}, "", ())
    families = {str(row["accelerator_family"]) for row in made.rows}
    if not {"trainium", "tpu"} <= families:
        there = f"only on {families.pop()}" if families else "on neither"
        absent = f"Nothing is compared: it takes runs that ended on Trainium and on TPU, and in this quarter they ended {there}."
        return side_by_side({made.id: made} if made.rows else {}, "", (), absent=absent)
    return side_by_side(tables, LEAD, pages.rows(publication, DISAGREEMENT, quarter.arguments))
