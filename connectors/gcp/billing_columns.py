"""The columns of Google's detailed billing export: where they lie in its nested rows, and the flat names they get.

Older tables lack the later columns (project.number before October 2020, credit types before September 2020, resource before
August 2021, tags, subscription, consumption model): all these are optional. The standard export has no resource at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from connectors.formats.nested import Shape, at
from connectors.formats.schema import BigInt, Column, Number, Schema, Text, TextMap, Timestamp, optional, required

PAGE = "docs/sources/gcp_billing.md"
MONEY = 1e12
QUANTITY = 1e24  # bytes of a large company and month stay far below

# of a pricing unit: what was asked, by list, before commitments; from which usage on, and how many units the price is for
PRICES = """
price.effective_price price.list_price price.effective_price_default price.list_price_consumption_model
price.tier_start_amount price.pricing_unit_quantity
"""

LINE_COLUMNS: dict[str, Column] = {
    **at("billing_account_id", Text, required=True, filled=True),
    **at("service.id", Text, required=True),
    **at("service.description sku.id sku.description", Text),
    **at("usage_start_time usage_end_time", Timestamp, required=True, filled=True),
    **at("project.id project.number project.name project.ancestry_numbers location.location location.region location.zone", Text),
    **at("resource.name resource.global_name", Text),
    **at("cost", Number, required=True, filled=True, below=MONEY),
    **at("currency", Text, required=True, filled=True),
    **at(f"currency_conversion_rate {PRICES}", Number, below=MONEY),
    **at("price.unit", Text),
    **at("usage.amount", Number, below=QUANTITY),
    **at("usage.unit", Text),
    **at("usage.amount_in_pricing_units", Number, below=QUANTITY),
    **at("usage.pricing_unit invoice.month", Text),
    **at("cost_type", Text, known=frozenset({"regular", "tax", "adjustment", "rounding_error"})),
    **at("adjustment_info.type=adjustment_type adjustment_info.mode=adjustment_mode", Text),
    **at("cost_at_list cost_at_effective_price_default", Number, below=MONEY),
    **at("transaction_type subscription.instance_id consumption_model.id consumption_model.description", Text),
    **at("export_time", Timestamp),
    **at("line_count", BigInt),  # of a group that BigQuery made: the rows it stands for. Google's own tables have no such column
}

CREDIT_COLUMNS: dict[str, Column] = {
    **at("type=credit_type name=credit_name id=credit_id", Text),
    **at("amount=credit_amount", Number, required=True, filled=True, below=MONEY),
}

# a credit row repeats these of its line, so that a total per account, month and currency needs no join
CREDIT_KEYS = ("billing_account_id", "usage_start_time", "usage_end_time", "currency", "invoice_month")

# repeated pairs: their column, the fields of their key, that of their value. All are as of the time of use, as Google writes them
MAPS = {
    "labels": ("labels", "key", "value"),
    "system_labels": ("system_labels", "key", "value"),
    "tags": ("tags", "namespace", "key", "value"),
    "project.labels": ("project_labels", "key", "value"),
    # their order is that of project.ancestry_numbers, backwards
    "project.ancestors": ("project_ancestors", "resource_name", "display_name"),
}

_DOCUMENTED = """
location.country price seller_name invoice.publisher_type adjustment_info.id adjustment_info.description
cost_at_list_consumption_model
"""


SHAPE = Shape(
    LINE_COLUMNS,
    frozenset(_DOCUMENTED.split()),
    PAGE,
    MAPS,
    {"credits": CREDIT_COLUMNS},
    decimals=frozenset({"cost_at_effective_price_default", *PRICES.split()}),
)

_MEASURES = f"cost cost_at_list cost_at_effective_price_default credit_amount currency_conversion_rate {PRICES}".replace(".", "_")


def flat_columns(shape: Shape, *more: Column) -> tuple[Column, ...]:
    """The columns of the flat copy of a bill: of its rows, with `more` that follow from them, and of their credits."""
    [credits] = shape.records.values()
    return (
        required("part", Text, filled=True),  # line: a row of the export; credit: an element of a row's credits
        required("line_number", BigInt, filled=True),  # the row of the export, from 1, that a line is or a credit belongs to
        *shape.columns.values(),
        *more,
        *optional((column for column, *_ in shape.maps.values()), TextMap),
        *absent(credits.values()),
    )


def absent(columns: Iterable[Column]) -> Iterator[Column]:
    """Columns that may be absent here, whatever they are where they come from."""
    return (replace(column, required=False, filled=False) for column in columns)


SCHEMA = Schema(
    columns=flat_columns(SHAPE),
    remedy_page=PAGE,
    measures=dict.fromkeys(_MEASURES.split(), 12) | dict.fromkeys(("usage_amount", "usage_amount_in_pricing_units"), 9),
)
