"""The columns of an AWS bill, in the names of CUR 2.0; a legacy report is renamed to these by connectors/aws/cur_legacy.py.

Account ids are text of 12 characters, with leading zeros. Which cost means what is decided in SQL, not here.
"""

from __future__ import annotations

from connectors.formats.schema import BigInt, Column, Number, Schema, Text, TextMap, Timestamp, optional, required

# Above this a double no longer has the digits of an exact amount (docs/adr on exact numbers).
_MONEY = 1e12

# Everything else that AWS documents for CUR 2.0. Only what is in neither list is reported as unknown.
_DOCUMENTED = """
bill_billing_period_end_date discount discount_bundled_discount
discount_total_discount line_item_blended_cost line_item_blended_rate line_item_iam_principal line_item_legal_entity
line_item_net_unblended_rate line_item_normalization_factor line_item_normalized_usage_amount line_item_unblended_rate
line_item_user_identifier pricing_currency pricing_lease_contract_length pricing_offering_class
pricing_public_on_demand_rate pricing_rate_code pricing_rate_id product_comment product_fee_code product_fee_description
product_from_location product_from_location_type product_from_region_code product_instance_family product_instancesku
product_location product_location_type product_operation product_pricing_unit product_sku product_to_location
product_to_location_type product_to_region_code product_usagetype reservation_amortized_upfront_cost_for_usage
reservation_amortized_upfront_fee_for_billing_period reservation_availability_zone reservation_modification_status
reservation_net_amortized_upfront_cost_for_usage reservation_net_amortized_upfront_fee_for_billing_period
reservation_net_recurring_fee_for_usage reservation_net_upfront_value reservation_normalized_units_per_reservation
reservation_recurring_fee_for_usage reservation_subscription_id reservation_total_reserved_normalized_units
reservation_total_reserved_units reservation_units_per_reservation reservation_unused_normalized_unit_quantity
reservation_unused_quantity reservation_upfront_value savings_plan_amortized_upfront_commitment_for_billing_period
savings_plan_end_time savings_plan_instance_type_family savings_plan_net_amortized_upfront_commitment_for_billing_period
savings_plan_net_recurring_commitment_for_billing_period savings_plan_offering_type savings_plan_payment_option
savings_plan_purchase_term savings_plan_recurring_commitment_for_billing_period savings_plan_region
savings_plan_savings_plan_rate savings_plan_start_time split_line_item_actual_usage split_line_item_reserved_usage
split_line_item_split_usage
"""

# AWS's own page spells the last one both ways
_LINE_TYPES = """
Usage DiscountedUsage SavingsPlanCoveredUsage SavingsPlanNegation SavingsPlanRecurringFee SavingsPlanUpfrontFee RIFee Fee Tax
Credit Refund Discount BundledDiscount EdpDiscount PrivateRateDiscount RiVolumeDiscount SppDiscount DistributorDiscount
FlatRateSubscription FlateRateSubscription
"""

_COLUMNS = (
    required("identity_line_item_id", Text),
    *optional("identity_time_interval", Text),
    required("bill_payer_account_id", Text, filled=True),
    *optional("bill_invoice_id bill_bill_type bill_billing_entity bill_invoicing_entity", Text),
    *optional("bill_payer_account_name line_item_usage_account_name", Text),
    required("bill_billing_period_start_date", Timestamp, filled=True),
    required("line_item_usage_account_id", Text, filled=True),
    required("line_item_line_item_type", Text, filled=True, known=frozenset(_LINE_TYPES.split())),
    required("line_item_usage_start_date", Timestamp, filled=True),
    required("line_item_usage_end_date", Timestamp, filled=True),
    required("line_item_product_code", Text),
    *optional("line_item_usage_type line_item_operation line_item_availability_zone line_item_resource_id", Text),
    *optional("line_item_usage_amount", Number),
    required("line_item_currency_code", Text, filled=True),
    required("line_item_unblended_cost", Number, filled=True, below=_MONEY),
    *optional("line_item_net_unblended_cost", Number, below=_MONEY),
    *optional("line_item_line_item_description line_item_tax_type", Text),
    *optional("pricing_public_on_demand_cost", Number, below=_MONEY),
    *optional("pricing_term pricing_unit pricing_purchase_option", Text),
    *optional("product_region_code product_instance_type product_servicecode product_product_family", Text),
    # a legacy report in Parquet has its products' attributes as columns of their own
    Column("product", TextMap, spread=True, entries=frozenset({"product_name", "region"})),
    *optional("tags", TextMap),
    # an export's query may select single tags and categories: `resource_tags.user_team` arrives as resource_tags_user_team
    *optional("resource_tags cost_category", TextMap, spread=True),
    *optional("reservation_reservation_a_r_n", Text),
    *optional(
        """reservation_effective_cost reservation_net_effective_cost
            reservation_unused_amortized_upfront_fee_for_billing_period reservation_unused_recurring_fee
            reservation_net_unused_amortized_upfront_fee_for_billing_period reservation_net_unused_recurring_fee""",
        Number,
        below=_MONEY,
    ),
    # text in Parquet too; SQL reads them where a capacity block's fee needs them
    *optional("reservation_start_time reservation_end_time reservation_number_of_reservations", Text),
    *optional("savings_plan_savings_plan_a_r_n", Text),
    *optional(
        """savings_plan_savings_plan_effective_cost savings_plan_net_savings_plan_effective_cost
            savings_plan_total_commitment_to_date savings_plan_used_commitment""",
        Number,
        below=_MONEY,
    ),
    *optional(
        """capacity_reservation_capacity_reservation_arn capacity_reservation_capacity_reservation_status
            capacity_reservation_capacity_reservation_type split_line_item_parent_resource_id""",
        Text,
    ),
    # on the rows of pods and tasks: what of their instance's cost is theirs, and which part of what it has
    *optional(
        """split_line_item_split_cost split_line_item_unused_cost split_line_item_net_split_cost
            split_line_item_net_unused_cost split_line_item_public_on_demand_split_cost
            split_line_item_public_on_demand_unused_cost split_line_item_split_usage_ratio""",
        Number,
        below=_MONEY,
    ),
    *optional("line_count", BigInt),  # of a group that another engine made: the rows it stands for. No export has such a column
)

SCHEMA = Schema(
    _COLUMNS,
    documented=frozenset(_DOCUMENTED.split()),
    remedy_page="docs/sources/aws_cur.md",
    measures={column.name: 12 for column in _COLUMNS if column.type == Number},
)
