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
from .own_figures import OwnFigures
from .places import Places
from .records import Runs
from .seeds import CONFIDENCES, LEVELS, Power, network_share, power_of, pue_of
from .splitting import split

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
    pue: Fraction | None
    reserved: Fraction = Fraction(0)
    observed: Fraction = Fraction(0)
    busy: Fraction = Fraction(0)
    energy: dict[tuple[str, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    seen_facility: Fraction = Fraction(0)  # mid, of observed time
    confidence: int = 0  # place in CONFIDENCES
    known: int = len(BOUNDARIES)  # how many of the boundaries, from the chip outwards
    reading: tuple[str, int] | None = None  # boundary of the organisation's meter, 1e-9 kWh

    def add(self, hold: Hold, seen: Seen, power: Power | None) -> None:
        self.reserved += hold.chip_time
        self.observed += seen.observed
        self.busy += seen.busy
        if power is None or not hold.is_known:
            self.known = 0
            self.confidence = len(CONFIDENCES) - 1
            return
        if power.host is None:
            self.known = min(self.known, 1)
        elif self.pue is None:
            self.known = min(self.known, 3)
        self.confidence = max(self.confidence, CONFIDENCES.index(power.confidence))
        unseen, hosts, pue = hold.chip_time - seen.observed, power.host or dict.fromkeys(LEVELS, 0), self.pue or 0
        for level in LEVELS:
            share = 1 + network_share(self.provider, level)
            host = hosts[level] * hold.chip_time
            chip = power.observed(level, seen.busy, seen.observed)
            if level == "mid":  # the bounds do not trust what is filled
                chip += power.unseen(level, unseen - seen.filled) + power.observed(level, seen.filled_busy, seen.filled)
            else:
                chip += power.unseen(level, unseen)
            steps = (chip, chip + host, (chip + host) * share, (chip + host) * share * pue)
            for boundary, amount in zip(BOUNDARIES, steps, strict=True):
                self.energy[boundary, level] += amount
            if level == "mid":
                lit = power.observed(level, seen.busy, seen.observed) + hosts[level] * seen.observed
                self.seen_facility += lit * share * pue

    def units(self, boundary: str, level: str) -> int | None:
        place = BOUNDARIES.index(boundary)
        if self.reading is not None:
            return self._outside_the_meter(place, level)
        return half_up(self.energy[boundary, level] / _KWH_WUS) if place < self.known else None

    def _outside_the_meter(self, place: int, level: str) -> int | None:
        """What lies inside is not known; each wider figure is made of the published one inside it, and rounded itself."""
        basis, amount = self.reading
        metered_at = BOUNDARIES.index(basis)
        if place < metered_at or (metered_at < 1 <= place and self.known < 2) or (metered_at < 3 <= place and self.pue is None):
            return None
        for step in range(metered_at + 1, place + 1):
            if step == 1:
                chip, both = (half_up(self.energy[boundary, level] / _KWH_WUS) for boundary in BOUNDARIES[:2])
                amount += both - chip
            else:
                factor = 1 + network_share(self.provider, level) if step == 2 else self.pue
                amount = half_up(Fraction(amount, 10**KWH) * factor)
        return amount

    @property
    def basis(self) -> str:
        if self.reading is not None:
            return "measured"
        return "utilisation_model" if self.known and self.observed == self.reserved else "time_model"


RunPlace = tuple[str, date, str]  # run, month, region


def hold_energy(seen: dict[Hold, Seen], runs: Runs, places: Places, own: OwnFigures) -> dict[RunPlace, Held]:
    """What the organisation's own figures say stands before the catalogue, and what it measured before the model."""
    found: dict[RunPlace, Held] = {}
    for hold, what in seen.items():
        if hold.run in runs.ambiguous:
            continue
        place = hold.run, hold.month, places.region_of(hold)
        held = found.setdefault(place, _nothing_held(place, places, own))
        name = (hold.accelerator_type or "").removeprefix("ml.")
        idle, full = (own.value_of(kind, hold.month, hold.run, place[2], name) for kind in ("idle_power", "max_power"))
        held.add(hold, what, power_of(name, idle, full))
    for run, month, region in found:
        if (run, month) in unknown_months(runs):
            found[run, month, region].known = 0
    _measure(found, places, own)
    return found


def _nothing_held(place: RunPlace, places: Places, own: OwnFigures) -> Held:
    run, month, region = place
    provider = places.provider_of(run)
    stated = own.value_of("pue", month, run, region)
    return Held(provider, pue_of(provider, region, month.year) if stated is None else stated)


def _measure(found: dict[RunPlace, Held], places: Places, own: OwnFigures) -> None:
    """A reading of a whole run is its regions' by the chip time held in them."""
    for (run, month), readings in own.readings().items():
        held = {region: place.reserved for (name, at, region), place in found.items() if (name, at) == (run, month)}
        for reading in readings:
            shares = {reading.region: Fraction(1)} if reading.region is not None else held or {"": Fraction(1)}
            is_timed = any(shares.values())
            weights = [(region, math.ceil(time * 10**6) if is_timed else 1) for region, time in shares.items()]
            for region, part in split(half_up(reading.value), weights).items():
                place = run, month, region
                if place not in found:
                    found[place] = _nothing_held(place, places, own)
                    found[place].known = 0
                found[place].reading = reading.basis, part
                found[place].confidence = CONFIDENCES.index("user")


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
        lit = sum(half_up(held.seen_facility / _KWH_WUS) for held in places if held.reading is None)
        facility = _summed(held.units("facility", "mid") for held in places)
        metered = sum(held.units("facility", "mid") or 0 for held in places if held.reading is not None)
        for basis, amount in zip(_BASES, (metered, 0, lit, (facility or 0) - metered - lit), strict=True):
            row[f"energy_kwh_{basis}"] = to_decimal(amount if facility is not None else None, KWH)
        row["energy_basis"] = max((held.basis for held in places), key=_BASES.index, default="time_model")
        confidence = max((held.confidence for held in places), default=len(CONFIDENCES) - 1)
        row["power_confidence"] = CONFIDENCES[confidence]
        row["telemetry_coverage_ratio"] = _coverage(observed, reserved)
        row["reserved_chip_hours"] = to_decimal(half_up(reserved / _HOUR_UW), 9)
        busy = sum((held.busy for held in places), Fraction(0))
        row["busy_chip_hours"] = to_decimal(half_up(busy / _HOUR_UW) if observed else None, 9)
        if (run, month) in unknown:
            is_measured = bool(places) and all(held.reading is not None for held in places)
            row |= dict.fromkeys(OF_KNOWN_TIME[2:] if is_measured else OF_KNOWN_TIME)
        rows[run, month] = row
    return rows
