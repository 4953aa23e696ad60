"""The oracle's rules for costs paid ahead, capacity blocks and savings plans, on bills small enough to be worked out by hand."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from .builders import HELD, NODE, PAYER, TEN, Exports, hour, run
from .oracle import Oracle, Tables
from .readings import by_reason, by_run

APRIL = date(2026, 4, 1)
BLOCK = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-0b"


def block_fee(cost: float, **columns: object) -> dict:
    term = {"reservation_start_time": "2026-04-10T10:00:00Z", "reservation_end_time": "2026-04-10T14:00:00Z"}
    row = hour(
        "2026-04-01T00:00:00", cost, line_item_line_item_type="Fee", line_item_usage_type="USE2-CapacityBlockFee:trn1.32xlarge"
    )
    return (
        row
        | term
        | {"line_item_resource_id": None, "reservation_reservation_a_r_n": BLOCK, "pricing_public_on_demand_cost": None}
        | columns
    )


def block_hour(start: str, status: str = "Used", **columns: object) -> dict:
    reservation = {
        "capacity_reservation_capacity_reservation_arn": BLOCK,
        "capacity_reservation_capacity_reservation_status": status,
    }
    return hour(start, 0.0) | reservation | columns


def test_a_capacity_block_is_spread_over_its_hours_and_what_is_not_billed_yet_stays_prepaid(
    ledger: Callable[..., Tables],
) -> None:
    rows = [block_fee(100.0), block_fee(-20.0), block_hour(TEN), block_hour("2026-04-10T11:00:00", "Unused")]
    rows.append(block_hour("2026-04-10T12:00:00"))
    tables = ledger(rows, run("a", (NODE, *HELD, None)))
    assert by_run(tables, "effective_cost") == {("a", "resource_time"): "20.000000000000"}
    assert by_reason(tables, "effective_cost") == {
        ("fee", "unused_commitment"): "0.000000000000",
        ("accelerator", "unused_commitment"): "20.000000000000",
        ("accelerator", "idle"): "20.000000000000",
    }
    assert by_reason(tables)["fee", "unused_commitment"] == "80.000000000000"
    [prepaid] = tables["fct_prepaid"].values()
    assert {name: int(amount) for name, amount in prepaid.items() if name.endswith("_cost")} == {
        "opening_cost": 0,
        "purchased_cost": 100,
        "refunded_cost": 20,
        "amortised_used_cost": 40,
        "amortised_unused_cost": 20,
        "closing_cost": 20,
    }


def test_tax_on_a_block_fee_and_a_credit_for_it_never_reach_the_hours_of_the_block(ledger: Callable[..., Tables]) -> None:
    tax, credit = block_fee(19.0, line_item_line_item_type="Tax"), block_fee(-30.0, line_item_line_item_type="Credit")
    tables = ledger([block_fee(100.0), tax, credit, block_hour(TEN), block_hour("2026-04-10T13:00:00")])
    assert by_reason(tables, "effective_cost") == {
        ("fee", "tax"): "19.000000000000",
        ("credit", "credit"): "-30.000000000000",
        ("fee", "unused_commitment"): "0.000000000000",
        ("accelerator", "no_record"): "100.000000000000",
    }
    [prepaid] = tables["fct_prepaid"].values()
    assert (prepaid["purchased_cost"], prepaid["refunded_cost"], prepaid["closing_cost"]) == (100, 0, 0)


def test_once_the_end_of_a_block_is_billed_its_whole_fee_lies_on_the_hours_billed(ledger: Callable[..., Tables]) -> None:
    tables = ledger([block_fee(100.0), block_hour(TEN), block_hour("2026-04-10T13:00:00")])
    assert by_reason(tables, "effective_cost")["accelerator", "no_record"] == "100.000000000000"
    assert [row["closing_cost"] for row in tables["fct_prepaid"].values()] == [0]


def test_a_block_paid_in_one_month_and_used_in_the_next_rolls_forward(exports: Exports) -> None:
    exports.bill([block_fee(90.0, reservation_start_time="2026-05-02T00:00:00Z", reservation_end_time="2026-05-02T03:00:00Z")])
    hours = [block_hour(f"2026-05-02T0{number}:00:00") for number in range(3)]
    exports.bill(hours, period="2026-05")
    tables = Oracle(exports.config()).tables()
    rolled = {key[3]: (row["opening_cost"], row["closing_cost"]) for key, row in tables["fct_prepaid"].items()}
    assert rolled == {APRIL: (0, 90), date(2026, 5, 1): (90, 0)}


@pytest.mark.parametrize(
    ("columns", "closing"),
    [
        ({}, None),
        ({"reservation_number_of_reservations": "2"}, 90),
        ({"reservation_start_time": "2026-05-02T00:00:00Z", "reservation_end_time": "2026-05-03T00:00:00Z"}, 90),
    ],
)
def test_a_begun_block_without_a_number_and_without_an_hour_has_an_unknown_balance(
    ledger: Callable[..., Tables], columns: dict, closing: int | None
) -> None:
    """Its number would show what of it is open; before it begins, all of it is."""
    [prepaid] = ledger([block_fee(90.0, **columns)])["fct_prepaid"].values()
    assert (prepaid["purchased_cost"], prepaid["opening_cost"] is None, prepaid["closing_cost"]) == (90, closing is None, closing)


def test_an_extension_without_a_number_is_of_the_instances_of_its_block(ledger: Callable[..., Tables]) -> None:
    """Two instances for four hours, 160.00, and for four more, 160.00 as well: 20.00 an hour, of which one is billed."""
    number = {"reservation_number_of_reservations": "2"}
    added = {"reservation_start_time": "2026-04-10T14:00:00Z", "reservation_end_time": "2026-04-10T18:00:00Z"}
    tables = ledger([block_fee(160.0, **number), block_fee(160.0, **added), block_hour("2026-04-10T14:00:00")])
    assert by_reason(tables, "effective_cost")["accelerator", "no_record"] == "20.000000000000"


def test_a_savings_plan_shows_its_effective_cost_and_its_cent_of_rounding(ledger: Callable[..., Tables]) -> None:
    arn = {"savings_plan_savings_plan_a_r_n": "arn:sp"}
    covered = hour(
        TEN, 20.0, line_item_line_item_type="SavingsPlanCoveredUsage", savings_plan_savings_plan_effective_cost=12.0, **arn
    )
    negation = hour(TEN, -19.99, line_item_line_item_type="SavingsPlanNegation", **arn)
    fee = hour(TEN, 15.0, line_item_line_item_type="SavingsPlanRecurringFee", line_item_product_code="ComputeSavingsPlans", **arn)
    fee |= {"savings_plan_total_commitment_to_date": 15.0, "savings_plan_used_commitment": 12.0, "line_item_resource_id": None}
    tables = ledger([covered, negation, fee], run("a", (NODE, *HELD, None)))
    assert by_run(tables) == {("a", "resource_time"): "0.000000000000"}
    assert by_run(tables, "effective_cost") == {("a", "resource_time"): "12.000000000000"}
    assert by_run(tables, "list_cost") == {("a", "resource_time"): "20.000000000000"}
    assert by_reason(tables) == {("fee", "unused_commitment"): "15.000000000000", ("fee", "rounding"): "0.010000000000"}
    assert by_reason(tables, "effective_cost") == {
        ("fee", "unused_commitment"): "3.000000000000",
        ("fee", "rounding"): "0.000000000000",
    }
    assert [row["closing_cost"] for row in tables["fct_prepaid"].values()] == [0]
    rounding = ("cur", "AWS", PAYER, PAYER, "", "", APRIL, "USD", "fee", "", "rounding")
    assert rounding in tables["fct_residual_costs"]


def test_the_unused_part_of_a_plan_follows_the_private_discount_of_its_fee(ledger: Callable[..., Tables]) -> None:
    """A fee of 15.00 billed at 14.10 (6 % off): of the unused 3.00 only 2.82 was paid for."""
    fee = hour(TEN, 15.0, line_item_line_item_type="SavingsPlanRecurringFee", line_item_product_code="ComputeSavingsPlans")
    fee |= {"savings_plan_savings_plan_a_r_n": "arn:sp", "line_item_net_unblended_cost": 14.1, "line_item_resource_id": None}
    fee |= {"savings_plan_total_commitment_to_date": 15.0, "savings_plan_used_commitment": 12.0}
    tables = ledger([fee])
    assert by_reason(tables) == {("fee", "unused_commitment"): "14.100000000000"}
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): "2.820000000000"}


@pytest.mark.parametrize(
    "columns",
    [
        {"savings_plan_savings_plan_a_r_n": "arn:sp"},
        {"line_item_line_item_description": "Refund for one-time fee for Savings Plan ID: 0af1"},
    ],
)
def test_the_refund_of_a_plan_is_no_negative_cost_of_its_month(ledger: Callable[..., Tables], columns: dict) -> None:
    refund = hour(TEN, -1000.0, line_item_line_item_type="Refund", line_item_product_code="ComputeSavingsPlans")
    tables = ledger([refund | {"line_item_usage_type": "ComputeSP:1yrAllUpfront", "line_item_resource_id": None} | columns])
    assert by_reason(tables) == {("credit", "unused_commitment"): "-1000.000000000000"}
    assert by_reason(tables, "effective_cost") == {("credit", "unused_commitment"): "0.000000000000"}
    assert [row["refunded_cost"] for row in tables["fct_prepaid"].values()] == [1000]


def test_every_cell_balances_and_a_wrong_amount_would_show(ledger: Callable[..., Tables]) -> None:
    tables = ledger([hour(TEN, 20.0), block_fee(100.0), block_hour(TEN)], run("a", (NODE, *HELD, 8)))
    reconciled = {key[6]: row for key, row in tables["fct_reconciliation"].items()}
    assert {row["difference"] for row in reconciled.values()} == {Decimal(0)}
    assert (reconciled["billed_cost"]["provider_total"], reconciled["billed_cost"]["runs_total"]) == (120, 10)
    assert reconciled["effective_cost"]["provider_total"] == 20 + 25


@pytest.mark.parametrize("kind", ["SppDiscount", "DistributorDiscount", "RiVolumeDiscount"])
def test_a_discount_of_any_name_on_usage_makes_its_run_cheaper_and_no_hour_idle(ledger: Callable[..., Tables], kind: str) -> None:
    held, free = hour(TEN, 20.0), hour("2026-04-10T11:00:00", 20.0)
    discounts = [row | {"line_item_line_item_type": kind, "line_item_unblended_cost": -5.0} for row in (held, free)]
    tables = ledger([held, free, *discounts], run("a", (NODE, *HELD, None)))
    assert by_run(tables, "effective_cost") == {("a", "resource_time"): "15.000000000000"}
    assert by_reason(tables, "effective_cost") == {
        ("accelerator", "idle"): "20.000000000000",
        ("accelerator", "unattributed"): "-5.000000000000",
    }


def test_a_discount_of_a_fee_lowers_what_was_purchased(ledger: Callable[..., Tables]) -> None:
    bought = hour(TEN, 1000.0, line_item_line_item_type="SavingsPlanUpfrontFee", line_item_product_code="ComputeSavingsPlans")
    bought |= {"savings_plan_savings_plan_a_r_n": "arn:sp", "line_item_resource_id": None, "line_item_usage_type": "ComputeSP"}
    tables = ledger([bought, bought | {"line_item_line_item_type": "SppDiscount", "line_item_unblended_cost": -50.0}])
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): "0.000000000000"}
    [prepaid] = tables["fct_prepaid"].values()
    assert (prepaid["purchased_cost"], prepaid["refunded_cost"], prepaid["closing_cost"]) == (950, 0, 950)


def test_the_refund_of_a_reservation_is_inside_its_roll_forward(ledger: Callable[..., Tables]) -> None:
    bought = hour(TEN, 900.0, line_item_line_item_type="Fee", reservation_reservation_a_r_n="arn:ri", line_item_resource_id=None)
    tables = ledger([bought, bought | {"line_item_line_item_type": "Refund", "line_item_unblended_cost": -300.0}])
    assert by_reason(tables) == {
        ("fee", "unused_commitment"): "900.000000000000",
        ("credit", "unused_commitment"): "-300.000000000000",
    }
    [prepaid] = tables["fct_prepaid"].values()
    assert (prepaid["purchased_cost"], prepaid["refunded_cost"], prepaid["closing_cost"]) == (900, 300, 600)


@pytest.mark.parametrize("operation", ["EKSPod-EC2", "ECSTask-EC2"])
def test_the_rows_of_pods_add_nothing_to_their_instance_but_what_is_billed_on_them(
    ledger: Callable[..., Tables], operation: str
) -> None:
    node = hour(TEN, 20.0)
    plan = {"savings_plan_savings_plan_a_r_n": "arn:sp", "savings_plan_savings_plan_effective_cost": 9.0}
    pod = node | plan | {"line_item_operation": operation, "line_item_line_item_type": "SavingsPlanCoveredUsage"}
    rows = [node, pod | {"line_item_unblended_cost": 0.0}, pod | {"line_item_unblended_cost": 1.5}]
    tables = ledger(rows, run("a", (NODE, *HELD, None)))
    assert by_run(tables, "effective_cost") == by_run(tables, "list_cost") == {("a", "resource_time"): "20.000000000000"}
    assert by_reason(tables) == {("accelerator", "unattributed"): "1.500000000000"}
    assert by_reason(tables, "effective_cost") == {("accelerator", "unattributed"): "0.000000000000"}
    assert not tables["fct_prepaid"]


PLAN = "arn:aws:savingsplans::000011113333:savingsplan/0af1-22"


def test_a_refund_finds_its_plan_by_its_text_and_never_in_another_payers_bill(exports: Exports) -> None:
    bought = hour(TEN, 1000.0, line_item_line_item_type="SavingsPlanUpfrontFee", line_item_product_code="ComputeSavingsPlans")
    bought |= {"line_item_resource_id": PLAN, "line_item_usage_type": "ComputeSP:1yrAllUpfront"}
    stated = {
        "line_item_line_item_description": "Refund for one-time fee for Savings Plan ID: 0af1-22",
        "line_item_resource_id": None,
    }
    refund = bought | stated | {"line_item_line_item_type": "Refund", "line_item_unblended_cost": -400.0}
    unknown = refund | {"line_item_line_item_description": "Refund"}
    exports.bill([bought, refund, unknown, refund | {"bill_payer_account_id": "000099990000"}])
    prepaid = Oracle(exports.config()).tables()["fct_prepaid"]
    assert {key[1:3]: (row["refunded_cost"], row["closing_cost"]) for key, row in prepaid.items()} == {
        (PAYER, PLAN): (400, 600),
        (PAYER, ""): (400, None),
        ("000099990000", "0af1-22"): (400, None),
    }


def test_a_commitment_older_than_the_bills_has_an_unknown_opening(ledger: Callable[..., Tables]) -> None:
    old = {"reservation_reservation_a_r_n": "arn:ri", "reservation_effective_cost": 9.0}
    [prepaid] = ledger([hour(TEN, 0.0, line_item_line_item_type="DiscountedUsage", **old)])["fct_prepaid"].values()
    assert (prepaid["amortised_used_cost"], prepaid["opening_cost"], prepaid["closing_cost"]) == (9, None, None)


@pytest.mark.parametrize(("used", "closing"), [("15.0000000002", "-0.000000000200"), ("15.000000001", None)])
def test_a_rounding_of_awss_is_not_an_older_commitment(ledger: Callable[..., Tables], used: str, closing: str | None) -> None:
    fee = hour(TEN, 15.0, line_item_line_item_type="SavingsPlanRecurringFee", line_item_product_code="ComputeSavingsPlans")
    fee |= {"savings_plan_savings_plan_a_r_n": PLAN, "savings_plan_total_commitment_to_date": 15.0}
    fee |= {"savings_plan_used_commitment": 15.0, "line_item_resource_id": None}
    covered = hour(TEN, 21.5, line_item_line_item_type="SavingsPlanCoveredUsage", savings_plan_savings_plan_a_r_n=PLAN)
    [prepaid] = ledger([fee, covered | {"savings_plan_savings_plan_effective_cost": float(used)}])["fct_prepaid"].values()
    assert prepaid["closing_cost"] == (None if closing is None else Decimal(closing))


def by_accelerator(tables: Tables) -> set[tuple]:
    """(component, accelerator, reason) of what no run carries."""
    return {key[-3:] for key in tables["fct_residual_costs"]}


def bought_for(tables: Tables) -> set[tuple]:
    return {(row["accelerator_type"], row["accelerator_family"]) for row in tables["fct_prepaid"].values()}


@pytest.mark.parametrize(
    ("usage_type", "name", "bought"),
    [
        ("USE2-EC2SP:trn1.1yrNoUpfront", "trn1", ("trn1", "trainium")),
        ("EC2SP:p4d.3yrAllUpfront", "p4d", ("p4d", "gpu")),
        ("USE2-EC2SP:m7i.1yrNoUpfront", "", (None, None)),
        ("ComputeSP:1yrNoUpfront", "", (None, None)),
    ],
)
def test_a_plan_is_of_the_family_that_it_was_bought_for_whatever_it_covers(
    ledger: Callable[..., Tables], usage_type: str, name: str, bought: tuple
) -> None:
    plan = {"savings_plan_savings_plan_a_r_n": "arn:sp", "line_item_resource_id": None, "line_item_usage_type": usage_type}
    fee = hour(TEN, 15.0, line_item_line_item_type="SavingsPlanRecurringFee", **plan)
    fee |= {"savings_plan_total_commitment_to_date": 15.0, "savings_plan_used_commitment": 12.0}
    covered = hour(TEN, 0.0, line_item_line_item_type="SavingsPlanCoveredUsage", savings_plan_savings_plan_a_r_n="arn:sp")
    tables = ledger([fee, covered | {"savings_plan_savings_plan_effective_cost": 12.0}])
    assert by_accelerator(tables) == {("fee", name, "unused_commitment"), ("accelerator", "trn1.32xlarge", "no_record")}
    assert bought_for(tables) == {bought}


def test_a_block_is_of_its_type_from_its_purchase_to_its_last_unused_hour(ledger: Callable[..., Tables]) -> None:
    unused = block_hour("2026-04-10T11:00:00", "Unused", line_item_usage_type="USE2-UnusedBox:trn1.32xlarge")
    tables = ledger([block_fee(100.0), block_hour(TEN), unused])
    name = "trn1.32xlarge"
    assert by_accelerator(tables) == {
        ("fee", name, "unused_commitment"),
        ("accelerator", name, "unused_commitment"),
        ("accelerator", name, "no_record"),
    }
    assert bought_for(tables) == {(name, "trainium")}


def test_tax_credits_and_refunds_of_a_machine_are_of_no_accelerator(ledger: Callable[..., Tables]) -> None:
    kinds = ("Tax", "Credit", "Refund")
    tables = ledger([hour(TEN, 1.0, line_item_line_item_type=kind, line_item_resource_id=None) for kind in kinds])
    assert by_accelerator(tables) == {("fee", "", "tax"), ("credit", "", "credit"), ("credit", "", "refund")}
