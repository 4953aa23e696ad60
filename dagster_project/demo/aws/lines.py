"""Bill rows, built column-wise: a sheet is one payer's month, and grows by series of rows (a machine, a bucket, a fee)."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster_project.demo.aws.account import PAYER_A, REGIONS, Payer
from dagster_project.demo.clock import HOUR, OPEN_MONTH, hours_between, iso, month_bounds
from dagster_project.demo.organisation import UNIT, Account, uuid
from dagster_project.demo.truth import Claim

NET_MONTHS = ("2026-07", "2026-08", "2026-09")  # payer A's private discount, and the net columns with it
DISCOUNT_LEFT = 94  # per cent that is still paid
CARBON_PRODUCTS = ("AmazonEC2", "AmazonS3", "AmazonCloudFront")
Values = Mapping[str, Any]  # by column: a list of a value per row, or one value that all rows share
Hours = Sequence[tuple[int, int]]  # hours, each with the seconds something worked in it
Claims = Sequence[Claim | None]
AWS = "Amazon Web Services, Inc. (synthetic)"


def times(amount: int, rate: int) -> int:
    """Product of two amounts in 1e-10 units, half away from zero."""
    rounded = (abs(amount * rate) + UNIT // 2) // UNIT
    return rounded if amount * rate >= 0 else -rounded


def net(costs: Sequence[int]) -> list[int]:
    return [times(cost, UNIT * DISCOUNT_LEFT // 100) for cost in costs]


def hours(second_count: int) -> int:
    """Hours in 1e-10 units, as a bill prints them."""
    return (second_count * UNIT + HOUR // 2) // HOUR


@dataclass(slots=True)
class Sheet:
    """One payer's month as it grows; knows what every row of it has in common."""

    payer: Payer
    month: str
    is_early: bool = False  # June before its restatement
    columns: dict[str, list[Any]] = field(default_factory=dict)
    claims: list[Claim | None] = field(default_factory=list)
    # watt-hours of account, region, product
    activity: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))

    @property
    def is_discounted(self) -> bool:
        return self.payer is PAYER_A and self.month in NET_MONTHS

    @property
    def bounds(self) -> tuple[int, int]:
        return month_bounds(self.month)

    def all_hours(self) -> list[tuple[int, int]]:
        return hours_between(*self.bounds, self.month)

    def add(
        self, key: str, account: Account, starts: list[int], columns: Values, length: int = HOUR, claims: Claims = ()
    ) -> None:
        """Add a row of `length` seconds for each start; `key` is what makes the series unique in its account.

        Net columns may always be given: they are dropped where there is no discount.
        """
        count, periods = len(starts), [(start, start + length) for start in starts]
        if not count:
            return
        # equal for all hours of a series, another one in every month: an id that cannot be a key, as in real bills
        series = "|".join((self.payer.account_id, self.month, account.account_id, key))
        line_id = base64.b32encode(hashlib.sha256(series.encode()).digest()).decode().rstrip("=").lower()
        billed = self.month[2:].replace("-", "")
        invoice_id = None if self.month == OPEN_MONTH else f"{billed}{int(self.payer.account_id) % 10**6:06d}"
        values = {
            "bill_bill_type": "Anniversary",
            "bill_billing_entity": "AWS",
            "bill_billing_period_start_date": self.bounds[0],
            "bill_billing_period_end_date": self.bounds[1],
            "bill_invoice_id": invoice_id,
            "bill_invoicing_entity": AWS,
            "bill_payer_account_id": self.payer.account_id,
            "bill_payer_account_name": self.payer.name,
            "line_item_currency_code": "USD",
            "line_item_legal_entity": AWS,
            "line_item_line_item_type": "Usage",
            "line_item_usage_account_id": account.account_id,
            "line_item_usage_account_name": account.name,
            "line_item_usage_start_date": starts,
            "line_item_usage_end_date": [end for _, end in periods],
            "identity_line_item_id": line_id,
            "identity_time_interval": [f"{iso(start)}/{iso(end)}" for start, end in periods],
            "pricing_currency": "USD",
            **{name: value for name, value in columns.items() if self.is_discounted or "_net_" not in name},
        }
        for name in values.keys() - self.columns.keys():
            self.columns[name] = [None] * len(self.claims)
        for name, column in self.columns.items():
            value = values.get(name)
            column.extend(value if isinstance(value, list) else [value] * count)
        self.claims.extend(claims or [None] * count)

    def use(
        self,
        key: str,
        account: Account,
        worked: Hours,
        rate: int | list[int],  # of all rows, or of each
        columns: Values,
        *,
        amounts: list[int] | None = None,
        listed: int | None = None,
        claims: Claims = (),
        watts: int = 0,
    ) -> None:
        """Add priced usage: a row for each hour something worked, drawing `watts` in the seconds it did.

        `amounts` are hours unless given; `listed` is the public rate when it is not the billed one.
        """
        amounts = [hours(used) for _, used in worked] if amounts is None else amounts
        costs = list(map(times, amounts, [rate] * len(amounts) if isinstance(rate, int) else rate))
        columns = {
            "line_item_usage_amount": amounts,
            "line_item_unblended_cost": costs,
            "line_item_blended_cost": costs,
            "line_item_net_unblended_cost": net(costs),
            "pricing_public_on_demand_cost": costs if listed is None else [times(amount, listed) for amount in amounts],
            **columns,
        }
        self.add(key, account, [hour for hour, _ in worked], columns, claims=claims)
        if watts and worked:
            product = columns["line_item_product_code"]
            product = product if product in CARBON_PRODUCTS else "Other"
            cell = (account.account_id, columns["product_region_code"], product)
            self.activity[cell] += sum(used for _, used in worked) * watts // HOUR


def priced(words: str, region_id: str, rate: int, name: str) -> dict[str, Any]:
    """What describes a service: its `words` are product, usage type (without the region's prefix), operation, unit and family."""
    product, usage_type, operation, unit, family = words.split(", ")
    # Spot rows come without an instance type, as the real ones do
    instance_type = usage_type.partition(":")[2] if family.endswith("Instance") and "Spot" not in usage_type else None
    region, is_transfer = REGIONS[region_id], family == "Data Transfer"
    usage_type = region.prefix + usage_type
    sku = uuid("sku", usage_type)[:18].replace("-", "").upper()
    price = f"{rate / UNIT:.10f}"
    return {
        "line_item_product_code": product,
        "line_item_usage_type": usage_type,
        "line_item_operation": operation,
        "line_item_line_item_description": f"${price.rstrip('0').rstrip('.')} per {name}",
        **dict.fromkeys(("line_item_unblended_rate", "line_item_blended_rate", "pricing_public_on_demand_rate"), price),
        "pricing_rate_code": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
        "pricing_rate_id": str(int(sku[:9], 16)),
        "pricing_term": "OnDemand",
        "pricing_unit": unit,
        "product": {"product_name": product, "region": region_id},
        "product_instance_type": instance_type,
        "product_instance_family": "Machine Learning ASIC Instances" if (instance_type or "").startswith("trn") else None,
        # transfer rows have no region column, only the map
        "product_location": None if is_transfer else region.bill_name,
        "product_location_type": None if is_transfer else "AWS Region",
        "product_operation": operation,
        "product_pricing_unit": unit,
        "product_product_family": family,
        "product_region_code": None if is_transfer else region_id,
        "product_servicecode": "AWSDataTransfer" if is_transfer else product,
        "product_sku": sku,
        "product_usagetype": usage_type,
    }
