"""Drawn rows of a bill of AWS about which no rule decides by itself, with doubles of 1 to 17 digits: they become groups."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from tests.oracle.builders import hour

PAYER = "000000000303"
# row numbers, names of objects and numbers of charges: a group has one row where the export has many
DIFFERING = {"fct_charge_attributions", "dim_deliveries", "fct_quarantine"}


def drawn_double(drawn: random.Random, most: int) -> float:
    """A double of 1 to 17 digits, ties of the last decimal among them."""
    if drawn.random() < 0.1:
        return (drawn.randrange(1000) + 0.5) * 1e-12
    return float(f"{drawn.random() * 10 ** drawn.randrange(-14, most):.{drawn.randint(1, 17)}g}")


def ordinary(drawn: random.Random, at: datetime) -> dict[str, Any]:
    """A row about which no rule decides by itself: of machines, storage, traffic, tax; now and then something rarer."""

    def rarely(other: Any, usual: Any, share: float = 0.05) -> Any:
        return other if drawn.random() < share else usual

    kind, product, usage_type = drawn.choice(
        [
            ("Usage", "AmazonEC2", "USE2-BoxUsage:m7i.large"),
            ("SavingsPlanCoveredUsage", "AmazonEC2", "USE2-BoxUsage:c7i.xlarge"),
            ("SavingsPlanNegation", "AmazonEC2", "USE2-BoxUsage:c7i.xlarge"),
            ("DiscountedUsage", "AmazonEC2", "USE2-BoxUsage:r7i.large"),
            ("Usage", "AmazonS3", "USE2-TimedStorage-ByteHrs"),
            ("Usage", "AmazonEC2", "USE2-DataTransfer-Out-Bytes"),
            ("Credit", "AmazonEC2", "USE2-BoxUsage:m7i.large"),
            ("Tax", "AmazonEC2", None),
            ("Refund", "ComputeSavingsPlans", "ComputeSP:1yrNoUpfront"),
            ("Fee", "AWSSupportBusiness", None),
        ]
    )
    cost = drawn_double(drawn, 6)
    plan = "arn:aws:savingsplans::000000000303:savingsplan/0af1"
    row = hour(at.isoformat(), rarely(-cost, rarely(0.0, cost)), line_item_line_item_type=kind, line_item_product_code=product)
    row |= {
        "identity_line_item_id": f"line-{drawn.randrange(10**9)}",
        "bill_payer_account_id": PAYER,
        "line_item_usage_account_id": f"00000000030{drawn.randrange(3, 6)}",
        "line_item_usage_type": usage_type,
        "line_item_resource_id": rarely(plan, f"i-{drawn.randrange(50):03}"),
        "line_item_usage_amount": rarely(None, drawn_double(drawn, 9)),
        "line_item_net_unblended_cost": rarely(None, cost / 2),
        "pricing_public_on_demand_cost": rarely(None, drawn_double(drawn, 6)),
        "product_region_code": rarely("", "us-east-2"),
        "line_item_availability_zone": rarely(None, "us-west-2b", 0.5),
        "product": rarely({}, {"product_name": f"the product {product}", "region": "us-east-2", "unread": "x"}),
        "resource_tags": rarely({"user_training_run_id": "run-1"}, {"user_team": drawn.choice("abc")}),
        "bill_invoice_id": rarely("", "2041"),
        "line_item_line_item_description": rarely("Savings Plan ID: 0af1", f"${cost} per hour"),
    }
    if kind in ("SavingsPlanCoveredUsage", "SavingsPlanNegation"):
        row |= {"savings_plan_savings_plan_a_r_n": plan, "savings_plan_savings_plan_effective_cost": drawn_double(drawn, 3)}
    if kind == "DiscountedUsage":
        row |= {"reservation_reservation_a_r_n": "arn:ri", "reservation_effective_cost": rarely(None, drawn_double(drawn, 3))}
    return row


def drawn_rows(seed: int, count: int) -> list[dict[str, Any]]:
    drawn = random.Random(seed)
    return [ordinary(drawn, datetime(2026, 4, 1) + timedelta(hours=drawn.randrange(240))) for _ in range(count)]  # noqa: DTZ001
