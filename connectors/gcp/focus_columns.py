"""The columns of Google's FOCUS export: where they lie in its nested rows, and the flat names they get.

Most of its columns are fields of the detailed export under other names, as Google says of them; these get the flat names that
the detailed export has for them, so that one text of SQL reads both. What only FOCUS has keeps its own name: billed_cost is the
row with its credits, while `cost` of the detailed export is before them. What the detailed export alone has is null here.
"""

from __future__ import annotations

from connectors.formats.focus import CATEGORIES
from connectors.formats.nested import Shape, at
from connectors.formats.schema import Column, Number, Schema, Text, Timestamp
from connectors.gcp.billing_columns import MONEY, QUANTITY, absent, flat_columns
from connectors.gcp.billing_columns import SCHEMA as BILLING

PAGE = "docs/sources/gcp_focus.md"

_MONIES = """
ListCost=cost_at_list x_CostAtEffectivePriceDefault=cost_at_effective_price_default ContractedCost=contracted_cost
EffectiveCost=effective_cost
ListUnitPrice=price_list_price x_PriceEffectivePriceDefault=price_effective_price_default
x_PriceListPriceConsumptionModel=price_list_price_consumption_model
"""
_QUANTITIES = "ConsumedQuantity=usage_amount PricingQuantity=usage_amount_in_pricing_units"
_TEXTS = """
x_ServiceId=service_id ServiceName=service_description SkuId=sku_id ChargeDescription=sku_description
x_Project.Id=project_id x_Project.Number=project_number x_Project.Name=project_name
x_Project.AncestryNumbers=project_ancestry_numbers SubAccountId=sub_account_id SubAccountName=sub_account_name
x_Location=location_location RegionId=location_region AvailabilityZone=location_zone
ResourceName=resource_name ResourceId=resource_global_name ConsumedUnit=usage_unit PricingUnit=usage_pricing_unit
x_CostType=cost_type ChargeClass=charge_class x_SubscriptionInstanceId=subscription_instance_id
x_ConsumptionModelId=consumption_model_id x_ConsumptionModelDescription=consumption_model_description
"""
_RATE = "x_CurrencyConversionRate"

LINE_COLUMNS: dict[str, Column] = {
    **at("BillingAccountId=billing_account_id", Text, required=True, filled=True),
    **at("ChargePeriodStart=usage_start_time ChargePeriodEnd=usage_end_time", Timestamp, required=True, filled=True),
    # without it tax would be use
    **at("ChargeCategory=charge_category", Text, required=True, filled=True, known=CATEGORIES),
    **at("BilledCost=billed_cost", Number, required=True, filled=True, below=MONEY),
    **at("BillingCurrency=currency", Text, required=True, filled=True),
    **at(_TEXTS, Text),
    **at(_MONIES, Number, below=MONEY),
    **at(_QUANTITIES, Number, below=QUANTITY),
    **at(f"{_RATE}=currency_conversion_rate", Number, below=MONEY),
    **at("BillingPeriodStart=billing_period_start x_ExportTime=export_time", Timestamp),
}

CREDIT_COLUMNS: dict[str, Column] = {
    **at("Type=credit_type Name=credit_name Id=credit_id", Text),
    **at("Amount=credit_amount", Number, required=True, filled=True, below=MONEY),
}

MAPS = {
    "x_Labels": ("labels", "Key", "Value"),
    "x_SystemLabels": ("system_labels", "Key", "Value"),
    "x_Tags": ("tags", "x_Namespace", "Key", "Value"),
    "x_ProjectLabels": ("project_labels", "Key", "Value"),
    "x_Project.Ancestors": ("project_ancestors", "ResourceName", "DisplayName"),
}

_DOCUMENTED = """
BillingPeriodEnd ContractedUnitPrice PricingCategory ProviderName PublisherName RegionName SkuPriceId
PricingCurrency PricingCurrencyContractedUnitPrice PricingCurrencyEffectiveCost PricingCurrencyListUnitPrice BillingAccountType
x_CostAtListConsumptionModel
"""

# all numbers but the rate are NUMERIC
_DECIMALS = {path for path, column in LINE_COLUMNS.items() if column.type == Number} - {_RATE} | {"x_Credits.Amount"}
SHAPE = Shape(
    LINE_COLUMNS, frozenset(_DOCUMENTED.split()), PAGE, MAPS, {"x_Credits": CREDIT_COLUMNS}, decimals=frozenset(_DECIMALS)
)

# what the detailed export has and this one has in another way (billed_cost, charge_class) or not at all
_OTHERWISE = {"cost", "adjustment_type", "adjustment_mode", "transaction_type"}
_OWN = flat_columns(SHAPE, Column("invoice_month", Text))  # that of billing_period_start, as Google's other exports write theirs
_ABSENT = absent(one for one in BILLING if one.name not in {*_OTHERWISE, *(own.name for own in _OWN)})
_COLUMNS = (*_OWN, *_ABSENT)

SCHEMA = Schema(
    columns=_COLUMNS,
    remedy_page=PAGE,
    measures={one.name: BILLING.measures.get(one.name, 12) for one in _COLUMNS if one.type == Number},
)
