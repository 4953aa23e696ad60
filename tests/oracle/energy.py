"""Energy of runs by month and region: watts of chips, host, network and building over the time held, with low and high bounds."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from .holdings import Hold
from .months import month_of
from .numerals import to_decimal
from .observed import Seen
from .places import Places
from .records import Runs
from .seeds import CONFIDENCES, LEVELS, network_share, power_of, pue_of

KWH = 9
BOUNDARIES = ("chip", "chip_host", "it", "facility")
OF_KNOWN_TIME = ("energy_basis", "power_confidence", "telemetry_coverage_ratio", "reserved_chip_hours", "busy_chip_hours")
_HOUR_UW = Fraction(3_600_000_000)  # microseconds of an hour
_KWH_WUS = 1_000 * _HOUR_UW  # watt-microseconds of a kilowatt-hour
_BASES = ("measured", "driver_power", "utilisation_model", "time_model")


def half_up(amount: Fraction) -> int:
    """Whole units of 1e-9."""
    return math.floor(amount * 10**KWH + Fraction(1, 2))


@dataclass
class Held:
    """A run's month in a region. Energies in watt-microseconds by boundary and level, times in chip-microseconds."""

    provider: str
    reserved: Fraction = Fraction(0)
    observed: Fraction = Fraction(0)
    busy: Fraction = Fraction(0)
    energy: dict[tuple[str, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    seen_facility: Fraction = Fraction(0)  # mid, of observed time
    confidence: int = 0  # place in CONFIDENCES
    is_known: bool = True

    def add(self, hold: Hold, seen: Seen, pue: Fraction | None) -> None:
        self.reserved += hold.chip_time
        self.observed += seen.observed
        self.busy += seen.busy
        power = power_of(hold.accelerator_type)
        if power is None or pue is None or not hold.is_known:
            self.is_known = False
            self.confidence = len(CONFIDENCES) - 1
            return
        self.confidence = max(self.confidence, CONFIDENCES.index(power.confidence))
        unseen = hold.chip_time - seen.observed
        for level in LEVELS:
            share = 1 + network_share(self.provider, level)
            host = power.host[level] * hold.chip_time
            chip = power.observed(level, seen.busy, seen.observed)
            if level == "mid":  # the bounds do not trust what is filled
                chip += power.unseen(level, unseen - seen.filled) + power.observed(level, seen.filled_busy, seen.filled)
            else:
                chip += power.unseen(level, unseen)
            steps = (chip, chip + host, (chip + host) * share, (chip + host) * share * pue)
            for boundary, amount in zip(BOUNDARIES, steps, strict=True):
                self.energy[boundary, level] += amount
            if level == "mid":
                lit = power.observed(level, seen.busy, seen.observed) + power.host[level] * seen.observed
                self.seen_facility += lit * share * pue

    def units(self, boundary: str, level: str) -> int | None:
        return half_up(self.energy[boundary, level] / _KWH_WUS) if self.is_known else None


RunPlace = tuple[str, date, str]  # run, month, region


def hold_energy(seen: dict[Hold, Seen], runs: Runs, places: Places) -> dict[RunPlace, Held]:
    found: dict[RunPlace, Held] = {}
    for hold, what in seen.items():
        if hold.run in runs.ambiguous:
            continue
        provider, region = places.provider_of(hold.run), places.region_of(hold)
        held = found.setdefault((hold.run, hold.month, region), Held(provider))
        held.add(hold, what, pue_of(provider, region, hold.month.year))
    for run, month, region in found:
        if (run, month) in unknown_months(runs):
            found[run, month, region].is_known = False
    return found


def unknown_months(runs: Runs) -> set[tuple[str, date]]:
    """In which a run held something and nobody knows until when: half a total is not a total."""
    return {(window.run, month_of(window.start)) for window in runs.unknown}


def _summed(amounts: Iterable[int | None]) -> int | None:
    amounts = list(amounts)
    return None if not amounts or None in amounts else sum(amounts)


def _coverage(observed: Fraction, reserved: Fraction) -> float:
    """Nine decimals, half up, but 1 is said only of time observed throughout."""
    if not reserved:
        return 0.0
    return 1.0 if observed == reserved else float(to_decimal(min(half_up(observed / reserved), 10**9 - 1), 9))


def run_rows(found: dict[RunPlace, Held], run_months: set[tuple[str, date]], unknown: set[tuple[str, date]]) -> dict[tuple, dict]:
    """fct_training_run_energy: sums of the regions' rounded figures; a month without chips held on record stands empty."""
    rows = {}
    for run, month in run_months:
        places = [held for key, held in found.items() if key[:2] == (run, month)]
        reserved, observed = (sum((getattr(held, name) for held in places), Fraction(0)) for name in ("reserved", "observed"))
        row: dict[str, object] = {}
        for boundary in BOUNDARIES:
            for level, ending in (("mid", ""), ("low", "_low"), ("high", "_high")):
                row[f"{boundary}_energy_kwh{ending}"] = to_decimal(_summed(held.units(boundary, level) for held in places), KWH)
        lit = _summed(half_up(held.seen_facility / _KWH_WUS) if held.is_known else None for held in places)
        facility = _summed(held.units("facility", "mid") for held in places)
        dark = None if facility is None or lit is None else facility - lit
        for basis, amount in zip(_BASES, (0, 0, lit, dark), strict=True):
            row[f"energy_kwh_{basis}"] = to_decimal(amount if facility is not None else None, KWH)
        row["energy_basis"] = "utilisation_model" if facility is not None and observed == reserved else "time_model"
        confidence = max((held.confidence for held in places), default=len(CONFIDENCES) - 1)
        row["power_confidence"] = CONFIDENCES[confidence]
        row["telemetry_coverage_ratio"] = _coverage(observed, reserved)
        row["reserved_chip_hours"] = to_decimal(half_up(reserved / _HOUR_UW), 9)
        busy = sum((held.busy for held in places), Fraction(0))
        row["busy_chip_hours"] = to_decimal(half_up(busy / _HOUR_UW) if observed else None, 9)
        if (run, month) in unknown:
            row |= dict.fromkeys(OF_KNOWN_TIME)
        rows[run, month] = row
    return rows
