"""Totals that a provider states apart from its bill, beside the bill of a month that is final: rows of the reconciliation."""

import csv
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from .exports import modified_at
from .google_lines import GoogleLine
from .invoices import UNCOMPARED, month_of
from .lines import Line
from .numerals import MONEY, to_decimal, units_of_text

Place = tuple[str, str, date, str]  # provider, payer, month, currency


@dataclass(frozen=True)
class Stated:
    source_name: str
    written_at: datetime
    place: Place
    charge_type: str  # empty: of the whole month
    amount: int


def read_totals(source_name: str, location: Path, as_published: datetime | None = None) -> Iterator[Stated]:
    """Invoices in CSV, and answers of Cost Explorer below `payer=<account>`."""
    for path in [location] if location.is_file() else sorted(location.rglob("*")):
        if not path.is_file() or (as_published is not None and modified_at(path) > as_published):
            continue
        if path.name.endswith((".csv", ".csv.gz")):
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as text:
                for row in csv.DictReader(text):
                    month = date.fromisoformat(row["usage_month"])
                    place = row["provider_name"], row["payer_account_id"], month, row["currency"]
                    yield Stated(
                        source_name, modified_at(path), place, row.get("charge_type") or "", units_of_text(row["amount"], MONEY)
                    )
        elif path.suffix == ".json" and (named := re.search(r"payer=(\d{12})", path.as_posix())):
            for period in json.loads(path.read_text(encoding="utf-8"))["ResultsByTime"]:
                month = date.fromisoformat(period["TimePeriod"]["Start"])
                for group in [] if period["Estimated"] else period["Groups"]:
                    cost = group["Metrics"]["UnblendedCost"]
                    place = "AWS", named[1], month, cost["Unit"]
                    yield Stated(source_name, modified_at(path), place, group["Keys"][0], units_of_text(cost["Amount"], MONEY))


def total_rows(stated: Iterable[Stated], lines: Iterable[Line | GoogleLine], left: dict, closed: set) -> dict[tuple, dict]:
    """A row for each month, payer and currency with a total. Of AWS `left` is what covered use and negation leave."""
    newest: dict[tuple, Stated] = {}
    for one in sorted(stated, key=lambda one: one.written_at):
        newest[one.place, one.charge_type] = one
    totals: dict[Place, dict[str, Stated]] = defaultdict(dict)
    for (place, charge_type), one in newest.items():
        totals[place][charge_type] = one
    billed: dict[Place, int] = defaultdict(int)
    for line in lines:
        month = line.usage_month if line.provider_name == "AWS" else month_of(line.invoice)
        if month is not None:
            billed[line.provider_name, line.payer_account_id, month, line.currency] += line.billed + (line.promotion or 0)
    for (_, payer, month, currency), amount in left.items():
        billed["AWS", payer, month, currency] += amount
    rows = {}
    for place, by_type in totals.items():
        provider, payer, month, currency = place
        if (provider, payer, month) not in closed:
            continue
        total = by_type[""].amount if "" in by_type else sum(one.amount for one in by_type.values())
        source_name = min(one.source_name for one in by_type.values())
        rows[provider, payer, "", "", "", month, "billed_cost", currency, None, "cross_check", source_name] = dict.fromkeys(
            UNCOMPARED
        ) | {
            "provider_total": to_decimal(total, MONEY),
            "difference": to_decimal(total - billed[place] if place in billed else None, MONEY),
        }
    return rows
