"""A row of AWS's FOCUS export in the words of a CUR: billed as it is, and under a commitment what FOCUS states as effective."""

import re

_NEVER_NUMBERED = "1.0"  # FOCUS 1.0 has no invoices: a month of it is not told open by them

COLUMNS = {
    "BillingAccountId", "BillingAccountType", "InvoiceId", "InvoiceIssuerName", "SubAccountId", "ProviderName", "ChargeCategory",
    "ChargeFrequency", "ChargePeriodStart", "ChargePeriodEnd", "BillingCurrency", "BilledCost", "EffectiveCost", "ListCost",
    "ContractedCost", "ConsumedQuantity", "ConsumedUnit", "x_ServiceCode", "ServiceName", "x_UsageType", "SkuMeter",
    "x_Operation", "RegionId", "AvailabilityZone", "ResourceId", "ChargeDescription", "CommitmentDiscountId",
    "CommitmentDiscountType", "CommitmentDiscountStatus", "CapacityReservationId", "CapacityReservationStatus",
    "Tags", "x_CostCategories",
}  # fmt: skip


def as_cur(row: dict) -> dict:
    """The row under the names of CUR 2.0; `contracted` is what a CUR does not have."""
    usage_type = row.get("x_UsageType") or row.get("SkuMeter") or ""
    bought = (row.get("CommitmentDiscountType") or "").lower()
    commitment = "plan" if "savings" in bought else "reservation" if "reserv" in bought else ""
    kind, effective = _kind(row, commitment), row["EffectiveCost"]
    cur = {
        "bill_payer_account_id": row["BillingAccountId"],
        "bill_invoice_id": row.get("InvoiceId") if row.get("BillingAccountType") else _NEVER_NUMBERED,
        "bill_invoicing_entity": row.get("InvoiceIssuerName"),
        "line_item_usage_account_id": row.get("SubAccountId") or row["BillingAccountId"],
        "line_item_line_item_type": kind,
        "line_item_usage_start_date": row["ChargePeriodStart"],
        "line_item_usage_end_date": row["ChargePeriodEnd"],
        "line_item_product_code": row.get("x_ServiceCode") or row.get("ServiceName"),
        "line_item_usage_type": usage_type,
        "line_item_operation": row.get("x_Operation"),
        "line_item_availability_zone": row.get("AvailabilityZone"),
        "line_item_resource_id": row.get("ResourceId"),
        "line_item_line_item_description": row.get("ChargeDescription"),
        "line_item_usage_amount": row.get("ConsumedQuantity"),
        "line_item_currency_code": row["BillingCurrency"],
        "line_item_unblended_cost": row["BilledCost"],
        "pricing_public_on_demand_cost": row.get("ListCost"),
        "pricing_unit": row.get("ConsumedUnit"),
        "product_region_code": row.get("RegionId"),
        "tags": dict(row.get("Tags") or {}),
        "cost_category": dict(row.get("x_CostCategories") or {}),
        "capacity_reservation_capacity_reservation_arn": row.get("CapacityReservationId"),
        "capacity_reservation_capacity_reservation_status": row.get("CapacityReservationStatus"),
        "contracted": row.get("ContractedCost"),
    }
    if commitment == "plan":
        cur["savings_plan_savings_plan_a_r_n"] = row.get("CommitmentDiscountId")
    elif commitment:
        cur["reservation_reservation_a_r_n"] = row.get("CommitmentDiscountId")
    elif "CapacityBlockFee" in usage_type:
        named = row.get("ResourceId") or ""
        by_resource = named if re.search(":capacity-reservation/", named) else None
        cur["reservation_reservation_a_r_n"] = row.get("CapacityReservationId") or by_resource
    paid = {
        "DiscountedUsage": "reservation_effective_cost",
        "RIFee": "reservation_unused_recurring_fee",
        "SavingsPlanCoveredUsage": "savings_plan_savings_plan_effective_cost",
        "SavingsPlanRecurringFee": "savings_plan_total_commitment_to_date",
    }
    return cur | ({paid[kind]: effective} if kind in paid else {})


def _kind(row: dict, commitment: str) -> str:
    category, cost = row["ChargeCategory"], float(str(row["BilledCost"]))
    if category == "Adjustment":
        return "Refund" if cost < 0 else category
    if category not in ("Usage", "Purchase"):
        return category
    is_used = category == "Usage" and (row.get("CommitmentDiscountStatus") or "").lower() != "unused"
    is_once = row.get("ChargeFrequency") == "One-Time"
    if commitment == "plan":
        return "SavingsPlanCoveredUsage" if is_used else "SavingsPlanUpfrontFee" if is_once else "SavingsPlanRecurringFee"
    if commitment == "reservation":
        return "DiscountedUsage" if is_used else "Fee" if is_once else "RIFee"
    return "Fee" if category == "Purchase" else category
