"""The headline figures: a row each of marts.rpt_quarterly_figures, with the words that a row does not have.

What a figure is, when it is whole, what it was in the quarter before and why no change is shown are that table's.
"""

from dataclasses import dataclass
from decimal import Decimal

from reports.model import Figure
from reports.publication import Publication, Row
from reports.quarter import Quarter

COST = "added over runs and months of the quarter, per currency"
MASS = (
    "Provider mass of the elected model version, allocated to runs by list-price weight in each provider cell; runs added over "
    "the quarter."
)
REPORTED = "reported by the provider for all usage"
BOUNDS = "Low and high are plausible bounds that err together."


@dataclass(frozen=True)
class Words:
    """What a figure is called, what is around it, and how it is made."""

    label: str
    whole_label: str
    method: str


# in the order of report.json; the first five are the page's
WORDS = {
    "effective_cost": Words(
        "Effective cost of training runs",
        "all that was billed, effective",
        f"Net amortised cost of training runs (strict, without idle share), {COST}.",
    ),
    "facility_energy": Words(
        "Facility energy of training runs on record",
        "with the idle reserve beside the runs",
        "Modelled bottom-up, strict: chips by telemetry or time, host, network and storage, times PUE; added over runs and "
        f"months. {BOUNDS}",
    ),
    "provider_scope_2_location_based": Words("Provider Scope 2, location-based, allocated to training runs", REPORTED, MASS),
    "provider_scope_2_market_based": Words("Provider Scope 2, market-based, allocated to training runs", REPORTED, MASS),
    "accelerator_cost_coverage": Words(
        "Share of accelerator cost that carries an energy and an emission figure",
        "attributed to training runs",
        "Effective cost of accelerators in run-months whose energy and provider emissions are known, over that of all "
        "accelerators (runs and residuals), per currency.",
    ),
    "provider_total_location_based": Words("Provider total, location-based, allocated to training runs", REPORTED, MASS),
    "provider_total_market_based": Words("Provider total, market-based, allocated to training runs", REPORTED, MASS),
    "provider_scope_1": Words("Provider Scope 1, allocated to training runs", REPORTED, MASS),
    "provider_scope_3_location_based": Words("Provider Scope 3, location-based, allocated to training runs", REPORTED, MASS),
    "provider_scope_3_market_based": Words("Provider Scope 3, market-based, allocated to training runs", REPORTED, MASS),
    "provider_scope_3_unsplit": Words("Provider Scope 3 without a split by method, allocated to runs", REPORTED, MASS),
    "modelled_location_based": Words(
        "Modelled location-based emissions of training runs",
        "",
        f"Facility energy of each run times the location-based factor of its grid; no part of the provider's figures. {BOUNDS}",
    ),
    "billed_cost": Words(
        "Billed cost of training runs", "all that was billed", f"What the invoices say of the rows of runs, {COST}."
    ),
    "idle_cost": Words(
        "Idle machines and unused commitments", "all that was billed, effective", f"Effective cost of no run, {COST}."
    ),
    "run_count": Words("Training runs", "", "Runs with a bill or chips held in the quarter."),
    "reserved_chip_hours": Words("Chip-hours held by training runs", "", "Chips held times hours, added over runs and months."),
}
ON_THE_PAGE = tuple(WORDS)[:5]

SQL = """select unit, value, low, high, whole_value, known_value, known_low, known_high, part_count, known_part_count,
    not_available_reason, prior_quarter, prior_value, prior_low, prior_high, change, change_ratio, change_reason
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
        label=f"{words.label}, {currency}" if several else words.label,
        unit=unit,
        method=words.method,
        sql=SQL.format(quarter=quarter.name, id=name, unit=f" and unit = '{unit}'" if several else ""),
        value=row["value"],
        low=row["low"],
        high=row["high"],
        known=known if None not in known else None,
        known_label=f"in the other {row['known_part_count']} run-months" if None not in known else "",
        whole=row["whole_value"],
        whole_label=words.whole_label if row["whole_value"] is not None else "",
        prior_quarter=row["prior_quarter"],
        prior=row["prior_value"],
        prior_low=row["prior_low"],
        prior_high=row["prior_high"],
        change=row["change"],
        change_ratio=None if row["change_ratio"] is None else Decimal(repr(row["change_ratio"])),
        change_reason=row["change_reason"] or "",
        absent=row["not_available_reason"] or "",
        is_on_first_page=name in ON_THE_PAGE,
    )


def headline_figures(publication: Publication, quarter: Quarter) -> list[Figure]:
    """All headline figures of a quarter, those of the page first; in several currencies, one each."""
    sql = SQL.replace("unit, value", "figure_id, unit, value").replace(" and figure_id = '{id}'{unit}", "")
    if publication.missing(sql):
        return []
    rows = publication.rows(sql.format(quarter=quarter.name))
    of = {name: [row for row in rows if row["figure_id"] == name] for name in WORDS}
    return [_figure(quarter, name, row, len(of[name]) > 1) for name in WORDS for row in of[name]]


def name_of(figure: Figure) -> str:
    """2026Q3/glance/effective_cost,USD -> effective_cost."""
    return figure.id.split("/")[2].partition(",")[0]
