"""The headline figures: a row each of marts.rpt_quarterly_figures, with the words that a row does not have (headlines.yml).

What a figure is, when it is whole, what it was in the quarter before and why no change is shown are that table's.
"""

from decimal import Decimal

from reports.door import Row
from reports.model import Figure
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections.tables import declared

WORDS: dict[str, dict[str, str]] = declared()["headlines"]
ON_THE_PAGE = tuple(WORDS)[:5]
OF_CHANGE = ("change", "change_by_activity", "change_by_method")
AS_THEY_ARE = ("value", "low", "high", "prior_quarter", "prior_low", "prior_high", *OF_CHANGE)

SQL = """select unit, value, low, high, whole_value, known_value, known_low, known_high, part_count, known_part_count,
    not_available_reason, prior_quarter, prior_value, prior_low, prior_high, change, change_by_activity, change_by_method,
    change_ratio, change_reason
from marts.rpt_quarterly_figures
where quarter = '{quarter}' and figure_id = '{id}'{unit}
order by unit"""


def _figure(quarter: Quarter, name: str, row: Row, several: bool) -> Figure:
    """The figure of one row; where bills are in several currencies each names its own."""
    words, unit = WORDS[name], str(row["unit"])
    currency = unit.partition("/")[0]
    known = (row["known_value"], row["known_low"], row["known_high"])
    return Figure(
        id=f"{quarter.name}/glance/{name}{f',{currency}' if several else ''}",
        label=f"{words['label']}, {currency}" if several else words["label"],
        unit=unit,
        method=words["method"],
        sql=SQL.format(quarter=quarter.name, id=name, unit=f" and unit = '{unit}'" if several else ""),
        **{name: row[name] for name in AS_THEY_ARE},
        known=known if None not in known else None,
        known_label=f"in the other {row['known_part_count']} run-months" if None not in known else "",
        whole=row["whole_value"],
        whole_label=words.get("whole_label", "") if row["whole_value"] is not None else "",
        prior=row["prior_value"],
        change_ratio=None if row["change_ratio"] is None else Decimal(repr(row["change_ratio"])),
        change_reason=row["change_reason"] or "",
        absent=row["not_available_reason"] or "",
        is_on_first_page=name in ON_THE_PAGE,
    )


def headline_figures(publication: Publication, quarter: Quarter) -> list[Figure]:
    """All headline figures of a quarter, those of the page first; in several currencies, one each."""
    sql = SQL.replace("unit, value", "figure_id, unit, value").replace(" and figure_id = '{id}'{unit}", "")
    rows = publication.rows_if_there(sql.format(quarter=quarter.name))
    of = {name: [row for row in rows if row["figure_id"] == name] for name in WORDS}
    return [_figure(quarter, name, row, len(of[name]) > 1) for name in WORDS for row in of[name]]


def name_of(figure: Figure) -> str:
    """2026Q3/glance/effective_cost,USD -> effective_cost."""
    return figure.id.split("/")[2].partition(",")[0]
