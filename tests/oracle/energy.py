"""Energy of runs by month and region: watts of chips, host, network and building over the time held, with low and high bounds."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from .doubts import band_of, beyond_nodes
from .holdings import Hold
from .months import month_of
from .numerals import to_decimal
from .observed import Seen
from .own_figures import Figure, OwnFigures
from .places import Places
from .records import Runs
from .seeds import CONFIDENCES, LEVELS, Calibrated, Power, meter_error, network_share, power_of, provider_of_machine, pue_of
from .splitting import split

KWH = 9
BOUNDARIES = ("chip", "chip_host", "it", "facility")
_COVERAGES = {"telemetry_coverage_ratio": "observed", "power_coverage_ratio": "powered", "use_coverage_ratio": "watched"}
OF_KNOWN_TIME = ("energy_basis", "power_confidence", *_COVERAGES, "reserved_chip_hours", "busy_chip_hours")
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
    parts: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * 3)  # mid at the facility: measured, driver, use
    metered: Fraction = Fraction(0)  # time of which watts are known
    powered: Fraction = Fraction(0)  # and that of which a driver's share is
    watched: Fraction = Fraction(0)  # of which the use was seen
    at_node: dict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))  # read at nodes, with their hosts
    chips_of_nodes: dict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))  # what their chips would draw
    weakest: int = 0  # place in CONFIDENCES, of the watts of chips
    known: int = len(BOUNDARIES)  # how many of the boundaries, from the chip outwards
    reading: tuple[str, int] | None = None  # boundary of the organisation's meter, 1e-9 kWh

    def add(self, hold: Hold, seen: Seen, power: Power | None, at_node: dict[str, Fraction] | None = None) -> None:
        """`at_node`: what was read of the node, as far as it is the run's; where it was read, all of the time is known."""
        self.reserved += hold.chip_time
        self.observed += seen.observed if at_node is None else hold.chip_time
        self.metered += seen.metered if at_node is None else hold.chip_time
        self.powered += seen.metered + seen.driven if at_node is None else hold.chip_time
        self.watched += seen.watched
        self.busy += seen.busy
        if power is None or not hold.is_known:
            self.known = 0
            self.weakest = len(CONFIDENCES) - 1
            return
        if power.host is None:
            self.known = min(self.known, 1)
        elif self.pue is None:
            self.known = min(self.known, 3)
        self.weakest = max(self.weakest, CONFIDENCES.index(power.confidence))
        hosts = power.host or dict.fromkeys(LEVELS, Fraction(0))
        for level in LEVELS:
            chips = _chips(hold, seen, power, level)
            if at_node is None:
                self.energy["chip", level] += sum(chips)
                self._add_outside("chip_host", level, sum(chips) + hosts[level] * hold.chip_time)
            else:
                self.chips_of_nodes[level] += sum(chips)
                self._add_outside("chip_host", level, at_node[level])
                self.at_node[level] += at_node[level]
            if level == "mid":
                lit = seen.observed - seen.metered - seen.driven
                with_host = [
                    chip + hosts[level] * time for chip, time in zip(chips, (seen.metered, seen.driven, lit), strict=False)
                ]
                now = with_host if at_node is None else [at_node[level], Fraction(0), Fraction(0)]
                factor = (1 + network_share(self.provider, level)) * (self.pue or 0)
                self.parts = [before + part * factor for before, part in zip(self.parts, now, strict=True)]

    def _add_outside(self, first: str, level: str, amount: Fraction) -> None:
        for boundary, factor in zip(BOUNDARIES[1:], (1, 1 + network_share(self.provider, level), self.pue or 0), strict=True):
            amount *= factor
            self.energy[boundary, level] += amount

    def units(self, boundary: str, level: str) -> int | None:
        place = BOUNDARIES.index(boundary)
        if self.reading is not None:
            return self._outside_the_meter(place, level)
        # the chips of a node draw no more than the node
        within = min(self.chips_of_nodes[level], self.at_node[level]) if boundary == "chip" else 0
        return half_up((self.energy[boundary, level] + within) / _KWH_WUS) if place < self.known else None

    def by_basis(self) -> list[int]:
        """Of measured watts, a driver's share and use: each the rounded sum up to it less the one before."""
        if self.reading is not None:
            return [self.units("facility", "mid") or 0, 0, 0]
        sums = [half_up(sum(self.parts[: place + 1], Fraction(0)) / _KWH_WUS) for place in range(3)]
        return [sums[0], sums[1] - sums[0], sums[2] - sums[1]]

    @property
    def confidence(self) -> int:
        if self.reading is not None:
            return CONFIDENCES.index("user")
        return 0 if self.metered == self.reserved > 0 else self.weakest

    def _outside_the_meter(self, place: int, level: str) -> int | None:
        """What lies inside is not known; each wider figure is made of the published one inside it, and rounded itself."""
        basis, amount = self.reading
        less, more = meter_error("user_inputs", "measured_energy")
        amount = half_up(Fraction(amount, 10**KWH) * {"low": 1 - less, "mid": 1, "high": 1 + more}[level])
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
        if not self.known or self.observed != self.reserved:
            return "time_model"
        if self.metered == self.reserved > 0:
            return "measured"
        return "driver_power" if self.powered == self.reserved > 0 else "utilisation_model"


def _chips(hold: Hold, seen: Seen, power: Power, level: str) -> list[Fraction]:
    """What the chips drew while watts are known, while a driver's share is, while their use is, and while nobody looked."""
    lit = power.observed(level, seen.busy - seen.powered_busy, seen.observed - seen.metered - seen.driven)
    unseen = hold.chip_time - seen.observed
    if level == "mid":  # the bounds do not trust what is filled
        dark = power.unseen(level, unseen - seen.filled) + power.observed(level, seen.filled_busy, seen.filled)
    else:
        dark = power.unseen(level, unseen)
    joules, driven = seen.read(level)
    return [joules, power.observed(level, driven, seen.driven), lit, dark]


RunPlace = tuple[str, date, str]  # run, month, region


def hold_energy(
    seen: dict[Hold, Seen],
    runs: Runs,
    places: Places,
    own: OwnFigures,
    nodes: dict[Hold, dict[str, Fraction]] | None = None,
    calibrated: dict[tuple[date, str, str], Calibrated] | None = None,
) -> dict[RunPlace, Held]:
    """What the organisation's own figures say comes before the catalogue, and what it measured before the model."""
    found: dict[RunPlace, Held] = {}
    for hold, what in seen.items():
        if hold.run in runs.ambiguous:
            continue
        place = hold.run, hold.month, places.region_of(hold)
        name = (hold.accelerator_type or "").removeprefix("ml.")
        provider = provider_of_machine(name, place[2]) or runs.provider_of.get(hold.run) or "AWS"
        held = found.setdefault(place, _nothing_held(place, provider, own))
        idle, full = (own.value_of(kind, hold.month, hold.run, place[2], name) for kind in ("idle_power", "max_power"))
        metered = (calibrated or {}).get((hold.month, name, runs.software.get(hold.run, "")))
        held.add(hold, what, power_of(name, idle, full, metered), (nodes or {}).get(hold))
    for run, month, region in found:
        if (run, month) in unknown_months(runs):
            found[run, month, region].known = 0
    _measure(found, places, own, lambda figure: _is_drawable(figure, seen, runs, places))
    return found


def _is_drawable(figure: Figure, seen: Iterable[Hold], runs: Runs, places: Places) -> bool:
    """Whether the chips that its run holds can draw the energy; true where their time or number is not known."""
    holds = [
        hold
        for hold in seen
        if (hold.run, hold.month) == (figure.run, figure.valid_from) and hold.run not in runs.ambiguous
        and figure.region in (None, places.region_of(hold))
    ]  # fmt: skip
    if (figure.run, figure.valid_from) in unknown_months(runs) or not all(hold.is_known for hold in holds):
        return True
    least = most = Fraction(0)
    for hold in holds:
        band = band_of((hold.accelerator_type or "").removeprefix("ml."))
        ends = band.chip if figure.basis == "chip" else band.per_chip
        least += ends[0] * hold.chip_time
        most += ends[1] * hold.chip_time * (beyond_nodes() if figure.basis in ("it", "facility") else 1)
    return not sum(hold.chip_time for hold in holds) or least <= figure.value * _KWH_WUS <= most


def _nothing_held(place: RunPlace, provider: str, own: OwnFigures) -> Held:
    run, month, region = place
    stated = own.value_of("pue", month, run, region)
    return Held(provider, pue_of(provider, region, month.year) if stated is None else stated)


def _measure(found: dict[RunPlace, Held], places: Places, own: OwnFigures, is_drawable: Callable[[Figure], bool]) -> None:
    """A reading of a whole run is its regions' by the chip time held in them."""
    for (run, month), readings in own.readings(is_drawable).items():
        held = {region: place.reserved for (name, at, region), place in found.items() if (name, at) == (run, month)}
        for reading in readings:
            shares = {reading.region: Fraction(1)} if reading.region is not None else held or {"": Fraction(1)}
            is_timed = any(shares.values())
            weights = [(region, math.ceil(time * 10**6) if is_timed else 1) for region, time in shares.items()]
            for region, part in split(half_up(reading.value), weights).items():
                place = run, month, region
                if place not in found:
                    found[place] = _nothing_held(place, places.provider_of(run), own)
                    found[place].known = 0
                found[place].reading = reading.basis, part


def unknown_months(runs: Runs) -> set[tuple[str, date]]:
    """In which a run held something and it is unknown until when: half a total is not a total."""
    return {(window.run, month_of(window.start)) for window in runs.unknown}


def _summed(amounts: Iterable[int | None]) -> int | None:
    amounts = list(amounts)
    return None if not amounts or None in amounts else sum(amounts)


def _coverage(observed: Fraction, reserved: Fraction) -> float:
    """Nine decimals, half up, but 1 is reported only of time observed throughout."""
    if not reserved:
        return 0.0
    return 1.0 if observed == reserved else float(to_decimal(min(half_up(observed / reserved), 10**9 - 1), 9))


def _pue(places: list[Held], facility: int | None) -> float | None:
    """That of all places, else what the run-month's two figures give, at nine decimals."""
    ratios = {held.pue for held in places}
    if facility is None:
        return None
    if len(ratios) == 1:
        return float(min(ratios))
    inside = _summed(held.units("it", "mid") for held in places)
    return math.floor(float(to_decimal(facility, KWH)) / float(to_decimal(inside, KWH)) * 1e9 + 0.5) / 1e9 if inside else None


RunMonths = set[tuple[str, date]]


def run_rows(
    found: dict[RunPlace, Held], run_months: RunMonths, unknown: RunMonths, unknown_chips: RunMonths = frozenset()
) -> dict[tuple, dict]:
    """fct_training_run_energy: sums of the regions' rounded figures; a month without chips held is empty."""
    rows = {}
    for run, month in run_months:
        places = [held for key, held in found.items() if key[:2] == (run, month)]
        reserved, busy, *seen = (
            sum((getattr(held, name) for held in places), Fraction(0)) for name in ("reserved", "busy", *_COVERAGES.values())
        )
        row: dict[str, object] = {}
        for boundary in BOUNDARIES:
            for level, ending in (("mid", ""), ("low", "_low"), ("high", "_high")):
                row[f"{boundary}_energy_kwh{ending}"] = to_decimal(_summed(held.units(boundary, level) for held in places), KWH)
        facility = _summed(held.units("facility", "mid") for held in places)
        row["pue_ratio"] = _pue(places, facility)
        parts = [sum(held.by_basis()[number] for held in places) for number in range(3)]
        for basis, amount in zip(_BASES, (*parts, (facility or 0) - sum(parts)), strict=True):
            row[f"energy_kwh_{basis}"] = to_decimal(amount if facility is not None else None, KWH)
        row["energy_basis"] = max((held.basis for held in places), key=_BASES.index, default="time_model")
        confidence = max((held.confidence for held in places), default=len(CONFIDENCES) - 1)
        row["power_confidence"] = CONFIDENCES[confidence]
        row |= {name: _coverage(time, reserved) for name, time in zip(_COVERAGES, seen, strict=True)}
        row["reserved_chip_hours"] = to_decimal(half_up(reserved / _HOUR_UW), 9)
        if (run, month) in unknown_chips:
            row["reserved_chip_hours"] = None
        row["busy_chip_hours"] = to_decimal(half_up(busy / _HOUR_UW) if seen[-1] else None, 9)
        if (run, month) in unknown:
            is_measured = bool(places) and all(held.reading is not None for held in places)
            row |= dict.fromkeys(OF_KNOWN_TIME[2:] if is_measured else OF_KNOWN_TIME)
        rows[run, month] = row
    return rows
