"""A row of Google's FOCUS export in the words of the detailed export: what is billed is its cost and its credits together.

What FOCUS does not say is not there: for what reason a row is a correction, and so which of them is given in goodwill.
"""

from decimal import Decimal

from .google_exports import at
from .numerals import OracleError

_CATEGORIES = {"Usage": "regular", "Tax": "tax", "Adjustment": "adjustment"}


def as_detailed(row: dict) -> dict:
    """The row as a dictionary of the detailed export, its amounts as decimals."""
    credits = [{"type": entry["Type"], "amount": entry["Amount"]} for entry in row.get("x_Credits") or ()]
    if (category := row["ChargeCategory"]) not in _CATEGORIES:
        raise OracleError(f"the oracle knows no {category}")
    project = {name: at(row, f"x_Project.{name.title()}") for name in ("id", "number")}
    if project["id"] is None and row["SubAccountId"] != row["BillingAccountId"]:
        project["id"] = row["SubAccountId"]
    return {
        "billing_account_id": row["BillingAccountId"],
        "service": {"id": row["x_ServiceId"], "description": row["ServiceName"]},
        "sku": {"id": row["SkuId"], "description": row["ChargeDescription"]},
        "usage_start_time": row["ChargePeriodStart"],
        "usage_end_time": row["ChargePeriodEnd"],
        "project": project,
        "labels": _pairs(row, "x_Labels"),
        "system_labels": _pairs(row, "x_SystemLabels"),
        "location": {"location": row["x_Location"], "region": row["RegionId"], "zone": row["AvailabilityZone"]},
        "resource": {"name": row["ResourceName"], "global_name": row["ResourceId"]},
        "cost": row["BilledCost"] - sum((credit["amount"] for credit in credits), Decimal(0)),
        "credits": credits,
        "currency": row["BillingCurrency"],
        "usage": {
            "amount": row["ConsumedQuantity"],
            "amount_in_pricing_units": row["PricingQuantity"],
            "pricing_unit": row["PricingUnit"],
        },
        "cost_type": row["x_CostType"] if category != "Tax" else "tax",
        "adjustment_info": {"type": "SOME" if row["ChargeClass"] == "Correction" else ""},
        "cost_at_list": row["ListCost"],
        "cost_at_effective_price_default": _first(row["x_CostAtEffectivePriceDefault"], row["ContractedCost"]),
        "subscription": {"instance_id": row["x_SubscriptionInstanceId"]},
        "invoice": {"month": f"{row['BillingPeriodStart']:%Y%m}" if row["BillingPeriodStart"] else None},
    }


def _pairs(row: dict, name: str) -> list[dict]:
    return [{"key": pair["Key"], "value": pair["Value"]} for pair in row.get(name) or ()]


def _first(*values: object) -> object:
    return next((value for value in values if value is not None), None)
