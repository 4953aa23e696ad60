"""Modelled emissions, facility energy times the grid's factor, and their meeting with the provider's Scope 2 per carbon cell."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction

from .carbon import MASSES, CarbonCells, is_global
from .emissions import Emissions, bill_cell
from .energy import KWH, Held, RunPlace, half_up
from .ladder import Part
from .numerals import MASS, to_decimal
from .own_figures import OwnFigures
from .seeds import FACTOR_SET, Factor, factor_of
from .splitting import RESIDUAL, split

MEASURE = "provider_scope_2_location_based_kgco2e"
_ENDINGS = {"mid": "", "low": "_low", "high": "_high"}


def _kilograms(held: Held | None, factor: Factor | None, level: str) -> int | None:
    energy = held and held.units("facility", level)
    return None if factor is None or energy is None else half_up(Fraction(energy, 10**KWH) * factor.value)


def _own_factor(own: OwnFigures, place: RunPlace) -> Factor | None:
    """The organisation's own names no year of its data."""
    run, month, region = place
    figure = own.of("factor", month, run, region)
    return figure and Factor(figure.figure_id, figure.value, None)


def modelled_rows(found: dict[RunPlace, Held], run_months: set[tuple[str, date]], own: OwnFigures) -> dict[tuple, dict]:
    """fct_training_run_emissions_modelled; without energy, region or factor unknown, and the row is there."""
    places: dict[RunPlace, Held | None] = {key: held for key, held in found.items() if key[:2] in run_months}
    places |= {(*key, ""): None for key in run_months - {key[:2] for key in found}}
    rows = {}
    for place, held in places.items():
        *_, month, region = place
        default = held and factor_of(held.provider, region, month.year)
        rows[*place, FACTOR_SET] = _row(held, default, month)
        if stated := _own_factor(own, place):
            rows[*place, "user"] = _row(held, stated, month)
    return rows


def _row(held: Held | None, factor: Factor | None, month: date) -> dict[str, object]:
    row: dict[str, object] = {"facility_energy_kwh": to_decimal(held and held.units("facility", "mid"), KWH)}
    for level, ending in _ENDINGS.items():
        row[f"modelled_location_based_kgco2e{ending}"] = to_decimal(_kilograms(held, factor, level), MASS)
    row["factor_id"] = factor and factor.factor_id
    row["factor_age_years"] = factor and factor.data_year and month.year - factor.data_year
    return row


def _accelerated(parts: Iterable[Part]) -> dict[tuple, dict[str, int]]:
    """Bill cell -> runs that used accelerators in it, each with the weight of its accelerators there."""
    cells: dict[tuple, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for part in parts:
        if part.run != RESIDUAL and part.component == "accelerator" and part.line.is_usage:
            cells[bill_cell(part.line)][part.run] += part.weight
    return cells


def _shares(found: dict[RunPlace, Held], cells: dict[tuple, dict[str, int]], own: OwnFigures) -> dict[tuple, int | None]:
    """(run, *bill cell) -> kilograms, by an own factor first; unknown where several cells have nothing to divide by."""
    places: dict[tuple, list[tuple]] = defaultdict(list)
    for cell, runs in cells.items():
        provider, *_, region, month = cell
        for run in runs:
            places[run, month, region, provider].append(cell)
    shares: dict[tuple, int | None] = {}
    for (run, month, region, provider), of_run in places.items():
        held = found.get((run, month, region))
        factor = _own_factor(own, (run, month, region)) or factor_of(provider, region, month.year)
        mass = None if held is None or held.provider != provider else _kilograms(held, factor, "mid")
        weighed = [(cell, 1 if len(of_run) == 1 else max(cells[cell][run], 0)) for cell in of_run]
        is_known = mass is not None and any(weight for _, weight in weighed)
        divided = split(mass, weighed) if is_known else dict.fromkeys(of_run)
        shares.update({(run, *cell): divided[cell] for cell in of_run})
    return shares


def reconciliation_rows(
    found: dict[RunPlace, Held], emissions: Emissions, cells: CarbonCells, parts: list[Part], own: OwnFigures
) -> dict[tuple, dict]:
    """Method modelled_vs_provider: the cells of the book in which runs used accelerators."""
    accelerated, place = _accelerated(parts), MASSES.index(MEASURE)
    shares = _shares(found, accelerated, own)
    rows = {}
    for cell, masses in cells.masses.items():
        runs = accelerated.get(cell[1:7])
        if not runs or is_global(cell[5], cell[1]) or not cells.is_elected(cell):
            continue
        given = [emissions.runs.get((run, *cell), (0,) * len(MASSES))[place] for run in runs]
        shown = None if masses[place] is None or None in given else sum(given)
        modelled = [shares[run, *cell[1:7]] for run in runs]
        model = None if None in modelled else sum(modelled)
        source_name, *rest = cell[:7]
        row: dict[str, Decimal | None] = {
            "provider_total": to_decimal(masses[place], MASS),
            "runs_total": to_decimal(shown, MASS),
            "residual_total": None,
            "quarantined_total": None,
            "difference": to_decimal(None if shown is None or model is None else shown - model, MASS),
            "modelled_total": to_decimal(model, MASS),
        }
        rows[(*rest, MEASURE, "kgCO2e", cell[7], "modelled_vs_provider", source_name)] = row
    return rows
