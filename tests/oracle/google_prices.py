"""Google's price list (docs/sources/gcp_prices.md): what an hour of a chip is listed at, by day, and which SKUs no rule knows."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

from . import google_facts, seeds
from .accelerators import named_in
from .exports import Delivery, moment
from .google_exports import at, nested_rows
from .numerals import units
from .on_demand import BOARDS, HOURS, Price

CHIPS = {"6F81-5844-456A", "E000-3F24-B8AA"}  # Compute Engine and Cloud TPU
STAYS = timedelta(days=28)
_WORDS = re.compile(r"(?<![a-z])tpu|(?<![a-z])cloudtpu|(?<![a-z])gpus?(?![a-z])|nvidia")
_FLEX = re.compile(r"(?<![a-z])dws(?![a-z])|(?<![0-9a-z])ct\d+[a-z]*-|(?<![0-9a-z])v5[ _-]?lite")
_GPU = re.compile(r"(?<![a-z])(gpu|nvidia)(?![a-z])")
_NO_USE = re.compile(r"management[ -]?fee|licens")
_PLACE = re.compile(r" (running )?in .*$")


@dataclass(frozen=True)
class ListedPrice:
    """What a day's list has of one thing: type, region, way of purchase, currency."""

    thing: tuple[str, str, str, str]
    listed_on: date
    value: Fraction


class PriceLists:
    def __init__(self, deliveries: Iterable[Delivery]) -> None:
        stated: dict[tuple[tuple, date], set[Fraction]] = defaultdict(set)
        self._lists: dict[str, set[date]] = defaultdict(set)  # by currency
        self._newest: dict[tuple[str, str], date] = {}
        self._rows: list[tuple[tuple[str, str], date, dict]] = []
        for delivery in deliveries:
            for _, path in delivery.files:
                for row in filter(_is_accelerator, nested_rows(path)):
                    listed_on = _day(row)
                    account = delivery.source_name, row["billing_account_id"]
                    self._newest[account] = max(listed_on, self._newest.get(account, listed_on))
                    self._rows.append((account, listed_on, row))
                    for thing, value in _prices(row):
                        stated[thing, listed_on].add(value)
                        self._lists[thing[3]].add(listed_on)
        self._stated = {key: min(values) for key, values in stated.items() if len(values) == 1}

    def spans(self) -> Iterator[tuple[tuple[str, str, str, str], date, date, Fraction]]:
        """Of each thing from when until when a list's price is in force: until the next list, and four weeks where none comes."""
        for (thing, listed_on), value in self._stated.items():
            later = [day for day in self._lists[thing[3]] if day > listed_on]
            yield thing, listed_on, min([*later, listed_on + STAYS]), value

    def on_demand(self) -> list[Price]:
        """The prices by which hours are priced that were not bought on demand."""
        return [
            Price(("Google Cloud", kind, currency), region, start, end, value, is_list=True)
            for (kind, region, option, currency), start, end, value in self.spans()
            if option == "on_demand"
        ]

    def by_day(self) -> dict[tuple, Fraction]:
        """What dim_prices has of each thing on each day."""
        return {
            (*thing, start + timedelta(days=number)): value
            for thing, start, end, value in self.spans()
            for number in range((end - start).days)
        }

    def doubts(self) -> set[str]:
        """The value of each finding of the newest lists: its words without the place, and how many SKUs."""
        found: dict[tuple, set[str]] = defaultdict(set)
        for account, listed_on, row in self._rows:
            if listed_on == self._newest[account] and (doubt := _doubt(row)):
                words = _PLACE.sub("", str(at(row, "sku.description")))
                found[account[0], words, doubt].add(str(at(row, "sku.id")))
        return {f"{words} ({len(ids)} SKUs)" for (_, words, _), ids in found.items()}


def _day(row: dict) -> date:
    listed = row["pricing_as_of_time"]
    return moment(listed.isoformat() if isinstance(listed, datetime) else str(listed)).date()


def _words(row: dict) -> str:
    return " ".join([str(at(row, "sku.description")), *(row.get("product_taxonomy") or ())]).lower()


def _is_accelerator(row: dict) -> bool:
    return bool(_WORDS.search(_words(row)) or _FLEX.search(_words(row)))


def _option(sku: str) -> str | None:
    words = sku.lower()
    if words.startswith("commitment"):
        return next((name for years, name in (("1 year", "commitment_1y"), ("3 years", "commitment_3y")) if years in words), None)
    if words.startswith("reserved") or "calendar mode" in words:
        return "calendar" if "calendar mode" in words else None
    if words.startswith("dws") or "attached to dws" in words:
        return "flex_start"
    if "spot" in words or "preemptible" in words:
        return "spot"
    return None if words.startswith("capacity optimized") else "on_demand"


def _prices(row: dict) -> Iterator[tuple[tuple[str, str, str, str], Fraction]]:
    """An hour in one tier, above 0, in the account's currency, of a chip."""
    sku, tiers = str(at(row, "sku.description")), at(row, "list_price.tiered_rates") or []
    kind, option = named_in(sku), _option(sku)
    is_hour = str(row.get("pricing_unit") or "").lower() in HOURS[1:]
    if not (kind and option and is_hour and len(tiers) == 1 and at(row, "service.id") in CHIPS):
        return
    [tier] = tiers
    amount = units(tier["account_currency_amount"], 9)
    if tier["pricing_unit_quantity"] == 1 and amount and amount > 0:
        value = Fraction(amount, 10**9) / (4 if kind in BOARDS else 1)
        for region in at(row, "geo_taxonomy.regions") or ():
            if region.lower() in google_facts.REGIONS:
                yield (kind, region.lower(), option, row["account_currency_code"]), value


def _doubt(row: dict) -> str:
    sku = str(at(row, "sku.description"))
    words = sku.lower()
    is_gpu = bool(_GPU.search(words)) and not _NO_USE.search(words)
    if google_facts.is_tpu(sku) and not _NO_USE.search(words):
        known = {one["accelerator_type"] for one in seeds.seed_rows("accelerator_types")}
        generation = google_facts.generation_of(sku)
        return "" if generation in known else "unknown generation" if generation else "no generation"
    if is_gpu:
        return "" if named_in(sku) else "unknown name"
    return "by its words alone" if _WORDS.search(_words(row)) and not _NO_USE.search(words) else ""
