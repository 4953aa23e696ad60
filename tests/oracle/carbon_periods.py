"""Carbon of a quarter or a year: divided among its months or compared with them (aws_carbon.md, emissions.md)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from . import facts
from .carbon import MASSES, CarbonCells, CarbonRow, Masses, is_global, report_rows, whole_sum
from .emissions import BillCell, Weights
from .exports import Delivery
from .numerals import MASS, to_decimal
from .splitting import split

Payer = tuple[str, date]  # payer and month


@dataclass(frozen=True)
class PeriodRow:
    """A row of a report: its cell without a month, the months that it is of, and the masses of all of them together."""

    place: tuple[str, ...]  # source, provider, payer, account, product, region
    months: tuple[date, ...]
    version: str
    masses: Masses
    is_believed: bool
    published_at: datetime


@dataclass
class Divided:
    """The rows that are the book, by month, when each payer's month was published, and what is only compared."""

    rows: list[CarbonRow] = field(default_factory=list)
    published: dict[Payer, datetime] = field(default_factory=dict)
    compared: list[PeriodRow] = field(default_factory=list)


def period_rows(deliveries: Iterable[Delivery]) -> Iterator[PeriodRow]:
    for delivery in deliveries:
        named = delivery.partition.partition("@")[0].split("..")
        first, last = (date.fromisoformat(f"{month}-01") for month in named)
        months = [first]
        while months[-1] < last:
            months.append((months[-1] + timedelta(days=31)).replace(day=1))
        for version, of_months, place, masses in report_rows(delivery):
            if of_months == months:
                is_known = is_global(place[-1], "AWS") or place[-1] in facts.KNOWN_REGIONS
                whole = (delivery.source_name, "AWS", *place)
                yield PeriodRow(whole, tuple(months), version, masses, is_known, delivery.published_at)


def divide_among_months(
    rows: Iterable[PeriodRow], finer: Iterable[CarbonRow], billed: set[Payer], weights: dict[BillCell, Weights]
) -> Divided:
    """Shorter periods first: one counts where every month has a bill and none has anything finer."""
    taken: dict[Payer, tuple] = {(row.cell[2], row.cell[6]): (row.cell[6],) for row in finer}
    groups: dict[tuple, list[PeriodRow]] = defaultdict(list)
    for row in rows:
        groups[len(row.months), row.months, row.place[2]].append(row)
    divided = Divided()
    for (_, months, payer), group in sorted(groups.items(), key=lambda one: one[0]):
        places = {(payer, month) for month in months}
        if not (places <= billed and all(taken.get(one, months) == months for one in places)):
            divided.compared += group
            continue
        taken |= dict.fromkeys(places, months)
        for row in group:
            divided.rows += _by_month(row, weights)
            divided.published |= {one: max(row.published_at, divided.published.get(one, row.published_at)) for one in places}
    return divided


def _by_month(row: PeriodRow, weights: dict[BillCell, Weights]) -> Iterator[CarbonRow]:
    source_name, *place = row.place
    found = [(month, weights.get((*place, month))) for month in row.months]
    keys = [(month, max(one.total, 0) if one else 0) for month, one in found]
    if is_global(place[-1], "AWS") or not any(weight for _, weight in keys):
        keys = [(month, ((month + timedelta(days=31)).replace(day=1) - month).days) for month in row.months]
    by_mass = [None if mass is None else split(mass, keys) for mass in row.masses]
    for month, weight in keys:
        if weight:
            masses = tuple(None if parts is None else parts[month] for parts in by_mass)
            yield CarbonRow((source_name, *place, month, row.version), masses, row.is_believed)


def check_rows(compared: Iterable[PeriodRow], cells: CarbonCells) -> dict[tuple, dict]:
    """Rows of fct_reconciliation under the last month of each report; of two that end with one month the longer."""
    reports: dict[tuple, tuple] = {}
    stated: dict[tuple, list[Masses]] = defaultdict(list)
    for row in compared:
        report = *row.place[:4], row.version, row.months[-1]
        reports[report] = max(reports.get(report, ()), row.months, key=len)
    for row in compared:
        report = *row.place[:4], row.version, row.months[-1]
        if reports[report] == row.months:
            stated[report, row.place[4:]].append(row.masses)
    booked, months_there = _booked(reports, cells)
    rows = {}
    for report, cell in stated.keys() | booked.keys():
        source_name, provider, payer, account, version, month = report
        is_whole = len(months_there[report]) == len(reports[report])
        nothing = (0,) * len(MASSES)
        theirs = whole_sum(stated[report, cell]) if (report, cell) in stated else (None,) * len(MASSES)
        ours = whole_sum(booked.get((report, cell), [nothing])) if is_whole else (None,) * len(MASSES)
        for measure, one, other in list(zip(MASSES, theirs, ours, strict=True))[:-1]:
            if one is not None or ((report, cell) not in stated and other is not None):
                key = provider, payer, account, *cell, month, measure, "kgCO2e", version, "cross_check", source_name
                difference = None if one is None or other is None else one - other
                rows[key] = {
                    "provider_total": to_decimal(one, MASS), "difference": to_decimal(difference, MASS),
                    **dict.fromkeys(("runs_total", "residual_total", "quarantined_total", "modelled_total")),
                }  # fmt: skip
    return rows


def _booked(reports: dict[tuple, tuple], cells: CarbonCells) -> tuple[dict[tuple, list[Masses]], dict[tuple, set[date]]]:
    """The book's rows of a report's account and months in its version, and which months its payer has in it."""
    booked: dict[tuple, list[Masses]] = defaultdict(list)
    there: dict[tuple, set[date]] = defaultdict(set)
    for report, months in reports.items():
        for found in (cells.masses, cells.quarantined):
            for cell, masses in found.items():
                is_of_it = cell[2] == report[2] and cell[6] in months and cell[7].lstrip("v") == report[4].lstrip("v")
                if is_of_it and cells.is_elected(cell) and cell[1] == "AWS":
                    there[report].add(cell[6])
                    if cell[3] == report[3]:
                        booked[report, cell[4:6]].append(masses)
    return booked, there
