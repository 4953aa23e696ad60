"""The columns of floor.sql, for the peers that do the same in doubles."""

KEYS = ["line_item_usage_account_id", "line_item_product_code", "product_region_code"]
MAPS = ["resource_tags", "product"]
TIME = "line_item_usage_start_date"
_MEASURES = """
line_item_usage_amount line_item_unblended_cost line_item_net_unblended_cost pricing_public_on_demand_cost
reservation_effective_cost reservation_net_effective_cost
reservation_unused_amortized_upfront_fee_for_billing_period reservation_unused_recurring_fee
reservation_net_unused_amortized_upfront_fee_for_billing_period reservation_net_unused_recurring_fee
savings_plan_savings_plan_effective_cost savings_plan_net_savings_plan_effective_cost
savings_plan_total_commitment_to_date savings_plan_used_commitment
"""
MEASURES = _MEASURES.split()
