"""Small FOCUS exports of AWS in the two versions that Data Exports has, and what AWS writes in FOCUS for a row of its CUR."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.connectors.kit import LINE, write_manifest, write_parquet

_COMMON = """
AvailabilityZone BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory
ChargeClass ChargeDescription ChargeFrequency ChargePeriodEnd ChargePeriodStart CommitmentDiscountCategory CommitmentDiscountId
CommitmentDiscountName CommitmentDiscountStatus CommitmentDiscountType ConsumedQuantity ConsumedUnit ContractedCost
ContractedUnitPrice EffectiveCost InvoiceIssuerName ListCost ListUnitPrice PricingCategory PricingQuantity PricingUnit
ProviderName PublisherName RegionId RegionName ResourceId ResourceName ResourceType ServiceCategory ServiceName SkuId SkuPriceId
SubAccountId SubAccountName Tags
"""
_OF_1_0 = "x_CostCategories x_Discounts x_Operation x_ServiceCode x_UsageType"
_OF_1_2 = """
BillingAccountType CapacityReservationId CapacityReservationStatus CommitmentDiscountQuantity CommitmentDiscountUnit InvoiceId
PricingCurrency PricingCurrencyContractedUnitPrice PricingCurrencyEffectiveCost PricingCurrencyListUnitPrice ServiceSubcategory
SkuMeter SkuPriceDetails SubAccountType x_Discounts x_Operation x_ServiceCode
"""
_MAPS = {"Tags": pa.string(), "x_CostCategories": pa.string(), "SkuPriceDetails": pa.string(), "x_Discounts": pa.float64()}


def _type_of(name: str) -> pa.DataType:
    if name in _MAPS:
        return pa.map_(pa.string(), _MAPS[name])
    if name.endswith(("Cost", "Price", "Quantity")):
        return pa.float64()
    return pa.timestamp("ms") if name.endswith(("Start", "End")) else pa.string()


SCHEMAS = {
    version: pa.schema({name: _type_of(name) for name in sorted(f"{_COMMON} {more}".split())})
    for version, more in (("1.0", _OF_1_0), ("1.2", _OF_1_2))
}


def focus_rows(row: Mapping[str, Any], version: str = "1.0", **changes: Any) -> Iterator[dict[str, Any]]:
    """What is in FOCUS for a row of a CUR: nothing for a negation, and for a commitment's fee also what was not used of it.

    A covered row is billed at 0, and a purchase costs nothing effectively. A discount on a row of its own is use that takes off.
    """
    kind, usage_type = row["line_item_line_item_type"], row.get("line_item_usage_type")
    if kind == "SavingsPlanNegation":
        return
    net, gross = row.get("line_item_net_unblended_cost"), row["line_item_unblended_cost"]
    billed = gross if net is None else net
    plan, reserved = row.get("savings_plan_savings_plan_a_r_n"), row.get("reservation_reservation_a_r_n")
    is_block = "CapacityBlock" in (usage_type or "")
    block = row.get("capacity_reservation_capacity_reservation_arn") or (reserved if is_block else None)
    start = row["line_item_usage_start_date"].replace(tzinfo=None)
    month = start.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    list_cost = row.get("pricing_public_on_demand_cost")
    stated = {
        "AvailabilityZone": row.get("line_item_availability_zone"),
        "BilledCost": billed,
        "BillingAccountId": row["bill_payer_account_id"],
        "BillingAccountType": "Management",
        "BillingCurrency": row["line_item_currency_code"],
        "BillingPeriodStart": row.get("bill_billing_period_start_date") or month,
        "CapacityReservationId": block,
        "CapacityReservationStatus": row.get("capacity_reservation_capacity_reservation_status"),
        "ChargeCategory": "Usage",
        "ChargeDescription": row.get("line_item_line_item_description"),
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodEnd": row["line_item_usage_end_date"].replace(tzinfo=None),
        "ChargePeriodStart": start,
        "ConsumedQuantity": row.get("line_item_usage_amount"),
        "ConsumedUnit": row.get("pricing_unit"),
        "ContractedCost": billed,
        "EffectiveCost": billed,
        "InvoiceId": row.get("bill_invoice_id"),
        "InvoiceIssuerName": "Amazon Web Services, Inc.",
        "ListCost": billed if list_cost is None else list_cost,
        "ProviderName": "AWS",
        "RegionId": row.get("product_region_code") or (row.get("product") or {}).get("region"),
        "ResourceId": row.get("line_item_resource_id"),
        "ServiceName": row["line_item_product_code"],
        "SkuMeter": usage_type,
        "SubAccountId": row["line_item_usage_account_id"],
        "Tags": _tags(row),
        "x_CostCategories": row.get("cost_category"),
        "x_Operation": row.get("line_item_operation"),
        "x_ServiceCode": row["line_item_product_code"],
        "x_UsageType": usage_type,
    }
    if (plan or kind.startswith("SavingsPlan")) and kind != "Usage":
        stated |= {"CommitmentDiscountId": plan, "CommitmentDiscountType": "Savings Plan"}
    elif (reserved or kind in ("DiscountedUsage", "RIFee")) and not is_block:
        stated |= {"CommitmentDiscountId": reserved, "CommitmentDiscountType": "Reserved Instance"}
    if kind in ("Tax", "Credit"):
        stated |= {"ChargeCategory": kind}
    elif kind == "Refund":
        stated |= {"ChargeCategory": "Adjustment"}
    elif kind.endswith("Fee"):
        is_recurring = kind in ("SavingsPlanRecurringFee", "RIFee")
        frequency = "Recurring" if is_recurring else "One-Time"
        stated |= {"ChargeCategory": "Purchase", "ChargeFrequency": frequency}
        if "CommitmentDiscountType" in stated or is_block:
            stated |= {"EffectiveCost": 0.0}
        if is_recurring:
            used = row.get("savings_plan_used_commitment") or 0.0
            unused = (row.get("savings_plan_total_commitment_to_date") or 0.0) - used
            unused += row.get("reservation_unused_recurring_fee") or 0.0
            status = {"ChargeCategory": "Usage", "CommitmentDiscountStatus": "Unused", "ChargeFrequency": "Usage-Based"}
            yield _cut(stated | status | {"BilledCost": 0.0, "EffectiveCost": round(unused, 10), **changes}, version)
    elif kind in ("SavingsPlanCoveredUsage", "DiscountedUsage"):
        name = "savings_plan_savings_plan" if plan else "reservation"
        cost = row.get(f"{name}_effective_cost")
        stated |= {"EffectiveCost": billed if cost is None else cost, "CommitmentDiscountStatus": "Used"}
        if kind == "SavingsPlanCoveredUsage" and not str(row.get("line_item_operation")).endswith("-EC2"):
            stated |= {"BilledCost": 0.0}  # reserved use is at 0 in a CUR too
    yield _cut(stated | changes, version)


def _tags(row: Mapping[str, Any]) -> dict[str, str]:
    """Of a resource's tags their own keys; a CUR may have one as a column of its own."""
    before = "resource_tags_user_"
    alone = {name.removeprefix(before): value for name, value in row.items() if name.startswith(before) and value}
    named = {name.removeprefix("user_"): value for name, value in (row.get("resource_tags") or {}).items()}
    return named | alone | (row.get("tags") or {})


def _cut(row: dict[str, Any], version: str) -> dict[str, Any]:
    return {name: row.get(name) for name in SCHEMAS[version].names}


def focus_row(version: str = "1.0", **changes: Any) -> dict[str, Any]:
    """One hour of a Trainium instance, as FOCUS has it."""
    [row] = focus_rows(LINE, version, **changes)
    return row


def write_focus(folder: Path, *rows: Mapping[str, Any], version: str = "1.0", month: str = "2026-04", **options: Any) -> Path:
    """An OVERWRITE export of one Parquet file with all columns of a version, or with those of `schema`."""
    schema = options.pop("schema", SCHEMAS[version])
    lists = ({name: list(v.items()) if isinstance(v, dict) else v for name, v in row.items()} for row in rows)
    key = f"data/BILLING_PERIOD={month}/focus-00001.snappy.parquet"
    path = write_parquet(folder / key, pa.Table.from_pylist(list(lists), schema), **options)
    write_manifest(folder / f"metadata/BILLING_PERIOD={month}/focus-Manifest.json", [f"s3://bucket/prefix/{folder.name}/{key}"])
    return path


def hours_of(start: str, count: int = 1) -> dict[str, dt.datetime]:
    """The times of a row."""
    at = dt.datetime.fromisoformat(start)
    return {"ChargePeriodStart": at, "ChargePeriodEnd": at + dt.timedelta(hours=count), "BillingPeriodStart": at.replace(day=1)}
