"""The finished demo against its own answer key: what the simulation knows of each source line is what is published, run by run.

The reader below knows truth.json by the README beside it, reads the exports itself, and shares no code with the product, with
the generator or with the oracle.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

PAYERS = ("payer-a-cur", "payer-b-cur")
JUNE, FIRST, SECOND = "2026-06", "2026-07-13", "2026-08-06"
UNIT = Decimal("1e-12")
REST = "~residual"  # sorts behind every run id
COLUMNS = {
    "type": ("line_item_line_item_type",),
    "usage_type": ("line_item_usage_type",),
    "start": ("line_item_usage_start_date",),
    "block": ("reservation_reservation_a_r_n",),
    "unblended": ("line_item_net_unblended_cost", "line_item_unblended_cost"),
    "reserved": ("reservation_net_effective_cost", "reservation_effective_cost"),
    "planned": ("savings_plan_net_savings_plan_effective_cost", "savings_plan_savings_plan_effective_cost"),
}  # of a private price and a public one the private one counts
Key = tuple[str, str, str, str, str]  # source, run, month, component, rule


@dataclass(frozen=True)
class Line:
    """One row of a bill with the simulation's answer."""

    source: str
    key: str
    row: int
    start: str
    component: str
    parts: list[list[Any]]
    residual: list[Any] | None
    fee: list[Any] | None
    billed: int
    effective: int


def units(value: object) -> int:
    """Whole 1e-12 of a currency: a double by its 15 digits, a text as written."""
    if value in (None, ""):
        return 0
    number = Decimal(format(value, ".15g") if isinstance(value, float) else str(value))
    return int(number.quantize(UNIT, ROUND_HALF_UP) / UNIT)


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        wanted = [name for names in COLUMNS.values() for name in names if name in file.schema_arrow.names]
        return file.read(wanted).to_pylist()
    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def value_of(row: dict[str, Any], what: str) -> Any:
    return next((row[name] for name in COLUMNS[what] if row.get(name) not in (None, "")), None)


def month_of(row: dict[str, Any]) -> str:
    return str(value_of(row, "start"))[:7]


def own_cost(row: dict[str, Any]) -> tuple[int, int]:
    """Billed and effective cost of a usage row, before any block's fee."""
    match value_of(row, "type"):
        case "SavingsPlanCoveredUsage":
            return 0, units(value_of(row, "planned"))
        case "DiscountedUsage":
            return units(value_of(row, "unblended")), units(value_of(row, "reserved"))
        case _:
            return units(value_of(row, "unblended")), units(value_of(row, "unblended"))


def shared(amount: int, shares: dict[Any, Fraction]) -> dict[Any, int]:
    """Divide whole units: floors first, what is left by the largest remainder, ties in the order of the keys."""
    assert sum(shares.values()) == 1
    sign, size = (-1 if amount < 0 else 1), abs(amount)
    floors = {key: math.floor(size * share) for key, share in shares.items()}
    ranked = sorted(shares, key=lambda key: (floors[key] - size * shares[key], key))
    more = set(ranked[: size - sum(floors.values())])
    return {key: sign * (floor + (key in more)) for key, floor in floors.items()}


class Truth:
    """What the simulation states, in amounts. Of June's two executions one counts."""

    def __init__(self, folder: Path, not_of_june: str) -> None:
        self.lines: list[Line] = []
        self.fees: dict[str, int] = defaultdict(int)
        objects = json.loads((folder / "truth.json").read_text())["objects"]
        for source in PAYERS:
            for key, answer in objects[source].items():
                if f"={JUNE}/{not_of_june}" not in key:
                    self._read(source, key, answer, rows_of(folder / "exports" / source / key))
        self.attributed, self.left = self._amounts()

    def _read(self, source: str, key: str, answer: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        assert len(rows) == answer["rows"], key
        for row in rows:
            if "CapacityBlockFee" in (value_of(row, "usage_type") or ""):
                self.fees[value_of(row, "block")] += units(value_of(row, "unblended"))
        for first, last, component, parts, residual, fee in answer["lines"]:
            for number in range(first, last + 1):
                row = rows[number - 1]
                billed, effective = own_cost(row)
                start = str(value_of(row, "start"))
                self.lines.append(Line(source, key, number, start, component, parts, residual, fee, billed, effective))

    def _fee_shares(self) -> dict[tuple[str, str, int], int]:
        """The part of its block's fee that each block hour carries."""
        blocks: dict[str, dict[tuple[str, str, int], Fraction]] = defaultdict(dict)
        for line in self.lines:
            if line.fee:
                blocks[line.fee[0]][line.start, line.key, line.row] = Fraction(*line.fee[1:])
        return {hour: part for block, hours in blocks.items() for hour, part in shared(self.fees[block], hours).items()}

    def _amounts(self) -> tuple[dict[Key, tuple[int, int]], dict[tuple[str, str], int]]:
        fees = self._fee_shares()
        attributed: dict[Key, list[int]] = defaultdict(lambda: [0, 0])
        left: dict[tuple[str, str], int] = defaultdict(int)
        for line in self.lines:
            shares = {(run, rule): Fraction(numerator, whole) for run, rule, numerator, whole in line.parts}
            if line.residual:
                shares[REST, ""] = Fraction(*line.residual[1:])
            effective = line.effective + fees.get((line.start, line.key, line.row), 0)
            for measure, amount in enumerate((line.billed, effective)):
                for (run, rule), part in shared(amount, shares).items():
                    if run != REST:
                        attributed[line.source, run, line.start[:7], line.component, rule][measure] += part
                    elif measure:
                        left[line.source, line.component] += part
        return {key: tuple(amounts) for key, amounts in attributed.items()}, dict(left)


def published_runs(file: Path, where: str = "true") -> dict[Key, tuple[int, int]]:
    """The same keys and amounts as readers find them; what a run was not billed as usage is no part of the answer key."""
    rows = query(
        file,
        "select source_name, training_run_id, strftime(usage_month, '%Y-%m'), cost_component, attribution_rule,"
        " sum(billed_cost), sum(effective_cost) from marts.fct_run_cell_costs"
        f" where cost_component in ('accelerator', 'host', 'storage', 'network', 'other_usage') and {where} group by all",
    )
    return {tuple(key): (units(billed), units(effective)) for *key, billed, effective in rows}


def query(file: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def differing(published: dict[Key, Any], truth: dict[Key, Any]) -> Iterator[str]:
    for key in sorted({*published, *truth}):
        if published.get(key) != truth.get(key):
            yield f"{key}: published {published.get(key)}, truth {truth.get(key)}"


@pytest.fixture(scope="module")
def truth(demo_home: Path) -> Truth:
    return Truth(demo_home, not_of_june=FIRST)


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Path:
    return demo_home / "trainledger-home/published/trainledger.duckdb"


def report_of(demo_home: Path, quarter: str) -> dict[str, Any]:
    folder = demo_home / "trainledger-home/reports" / quarter
    assert (folder / "report.html").stat().st_size > 10_000
    return json.loads((folder / "report.json").read_text())


def test_every_run_s_usage_equals_the_truth_to_the_last_digit(published: Path, truth: Truth) -> None:
    found = published_runs(published, f"source_name in {PAYERS}")
    assert len({run for _, run, *_ in found}) >= 40 and {rule for *_, rule in found} == {"managed_job", "tag", "resource_time"}
    assert list(differing(found, truth.attributed)) == []


@pytest.mark.parametrize("payer", PAYERS)
def test_at_least_95_percent_of_the_accelerator_cost_of_each_payer_belongs_to_a_run(
    published: Path, truth: Truth, payer: str
) -> None:
    of_payer = f"where cost_component = 'accelerator' and source_name = '{payer}'"
    [(held,)] = query(published, f"select sum(effective_cost) from marts.fct_run_cell_costs {of_payer}")
    [(left,)] = query(published, f"select sum(effective_cost) from marts.fct_residual_costs {of_payer}")
    assert Decimal("0.95") <= held / (held + left) < 1
    assert units(left) == truth.left[payer, "accelerator"]


def test_the_second_quarter_is_complete_and_the_third_is_a_draft_that_has_its_reason(demo_home: Path) -> None:
    second, third = report_of(demo_home, "2026Q2"), report_of(demo_home, "2026Q3")
    assert second["status"] == "preliminary"  # all there, and not final before AWS has trued up the year
    assert not any(reason.startswith("No ") for reason in second["status_reasons"])
    assert third["status"] == "draft"
    missing = [reason for reason in third["status_reasons"] if reason.startswith("No ")]
    assert len(missing) == 3 and all("September 2026" in reason for reason in missing)  # two payers and a billing account


def test_every_account_project_and_service_of_a_cost_has_the_name_that_its_bill_carries(published: Path) -> None:
    unnamed = """
        select distinct costs.provider_name, costs.sub_account_id, costs.service_code
        from (
            select provider_name, sub_account_id, service_code from marts.fct_run_cell_costs
            union all
            select provider_name, sub_account_id, service_code from marts.fct_residual_costs
        ) as costs
        left join marts.dim_accounts as accounts
            on costs.provider_name = accounts.provider_name and costs.sub_account_id = accounts.account_id
        left join marts.dim_services as services
            on costs.provider_name = services.provider_name and costs.service_code = services.service_code
        where
            (costs.sub_account_id <> '' and accounts.account_name is null)
            or (costs.service_code <> '' and services.service_name is null)
    """
    assert query(published, unnamed) == []
    payers = "select count(*) from marts.dim_accounts where account_id = payer_account_id"
    assert query(published, payers) == [(3,)]


@pytest.mark.nightly  # a build of the demo as of August takes as long as the demo
def test_june_as_published_before_its_restatement_has_the_amounts_of_its_first_execution(
    demo_home: Path, published: Path, truth: Truth, before_the_restatement: Path
) -> None:
    [old] = before_the_restatement.rglob("asof/*/published/trainledger.duckdb")
    june_of_b = f"source_name = 'payer-b-cur' and usage_month = date '{JUNE}-01'"

    def expected(of: Truth) -> dict[Key, tuple[int, int]]:
        return {key: amounts for key, amounts in of.attributed.items() if key[0] == "payer-b-cur" and key[2] == JUNE}

    first = expected(Truth(demo_home, not_of_june=SECOND))
    assert list(differing(published_runs(old, june_of_b), first)) == []
    assert first != expected(truth), "the demo restates June, or this test shows nothing"
    assert list(differing(published_runs(published, june_of_b), expected(truth))) == []
