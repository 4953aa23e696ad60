"""CUR 2.0 as AWS delivers it: the columns, OVERWRITE and CREATE_NEW layouts, manifests written after the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagster_project.demo.aws.account import PAYER_A, PAYER_B, Payer
from dagster_project.demo.aws.lines import Sheet
from dagster_project.demo.clock import OPEN_MONTH, days_after_month, iso, iso_milli, seconds
from dagster_project.demo.files import (
    NUMBER,
    NUMBER_MAP,
    TEXT,
    TEXT_MAP,
    TIME,
    Columns,
    csv_gz_bytes,
    parquet_bytes,
    put,
    put_json,
)
from dagster_project.demo.organisation import UNIT, uuid
from dagster_project.demo.truth import ranges

BUCKET = "example-ag-synthetic-exports"


_TEXT = """
bill_bill_type bill_billing_entity bill_invoice_id bill_invoicing_entity bill_payer_account_id bill_payer_account_name
capacity_reservation_capacity_reservation_arn capacity_reservation_capacity_reservation_status
capacity_reservation_capacity_reservation_type identity_line_item_id identity_time_interval line_item_availability_zone
line_item_blended_rate line_item_currency_code line_item_legal_entity line_item_line_item_description line_item_line_item_type
line_item_net_unblended_rate line_item_operation line_item_product_code line_item_resource_id line_item_tax_type
line_item_unblended_rate line_item_usage_account_id line_item_usage_account_name line_item_usage_type pricing_currency
pricing_lease_contract_length pricing_offering_class pricing_public_on_demand_rate pricing_purchase_option pricing_rate_code
pricing_rate_id pricing_term pricing_unit product_comment product_from_location product_from_region_code
product_instance_family product_instance_type product_instancesku product_location product_location_type product_operation
product_pricing_unit product_product_family product_region_code product_servicecode product_sku product_to_location
product_to_region_code product_usagetype reservation_availability_zone reservation_end_time reservation_number_of_reservations
reservation_reservation_a_r_n reservation_start_time reservation_subscription_id reservation_total_reserved_units
savings_plan_end_time savings_plan_offering_type savings_plan_payment_option savings_plan_purchase_term savings_plan_region
savings_plan_savings_plan_a_r_n savings_plan_start_time split_line_item_parent_resource_id
"""
_NUMBER = """
discount_bundled_discount discount_total_discount line_item_blended_cost line_item_net_unblended_cost
line_item_normalization_factor line_item_normalized_usage_amount line_item_unblended_cost line_item_usage_amount
pricing_public_on_demand_cost reservation_amortized_upfront_cost_for_usage reservation_effective_cost
reservation_net_effective_cost reservation_net_unused_amortized_upfront_fee_for_billing_period
reservation_net_unused_recurring_fee reservation_recurring_fee_for_usage
reservation_unused_amortized_upfront_fee_for_billing_period reservation_unused_quantity reservation_unused_recurring_fee
reservation_upfront_value savings_plan_net_savings_plan_effective_cost savings_plan_recurring_commitment_for_billing_period
savings_plan_savings_plan_effective_cost savings_plan_savings_plan_rate savings_plan_total_commitment_to_date
savings_plan_used_commitment split_line_item_split_cost split_line_item_unused_cost
"""
_TIME = """
bill_billing_period_end_date bill_billing_period_start_date line_item_usage_end_date line_item_usage_start_date
"""
_KINDS = (
    dict.fromkeys(_TEXT.split(), TEXT)
    | dict.fromkeys(_NUMBER.split(), NUMBER)
    | dict.fromkeys(_TIME.split(), TIME)
    | dict.fromkeys(("cost_category", "product", "resource_tags"), TEXT_MAP)
    | {"discount": NUMBER_MAP}
)
RESERVATION_MONTHS_FROM = "2026-06"
RESTATED_MONTH = "2026-06"  # of payer B
SHRUNK_MONTH = "2026-04"  # payer A's export once had one chunk more, overwritten since with an empty one


def columns_of(sheet: Sheet) -> Columns:
    """Columns come with their first use: the discount's from its month on, the reservation's with the first block."""
    names = sorted(_KINDS)
    if not sheet.is_discounted:
        names = [name for name in names if "_net_" not in name and not name.startswith("discount")]
    if sheet.payer is not PAYER_A or sheet.month < RESERVATION_MONTHS_FROM:
        names = [name for name in names if not name.startswith("capacity_reservation")]
    unknown = sheet.columns.keys() - _KINDS.keys()
    lost = {name for name in sheet.columns if name not in names and any(value is not None for value in sheet.columns[name])}
    if unknown or lost:
        raise ValueError(f"{sheet.payer.bill_source} {sheet.month}: columns without a place {sorted(unknown | lost)}")
    return [(name, _KINDS[name]) for name in names]


def executions(payer: Payer, month: str) -> list[tuple[int, str]]:
    """When the month was delivered, oldest first, with the fraction of the second; what has none overwrites.

    September is still open and a day old.
    """
    is_open = month == OPEN_MONTH
    if payer is PAYER_A:
        day, clock, fraction = (9, "18:40:02", "") if is_open else (14, "06:11:09", "")
    else:
        day, clock, fraction = (9, "20:15:31", "118") if is_open else (13, "22:56:48", "277")
    again = [(seconds("2026-08-06T06:02:44"), "904")] if payer is PAYER_B and month == RESTATED_MONTH else []
    return [(days_after_month(month, day, clock), fraction), *again]


def write_month(root: Path, sheet: Sheet, execution: tuple[int, str], rows_per_file: int) -> dict[str, dict[str, Any]]:
    """Write the objects, then their manifest; return the truth of each. An empty file follows a month that shrank."""
    source, month, (published, fraction) = sheet.payer.bill_source, sheet.month, execution
    execution_id = uuid("execution", source, month, published)
    folder = f"{iso(published)[:-1]}.{fraction}Z-{execution_id}/" if fraction else ""
    partition = f"BILLING_PERIOD={month}/"
    columns, missing = columns_of(sheet), [None] * len(sheet.claims)
    truth: dict[str, dict[str, Any]] = {}
    starts = [*range(0, len(sheet.claims), rows_per_file)]
    if sheet.payer is PAYER_A and month == SHRUNK_MONTH:
        starts.append(len(sheet.claims))
    for number, first in enumerate(starts, start=1):
        part = slice(first, first + rows_per_file)
        values = {name: sheet.columns.get(name, missing)[part] for name, _ in columns}
        key = f"data/{partition}{folder}{source}-{number:05d}" + (".csv.gz" if fraction else ".snappy.parquet")
        content = csv_gz_bytes(columns, values) if fraction else parquet_bytes(columns, values)
        put(root / key, content, published - 60 + min(number, 30))
        billed = sum(values["line_item_unblended_cost"])
        truth[key] = {
            "rows": len(sheet.claims[part]),
            "unblended_cost": f"{'-' if billed < 0 else ''}{abs(billed) // UNIT}.{abs(billed) % UNIT:010d}",
            "lines": ranges(sheet.claims[part]),
        }
    start, end = sheet.bounds
    manifest = {
        "exportName": source,
        "executionId": execution_id,
        "billingPeriod": {"start": iso_milli(start), "end": iso_milli(end)},
        "contentType": "text/csv" if fraction else "application/x-parquet",
        "columns": [{"name": name, "type": kind} for name, kind in columns],
        "dataFiles": [f"s3://{BUCKET}/exports/{source}/{key}" for key in truth],
        "additionalOutputFiles": [],
    }
    for target in sorted({folder, ""}):  # the newest execution is repeated one folder up; executions are written in order
        put_json(root / f"metadata/{partition}{target}{source}-Manifest.json", manifest, published)
    return truth
