"""The truth beside the demo: complete, exact, and reported by the simulation."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import pytest

from dagster_project.demo.simulation import normalise, occupied

pytestmark = pytest.mark.proved_by("generator")

ACCELERATOR = re.compile(r"(^|[:.])trn[12]\.")
USAGE = ("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage")
SECOND = 1_000_000


def entries(demo):
    """(source, key, row, component, parts, residual, fee) of every row that has an answer."""
    for source, key, answer in demo.objects():
        for first, last, *rest in answer["lines"]:
            for row in range(first, last + 1):
                yield source, key, row, *rest


def is_latest(key: str) -> bool:
    return "2026-06/2026-07-13" not in key


def test_rows_and_costs_of_each_object_are_reported_exactly(demo):
    total = 0
    for source, key, answer in demo.objects():
        rows = demo.rows(source, key)
        assert answer["rows"] == len(rows)
        cost = sum(round(Decimal(str(row["line_item_unblended_cost"])), 10) for row in rows)
        assert Decimal(answer["unblended_cost"]) == cost
        total += len(rows)
    assert 60_000 <= total <= 120_000


def test_ranges_are_in_order_and_inside_their_object(demo):
    for _, key, answer in demo.objects():
        previous = 0
        for first, last, *_ in answer["lines"]:
            assert previous < first <= last <= answer["rows"], key
            previous = last


def test_the_shares_of_every_row_add_up_to_one(demo):
    for source, key, row, _, parts, residual, _ in entries(demo):
        whole = sum(Fraction(numerator, denominator) for _, _, numerator, denominator in parts)
        assert whole + (Fraction(*residual[1:]) if residual else 0) == 1, (source, key, row)
        assert all(numerator > 0 for _, _, numerator, _ in parts)
        assert len({run for run, *_ in parts}) == len(parts)


def test_every_accelerator_usage_row_has_an_answer_and_no_charge_has_one(demo):
    answered = defaultdict(dict)
    for source, key, row, component, *_ in entries(demo):
        answered[source, key][row] = component
    for source, key, _ in demo.objects():
        for number, row in enumerate(demo.rows(source, key), start=1):
            is_usage = row["line_item_line_item_type"] in USAGE
            if is_usage and ACCELERATOR.search(row["line_item_usage_type"]):
                assert answered[source, key][number] == "accelerator"
            elif not is_usage:
                assert number not in answered[source, key]


def test_the_block_s_fee_is_shared_to_the_last_second(demo):
    shares = defaultdict(Fraction)
    states = set()
    for source, key, row, _, _, residual, fee in entries(demo):
        if fee:
            shares[fee[0]] += Fraction(*fee[1:])
            states.add(demo.rows(source, key)[row - 1]["capacity_reservation_capacity_reservation_status"])
            states.add(residual[0] if residual else None)
    assert set(shares.values()) == {1}
    assert len(shares) == 1
    assert states == {"Used", "Unused", None, "idle", "unused_commitment"}


def test_every_run_has_a_record_or_is_without_one_on_purpose(demo):
    recorded = defaultdict(set)
    for record in demo.records():
        recorded_id = record.get("training_run_id") or record.get("TrainingJobName") or record["labels"]["training_run_id"]
        recorded[normalise(recorded_id)].add(recorded_id)
    assert sorted(recorded) == demo.truth["runs"]
    assert [run for run, ids in recorded.items() if len(ids) > 1] == demo.truth["ambiguous_runs"]
    attributed = {part[0] for *_, parts, _, _ in entries(demo) for part in parts}
    attributed |= {part[0] for _, _, entry in demo.google_rows if entry for part in entry[3]}
    assert attributed == set(recorded) - set(demo.truth["ambiguous_runs"]) | set(demo.truth["runs_without_record"])


def test_nearly_all_accelerator_cost_belongs_to_a_run(demo):
    for payer in ("payer-a-cur", "payer-b-cur"):
        cost, held = Decimal(0), Fraction(0)
        for source, key, row, component, parts, _, fee in entries(demo):
            if source == payer and is_latest(key) and component == "accelerator":
                line = demo.rows(source, key)[row - 1]
                value = Decimal(str(line["line_item_unblended_cost"]))
                if fee:
                    value = Decimal("91625.0304") * fee[1] / fee[2]
                cost += value
                held += Fraction(value) * sum(Fraction(numerator, denominator) for _, _, numerator, denominator in parts)
        assert Fraction(95, 100) < held / Fraction(cost) < 1


def test_a_tag_decides_only_where_the_row_carries_it(demo):
    for source, key, row, _, parts, _, _ in entries(demo):
        line = demo.rows(source, key)[row - 1]
        tag = line["resource_tags"].get("user_training_run_id")
        for run, rule, *_ in parts:
            if rule == "tag":
                assert normalise(tag) == run
            elif rule == "managed_job":
                assert line["line_item_resource_id"].endswith(f"training-job/{run}")


def test_the_awkward_cases_are_there(demo):
    seen = defaultdict(int)
    for source, key, row, component, parts, residual, _ in entries(demo):
        line = demo.rows(source, key)[row - 1]
        tag = line["resource_tags"].get("user_training_run_id")
        rules = {rule for _, rule, *_ in parts}
        seen["stale tag"] += bool(tag and "resource_time" in rules)
        seen["ambiguous"] += bool(residual and residual[0] == "unattributed")
        seen["no record"] += bool(residual and residual[0] == "no_record")
        seen["idle"] += bool(residual and residual[0] == "idle")
        seen["shared hour"] += len(parts) > 1
        seen["half a node"] += [part[2:] for part in parts] == [[1, 2], [1, 2]]
        seen["traffic of a run"] += component == "network" and bool(parts)
        seen["tagged host"] += component == "host" and bool(parts)
        seen["job"] += "managed_job" in rules
        seen["taken back"] += Decimal(str(line["line_item_usage_amount"])) < 0
    assert all(seen.values()), dict(seen)
    states = {attempt["state"] for record in demo.records() for attempt in record.get("attempts", ())}
    assert states == {"succeeded", "failed", "interrupted", "stopped", "running"}


def test_a_handover_within_the_hour_is_shared_by_the_microsecond():
    shares = occupied([(0, 1_500_250_000, 16, "a"), (1_519_250_000, 3_600_000_000, 16, "b")], 16)
    assert shares == {"a": 1_500_250_000, "b": 2_080_750_000}


def test_an_oversubscribed_node_still_adds_up_to_one():
    shares = occupied([(0, 30 * SECOND, 16, "a"), (20 * SECOND, 40 * SECOND, 16, "b")], 16)
    assert shares == {"a": 25 * SECOND, "b": 15 * SECOND}


def test_chips_no_run_holds_are_no_runs():
    assert occupied([(0, 60 * SECOND, 8, "a"), (0, 30 * SECOND, 8, "b")], 16) == {"a": 30 * SECOND, "b": 15 * SECOND}
