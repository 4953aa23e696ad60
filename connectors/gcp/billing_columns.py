"""The columns of Google's detailed billing export: where they lie in its nested rows, and the flat names they get.

Older tables lack the later columns (project.number before October 2020, credit types before September 2020, resource before
August 2021, tags, subscription, consumption model): all these are optional. The standard export has no resource at all.
"""

from __future__ import annotations

from connectors.formats.nested import Pairs, Shape
from connectors.formats.schema import BigInt, Column, Number, Schema, Text, TextMap, Timestamp, optional, required

PAGE = "docs/sources/gcp_billing.md"
_MONEY = 1e12
_QUANTITY = 1e24  # bytes of a large company and month stay far below

LINE_COLUMNS: dict[str, Column] = {
    "billing_account_id": required("billing_account_id", Text, filled=True),
    "service.id": required("service_id", Text),
    "service.description": Column("service_description", Text),
    "sku.id": Column("sku_id", Text),
    "sku.description": Column("sku_description", Text),
    "usage_start_time": required("usage_start_time", Timestamp, filled=True),
    "usage_end_time": required("usage_end_time", Timestamp, filled=True),
    "project.id": Column("project_id", Text),
    "project.number": Column("project_number", Text),
    "project.name": Column("project_name", Text),
    "location.location": Column("location_location", Text),
    "location.region": Column("location_region", Text),
    "location.zone": Column("location_zone", Text),
    "resource.name": Column("resource_name", Text),
    "resource.global_name": Column("resource_global_name", Text),
    "cost": required("cost", Number, filled=True, below=_MONEY),
    "currency": required("currency", Text, filled=True),
    "currency_conversion_rate": Column("currency_conversion_rate", Number, below=1e12),
    "usage.amount": Column("usage_amount", Number, below=_QUANTITY),
    "usage.unit": Column("usage_unit", Text),
    "usage.amount_in_pricing_units": Column("usage_amount_in_pricing_units", Number, below=_QUANTITY),
    "usage.pricing_unit": Column("usage_pricing_unit", Text),
    "invoice.month": Column("invoice_month", Text),
    "cost_type": Column("cost_type", Text),
    "adjustment_info.type": Column("adjustment_type", Text),
    "adjustment_info.mode": Column("adjustment_mode", Text),
    "cost_at_list": Column("cost_at_list", Number, below=_MONEY),
    "cost_at_effective_price_default": Column("cost_at_effective_price_default", Number, below=_MONEY),
    "transaction_type": Column("transaction_type", Text),
    "subscription.instance_id": Column("subscription_instance_id", Text),
    "consumption_model.id": Column("consumption_model_id", Text),
    "consumption_model.description": Column("consumption_model_description", Text),
    "export_time": Column("export_time", Timestamp),
}

CREDIT_COLUMNS: dict[str, Column] = {
    "type": Column("credit_type", Text),
    "name": Column("credit_name", Text),
    "id": Column("credit_id", Text),
    "amount": required("credit_amount", Number, filled=True, below=_MONEY),
}

# a credit row repeats these of its line, so that a total per account, month and currency needs no join
CREDIT_KEYS = ("billing_account_id", "usage_start_time", "usage_end_time", "currency", "invoice_month")

MAPS = {
    "labels": Pairs("labels"),
    "system_labels": Pairs("system_labels"),
    "tags": Pairs("tags", key=("namespace", "key")),
}

_DOCUMENTED = frozenset(
    {
        *("project.labels", "project.ancestry_numbers", "project.ancestors", "location.country", "price", "seller_name"),
        *("invoice.publisher_type", "adjustment_info.id", "adjustment_info.description", "cost_at_list_consumption_model"),
    }
)

SHAPE = Shape(LINE_COLUMNS, MAPS, {"credits": CREDIT_COLUMNS}, _DOCUMENTED, PAGE)

SCHEMA = Schema(
    columns=(
        required("part", Text, filled=True),  # line: a row of the export; credit: an element of a row's credits
        required("line_number", BigInt, filled=True),  # the row of the export, from 1, that a line is or a credit belongs to
        *LINE_COLUMNS.values(),
        *optional(MAPS, TextMap),
        *(Column(column.name, column.type, below=column.below) for column in CREDIT_COLUMNS.values()),
    ),
    remedy_page=PAGE,
)
