"""Billing rows as they pile up: a series shares what is equal in its rows, the export sorts rows into daily partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from demo.clock import DAY, HOUR, month_of
from demo.gcp.account import BILLING_ACCOUNT, PLACES, Project, Sku, money_of
from demo.organisation import UNIT, digest
from demo.truth import Claim

PACIFIC = 7 * HOUR  # an invoice month is one of California, where it is summer time in all months of the demo
MILLIONTH = UNIT // 1_000_000
LIST_COLUMNS = ("labels", "system_labels", "tags", "credits", "project.labels", "project.ancestors")


class Row(NamedTuple):
    shared: dict[str, Any]
    own: dict[str, Any]
    claim: Claim | None


@dataclass(frozen=True, slots=True)
class Usage:
    """One row to be: a time, an amount in pricing units (1e-10) and one in usage units."""

    start: int
    end: int
    priced: int
    used: int
    claim: Claim | None = None
    more: dict[str, Any] = field(default_factory=dict)
    price: int | None = None  # where the SKU's changes from day to day
    exported: int | None = None  # of a late row, which lies in the partition of that day


@dataclass(slots=True)
class Export:
    """All rows by the day of their partition, and the watt-hours behind them for the carbon export."""

    days: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    # (project number, service id, location, region, month) -> watt-hours
    activity: dict[tuple[str, str, str, str | None, str], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, sku: Sku, shared: dict[str, Any], usages: Iterable[Usage], watts: int = 0) -> None:
        """`watts` is what one pricing unit draws for an hour."""
        base = {**COMMON, **_sku_columns(sku), **shared}
        for usage in usages:
            own = priced(sku, usage) | usage.more
            own["export_time"] = usage.exported or export_time(usage.end)
            own["invoice.month"] = own.get("invoice.month") or invoice_month(usage.start)
            day = (usage.exported or usage.start) // DAY * DAY
            self.days[day].append(Row(base, own, usage.claim))
            if watts:
                place = (base["location.location"], base["location.region"])
                cell = (base.get("project.number") or "", sku.service[0], *place, month_of(usage.start))
                self.activity[cell] += usage.priced * watts // UNIT


COMMON: dict[str, Any] = {
    "billing_account_id": BILLING_ACCOUNT,
    "currency": "USD",
    "currency_conversion_rate": UNIT,
    "cost_type": "regular",
    "invoice.publisher_type": "GOOGLE",
    "transaction_type": "GOOGLE",
    "seller_name": "Google LLC (synthetic)",
    "consumption_model.id": "7754-699E-0EBF",
    "consumption_model.description": "Default",
    **dict.fromkeys(LIST_COLUMNS, ()),
}


def _sku_columns(sku: Sku) -> dict[str, Any]:
    return {
        "service.id": sku.service[0],
        "service.description": sku.service[1],
        "sku.id": sku.sku_id,
        "sku.description": sku.description,
        "usage.unit": sku.usage_unit,
        "usage.pricing_unit": sku.pricing_unit,
        "price.unit": sku.pricing_unit,
        "price.tier_start_amount": 0,
        "price.pricing_unit_quantity": UNIT,
    }


def priced(sku: Sku, usage: Usage) -> dict[str, Any]:
    listed = sku.price if usage.price is None else usage.price
    paid = Sku(sku.service, sku.description, listed).price_paid(usage.start)
    cost, at_list = money_of(usage.priced, paid), money_of(usage.priced, listed)
    return {
        "usage_start_time": usage.start,
        "usage_end_time": usage.end,
        "usage.amount": usage.used,
        "usage.amount_in_pricing_units": usage.priced,
        "cost": cost,
        "cost_at_list": at_list,
        "cost_at_effective_price_default": cost,
        "cost_at_list_consumption_model": at_list,
        "price.effective_price": paid,
        "price.effective_price_default": paid,
        "price.list_price": listed,
        "price.list_price_consumption_model": listed,
    }


def export_time(end: int) -> int:
    """Half a day after the use, a little more or less."""
    return end + 5 * HOUR + end // HOUR * 7_919 % (9 * HOUR)


def invoice_month(second: int) -> str:
    return month_of(second - PACIFIC).replace("-", "")


def chip_hours(second_count: int, chips: int) -> int:
    """Chip-hours to the millionth, so that a double and a split of nine decimals hold them exactly."""
    return (second_count * chips * 1_000_000 + HOUR // 2) // HOUR * MILLIONTH


def windows(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The clock hours of a life; its first and last are cut where it began and ended."""
    for hour in range(start - start % HOUR, end, HOUR):
        yield max(hour, start), min(hour + HOUR, end)


def project_columns(project: Project | None) -> dict[str, Any]:
    if project is None:  # the whole record is null
        return {}
    return {
        "project.id": project.project_id,
        "project.number": project.account_id,
        "project.name": project.name,
        "project.ancestry_numbers": "/770300200100/550010020030/",
        "project.ancestors": (
            pair("resource_name", "organizations/770300200100", "display_name", "example-ag.synthetic"),
            pair("resource_name", "folders/550010020030", "display_name", "machine-learning"),
            pair("resource_name", f"projects/{project.account_id}", "display_name", project.name),
        ),
    }


def location_columns(region_id: str | None, *, zonal: bool = True) -> dict[str, Any]:
    if region_id is None:
        return {"location.location": "global", "location.region": None}
    place = PLACES[region_id]
    return {
        "location.location": place.zone if zonal else region_id,
        "location.country": place.country,
        "location.region": region_id,
        "location.zone": place.zone if zonal else None,
    }


def pair(key_name: str, key: str, value_name: str, value: str) -> dict[str, str]:
    return {key_name: key, value_name: value}


def labels_of(**labels: str | None) -> tuple[dict[str, str], ...]:
    """Labels as the export repeats them; Python's names cannot hold the dashes that `__` stands for."""
    return tuple(pair("key", key.replace("__", "-"), "value", value) for key, value in labels.items() if value is not None)


def credit(kind: str, name: str, amount: int) -> dict[str, Any]:
    return {"name": name, "amount": amount, "full_name": f"{name} (synthetic)", "id": digest("credit", name)[:16], "type": kind}


def share(cost: int, percent: int) -> int:
    """Part of a cost, to the millionth and rounded down."""
    return cost * percent // 100 // MILLIONTH * MILLIONTH


def total(rows: Sequence[Row], column: str) -> int:
    return sum(row.own.get(column) or 0 for row in rows)
