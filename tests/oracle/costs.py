"""Cost tables from attributed parts: cells of runs, residuals with one reason each, the loaded view and the sums per run."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from .accelerators import charged
from .ladder import Part
from .lines import SAVINGS_PLAN_PAIR, Line
from .numerals import MONEY, to_decimal
from .rates import Rates, in_currency
from .splitting import RESIDUAL, split

Key = tuple
SPREADABLE = ("idle", "unused_commitment")
CELL_END = 9  # of a run's key: run, the seven of the cell, currency


def _known_sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


@dataclass
class Measures:
    """Sums in units; a list or contracted cost with an unknown part is unknown."""

    billed: int = 0
    effective: int = 0
    list_cost: int | None = 0
    contracted: int | None = 0
    weight: int = 0
    on_demand: int | None = 0
    loaded_billed: int = 0  # arrived from residuals, or (on a residual) given to runs
    loaded_effective: int = 0

    def add(
        self, billed: int, effective: int, list_cost: int | None, contracted: int | None, weight: int, on_demand: int | None = 0
    ) -> None:
        self.billed += billed
        self.effective += effective
        self.list_cost = _known_sum(self.list_cost, list_cost)
        self.contracted = _known_sum(self.contracted, contracted)
        self.weight += weight
        self.on_demand = _known_sum(self.on_demand, on_demand)

    def of(self, name: str) -> int | None:
        return {"billed": self.billed, "effective": self.effective, "list": self.list_cost, "contracted": self.contracted}[name]

    def merge(self, other: Self) -> None:
        self.add(other.billed, other.effective, other.list_cost, other.contracted, other.weight, other.on_demand)


@dataclass
class Costs:
    runs: dict[Key, Measures] = field(default_factory=lambda: defaultdict(Measures))  # (run, *cell, currency, component, rule)
    # (*cell, currency, component, accelerator, reason)
    residuals: dict[Key, Measures] = field(default_factory=lambda: defaultdict(Measures))
    unpriced: set[Key] = field(default_factory=set)  # (run, month, component) with time that nothing was asked for, and no reason


def rounding_of_savings_plans(lines: Iterable[Line]) -> dict[Key, int]:
    """What covered usage and negation leave per source, payer, month and currency when they should cancel out."""
    left: dict[Key, int] = defaultdict(int)
    for line in lines:
        if line.kind in SAVINGS_PLAN_PAIR and not line.is_pod:
            left[line.source_name, line.payer_account_id, line.usage_month, line.currency] += line.unblended
    return {key: amount for key, amount in left.items() if amount}


def _rounding_cell(source_name: str, payer: str, month: object) -> Key:
    return source_name, "AWS", payer, payer, "", "", month


def gather(parts: Iterable[Part], rounding: dict[Key, int]) -> Costs:
    costs = Costs()
    for part in parts:
        line = part.line
        if part.run == RESIDUAL:
            target = costs.residuals[*line.cell, line.currency, part.component, charged(line, part.component), part.reason]
        else:
            target = costs.runs[part.run, *line.cell, line.currency, part.component, part.rule]
            if line.is_zero_priced and part.component == line.component:
                costs.unpriced.add((part.run, line.usage_month, part.component))
        target.add(part.billed, part.effective, part.list_cost, part.contracted, part.weight, part.on_demand)
    for (source_name, payer, month, currency), amount in rounding.items():
        costs.residuals[*_rounding_cell(source_name, payer, month), currency, "fee", "", "rounding"].add(amount, 0, 0, None, 0)
    spread(costs)
    return costs


def spread(costs: Costs) -> None:
    """Idle reserve and unused commitment of a cell go to the cell's run rows by their weights."""
    rows_of_cell: dict[Key, list[Key]] = defaultdict(list)
    for key in costs.runs:
        rows_of_cell[key[1:CELL_END]].append(key)
    for key, residuals in _whole_residuals(costs).items():
        rows = rows_of_cell.get(key[: CELL_END - 1])
        if not rows:
            continue
        weights = [((row[0], *row[CELL_END:]), max(costs.runs[row].weight, 0)) for row in rows]
        if not any(weight for _, weight in weights):
            continue
        billed = split(sum(residual.billed for residual in residuals), weights)
        effective = split(sum(residual.effective for residual in residuals), weights)
        for row in rows:
            run_row = costs.runs[row]
            run_row.loaded_billed += billed[row[0], *row[CELL_END:]]
            run_row.loaded_effective += effective[row[0], *row[CELL_END:]]
        for residual in residuals:
            residual.loaded_billed, residual.loaded_effective = residual.billed, residual.effective


def _whole_residuals(costs: Costs) -> dict[Key, list[Measures]]:
    """What a cell leaves for one reason, of whatever accelerators: it is divided as one amount."""
    whole: dict[Key, list[Measures]] = defaultdict(list)
    for (*place, _, reason), residual in costs.residuals.items():
        if reason in SPREADABLE:
            whole[*place, reason].append(residual)
    return whole


def _row(measures: Measures, loaded_name: str) -> dict:
    return {
        "billed_cost": to_decimal(measures.billed, MONEY),
        "effective_cost": to_decimal(measures.effective, MONEY),
        "list_cost": to_decimal(measures.list_cost, MONEY),
        "contracted_cost": to_decimal(measures.contracted, MONEY),
        f"{loaded_name}_billed_cost": to_decimal(measures.loaded_billed, MONEY),
        f"{loaded_name}_effective_cost": to_decimal(measures.loaded_effective, MONEY),
    }


def run_cell_rows(costs: Costs) -> dict[Key, dict]:
    return {key: _row(measures, "idle_share") for key, measures in costs.runs.items()}


def residual_rows(costs: Costs) -> dict[Key, dict]:
    return {key: _row(measures, "spread") for key, measures in costs.residuals.items()}


def run_rows(costs: Costs, run_months: set[tuple], reporting_currency: str, rates: Rates) -> dict[Key, dict]:
    """fct_training_run_costs: (run, month, currency, component, rule). A month with chips held but no bill row is empty."""
    sums: dict[Key, Measures] = defaultdict(Measures)
    for (run, *cell, currency, component, rule), measures in costs.runs.items():
        total = sums[run, cell[-1], currency, component, rule]
        total.merge(measures)
        total.loaded_billed += measures.loaded_billed
        total.loaded_effective += measures.loaded_effective
    for run, month in {key[:2] for key in run_months} - {key[:2] for key in sums}:
        nothing = Measures(list_cost=None, contracted=None, on_demand=None)
        sums[run, month, reporting_currency, "accelerator", "resource_time"] = nothing
    rows = {key: _row(measures, "idle_share") for key, measures in sums.items()}
    for key, measures in sums.items():
        converted, day = in_currency(rates, measures.effective, key[2], reporting_currency, key[1])
        rows[key] |= {"reporting_currency_effective_cost": to_decimal(converted, MONEY), "fx_rate_date": day}
        rows[key]["on_demand_list_cost"] = to_decimal(measures.on_demand, MONEY)
        rows[key]["effective_cost_with_list"] = to_decimal(0 if measures.list_cost is None else measures.effective, MONEY)
        if (key[0], key[1], key[3]) in costs.unpriced:
            unknown = ("effective_cost", "effective_cost_with_list", "reporting_currency_effective_cost")
            rows[key] |= dict.fromkeys(unknown)
    return rows


def conservation_rows(lines: Iterable[Line], rounding: dict[Key, int], costs: Costs) -> dict[Key, dict]:
    """Per cell, currency and measure: what the bill's rows say, summed on its own, against runs plus residuals."""
    provider: dict[Key, Measures] = defaultdict(Measures)
    for line in lines:
        if line.kind != "SavingsPlanNegation":
            billed = line.billed + (line.promotion or 0)
            provider[*line.cell, line.currency].add(billed, line.effective, line.list_cost, line.contracted, 0)
    for (source_name, payer, month, currency), amount in rounding.items():
        provider[*_rounding_cell(source_name, payer, month), currency].add(amount, 0, 0, None, 0)
    runs: dict[Key, Measures] = defaultdict(Measures)
    residuals: dict[Key, Measures] = defaultdict(Measures)
    for key, measures in costs.runs.items():
        runs[key[1:CELL_END]].merge(measures)
    for key, measures in costs.residuals.items():
        residuals[key[: CELL_END - 1]].merge(measures)
    rows = {}
    for key, totals in provider.items():
        for name in ("billed", "effective", "list", "contracted"):
            amounts = [side.of(name) for side in (totals, runs[key], residuals[key])]
            if None not in amounts:
                rows[reconciliation_key(key[:7], f"{name}_cost", key[7], None)] = reconciliation_row(*amounts, 0, MONEY)
    return rows


def reconciliation_key(cell: Key, measure: str, unit: str, version: str | None) -> Key:
    source_name, *place = cell
    return *place, measure, unit, version, "conservation", source_name


def reconciliation_row(provider: int, runs: int, residual: int, quarantined: int, scale: int) -> dict:
    amounts = (provider, runs, residual, quarantined, provider - runs - residual - quarantined)
    names = ("provider_total", "runs_total", "residual_total", "quarantined_total", "difference")
    return {name: to_decimal(amount, scale) for name, amount in zip(names, amounts, strict=True)} | {"modelled_total": None}
