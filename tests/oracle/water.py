"""Water of a run-month: what AWS states of a year by the run's share of electricity, and IT energy times litres per kWh.

The rules of docs/methodology/water.md a second time. Without a clock there is no status.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

from . import seeds
from .carbon import MASSES, CarbonCells
from .emissions import Emissions
from .energy import KWH, LEVELS, RunMonths, RunPlace, half_up
from .energy import Held as HeldEnergy
from .numerals import MASS, to_decimal, units
from .splitting import RESIDUAL, split

Account = tuple[str, str, int]  # payer, account, year
ALL = "*"
_ENDINGS = {"mid": "", "low": "_low", "high": "_high"}
_S2 = MASSES.index("provider_scope_2_location_based_kgco2e")
_NOT_OF_THE_METHOD = {"ca-central-1", "af-south-1"}
NOT_STATED, NOT_ALL_MONTHS = "not stated", "not all months"


def read_water(locations: Iterable[Path], as_published: datetime | None = None) -> dict[Account, dict[str, int]]:
    """What is stated of a year of an account: by region, or of all of them; in units of 1e-9 m3."""
    files = []
    for place in locations:
        files += [(datetime.fromtimestamp(path.stat().st_mtime, UTC), path) for path in place.rglob("*.json")]
    stated: dict[Account, dict[str, int]] = {}
    for written, path in sorted(files):
        if as_published is not None and written > as_published:
            continue
        named = dict(part.split("=") for part in path.parts if part.startswith(("payer=", "account=")))
        found: dict[Account, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for result in json.loads(path.read_text(encoding="utf-8"))["Results"]:
            groups = result["DimensionsValues"]
            year = datetime.fromisoformat(result["TimePeriod"]["Start"]).year
            account = named["payer"], groups.get("USAGE_ACCOUNT_ID") or named["account"], year
            region = groups.get("REGION", ALL)
            region = "" if region.lower() == "global" else seeds.region_by_carbon_name().get(region, region)
            found[account][region] += units(result["AllocationValues"]["TOTAL_WATER_WITHDRAWALS"]["Value"], 9) or 0
        stated |= found
    return stated


class Withdrawals:
    """Each stated figure divided among the run-months of its account, or the reason why it is not."""

    def __init__(self, stated: dict[Account, dict[str, int]], emissions: Emissions, cells: CarbonCells) -> None:
        self.stated = stated
        self.cells: dict[tuple[str, date], set[tuple[Account, str]]] = defaultdict(set)  # run, month -> account and region
        self.parts: dict[tuple[str, date], list[int]] = defaultdict(list)
        self.reasons: dict[Account, str] = {}
        uses: dict[tuple[Account, str, date], dict[str, list[int | None]]] = defaultdict(lambda: defaultdict(list))
        for (run, *cell), masses in emissions.runs.items():
            if cell[1] == "AWS" and cells.is_elected(tuple(cell)):
                account, region, month = (cell[2], cell[3], cell[6].year), cell[5], cell[6]
                self.cells[run, month].add((account, region))
                uses[account, region, month][run].append(masses[_S2])
        whole: dict[Account, list[tuple]] = defaultdict(list)
        for cell, masses in cells.masses.items():
            if cell[1] == "AWS" and cells.is_elected(cell):
                whole[cell[2], cell[3], cell[6].year].append((cell[5], cell[6], cell[7], masses[_S2]))
        # of what is held back an unknown region used electricity as well; a negative row did not
        for cell, masses in cells.quarantined.items():
            if cell[1] == "AWS" and cells.is_elected(cell) and not any(mass is not None and mass < 0 for mass in masses):
                whole[cell[2], cell[3], cell[6].year].append((cell[5], cell[6], cell[7], masses[_S2]))
        for account, by_region in stated.items():
            self._divide(account, by_region, whole[account], uses)

    def _divide(self, account: Account, by_region: dict[str, int], rows: list[tuple], uses: dict) -> None:
        if len({month for _, month, *_ in rows}) < 12:
            self.reasons[account] = NOT_ALL_MONTHS
            return
        if len({version for _, _, version, _ in rows}) > 1:
            self.reasons[account] = "versions"
            return
        for scope, amount in by_region.items():
            kilograms: dict[tuple[str, date], list[int | None]] = defaultdict(list)
            for region, month, _, mass in rows:
                if scope in (ALL, region):
                    kilograms[region, month].append(mass)
            total = [_electricity(scope, region, month, masses) for (region, month), masses in kilograms.items()]
            if None in total or not sum(total):
                self.reasons[account] = "electricity"
                continue
            weights: dict[tuple[str, date], int] = defaultdict(int)
            for region, month in kilograms:
                for run, masses in uses[account, region, month].items():
                    weights[run, month] += _electricity(scope, region, month, masses) or 0
            named = {f"{run}|{month}": (run, month) for run, month in weights}
            shares = [(name, weights[place]) for name, place in named.items()]
            rest = max(sum(total) - sum(weights.values()), 0)
            for name, part in split(amount, [*shares, (RESIDUAL, rest)]).items():
                if name != RESIDUAL:
                    self.parts[named[name]].append(part)

    def of(self, run: str, month: date) -> tuple[int | None, str]:
        """The figure of a run-month of AWS alone, or why there is none."""
        places = self.cells.get((run, month), set())
        if month.year not in {year for *_, year in self.stated} or any(account not in self.stated for account, _ in places):
            return None, NOT_STATED
        if not places:
            return None, "no cell"
        if any(region not in self.stated[account] and ALL not in self.stated[account] for account, region in places):
            return None, "region"
        if reasons := {self.reasons[account] for account, _ in places if account in self.reasons}:
            return None, min(reasons, key=lambda reason: reason != NOT_ALL_MONTHS)
        return sum(self.parts[run, month]), ""


def _electricity(scope: str, region: str, month: date, masses: list[int | None]) -> int | None:
    """Within a region Scope 2 itself, in units of 1e-9; of all regions kWh, in the same units."""
    if None in masses:
        return None
    mass = sum(masses)
    if scope != ALL or not mass:
        return mass
    factor = None if region in _NOT_OF_THE_METHOD else seeds.factor_of("AWS", region, month.year)
    return None if factor is None else half_up(Fraction(mass, 10**MASS) / factor.value)


def _consumption(places: dict[str, HeldEnergy], month: date, level: str) -> int | None:
    parts = []
    for region, held in places.items():
        energy, litres = held.units("it", level), seeds.wue_of(held.provider, region, month.year)
        parts.append(None if energy is None or litres is None else half_up(Fraction(energy, 10**KWH) * litres[level] / 1000))
    return None if not parts or None in parts else sum(parts)


def _as_double(amount: int | None) -> float | None:
    return None if amount is None else float(to_decimal(amount, 9))


def water_rows(
    energy: dict[RunPlace, HeldEnergy],
    withdrawals: Withdrawals,
    run_months: Iterable[tuple[str, date, str]],
    is_dated: bool,
    final: RunMonths,
) -> dict[tuple, dict]:
    """fct_training_run_water; `final`: of which the provider no longer restates emissions."""
    providers: dict[tuple[str, date], set[str]] = defaultdict(set)
    for run, month, provider in run_months:
        providers[run, month].add(provider)
    by_run: dict[tuple[str, date], dict[str, HeldEnergy]] = defaultdict(dict)
    for (run, month, region), held in energy.items():
        by_run[run, month][region] = held
    rows = {}
    for (run, month), of in providers.items():
        row: dict[str, object] = {
            f"consumption_m3{_ENDINGS[level]}": _as_double(_consumption(by_run[run, month], month, level)) for level in LEVELS
        }
        figure, reason = withdrawals.of(run, month) if of == {"AWS"} else (None, "provider")
        row["withdrawal_m3"] = _as_double(figure)
        if is_dated:
            row["status"] = "no_cell" if reason else "final" if (run, month) in final else "preliminary"
            if reason in (NOT_STATED, NOT_ALL_MONTHS):
                row["status"] = "not_published"
        rows[run, month] = row
    return rows
