"""Small FOCUS exports of Google Cloud with nested records, as EXPORT DATA writes them, and the fixtures of the samples that way.

`focus_of` is what Google writes in FOCUS for a row of the detailed export: BilledCost is its cost with its credits.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.connectors.gcp import line

_TEXT, _NUMERIC, _TIME = pa.string(), pa.decimal128(38, 9), pa.timestamp("us", "UTC")
_PAIRS = pa.list_(pa.struct({"Key": _TEXT, "Value": _TEXT}))
_ANCESTORS = pa.list_(pa.struct({"ResourceName": _TEXT, "DisplayName": _TEXT}))
_RECORDS = {
    "x_Credits": pa.list_(pa.struct({"Id": _TEXT, "FullName": _TEXT, "Type": _TEXT, "Name": _TEXT, "Amount": _NUMERIC})),
    "x_Project": pa.struct({"Id": _TEXT, "Number": _TEXT, "Name": _TEXT, "AncestryNumbers": _TEXT, "Ancestors": _ANCESTORS}),
    "x_Labels": _PAIRS,
    "x_ProjectLabels": _PAIRS,
    "x_SystemLabels": _PAIRS,
    "x_Tags": pa.list_(pa.struct({"Key": _TEXT, "Value": _TEXT, "x_Inherited": pa.bool_(), "x_Namespace": _TEXT})),
    "x_CurrencyConversionRate": pa.float64(),
}
_TIMES = {"BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd", "x_ExportTime"}
_NAMES = """
AvailabilityZone BilledCost BillingAccountId BillingCurrency BillingPeriodStart BillingPeriodEnd ChargeCategory ChargeClass
ChargeDescription ChargePeriodStart ChargePeriodEnd ConsumedQuantity ConsumedUnit ContractedCost ContractedUnitPrice ListCost
ListUnitPrice PricingCategory PricingQuantity PricingUnit ProviderName PublisherName RegionId RegionName ResourceId ResourceName
ServiceName SkuId SkuPriceId SubAccountId SubAccountName EffectiveCost PricingCurrency PricingCurrencyContractedUnitPrice
PricingCurrencyEffectiveCost PricingCurrencyListUnitPrice BillingAccountType x_CostType x_Credits x_CurrencyConversionRate
x_ExportTime x_Labels x_Location x_Project x_ProjectLabels x_ServiceId x_SystemLabels x_Tags x_SubscriptionInstanceId
x_PriceEffectivePriceDefault x_PriceListPriceConsumptionModel x_CostAtEffectivePriceDefault x_CostAtListConsumptionModel
x_ConsumptionModelId x_ConsumptionModelDescription
"""


def _type_of(name: str) -> pa.DataType:
    if name in _RECORDS or name in _TIMES:
        return _RECORDS.get(name, _TIME)
    return _NUMERIC if name.endswith(("Cost", "Price", "Quantity")) or name.startswith(("x_Price", "x_CostAt")) else _TEXT


FOCUS = pa.schema({name: _type_of(name) for name in _NAMES.split()})  # Google's 37 columns of FOCUS 1.2 and 18 of its own


def exact(value: float | Decimal | None) -> Decimal | None:
    """NUMERIC of what a row of the detailed export holds as a double."""
    return None if value is None else Decimal(str(value)).quantize(Decimal("1e-9"), ROUND_HALF_EVEN)


def focus_line(**changes: Any) -> dict[str, Any]:
    """One hour of eight v5e chips with a promotion, as FOCUS has it."""
    return {**focus_of(line()), **changes}


def focus_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the FOCUS export beside one of the detailed export."""
    of = {name: row.get(name) or {} for name in _NESTED}
    credits = row.get("credits") or []
    cost, cost_type = exact(row["cost"]), row.get("cost_type") or "regular"
    billed = sum((exact(credit["amount"]) or Decimal(0) for credit in credits), cost)
    return {
        "AvailabilityZone": of["location"].get("zone"),
        "BilledCost": billed,
        "BillingAccountId": row["billing_account_id"],
        "BillingCurrency": row["currency"],
        "BillingPeriodStart": _invoice_start(of["invoice"].get("month")),
        "ChargeCategory": {"tax": "Tax", "regular": "Usage"}.get(cost_type, "Adjustment"),
        "ChargeClass": "Correction" if of["adjustment_info"].get("type") else None,
        "ChargeDescription": of["sku"].get("description"),
        "ChargePeriodStart": row["usage_start_time"],
        "ChargePeriodEnd": row["usage_end_time"],
        "ConsumedQuantity": exact(of["usage"].get("amount")),
        "ConsumedUnit": of["usage"].get("unit"),
        "ContractedCost": cost,
        "ListCost": exact(row.get("cost_at_list")),
        "PricingQuantity": exact(of["usage"].get("amount_in_pricing_units")),
        "PricingUnit": of["usage"].get("pricing_unit"),
        "RegionId": of["location"].get("region"),
        "ResourceId": of["resource"].get("global_name"),
        "ResourceName": of["resource"].get("name"),
        "ServiceName": of["service"].get("description"),
        "SkuId": of["sku"].get("id"),
        "SubAccountId": of["project"].get("id"),
        "SubAccountName": of["project"].get("name"),
        "EffectiveCost": billed,
        "x_CostType": cost_type,
        "x_Credits": [
            {"Id": credit.get("id"), "Type": credit.get("type"), "Name": credit.get("name"), "Amount": exact(credit["amount"])}
            for credit in credits
        ],
        "x_CurrencyConversionRate": row.get("currency_conversion_rate"),
        "x_ExportTime": row.get("export_time"),
        "x_Labels": _pairs(row.get("labels")),
        "x_Location": of["location"].get("location"),
        "x_Project": {
            **{name.title(): of["project"].get(name) for name in ("id", "number", "name")},
            "AncestryNumbers": of["project"].get("ancestry_numbers"),
            "Ancestors": [{"ResourceName": "folders/2", "DisplayName": "Models"}],
        },
        "x_ProjectLabels": [{"Key": "team", "Value": "a"}],
        "x_ServiceId": of["service"].get("id"),
        "x_SystemLabels": _pairs(row.get("system_labels")),
        "x_Tags": [{**pair, "x_Namespace": tag.get("namespace")} for tag in row.get("tags") or [] for pair in _pairs([tag])],
        "x_SubscriptionInstanceId": of["subscription"].get("instance_id"),
        "x_CostAtEffectivePriceDefault": exact(row.get("cost_at_effective_price_default")),
    }


_NESTED = ("location", "invoice", "adjustment_info", "sku", "usage", "resource", "service", "project", "subscription")


def _pairs(pairs: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [{"Key": pair["key"], "Value": pair["value"]} for pair in pairs or []]


def _invoice_start(month: str | None) -> dt.datetime | None:
    """Midnight in California, where it is 7 hours earlier in summer."""
    return dt.datetime(int(month[:4]), int(month[4:]), 1, 7, tzinfo=dt.UTC) if month else None


def rest_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a fixture in the envelope of BigQuery's REST API; NUMERIC stays the text that it is there."""
    answer = json.loads(file.read_text(encoding="utf-8"))
    for row in answer["rows"]:
        yield _record(answer["schema"]["fields"], row["f"])


def _record(fields: list[dict[str, Any]], cells: list[dict[str, Any]]) -> dict[str, Any]:
    return {field["name"]: _value(field, cell["v"]) for field, cell in zip(fields, cells, strict=True)}


def _value(field: dict[str, Any], value: Any) -> Any:
    if value is None:
        return None
    if field["mode"] == "REPEATED":
        return [_value({**field, "mode": "NULLABLE"}, one["v"]) for one in value]
    if field["type"] == "RECORD":
        return _record(field["fields"], value["f"])
    if field["type"] == "TIMESTAMP":  # microseconds
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=int(value))
    return float(value) if field["type"] == "FLOAT" else value
