"""Bill rows, built column-wise: a chunk is the rows of one series (a machine, a bucket, a fee), a sheet one payer's month."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from demo.clock import DAY, HOUR, OPEN_MONTH, hours_between, interval, month_bounds
from demo.organisation import REGIONS, UNIT, Account, Payer, uuid
from demo.truth import Claim

NET_MONTHS = ("2026-07", "2026-08", "2026-09")  # payer A's private discount, and the net columns with it
DISCOUNT_LEFT = 94  # per cent that is still paid
CARBON_PRODUCTS = ("AmazonEC2", "AmazonS3", "AmazonCloudFront")


def times(amount: int, rate: int) -> int:
    """Product of two amounts in 1e-10 units, half away from zero."""
    product = abs(amount * rate)
    rounded = (product + UNIT // 2) // UNIT
    return rounded if amount * rate >= 0 else -rounded


def hours(second_count: int) -> int:
    """Hours in 1e-10 units, as a bill prints them."""
    return (second_count * UNIT + HOUR // 2) // HOUR


def covered_hours(second_count: int) -> int:
    """Hours a commitment pays for, rounded down: an hour shared by two machines is never more than was committed."""
    return second_count * UNIT // HOUR


@dataclass(frozen=True, slots=True)
class Chunk:
    """`constants` are equal in all rows, `varying` has one value per row."""

    key: str  # what makes the series unique in its account
    account: Account
    periods: Sequence[tuple[int, int]]  # start and end second of each row
    constants: dict[str, Any]
    varying: dict[str, list[Any]] = field(default_factory=dict)
    claims: Sequence[Claim | None] | None = None
    watt_hours: int = 0  # drawn by all rows together, for the carbon export


def hourly(
    key: str,
    account: Account,
    worked: Sequence[tuple[int, int]],  # hour and its seconds
    constants: dict[str, Any],
    varying: dict[str, list[Any]],
    claims: Sequence[Claim | None] | None = None,
    watts: int = 0,
) -> Chunk:
    """A row for each hour something worked, drawing `watts` in the seconds it did."""
    periods = [(hour, hour + HOUR) for hour, _ in worked]
    return Chunk(key, account, periods, constants, varying, claims, sum(used for _, used in worked) * watts // HOUR)


@dataclass(slots=True)
class Sheet:
    """One payer's month as it grows; knows what every row of it has in common."""

    payer: Payer
    month: str
    columns: dict[str, list[Any]] = field(default_factory=dict)
    claims: list[Claim | None] = field(default_factory=list)
    # watt-hours of account, region, product
    activity: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))
    rows: int = 0

    @property
    def is_discounted(self) -> bool:
        return self.payer.bill_source == "payer-a-cur" and self.month in NET_MONTHS

    @property
    def bounds(self) -> tuple[int, int]:
        return month_bounds(self.month)

    def all_hours(self) -> list[tuple[int, int]]:
        return [(hour, hour + HOUR) for hour, _ in hours_between(*self.bounds, self.month)]

    def all_days(self) -> list[tuple[int, int]]:
        first, last = self.bounds
        return [(day, day + DAY) for day in range(first, last, DAY)]

    def common(self) -> dict[str, Any]:
        first, last = self.bounds
        open_month = self.month == OPEN_MONTH
        return {
            "bill_bill_type": "Anniversary",
            "bill_billing_entity": "AWS",
            "bill_billing_period_start_date": first,
            "bill_billing_period_end_date": last,
            "bill_invoice_id": None if open_month else f"26{self.month[5:]}{int(self.payer.account_id) % 10**6:06d}",
            "bill_invoicing_entity": "Amazon Web Services, Inc. (synthetic)",
            "bill_payer_account_id": self.payer.account_id,
            "bill_payer_account_name": self.payer.name,
            "line_item_currency_code": "USD",
            "line_item_legal_entity": "Amazon Web Services, Inc. (synthetic)",
            "line_item_line_item_type": "Usage",
            "pricing_currency": "USD",
        }

    def add(self, chunk: Chunk) -> None:
        count = len(chunk.periods)
        if count == 0:
            return
        constants = {**self.common(), **chunk.constants}
        constants["line_item_usage_account_id"] = chunk.account.account_id
        constants["line_item_usage_account_name"] = chunk.account.name
        constants["identity_line_item_id"] = line_id(self.payer, self.month, chunk)
        varying: dict[str, list[Any]] = {
            "line_item_usage_start_date": [start for start, _ in chunk.periods],
            "line_item_usage_end_date": [end for _, end in chunk.periods],
            "identity_time_interval": [interval(start, end) for start, end in chunk.periods],
            **chunk.varying,
        }
        for name in (constants.keys() | varying.keys()) - self.columns.keys():
            self.columns[name] = [None] * self.rows
        for name, column in self.columns.items():
            column.extend(varying[name] if name in varying else [constants.get(name)] * count)
        self.claims.extend(chunk.claims or [None] * count)
        self.rows += count
        if chunk.watt_hours:
            product = constants["line_item_product_code"]
            cell = (
                chunk.account.account_id,
                chunk.constants["product_region_code"],
                product if product in CARBON_PRODUCTS else "Other",
            )
            self.activity[cell] += chunk.watt_hours

    def billed(self, amounts: Sequence[int], rate: int | Sequence[int], listed: int | None = None) -> dict[str, list[Any]]:
        """The varying columns of priced usage; `listed` is the public rate when it is not the billed one."""
        rates = rate if not isinstance(rate, int) else [rate] * len(amounts)
        costs = [times(amount, each) for amount, each in zip(amounts, rates, strict=True)]
        public = costs if listed is None else [times(amount, listed) for amount in amounts]
        columns = {
            "line_item_usage_amount": list(amounts),
            "line_item_unblended_cost": costs,
            "line_item_blended_cost": costs,
            "pricing_public_on_demand_cost": public,
        }
        return columns | self.net(costs)

    def net(self, costs: Sequence[int]) -> dict[str, list[int]]:
        if not self.is_discounted:
            return {}
        return {"line_item_net_unblended_cost": [times(cost, UNIT * DISCOUNT_LEFT // 100) for cost in costs]}


def line_id(payer: Payer, month: str, chunk: Chunk) -> str:
    """Equal for all hours of a series, another one in every month: an id that cannot be a key, as in real bills."""
    text = "|".join((payer.account_id, month, chunk.account.account_id, chunk.key))
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=").lower()


@dataclass(frozen=True)
class Service:
    """The descriptive columns of one priced thing."""

    product_code: str
    usage_type: str
    operation: str
    region_id: str
    unit: str
    rate: int
    family: str
    name: str
    instance_type: str | None = None
    region_in_map_only: bool = False  # transfer rows have no region column, only the map
    term: str = "OnDemand"

    @cached_property
    def columns(self) -> dict[str, Any]:
        region = REGIONS[self.region_id]
        sku = uuid("sku", self.usage_type)[:18].replace("-", "").upper()
        rate = f"{self.rate / UNIT:.10f}"
        return {
            "line_item_product_code": self.product_code,
            "line_item_usage_type": self.usage_type,
            "line_item_operation": self.operation,
            "line_item_line_item_description": f"${rate.rstrip('0').rstrip('.')} per {self.name}",
            "line_item_unblended_rate": rate,
            "line_item_blended_rate": rate,
            "pricing_public_on_demand_rate": rate,
            "pricing_rate_code": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
            "pricing_rate_id": str(int(sku[:9], 16)),
            "pricing_term": self.term,
            "pricing_unit": self.unit,
            "product": {"product_name": self.product_code, "region": self.region_id},
            "product_instance_type": self.instance_type,
            "product_instance_family": "Machine Learning ASIC Instances"
            if (self.instance_type or "").startswith("trn")
            else None,
            "product_location": None if self.region_in_map_only else region.bill_name,
            "product_location_type": None if self.region_in_map_only else "AWS Region",
            "product_operation": self.operation,
            "product_pricing_unit": self.unit,
            "product_product_family": self.family,
            "product_region_code": None if self.region_in_map_only else self.region_id,
            "product_servicecode": "AWSDataTransfer" if self.family == "Data Transfer" else self.product_code,
            "product_sku": sku,
            "product_usagetype": self.usage_type,
        }


def priced(words: str, region_id: str, rate: int, name: str, instance_type: str | None = None, **more: Any) -> Service:
    """A service by the `words` of its bill: product, usage type, operation, unit, family."""
    product, usage_type, operation, unit, family = words.split(", ")
    return Service(product, usage_type, operation, region_id, unit, rate, family, name, instance_type, **more)
