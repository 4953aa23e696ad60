"""The oracle's rules for which run a cost goes to and where the rest is, on bills small enough to be worked out by hand."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from .builders import ACCOUNT, HELD, NODE, PAYER, TEN, Exports, hour, run
from .numerals import OracleError
from .oracle import Oracle, Tables
from .readings import by_reason, by_run


def test_two_runs_on_half_a_node_each_share_the_hour_to_the_last_unit(ledger: Callable[..., Tables]) -> None:
    tables = ledger([hour(TEN, 21.500000000001)], run("b", (NODE, *HELD, 8)), run("a", (NODE, *HELD, 8)))
    assert by_run(tables) == {("a", "resource_time"): "10.750000000001", ("b", "resource_time"): "10.750000000000"}
    assert by_reason(tables) == {}


def test_free_chips_of_a_shared_hour_are_idle_and_arrive_in_the_loaded_view(ledger: Callable[..., Tables]) -> None:
    tables = ledger([hour(TEN, 20.0)], run("a", (NODE, *HELD, 8)), run("b", (NODE, *HELD, 4)))
    assert by_run(tables) == {("a", "resource_time"): "10.000000000000", ("b", "resource_time"): "5.000000000000"}
    assert by_reason(tables) == {("accelerator", "idle"): "5.000000000000"}
    assert by_run(tables, "idle_share_billed_cost") == {
        ("a", "resource_time"): "3.333333333333",
        ("b", "resource_time"): "1.666666666667",
    }
    assert by_reason(tables, "spread_billed_cost") == {("accelerator", "idle"): "5.000000000000"}


def test_a_hand_over_in_the_hour_divides_it_by_minutes(ledger: Callable[..., Tables]) -> None:
    first = run("first", (NODE, "2026-04-10T08:00:00Z", "2026-04-10T10:15:00Z", None))
    second = run("second", (NODE, "2026-04-10T10:30:00Z", None, None))
    tables = ledger([hour(TEN, 20.0)], first, second)
    assert by_run(tables) == {("first", "resource_time"): "5.000000000000", ("second", "resource_time"): "10.000000000000"}
    assert by_reason(tables) == {("accelerator", "idle"): "5.000000000000"}


def test_an_oversubscribed_node_is_shared_by_chips_held(ledger: Callable[..., Tables]) -> None:
    tables = ledger([hour(TEN, 24.0)], run("a", (NODE, *HELD, 16)), run("b", (NODE, *HELD, 8)))
    assert by_run(tables) == {("a", "resource_time"): "16.000000000000", ("b", "resource_time"): "8.000000000000"}


def test_an_hour_billed_shorter_than_it_was_held_goes_whole_to_the_run(ledger: Callable[..., Tables]) -> None:
    held = ("2026-04-10T10:00:00Z", "2026-04-10T10:40:00Z", None)
    tables = ledger([hour(TEN, 10.0, line_item_usage_amount=0.5)], run("a", (NODE, *held)))
    assert by_run(tables) == {("a", "resource_time"): "10.000000000000"}


def test_a_correction_is_shared_like_the_hour_it_takes_back(ledger: Callable[..., Tables]) -> None:
    rows = [hour(TEN, 20.0), hour(TEN, -20.0, line_item_usage_amount=-1.0)]
    tables = ledger(rows, run("a", (NODE, *HELD, 8)))
    assert by_run(tables) == {("a", "resource_time"): "0.000000000000"}
    assert by_reason(tables) == {("accelerator", "idle"): "0.000000000000"}


def test_a_tag_goes_whole_to_its_run_unless_records_show_others_on_the_resource(ledger: Callable[..., Tables]) -> None:
    tag = {"resource_tags": {"user_training_run_id": "Team/A"}}
    eleven = "2026-04-10T11:00:00"
    rows = [hour(TEN, 20.0, **tag), hour(eleven, 30.0, **tag), hour(eleven, 7.0, line_item_resource_id="vol-1", **tag)]
    rows[2]["line_item_usage_type"] = "USE2-EBS:VolumeUsage.gp3"
    tables = ledger(rows, run("b", (NODE, *HELD, 16)))
    components = {(key[0], key[-2], key[-1]): row["billed_cost"] for key, row in tables["fct_training_run_costs"].items()}
    assert components == {
        ("b", "accelerator", "resource_time"): 20,
        ("team-a", "accelerator", "tag"): 30,
        ("team-a", "storage", "tag"): 7,
    }


def test_ids_that_normalise_alike_stay_residual(ledger: Callable[..., Tables]) -> None:
    rows = [hour(TEN, 20.0, line_item_resource_id="i-other", resource_tags={"user_training_run_id": "run a"}), hour(TEN, 30.0)]
    tables = ledger(rows, run("Run A", (NODE, *HELD, 16)), run("run-a"))
    assert tables["fct_run_cell_costs"] == {}
    assert by_reason(tables) == {("accelerator", "unattributed"): "50.000000000000"}


def test_an_ambiguous_run_holds_its_chips_but_pays_for_none(ledger: Callable[..., Tables]) -> None:
    tables = ledger([hour(TEN, 16.0)], run("Run A", (NODE, *HELD, 4)), run("run-a"), run("b", (NODE, *HELD, 8)))
    assert by_run(tables) == {("b", "resource_time"): "8.000000000000"}
    assert by_reason(tables) == {("accelerator", "unattributed"): "4.000000000000", ("accelerator", "idle"): "4.000000000000"}


def test_a_sagemaker_job_pays_for_its_arn_and_lends_its_name_to_the_run_json_that_claims_it(
    ledger: Callable[..., Tables],
) -> None:
    arn = f"arn:aws:sagemaker:us-east-2:{ACCOUNT}:training-job/pre-train-7"
    job = {"TrainingJobName": "pre-train-7", "TrainingJobArn": arn, "TrainingStartTime": HELD[0], "TrainingEndTime": HELD[1]}
    job["ResourceConfig"] = {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 2}
    row = hour(TEN, 50.0, line_item_resource_id=arn, line_item_product_code="AmazonSageMaker", line_item_usage_amount=2.0)
    row["line_item_usage_type"] = "USE2-Train:ml.trn1.32xlarge"
    tables = ledger([row], job, run("seven", aliases=[{"system": "sagemaker", "id": arn}]))
    assert by_run(tables) == {("seven", "managed_job"): "50.000000000000"}


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"line_item_line_item_type": "Tax", "line_item_usage_type": None}, ("fee", "tax")),
        ({"line_item_line_item_type": "Credit"}, ("credit", "credit")),
        ({"line_item_line_item_type": "Refund"}, ("credit", "refund")),
        ({"line_item_line_item_type": "Fee", "line_item_product_code": "AWSSupportBusiness"}, ("fee", "support")),
        ({"line_item_line_item_type": "Fee"}, ("fee", "provider_adjustment")),
        ({"line_item_line_item_type": "RIFee"}, ("fee", "unused_commitment")),
        ({"line_item_usage_type": "USE2-UnusedBox:trn1.32xlarge"}, ("accelerator", "unused_commitment")),
        ({}, ("accelerator", "no_record")),
        ({"line_item_usage_type": "USE2-BoxUsage:m7i.large"}, ("host", "non_accelerator")),
        ({"line_item_usage_type": "USE2-TimedStorage-ByteHrs"}, ("storage", "non_accelerator")),
        ({"line_item_usage_type": "USE2-NatGateway-Hours"}, ("network", "non_accelerator")),
        ({"line_item_line_item_type": "EdpDiscount", "line_item_usage_type": None}, ("other_usage", "unattributed")),
    ],
)
def test_what_no_run_can_claim_has_one_component_and_one_reason(
    ledger: Callable[..., Tables], columns: dict, place: tuple
) -> None:
    assert by_reason(ledger([hour(TEN, 5.0, **columns)])) == {place: "5.000000000000"}


@pytest.mark.parametrize(
    ("usage_type", "zone", "region"),
    [
        ("BoxUsage:trn1.32xlarge", None, "us-east-1"),
        ("CNN1-BoxUsage:p4d.24xlarge", None, "cn-north-1"),
        ("LAX1-BoxUsage:g4dn.2xlarge", None, ""),
        ("USE2-BoxUsage:trn1.32xlarge", "use2-az1", "us-east-2"),
        ("BoxUsage:trn1.32xlarge", "us-west-2-lax-1a", "us-west-2"),
    ],
)
def test_a_row_that_states_no_region_has_that_of_its_zone_or_its_usage_type(
    ledger: Callable[..., Tables], usage_type: str, zone: str | None, region: str
) -> None:
    row = hour(TEN, 5.0, product_region_code=None, line_item_usage_type=usage_type, line_item_availability_zone=zone)
    assert [key[5] for key in ledger([row])["fct_residual_costs"]] == [region]


def test_an_unknown_list_price_makes_the_sum_unknown_not_smaller(ledger: Callable[..., Tables]) -> None:
    rows = [hour(TEN, 20.0), hour("2026-04-10T11:00:00", 20.0, pricing_public_on_demand_cost=None)]
    tables = ledger(rows, run("a", (NODE, HELD[0], "2026-04-10T12:00:00Z", None)))
    [row] = tables["fct_training_run_costs"].values()
    assert (row["billed_cost"], row["list_cost"]) == (40, None)


def test_the_same_bill_as_csv_legacy_and_parquet_gives_the_same_amounts(tmp_path: Path) -> None:
    row = hour(TEN, 21.5, resource_tags={"user_training_run_id": "a"})
    legacy = {
        "bill/PayerAccountId": PAYER, "lineItem/UsageAccountId": ACCOUNT, "lineItem/LineItemType": "Usage",
        "lineItem/UsageStartDate": row["line_item_usage_start_date"], "lineItem/UsageEndDate": row["line_item_usage_end_date"],
        "lineItem/ProductCode": "AmazonEC2", "lineItem/UsageType": row["line_item_usage_type"], "lineItem/UsageAmount": 1.0,
        "lineItem/CurrencyCode": "USD", "lineItem/UnblendedCost": 21.5, "pricing/publicOnDemandCost": 21.5, "pricing/unit": "Hrs",
        "product/region": "us-east-2", "lineItem/ResourceId": NODE, "resourceTags/user:training_run_id": "a",
    }  # fmt: skip
    seen = []
    for name, write in (("parquet", "bill"), ("csv", "csv_bill"), ("legacy", "legacy_bill")):
        exports = Exports(tmp_path / name)
        getattr(exports, write)([legacy if name == "legacy" else row])
        tables = Oracle(exports.config()).tables()
        # the source is named differently on purpose, everything else must be the same
        seen.append({(key[0], *key[2:]): amounts for key, amounts in tables["fct_run_cell_costs"].items()})
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 1


def test_the_newest_execution_counts_or_the_newest_up_to_a_time(exports: Exports) -> None:
    first, second = "2026-05-02T00:00:00.000Z-aa", "2026-05-09T00:00:00.000Z-bb"
    exports.bill([hour(TEN, 20.0)], execution=first)
    exports.bill([hour(TEN, 19.0)], execution=second)
    config = exports.config()
    assert [line.billed for line in Oracle(config).lines] == [19 * 10**12]
    assert [line.billed for line in Oracle(config, datetime(2026, 5, 3, tzinfo=UTC)).lines] == [20 * 10**12]


OTHER = {"bill_payer_account_id": "000099990000"}


def test_an_hour_of_an_accelerator_that_two_payers_bill_is_refused_and_parts_of_it_are_not(exports: Exports) -> None:
    """One instance on the paid bill and on a pro forma one; an account that moves at half past ten has two halves."""
    exports.bill([hour(TEN, 21.5)])
    exports.bill([hour(TEN, 21.5) | OTHER], name="group")
    with pytest.raises(OracleError, match=f"{NODE}.*2026-04-01.*'{PAYER}', '000099990000'"):
        Oracle(exports.config())
    exports.sources[1]["is_pro_forma"] = True
    assert by_reason(Oracle(exports.config()).tables()) == {("accelerator", "no_record"): "21.500000000000"}
    del exports.sources[1]["is_pro_forma"]
    half = {"line_item_usage_amount": 0.5}
    exports.bill([hour(TEN, 10.0, **half)])
    exports.bill([hour(TEN, 11.0, **half) | OTHER], name="group")
    tables = Oracle(exports.config()).tables()
    assert sum(row["billed_cost"] for row in tables["fct_residual_costs"].values()) == 21


def test_a_machine_without_accelerators_may_be_on_two_bills(exports: Exports) -> None:
    plain = hour(TEN, 2.0, line_item_usage_type="USE2-BoxUsage:m7i.large")
    exports.bill([plain])
    exports.bill([plain | OTHER], name="group")
    assert sum(row["billed_cost"] for row in Oracle(exports.config()).tables()["fct_residual_costs"].values()) == 4


@pytest.mark.parametrize(
    ("usage_type", "expected"),
    [
        ("USE2-BoxUsage:gr6.8xlarge", ("accelerator", "gr6.8xlarge", "no_record")),
        ("USE2-HostUsage:p5", ("accelerator", "p5", "unlogged")),
        ("USE2-HostUsage:m7i", ("other_usage", "", "non_accelerator")),
        ("USE2-BoxUsage:u-12tb1.112xlarge", ("host", "", "non_accelerator")),
    ],
)
def test_a_host_and_a_graphics_machine_with_much_memory_are_of_accelerators(
    ledger: Callable[..., Tables], usage_type: str, expected: tuple
) -> None:
    tables = ledger([hour(TEN, 20.0, line_item_usage_type=usage_type)])
    assert [key[-3:] for key in tables["fct_residual_costs"]] == [expected]
