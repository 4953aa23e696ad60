"""The oracle's rules for Google's bill, on rows small enough to be worked out by hand."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from tests.connectors.prices import price

from .builders import HELD, TEN
from .google_builders import GLOBAL_NAME, PROJECT, TPU, GoogleExports, credits_of, labels_of, tpu_hour, tpu_run
from .google_facts import generation_of, usage_component
from .oracle import Oracle, Tables

ELEVEN = "2026-04-10T11:00:00"
COMMITMENT = "Commitment v1: TpuV6e running in Columbus for 1 Year"
UNUSED = labels_of(**{"compute.googleapis.com/is_unused_reservation": "true"})


@pytest.fixture
def ledger(exports: GoogleExports) -> Callable[..., Tables]:
    def read(rows: list[dict], *records: dict) -> Tables:
        exports.google_bill(rows)
        if records:
            exports.runs(*records)
        return Oracle(exports.config()).tables()

    return read


def by_run(tables: Tables, measure: str = "billed_cost") -> dict[tuple, Decimal]:
    return {(key[0], *key[3:]): row[measure] for key, row in tables["fct_training_run_costs"].items()}


def by_reason(tables: Tables, measure: str = "billed_cost") -> dict[tuple, Decimal]:
    return {(key[-3], key[-1]): row[measure] for key, row in tables["fct_residual_costs"].items()}


def amounts(tables: Tables) -> dict[str, int]:
    [row] = tables["fct_prepaid"].values()
    return {name.removesuffix("_cost"): int(amount) for name, amount in row.items() if name.endswith("_cost")}


def test_commitments_lower_the_cost_and_promotions_stand_apart(ledger: Callable[..., Tables]) -> None:
    row = tpu_hour(TEN, 10.8, credits=credits_of(SUSTAINED_USAGE_DISCOUNT=-0.8, PROMOTION=-2.5, NOBODY_KNOWS=-0.5))
    tables = ledger([row], tpu_run("a", (TPU, *HELD, 4)))
    assert by_run(tables) == {("a", "accelerator", "resource_time"): 10, ("a", "credit", "resource_time"): -3}
    assert by_run(tables, "effective_cost") == {("a", "accelerator", "resource_time"): 10, ("a", "credit", "resource_time"): 0}
    assert by_run(tables, "list_cost")["a", "accelerator", "resource_time"] == Decimal("10.8")
    billed = {key[6]: row for key, row in tables["fct_reconciliation"].items()}
    assert (billed["billed_cost"]["provider_total"], billed["billed_cost"]["difference"]) == (7, 0)


def test_a_promotion_on_what_no_run_held_takes_the_reason_of_its_row(ledger: Callable[..., Tables]) -> None:
    tables = ledger([tpu_hour(TEN, 12.0, credits=credits_of(PROMOTION=-2.0))], tpu_run("a", (TPU, *HELD, 1)))
    assert by_reason(tables) == {("accelerator", "idle"): 9, ("credit", "idle"): Decimal("-1.5")}
    assert by_run(tables) == {("a", "accelerator", "resource_time"): 3, ("a", "credit", "resource_time"): Decimal("-0.5")}


def fee(cost: float, chip_hours: float, **columns: object) -> dict:
    usage = {"amount": chip_hours * 3600, "unit": "seconds", "amount_in_pricing_units": chip_hours}
    return tpu_hour(TEN, cost, COMMITMENT, usage=usage, resource=None) | columns


def test_a_fee_reaches_what_it_covers_and_the_unused_part_stays(ledger: Callable[..., Tables]) -> None:
    """16 chip-hours for 40.00, four of them used: 10.00 to the run and 30.00 to nobody. The credit takes the price away."""
    covered = tpu_hour(TEN, 10.8, credits=credits_of(COMMITTED_USAGE_DISCOUNT=-10.8))
    tables = ledger([fee(40.0, 16.0), covered], tpu_run("a", (TPU, *HELD, 4)))
    assert by_run(tables) == {("a", "accelerator", "resource_time"): 0}
    assert by_run(tables, "effective_cost") == {("a", "accelerator", "resource_time"): 10}
    assert by_reason(tables) == {("fee", "unused_commitment"): 40}
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): 30}
    assert amounts(tables) == {
        "opening": 0, "purchased": 40, "refunded": 0, "amortised_used": 10, "amortised_unused": 30, "closing": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("of_fee", "of_row", "share"),
    [
        ({}, {}, 0),  # neither a credit nor a subscription
        ({"subscription": {"instance_id": "s"}}, {"subscription": {"instance_id": "s"}}, 10),
        ({"subscription": {"instance_id": "s"}}, {"subscription": {"instance_id": "t"}}, 0),
        ({"subscription": {"instance_id": "s"}}, {"credits": credits_of(COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE=-0.0)}, 10),
        ({}, {"credits": credits_of(SUSTAINED_USAGE_DISCOUNT=-0.0)}, 0),
        ({}, {"credits": credits_of(COMMITTED_USAGE_DISCOUNT=-0.0), "sku": {"description": "TpuV5p running in Columbus"}}, 0),
        ({}, {"credits": credits_of(COMMITTED_USAGE_DISCOUNT=-0.0), "location": {"region": "us-central1"}}, 0),
        ({"location": None}, {"credits": credits_of(COMMITTED_USAGE_DISCOUNT=-0.0), "location": {"region": "us-central1"}}, 10),
        ({"sku": {"id": "c", "description": "Commitment: core"}}, {"credits": credits_of(COMMITTED_USAGE_DISCOUNT=-0.0)}, 0),
        ({}, {"credits": credits_of(COMMITTED_USAGE_DISCOUNT=-0.0), "cost_type": "adjustment"}, 10),
    ],
)
def test_what_a_fee_covers(ledger: Callable[..., Tables], of_fee: dict, of_row: dict, share: int) -> None:
    tables = ledger([fee(40.0, 16.0, **of_fee), tpu_hour(TEN, 1.0, **of_row)], tpu_run("a", (TPU, *HELD, 4)))
    assert by_run(tables, "effective_cost") == {("a", "accelerator", "resource_time"): 1 + share}


def test_a_row_is_covered_as_far_as_its_credit_goes(ledger: Callable[..., Tables]) -> None:
    """16 chip-hours for 40.00. Of 4 + 4 used the credit takes off all of one and a quarter of the other: 10.00 and 2.50."""
    whole, quarter = (
        tpu_hour(at, 10.8, credits=credits_of(COMMITTED_USAGE_DISCOUNT=-off)) for at, off in ((TEN, 10.8), (ELEVEN, 2.7))
    )
    tables = ledger(
        [
            fee(40.0, 16.0),
            whole | {"labels": labels_of(training_run_id="a")},
            quarter | {"labels": labels_of(training_run_id="b")},
        ]
    )
    effective = {key[0]: row["effective_cost"] for key, row in tables["fct_training_run_costs"].items()}
    assert effective == {"a": 10, "b": Decimal("10.6")}  # 8.10 were not covered
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): Decimal("27.5")}


SPEND = "Commitment - dollar based v1: GCE for 1 year"


def test_a_spend_based_fee_goes_to_the_sku_it_names_as_in_googles_own_example(ledger: Callable[..., Tables]) -> None:
    """Its units are money, not hours: 3.194 of nobody, 17.45 of memory and 9.357 of cores, for 8 gibibyte-hours and 32 hours."""
    stated = [
        tpu_hour(TEN, cost, SPEND, resource=None, location=None, subscription={"instance_id": "s"}, usage={}, labels=label)
        for cost, label in (
            (0.022994, None),
            (0.125637, labels_of(**{"goog-originating-sku-id": "RAM"})),
            (0.067369, labels_of(**{"goog-originating-sku-id": "CORE"})),
        )
    ]
    used = [
        tpu_hour(
            TEN, cost, f"E2 Instance {sku} running in Americas", sku={"id": sku.upper(), "description": f"E2 Instance {sku}"},
            credits=credits_of(COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE=-cost), labels=labels_of(training_run_id=sku),
        )
        for sku, cost in (("Ram", 0.174496), ("Core", 0.093568))
    ]  # fmt: skip
    tables = ledger([*stated, *used])
    effective = {key[0]: row["effective_cost"] for key, row in tables["fct_training_run_costs"].items()}
    assert effective == {"ram": Decimal("0.125637"), "core": Decimal("0.067369")}
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): Decimal("0.022994")}


def test_a_month_may_begin_in_the_old_model_and_end_in_the_new_one(ledger: Callable[..., Tables]) -> None:
    """10.00 of the fee pay for a row whose 14.00 a credit took off; 10.00 have an offset, as their row is discounted."""
    core = {"sku": {"id": "CORE", "description": "E2 Instance Core"}, "labels": labels_of(training_run_id="a")}
    stated = {"labels": labels_of(**{"goog-originating-sku-id": "CORE"}), "subscription": {"instance_id": "s"}, "resource": None}
    rows = [
        tpu_hour(TEN, 10.0, SPEND, **stated),
        tpu_hour(TEN, 14.0, credits=credits_of(COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE=-14.0), **core),
        tpu_hour(ELEVEN, 10.0, SPEND, credits=credits_of(FEE_UTILIZATION_OFFSET=-10.0), **stated),
        tpu_hour(ELEVEN, 10.0, subscription={"instance_id": "s"}, **core),
        tpu_hour(ELEVEN, 3.0, SPEND, resource=None, subscription={"instance_id": "nobody's"}),
    ]
    tables = ledger(rows)
    assert {key[0]: row["effective_cost"] for key, row in tables["fct_training_run_costs"].items()} == {"a": 20}
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): 3}


def test_hours_of_cores_do_not_use_up_committed_memory_or_gpus(ledger: Callable[..., Tables]) -> None:
    """Half of each commitment is used, so half of each fee is no run's: 10.00, 8.00 and 6.00."""
    rows = []
    for kind, cost, unit in (("Cpu", 10.0, "hour"), ("Ram", 8.0, "gibibyte hour"), ("Nvidia A100 GPU", 6.0, "hour")):
        bought, used = ({"amount_in_pricing_units": amount, "pricing_unit": unit} for amount in (100.0, 50.0))
        rows.append(tpu_hour(TEN, cost, f"Commitment v1: {kind} in Columbus for 1 Year", resource=None, usage=bought))
        credit = credits_of(COMMITTED_USAGE_DISCOUNT=-1.0)
        labels = labels_of(training_run_id=kind[:3])
        rows.append(tpu_hour(TEN, 1.0, f"N2 Instance {kind} in Columbus", usage=used, credits=credit, labels=labels))
    tables = ledger(rows)
    effective = {key[0]: row["effective_cost"] for key, row in tables["fct_training_run_costs"].items()}
    assert effective == {"cpu": 5, "ram": 4, "nvi": 3}


def test_one_offset_in_the_month_keeps_the_whole_fee_where_it_is(ledger: Callable[..., Tables]) -> None:
    subscription = {"subscription": {"instance_id": "s"}}
    rows = [fee(40.0, 16.0, credits=credits_of(FEE_UTILIZATION_OFFSET=-30.0), **subscription), fee(5.0, 2.0, **subscription)]
    tables = ledger([*rows, tpu_hour(TEN, 7.5, **subscription)], tpu_run("a", (TPU, *HELD, 4)))
    assert by_run(tables, "effective_cost") == {("a", "accelerator", "resource_time"): Decimal("7.5")}
    assert by_reason(tables, "effective_cost") == {("fee", "unused_commitment"): 15}
    assert (amounts(tables)["purchased"], amounts(tables)["amortised_unused"]) == (15, 15)


def test_an_odd_unit_of_a_fee_goes_to_the_earlier_row(ledger: Callable[..., Tables]) -> None:
    rows = [tpu_hour(at, 0.0, subscription={"instance_id": "s"}) for at in (ELEVEN, TEN)]
    whole = ("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", 4), ("2026-04-10T11:00:00Z", "2026-04-10T12:00:00Z", 4)
    early, late = (tpu_run(name, (TPU, *held)) for name, held in zip(("z-early", "a-late"), whole, strict=True))
    tables = ledger([fee(10.000000000001, 8.0, subscription={"instance_id": "s"}), *rows], early, late)
    effective = {key[0]: f"{row['effective_cost']:f}" for key, row in tables["fct_training_run_costs"].items()}
    assert effective == {"z-early": "5.000000000001", "a-late": "5.000000000000"}


def test_a_vertex_job_pays_for_its_name_and_its_management(ledger: Callable[..., Tables], exports: GoogleExports) -> None:
    name = f"projects/{PROJECT}/locations/us-east5/customJobs/77"
    pool = {"machineSpec": {"machineType": "ct6e-standard-4t"}, "replicaCount": "2"}
    job = {"name": name, "labels": {"training_run_id": "Tuner"}, "startTime": HELD[0], "endTime": HELD[1]}
    job["jobSpec"] = {"workerPoolSpecs": [pool]}
    exports.runs(job)
    resource = {"name": name, "global_name": f"//aiplatform.googleapis.com/{name}"}
    rows = [
        tpu_hour(TEN, 20.0, resource=resource),
        tpu_hour(TEN, 3.0, "Custom training management fee on TpuV6e", resource=resource),
    ]
    components = {key[:2]: amount for key, amount in by_run(ledger(rows)).items()}
    assert components == {("tuner", "accelerator"): 20, ("tuner", "managed_service_fee"): 3}


def test_a_label_goes_whole_to_its_run_unless_others_held_the_node(ledger: Callable[..., Tables]) -> None:
    label = {"labels": labels_of(**{"training-run-id": "a"})}
    tables = ledger([tpu_hour(TEN, 8.0, **label), tpu_hour(ELEVEN, 9.0, **label)], tpu_run("b", (TPU, *HELD, 4)))
    assert by_run(tables) == {("b", "accelerator", "resource_time"): 8, ("a", "accelerator", "tag"): 9}


def test_a_node_is_known_by_either_of_its_names(ledger: Callable[..., Tables]) -> None:
    worker = {"resource": {"name": "t1v-n-0-w-0", "global_name": GLOBAL_NAME}}
    tables = ledger([tpu_hour(TEN, 8.0, **worker)], tpu_run("a", (TPU, *HELD, 2)))
    assert by_run(tables) == {("a", "accelerator", "resource_time"): 4}


def test_a_project_is_one_account_whether_its_rows_give_its_number_or_its_id(ledger: Callable[..., Tables]) -> None:
    both, alone, other = ({"project": names} for names in ({"id": "a", "number": "7"}, {"id": "a"}, {"id": "b"}))
    later = "2026-05-10T10:00:00"
    tables = ledger([*(tpu_hour(TEN, 1.0, **project) for project in (both, alone, other)), tpu_hour(later, 1.0, **alone)])
    accounts = {(key[3], key[6].month): row["billed_cost"] for key, row in tables["fct_residual_costs"].items()}
    assert accounts == {("7", 4): 2, ("b", 4): 1, ("a", 5): 1}


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"cost_type": "tax"}, ("fee", "tax")),
        ({"cost_type": "rounding_error"}, ("fee", "rounding")),
        ({"service": {"id": "s", "description": "Support"}}, ("fee", "support")),
        ({"cost_type": "adjustment", "adjustment_info": {"type": "GOODWILL"}}, ("credit", "credit")),
        ({"cost_type": "adjustment", "adjustment_info": {"type": "USAGE_CORRECTION"}}, ("accelerator", "no_record")),
        ({"cost_type": "adjustment", "usage": {"amount": None}}, ("accelerator", "provider_adjustment")),
        ({"system_labels": UNUSED}, ("accelerator", "unused_commitment")),
        ({}, ("accelerator", "no_record")),
        ({"project": None}, ("accelerator", "no_project")),
        ({"project": {"id": "alpha"}}, ("accelerator", "no_record")),
        ({"project": None, "cost_type": "tax"}, ("fee", "tax")),
        ({"sku": {"description": "N2 Instance Core running in Americas"}}, ("host", "non_accelerator")),
        ({"sku": {"description": "Balanced PD Capacity in Columbus"}}, ("storage", "non_accelerator")),
        ({"sku": {"description": "Network Inter Zone Data Transfer Out"}}, ("network", "non_accelerator")),
        ({"sku": {"description": "Output tokens"}}, ("other_usage", "non_accelerator")),
    ],
)
def test_what_no_run_can_claim_has_one_component_and_one_reason(
    ledger: Callable[..., Tables], columns: dict, place: tuple
) -> None:
    assert by_reason(ledger([tpu_hour(TEN, 5.0, **columns)])) == {place: 5}


@pytest.mark.parametrize(
    ("sku", "generation"),
    [
        ("TpuV5e running in Delhi", "v5e"),
        ("TPU7x running in Americas", "v7x"),
        ("Reserved TpuV5p in Delhi in Calendar Mode", "v5p"),
        ("Reserved V6e TPU in Columbus in Calendar Mode", "v6e"),
        ("DWS Defined Duration V6e running in Columbus", "v6e"),
        ("Commitment v1: TpuV5p running in Netherlands for 3 Years", "v5p"),
        ("Tpu-v3 Pod in Netherlands", "v3"),
        ("Output tokens V2", ""),
        ("N2 Instance Core running in Americas", ""),
    ],
)
def test_a_description_names_its_generation(sku: str, generation: str) -> None:
    assert generation_of(sku) == generation


def test_an_unreadable_tpu_stays_an_accelerator() -> None:
    assert (generation_of("TPU Ultra"), usage_component("TPU Ultra", "Compute Engine")) == ("", "accelerator")


def test_contracted_cost_is_the_price_before_commitments(ledger: Callable[..., Tables]) -> None:
    rows = [tpu_hour(TEN, 9.0, cost_at_list=12.0, cost_at_effective_price_default=Decimal("11.000000000")), tpu_hour(ELEVEN, 9.0)]
    tables = ledger(rows, tpu_run("a", (TPU, HELD[0], "2026-04-10T12:00:00Z", 4)))
    assert by_run(tables, "contracted_cost") == {("a", "accelerator", "resource_time"): 20}
    assert by_run(tables, "list_cost") == {("a", "accelerator", "resource_time"): 21}


@pytest.mark.parametrize(
    ("sku", "name", "bought"),
    [
        ("Commitment v1: TpuV5p running in Netherlands for 3 Years", "v5p", ("v5p", "tpu")),
        ("Commitment v1: Cloud TPU in Columbus for 1 Year", "tpu", (None, "tpu")),
        ("Commitment v1: Nvidia H100 Mega 80GB GPU in Tokyo", "nvidia-h100-mega-80gb", ("nvidia-h100-mega-80gb", "gpu")),
        ("Commitment v1: Nvidia L4 GPU running in Tokyo for 1 Year", "gpu", (None, "gpu")),
        (SPEND, "", (None, None)),
    ],
)  # fmt: skip
def test_what_of_a_commitment_was_not_used_is_of_the_accelerator_in_its_sku(
    ledger: Callable[..., Tables], sku: str, name: str, bought: tuple
) -> None:
    tables = ledger([tpu_hour(TEN, 10.0, sku, resource=None)])
    assert [key[-3:] for key in tables["fct_residual_costs"]] == [("fee", name, "unused_commitment")]
    assert [(row["accelerator_type"], row["accelerator_family"]) for row in tables["fct_prepaid"].values()] == [bought]


@pytest.mark.parametrize(("day", "expected"), [("2026-04-01", Decimal("9.6")), ("2026-03-01", None), ("2026-04-11", None)])
def test_a_list_prices_hours_of_its_day_and_four_weeks(
    exports: GoogleExports, ledger: Callable[..., Tables], day: str, expected: Decimal | None
) -> None:
    """Eight chip-hours of Spot on 10 April, a chip listed at 1.20 on demand; of two prices of one thing neither counts."""
    eight = {"usage": {"amount": 28_800.0, "amount_in_pricing_units": 8.0, "pricing_unit": "hour"}}
    row = tpu_hour(TEN, 4.8, "TpuV5e attached to Spot Preemptible VMs running in Columbus", **eight)
    spot, zero = (price("TpuV5e attached to Spot Preemptible VMs", cost, "us-east5", day=day) for cost in ("0.6", "0"))
    exports.google_prices([price("TpuV5e running in Columbus", "1.2", "us-east5", day=day), spot, zero], day)
    assert by_run(ledger([row], tpu_run("a", (TPU, *HELD, 8), kind="v5e")), "on_demand_list_cost") == {
        ("a", "accelerator", "resource_time"): expected
    }
    exports.google_prices(
        [price(f"TpuV5e running in {place}", cost, "us-east5", day=day) for place, cost in (("O", "1.2"), ("I", "1"))], day
    )
    assert {*by_run(Oracle(exports.config()).tables(), "on_demand_list_cost").values()} == {None}
