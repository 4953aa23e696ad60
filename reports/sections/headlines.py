"""The headline figures: a row each of the page of that name, with the words that a row does not have (headlines.yml).

What a figure is, when it is whole, what it was in the quarter before and why no change is shown are that page's.
"""

from collections import Counter
from decimal import Decimal

from reports.door import Row
from reports.model import Figure
from reports.pages import query, rows
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections.words import declared

WORDS: dict[str, dict[str, str]] = declared()["headlines"]
OF_CHANGE = ("change", "change_by_activity", "change_by_method")
AS_THEY_ARE = ("value", "low", "high", "prior_quarter", "prior_low", "prior_high", *OF_CHANGE)


def _figure(publication: Publication, quarter: Quarter, row: Row, several: bool) -> Figure:
    """The figure of one row; where bills are in several currencies each names its own."""
    name, unit = str(row["figure_id"]), str(row["unit"])
    words = WORDS[name]
    currency = unit.partition("/")[0]
    known = (row["known_value"], row["known_low"], row["known_high"])
    return Figure(
        id=f"{quarter.name}/glance/{name}{f',{currency}' if several else ''}",
        label=f"{row['label']}, {currency}" if several else row["label"],
        unit=unit,
        method=words["method"],
        sql=query(publication, "headline_figure", quarter.arguments | {"figure": name, "unit": unit}),
        **{same: row[same] for same in AS_THEY_ARE},
        known=known if None not in known else None,
        known_label=f"in the other {row['known_part_count']} run-months" if None not in known else "",
        whole=row["whole_value"],
        whole_label=words.get("whole_label", "") if row["whole_value"] is not None else "",
        all_label=", ".join(text for text in (words.get("all_label"), row["filed"]) if text) if "all_label" in words else "",
        prior=row["prior_value"],
        change_ratio=None if row["change_ratio"] is None else Decimal(repr(row["change_ratio"])),
        change_reason=row["change_reason"] or "",
        absent=row["not_available_reason"] or "",
        is_on_first_page=row["is_on_first_page"],
    )


def headline_figures(publication: Publication, quarter: Quarter) -> list[Figure]:
    """All headline figures of a quarter, those of the page first; in several currencies, one each."""
    found = rows(publication, "headline_figures", quarter.arguments)
    several = Counter(row["figure_id"] for row in found)
    return [_figure(publication, quarter, row, several[row["figure_id"]] > 1) for row in found]


def name_of(figure: Figure) -> str:
    """2026Q3/glance/effective_cost,USD -> effective_cost."""
    return figure.id.split("/")[2].partition(",")[0]
