"""The finished demo's Google half against its own answer key, read by its README: shares, fees and amounts, run by run.

Like its AWS sibling it shares no code with the product, the generator or the oracle.
"""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.line.test_the_demo_meets_its_promises import REST, Key, differing, query, shared, units

pytestmark = pytest.mark.slow

SOURCE = "gcp-billing"
NEVER = ("~", "", 0)  # sorts behind every hour
COMMITTED = {
    "COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", "SUSTAINED_USAGE_DISCOUNT", "DISCOUNT",
    "SPENDING_BASED_DISCOUNT", "SUBSCRIPTION_BENEFIT", "FEE_UTILIZATION_OFFSET",
}  # fmt: skip


def is_fee(row: dict[str, Any]) -> bool:
    return row["sku"]["description"].startswith("Commitment")


def costs_of(row: dict[str, Any]) -> tuple[int, int]:
    """What a row costs after commitment credits, and what promotions give back."""
    credits = row["credits"] or []
    committed = sum(units(credit["amount"]) for credit in credits if credit["type"] in COMMITTED)
    promotions = sum(units(credit["amount"]) for credit in credits if credit["type"] not in COMMITTED)
    return units(row["cost"]) + committed, promotions


def month_of(row: dict[str, Any]) -> str:
    return f"{row['usage_start_time']:%Y-%m}"


def truth_of(folder: Path) -> dict[Key, tuple[int, int]]:
    """Billed and effective cost of each run, month, component and rule."""
    lines, fees = [], defaultdict(int)
    for key, answer in json.loads((folder / "truth.json").read_text())["objects"][SOURCE].items():
        rows = pq.ParquetFile(folder / "exports" / SOURCE / key).read().to_pylist()
        assert len(rows) == answer["rows"], key
        for row in filter(is_fee, rows):
            fees[row["subscription"]["instance_id"], month_of(row)] += costs_of(row)[0]
        for first, last, component, parts, residual, fee in answer["lines"]:
            lines += [(key, number, rows[number - 1], component, parts, residual, fee) for number in range(first, last + 1)]
    hours: dict[tuple[str, str], dict[tuple[str, str, int], Fraction]] = defaultdict(dict)
    for key, number, row, *_, fee in lines:
        if fee:
            hours[fee[0], month_of(row)][f"{row['usage_start_time']:%Y-%m-%dT%H:%M}", key, number] = Fraction(*fee[1:])
    amortised = {}
    for commitment, covered in hours.items():
        amortised |= shared(fees[commitment], covered | {NEVER: 1 - sum(covered.values())})
    attributed: dict[Key, list[int]] = defaultdict(lambda: [0, 0])
    for key, number, row, component, parts, residual, _ in lines:
        shares = {(run, rule): Fraction(numerator, whole) for run, rule, numerator, whole in parts}
        if residual:
            shares[REST, ""] = Fraction(*residual[1:])
        main, promotions = costs_of(row)
        effective = main + amortised.get((f"{row['usage_start_time']:%Y-%m-%dT%H:%M}", key, number), 0)
        for place, measure, amount in ((component, 0, main), (component, 1, effective), ("credit", 0, promotions)):
            for (run, rule), part in shared(amount, shares).items():
                if run != REST and (part or place != "credit"):
                    attributed[SOURCE, run, month_of(row), place, rule][measure] += part
    return {key: tuple(amounts) for key, amounts in attributed.items()}


def test_every_tpu_run_equals_the_truth_to_the_last_digit(demo_home: Path) -> None:
    rows = query(
        demo_home / "trainledger-home/published/trainledger.duckdb",
        "select source_name, training_run_id, strftime(usage_month, '%Y-%m'), cost_component, attribution_rule,"
        f" sum(billed_cost), sum(effective_cost) from marts.fct_run_cell_costs where source_name = '{SOURCE}' group by all",
    )
    found = {tuple(key): (units(billed), units(effective)) for *key, billed, effective in rows}
    assert len({run for _, run, *_ in found}) >= 35 and {rule for *_, rule in found} == {"managed_job", "tag", "resource_time"}
    assert list(differing(found, truth_of(demo_home))) == []


def test_at_least_95_percent_of_the_accelerator_cost_belongs_to_a_run(demo_home: Path) -> None:
    published = demo_home / "trainledger-home/published/trainledger.duckdb"
    accelerators = f"where cost_component = 'accelerator' and source_name = '{SOURCE}'"
    [(held,)] = query(published, f"select sum(effective_cost) from marts.fct_run_cell_costs {accelerators}")
    [(left,)] = query(published, f"select sum(effective_cost) from marts.fct_residual_costs {accelerators}")
    assert Decimal("0.95") <= held / (held + left) < 1


def test_energy_hours_and_coverage_equal_the_truth_of_every_run_month(demo_home: Path) -> None:
    published = query(
        demo_home / "trainledger-home/published/trainledger.duckdb",
        "select training_run_id, strftime(usage_month, '%Y-%m'), reserved_chip_hours, coalesce(busy_chip_hours, 0),"
        " telemetry_coverage_ratio from marts.fct_training_run_energy",
    )
    found = {(run, month): values for run, month, *values in published}
    truth = json.loads((demo_home / "truth.json").read_text())["energy"]
    differences = []
    for run, months in truth.items():
        for month, stated in months.items():
            reserved, busy, coverage = found[run, month]
            hours = [Fraction(*stated[name]) / 3600 for name in ("reserved", "busy")]
            if abs(Fraction(reserved) - hours[0]) > Fraction(1, 10**9) or abs(Fraction(busy) - hours[1]) > Fraction(1, 10**9):
                differences.append((run, month, reserved, busy, [float(hour) for hour in hours]))
            if abs(Fraction(coverage) - Fraction(*stated["coverage"])) > Fraction(1, 10**9):
                differences.append((run, month, coverage, stated["coverage"]))
    assert len(truth) > 70 and differences == []
