"""Emission tables: each carbon cell divided over the runs of the bill's matching cell, the rest kept with its reason."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from . import facts
from .carbon import MASSES, CarbonCell, CarbonCells, Masses, is_global, whole_sum
from .costs import SPREADABLE, reconciliation_key, reconciliation_row
from .ladder import Part
from .lines import Line
from .numerals import MASS, to_decimal
from .splitting import RESIDUAL, split

BillCell = tuple  # provider, payer, sub account, carbon product, region, month


@dataclass
class Weights:
    """What one bill cell weighs: all usage rows, the runs' part of them and the reasons of the rest."""

    total: int = 0
    runs: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    reasons: dict[str, int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class Emissions:
    runs: dict[tuple, Masses] = field(default_factory=dict)  # (run, *carbon cell)
    residuals: dict[tuple, Masses] = field(default_factory=dict)  # (*carbon cell, reason)
    arrived: dict[tuple, tuple] = field(default_factory=dict)  # (run, *carbon cell) -> idle share (location-based, market-based)
    given: dict[tuple, tuple] = field(default_factory=dict)  # (*carbon cell, reason) -> spread


def bill_cell(line: Line) -> BillCell:
    product = facts.carbon_product(line.service_code) if line.provider_name == "AWS" else line.service_code
    return line.provider_name, line.payer_account_id, line.sub_account_id, product, line.region_id, line.usage_month


def weigh(parts: Iterable[Part]) -> dict[BillCell, Weights]:
    cells: dict[BillCell, Weights] = defaultdict(Weights)
    for part in parts:
        if not part.line.is_usage:
            continue
        weights = cells[bill_cell(part.line)]
        weights.total += part.weight
        if part.run == RESIDUAL:
            weights.reasons[part.reason] += part.weight
        else:
            weights.runs[part.run] += part.weight
    return cells


def _split_masses(masses: Masses, weights: list[tuple[str, int]]) -> dict[str, Masses]:
    by_mass = [None if mass is None else split(mass, weights) for mass in masses]
    return {key: tuple(None if parts is None else parts[key] for parts in by_mass) for key, _ in weights}


def allocate(cells: CarbonCells, weights_of: dict[BillCell, Weights]) -> Emissions:
    emissions = Emissions()
    for cell, masses in cells.masses.items():
        weights = weights_of.get(cell[1:7])
        if is_global(cell[5], cell[1]):
            emissions.residuals[*cell, "global"] = masses
        elif weights is None or weights.total <= 0:
            emissions.residuals[*cell, "no_usage"] = masses
        else:
            _allocate_cell(emissions, cell, masses, weights)
    return emissions


def _allocate_cell(emissions: Emissions, cell: CarbonCell, masses: Masses, weights: Weights) -> None:
    of_runs = [(run, weight) for run, weight in weights.runs.items() if weight > 0]
    rest = max(weights.total - sum(weight for _, weight in of_runs), 0)
    parts = _split_masses(masses, [*of_runs, (RESIDUAL, rest)])
    left = parts.pop(RESIDUAL)
    emissions.runs.update({(run, *cell): part for run, part in parts.items()})
    reasons = [(reason, weight) for reason, weight in weights.reasons.items() if weight > 0] or [("unattributed", 1)]
    if rest == 0:
        return
    for reason, part in _split_masses(left, reasons).items():
        emissions.residuals[*cell, reason] = part
        if reason in SPREADABLE and of_runs:
            _spread(emissions, cell, reason, part, of_runs)


def _spread(emissions: Emissions, cell: CarbonCell, reason: str, masses: Masses, of_runs: list[tuple[str, int]]) -> None:
    totals = masses[:2]  # the location-based and the market-based total: two splits that never meet
    emissions.given[*cell, reason] = totals
    for run, shares in _split_masses(totals, of_runs).items():
        before = emissions.arrived.get((run, *cell), (0, 0))
        emissions.arrived[run, *cell] = whole_sum([before, shares])


def _mass_row(masses: Masses) -> dict:
    return {name: to_decimal(mass, MASS) for name, mass in zip(MASSES, masses, strict=True)}


def _loaded_row(name: str, location: int | None, market: int | None) -> dict:
    return {f"{name}_location_based_kgco2e": to_decimal(location, MASS), f"{name}_market_based_kgco2e": to_decimal(market, MASS)}


def run_cell_rows(emissions: Emissions, cells: CarbonCells) -> dict[tuple, dict]:
    return {key: _mass_row(masses) for key, masses in emissions.runs.items() if cells.is_elected(key[1:])}


def residual_rows(emissions: Emissions, cells: CarbonCells) -> dict[tuple, dict]:
    rows = {}
    for key, masses in emissions.residuals.items():
        if not cells.is_elected(key[:-1]):
            continue
        location, market = emissions.given.get(key, tuple(None if mass is None else 0 for mass in masses[:2]))
        rows[key] = _mass_row(masses) | _loaded_row("spread", location, market)
    return rows


def version_rows(emissions: Emissions) -> dict[tuple, dict]:
    """fct_training_run_emissions_versions: (run, month, provider, version)."""
    grouped: dict[tuple, list[Masses]] = defaultdict(list)
    for (run, *cell), masses in emissions.runs.items():
        key = (run, cell[6], cell[1], cell[7])
        grouped[key].append(masses)
    return {key: _mass_row(whole_sum(rows)) for key, rows in grouped.items()}


def book_rows(emissions: Emissions, cells: CarbonCells, run_months: set[tuple[str, date, str]]) -> dict[tuple, dict]:
    """fct_training_run_emissions: a row per run-month; unknown where no elected cell knows the run or two versions would meet."""
    grouped: dict[tuple, list[Masses]] = defaultdict(list)
    arrived: dict[tuple, list[tuple]] = defaultdict(list)
    versions: dict[tuple, set[str]] = defaultdict(set)
    for key, masses in emissions.runs.items():
        run, _, provider, *_, month, version = key
        if cells.is_elected(key[1:]):
            versions[run, month, provider].add(version)
            grouped[run, month, provider].append(masses)
            if key in emissions.arrived:
                arrived[run, month, provider].append(emissions.arrived[key])
    rows = {}
    for place in run_months:
        known = len(versions[place]) == 1
        masses = whole_sum(grouped[place]) if known else (None,) * len(MASSES)
        # what was spread arrives, so that both sides sum alike; where nothing was, an unknown total has no known share
        nothing = tuple(None if mass is None else 0 for mass in masses[:2])
        location, market = whole_sum(arrived[place] or [nothing]) if known else (None, None)
        rows[place] = _mass_row(masses) | _loaded_row("idle_share", location, market)
    return rows


def conservation_rows(emissions: Emissions, cells: CarbonCells) -> dict[tuple, dict]:
    runs: dict[CarbonCell, list[Masses]] = defaultdict(list)
    residuals: dict[CarbonCell, list[Masses]] = defaultdict(list)
    for (_, *cell), masses in emissions.runs.items():
        runs[tuple(cell)].append(masses)
    for (*cell, _), masses in emissions.residuals.items():
        residuals[tuple(cell)].append(masses)
    rows = {}
    for cell in cells.masses.keys() | cells.quarantined.keys():
        nothing = (0,) * len(MASSES)
        sides = [cells.masses.get(cell, nothing), cells.quarantined.get(cell, nothing)]
        quarantined = sides[1]
        sums = [whole_sum(side.get(cell, [nothing])) for side in (runs, residuals)]
        for place, measure in enumerate(MASSES):
            amounts = [side[place] for side in (whole_sum(sides), *sums, quarantined)]
            if None not in amounts:
                rows[reconciliation_key(cell[:7], measure, "kgCO2e", cell[7])] = reconciliation_row(*amounts, MASS)
    return rows
