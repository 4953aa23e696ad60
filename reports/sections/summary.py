"""The first page in sentences: what it cost, what it used, which emissions we disclose, how sure, what changed.

Each sentence is a template of summary.yml, filled from headline figures; each number in it is one of theirs, with its id. Read
aloud, the page takes a minute. What is unknown is reported, with the reason that the figure's row gives.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

from jinja2 import Environment, StrictUndefined

from reports.door import Row
from reports.model import Figure, Number, Sentence, Table
from reports.page.numbers import EN_DASH, THIN_SPACE, amount, grouped, interval
from reports.quarter import Quarter, listed
from reports.sections.headlines import name_of
from reports.sections.words import declared

# a number while its sentence is text: its figure's id and how it is written, between characters that no text has
MARKED = re.compile("\x1e(.*?)\x1f(.*?)\x1e")
CHANGED = {
    "effective_cost": "the cost of training runs",
    "facility_energy": "their energy",
    "provider_total_location_based": "their location-based emissions",
    "provider_total_market_based": "their market-based emissions",
}


def _number(id: str, text: str) -> str:
    return f"\x1e{id}\x1f{text}\x1e"


def _value(figure: Figure, greatest: Decimal | None = None) -> str:
    """With its bounds where it is modelled; runs are counted in words."""
    value = figure.value or Decimal(0)
    if figure.low is not None and figure.high is not None and value:
        return interval(value, figure.low, figure.high, figure.unit, greatest)
    return f"{grouped(value, 0)} training run{'' if value == 1 else 's'}" if figure.unit == "runs" else amount(value, figure.unit)


def _numbers(figure: Figure) -> dict[str, str]:
    """What a pattern of `each` may name of a known figure, or of one that is known in part."""
    whole = EN_DASH if figure.whole is None else amount(figure.whole, figure.unit)
    return {
        "value": _number(figure.id, _value(figure)),
        "whole": _number(f"{figure.id}/whole", whole),
        "known": _number(f"{figure.id}/known", interval(*figure.known, figure.unit) if figure.known else EN_DASH),
        "currency": figure.unit.partition("/")[0],
    }


def each(figures: Iterable[Figure], pattern: str) -> str:
    """The pattern filled from each figure: 1 USD of 2 USD and 3 EUR of 4 EUR."""
    return listed([pattern.format(**_numbers(figure)) for figure in figures])


def _cell(table: Table, row: Row, column: str, unit: str) -> str:
    """A number of a table's row."""
    value = row[column]
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    return _number(f"{table.row_id(row)}/{column}", EN_DASH if exact is None else amount(exact, unit))


CAUSES = {
    "idle": "idle machines",
    "unused_commitment": "unused commitments",
    "failed": "failed attempts",
    "interrupted": "interrupted attempts",
}


def _waste(table: Table) -> str:
    """45 200 USD or 13.6 % of all cost: idle machines 933 USD, unused commitments 12 900 USD and failed attempts 30 100 USD."""

    def cost(row: Row) -> str:
        return _cell(table, row, "effective_cost", str(row["billing_currency"]))

    totals = [row for row in table.rows if row["is_total"] and row["effective_cost"]]
    parts = {
        total["billing_currency"]: listed(
            [
                f"{CAUSES[row['cause']]} {cost(row)}"
                for row in table.rows
                if not row["is_total"] and row["effective_cost"] and row["billing_currency"] == total["billing_currency"]
            ]
        )
        for total in totals
    }
    return "; ".join(
        f"{cost(row)} or {_cell(table, row, 'share_ratio', '1')} of all cost: {parts[row['billing_currency']]}" for row in totals
    )


def _uncarried(table: Table) -> str:
    """1 510 USD (AWS, 0.9 %) and 13 500 USD (Google Cloud, 18.5 %)."""
    rows = [row for row in table.rows if row["is_total"] and row["residual_cost"]]
    return listed(
        [
            f"{_cell(table, row, 'residual_cost', str(row['billing_currency']))}"
            f" ({row['provider_name']}, {_cell(table, row, 'residual_ratio', '1')})"
            for row in rows
        ]
    )


def _whole_bill(table: Table) -> str:
    """of the whole bill 71.2 % carries energy and 84.0 % emissions."""
    totals = [row for row in table.rows if row["is_total"] and row["effective_cost"]]
    return listed(
        [
            f"of the whole bill {'in ' + row['billing_currency'] + ' ' if len(totals) > 1 else ''}"
            f"{_cell(table, row, 'energy_coverage_ratio', '1')} carries energy and "
            f"{_cell(table, row, 'carbon_coverage_ratio', '1')} emissions"
            for row in totals
        ]
    )


def _filed(table: Table | None) -> dict[str, str]:
    """The one figure that is filed, of which training runs, and the answer of providers that is not; or why there is none."""
    nothing = dict.fromkeys(("value", "runs", "other", "way", "other_way", "absent"), "")
    if table is None:
        return nothing
    rows = {str(row["measure"]): row for row in table.rows}
    filed = next((row for row in table.rows if row["is_filed"]), None)
    if filed is None:
        return nothing
    way, other = ("location", "market") if "location" in str(filed["measure"]) else ("market", "location")
    if filed["value"] is None:
        return nothing | {"absent": str(filed["availability"]).removeprefix("not available: ")}
    cells = {"value": filed, "runs": rows.get(f"runs_total_{way}_based"), "other": rows.get(f"cloud_total_{other}_based")}
    shown = {name: _cell(table, row, "value", "tCO2e") for name, row in cells.items() if row and row["value"] is not None}
    return nothing | {"way": f"{way}-based", "other_way": f"{other}-based"} | shown


def _change(figure: Figure, words: str) -> str:
    """their energy fell by 2.2 % from 56.1 (41.5-101) MWh to 54.9 (40.5-98.9) MWh, of which 1.0 MWh is another method.

    With the bounds of both quarters where the figure is modelled, and both quarters in one unit: 0.0532 MWh to 56.2 MWh.
    """
    greatest = max(abs(value) for value in (figure.value, figure.prior, Decimal(0)) if value is not None)
    ratio = figure.change_ratio  # null of next to nothing: no share is given then
    moved = (figure.change if ratio is None else ratio) or Decimal(0)
    currency = f" in {figure.unit}" if "," in figure.id else ""
    prior = EN_DASH
    if figure.prior is not None:
        bounds = figure.prior_low, figure.prior_high
        is_bounded = figure.prior and None not in bounds
        prior = (
            interval(figure.prior, *bounds, figure.unit, greatest)  # type: ignore[arg-type]
            if is_bounded
            else amount(figure.prior, figure.unit, greatest)
        )
    before = _number(f"{figure.id}/prior", prior)
    now = f" to {_number(figure.id, _value(figure, greatest))}" if figure.low is not None or ratio is None else ""
    percent = grouped(abs(ratio or Decimal(0)) * 100, 1)
    if not moved or (ratio is not None and percent in ("0.0", "0")):
        text = f"{words}{currency} stayed at {before}"
    else:
        by = "" if ratio is None else f" by {_number(f'{figure.id}/change_ratio', f'{percent}{THIN_SPACE}%')}"
        text = f"{words}{currency} {'rose' if moved > 0 else 'fell'}{by} from {before}{now}"
    return text + _method(figure, greatest)


def _method(figure: Figure, greatest: Decimal) -> str:
    """How much of a change is another method, where a reader could see it: from a tenth of a per cent on."""
    part = figure.change_by_method
    if not part or not figure.prior or abs(part) * 1000 < figure.prior:
        return ""
    more = "more" if part > 0 else "less"
    by = _number(f"{figure.id}/change_by_method", amount(abs(part), figure.unit, greatest))
    return f", of which {by} {more} is another method"


def _sentence(id: str, text: str) -> Sentence:
    """The text cut into words and numbers."""
    pieces = MARKED.split(text)  # words, id, number, words, id, number, words
    parts = [Number(*pieces[n : n + 2]) if n % 3 else pieces[n] for n in range(len(pieces)) if n % 3 < 2]
    return Sentence(id, tuple(part for part in parts if part))


def sentences(
    quarter: Quarter,
    figures: list[Figure],
    coverage: Table | None = None,
    waste: Table | None = None,
    uncarried: Table | None = None,
    contributions: Table | None = None,
) -> tuple[Sentence, ...]:
    """The page, as far as there is something to state."""

    def named(name: str) -> list[Figure]:
        return [figure for figure in figures if name_of(figure) == name]

    def known(name: str) -> list[Figure]:
        return [figure for figure in named(name) if figure.value is not None]

    def reason(name: str) -> str:
        return next((figure.absent for figure in named(name) if figure.absent), "nothing is published of it")

    changed = [(figure, words) for name, words in CHANGED.items() for figure in named(name)]
    reasons: dict[str, list[str]] = {}
    for figure, words in changed:
        if figure.change is None and figure.change_reason:
            reasons.setdefault(figure.change_reason, []).append(words)
    given = {
        "quarter": quarter.name,
        "last_quarter": quarter.previous.name,
        "has_runs": any(figure.value for figure in named("run_count")),
        "figures": named,
        "known": known,
        "filed": _filed(contributions),
        "reason": reason,
        "waste": _waste(waste) if waste else "",
        "uncarried": _uncarried(uncarried) if uncarried else "",
        "whole_bill": _whole_bill(coverage) if coverage else "",
        "changes": listed([_change(figure, words) for figure, words in changed if figure.change is not None]),
        "reasons": {reason: listed(list(dict.fromkeys(names))) for reason, names in reasons.items()},
    }
    environment = Environment(undefined=StrictUndefined)
    environment.filters["each"] = each
    texts = {id: environment.from_string(text).render(given).strip(" ") for id, text in declared()["first_page"].items()}
    return tuple(_sentence(id, text) for id, text in texts.items() if text)
