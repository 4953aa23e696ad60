"""Published figures from the seed files: watts of chips and hosts, network share, PUE, grid zones and emission factors.

The figures are read, the rules which of them counts are written down here a second time.
"""

import csv
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

_SEEDS = Path(__file__).resolve().parents[2] / "dbt" / "seeds"
MEAN_OF_SPAN = Fraction(784, 1000)  # where the measured mean of TPU v4 lies between idle and full power
OLDEST = 4  # years between a figure's data and its use
FACTOR_SET = "location_direct_v1"
LEVELS = ("low", "mid", "high")
CONFIDENCES = ("measured", "calibrated", "published", "third_party", "user", "assumed")  # from the strongest to the weakest


@cache
def _rows(name: str) -> list[dict[str, str]]:
    with (_SEEDS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def region_by_carbon_name() -> dict[str, str]:
    """The code of each region that AWS's console writes by name."""
    named = ((row["carbon_region_name"], row["region_id"]) for row in _rows("regions") if row["provider_name"] == "AWS")
    return {name: region for name, region in named if name}


def seed_rows(name: str) -> list[dict[str, str]]:
    """The rows of a seed, for rules that are written down elsewhere."""
    return _rows(name)


@cache
def provider_of_machine(accelerator_type: str, region: str) -> str | None:
    """Whose a machine is: by its type, else by its region."""
    by_type = {row["accelerator_type"]: row["provider_name"] for row in _rows("accelerator_types")}
    by_region = {row["region_id"]: row["provider_name"] for row in _rows("regions")}
    return by_type.get(accelerator_type) or by_region.get(region)


@dataclass(frozen=True)
class Power:
    """Watts of one chip and of its part of a host, by level; of a type outside the catalogue the host is not known."""

    idle: dict[str, Fraction]
    full: dict[str, Fraction]
    mean: Fraction
    host: dict[str, Fraction] | None
    confidence: str

    def observed(self, level: str, busy: Fraction, time: Fraction) -> Fraction:
        """Watt-microseconds of time that was seen, `busy` of it at full use."""
        return self.idle[level] * time + (self.full[level] - self.idle[level]) * busy

    def unseen(self, level: str, time: Fraction) -> Fraction:
        return {"low": self.idle["low"], "mid": self.mean, "high": self.full["high"]}[level] * time


@dataclass(frozen=True)
class Calibrated:
    """Watts of a chip by what was metered on chips of its type and software; without an idle window idle is not known, without
    one that was not busy no mean."""

    idle: dict[str, Fraction] | None
    full: dict[str, Fraction]
    mean: Fraction | None
    confidence: str


def unmetered_share(meter: str | None) -> Fraction | None:
    """What a meter does not see; both of XProf's see the same."""
    rows = (row for row in _rows("unmetered_rails") if meter and row["meter"].startswith(meter))
    return next((Fraction(row["unmetered_share"]) for row in rows), None)


def calibration_term(name: str) -> Fraction:
    [row] = [row for row in _rows("calibration_terms") if row["term"] == name]
    return Fraction(row["value"])


def t_two_sided(degrees_of_freedom: int) -> Fraction:
    [row] = [row for row in _rows("t_two_sided") if int(row["degrees_of_freedom"]) == degrees_of_freedom]
    return Fraction(row["t_975"])


def meter_error(kind: str, meter: str) -> tuple[Fraction, Fraction]:
    """By how much less and more than the reading it may be; both of XProf's meters are alike."""
    row = next(row for row in _rows("meters") if row["source_kind"] == kind and row["meter"].startswith(meter))
    return Fraction(row["error_low_share"]), Fraction(row["error_high_share"])


def sampling_error(spacing: Fraction) -> tuple[Fraction, Fraction]:
    """The same of the mean over a spacing in seconds, of which one moment was read."""
    row = max((row for row in _rows("sampling_errors") if spacing > int(row["over_s"])), key=lambda row: int(row["over_s"]))
    return Fraction(row["error_low_share"]), Fraction(row["error_high_share"])


def power_of(
    name: str, own_idle: Fraction | None = None, own_full: Fraction | None = None, metered: Calibrated | None = None
) -> Power | None:
    """None for a type nobody has given watts for. An own figure has no bounds, and idle power is never above full power.

    What was metered lies between an own figure and the catalogue.
    """
    power = _power_of(name, own_idle, own_full)
    if metered is None or power is None:
        return power
    full = power.full if own_full is not None else metered.full
    stated = _power_of(name, own_idle).idle if own_idle is not None or metered.idle is None else metered.idle
    idle = {level: min(stated[level], full[level]) for level in LEVELS}
    if own_idle is None and own_full is None and metered.mean is not None:
        mean = min(max(metered.mean, idle["mid"]), full["mid"])
    else:
        mean = idle["mid"] + MEAN_OF_SPAN * (full["mid"] - idle["mid"])
    return Power(idle, full, mean, power.host, metered.confidence if own_full is None else "user")


@cache
def _power_of(name: str, own_idle: Fraction | None = None, own_full: Fraction | None = None) -> Power | None:
    chip = next((row for row in _rows("accelerator_power") if row["accelerator_type"] == name), None)
    node = next((row for row in _rows("host_power") if row["accelerator_type"] == name), None)
    if chip is None and (own_idle is None or own_full is None):
        return None
    full = {level: Fraction(chip[f"chip_power_max_w_{level}"]) if own_full is None else own_full for level in LEVELS}
    idle = {level: Fraction(chip[f"chip_power_idle_w_{level}"]) if own_idle is None else own_idle for level in LEVELS}
    idle = {level: min(idle[level], full[level]) for level in LEVELS}
    is_own = own_idle is not None or own_full is not None
    return Power(
        idle,
        full,
        idle["mid"] + MEAN_OF_SPAN * (full["mid"] - idle["mid"]) if is_own else Fraction(chip["chip_power_mean_w"]),
        node and {level: Fraction(node[f"host_power_w_{level}"]) / int(node["chips_per_node"]) for level in LEVELS},
        chip["power_confidence"] if own_full is None else "user",
    )


@cache
def network_share(provider: str, level: str) -> Fraction:
    [row] = [row for row in _rows("it_overhead") if row["provider_name"] == provider]
    return Fraction(row[f"network_storage_share_{level}"])


@cache
def pue_of(provider: str, region: str, year: int) -> Fraction | None:
    """The latest of the region, else of the fleet; where all are too old, the latest all the same."""
    for oldest, place in product((OLDEST, year), (region, "*")):
        known = [
            (int(row["data_year"]), Fraction(row["pue_ratio"]))
            for row in _rows("pue")
            if (row["provider_name"], row["region_id"]) == (provider, place) and 0 <= year - int(row["data_year"]) <= oldest
        ]
        if known:
            return max(known)[1]
    return None


@cache
def wue_of(provider: str, region: str, year: int) -> dict[str, Fraction] | None:
    """Litres per kWh, chosen as a PUE is; what is no measurement of the region lies anywhere between those of all regions."""
    rows = [row for row in _rows("wue") if row["provider_name"] == provider]
    for oldest, place in product((OLDEST, year), (region, "*")):
        known = [row for row in rows if row["region_id"] == place and 0 <= year - int(row["data_year"]) <= oldest]
        if known:
            found = max(known, key=lambda row: int(row["data_year"]))
            own, measured = Fraction(found["wue_l_per_kwh"]), [row for row in rows if row["basis"] == "measured_region"]
            if found["basis"] == "measured_region":
                return dict.fromkeys(LEVELS, own)
            litres = [Fraction(row["wue_l_per_kwh"]) for row in measured]
            return {"low": min(litres), "mid": own, "high": max(litres)}
    return None


@dataclass(frozen=True)
class Factor:
    factor_id: str
    value: Fraction
    data_year: int | None


@cache
def factor_of(provider: str, region: str, year: int) -> Factor | None:
    """The latest data year, known by the end of the year of use; of two editions the later."""
    zones = [row["grid_zone"] for row in _rows("regions") if (row["provider_name"], row["region_id"]) == (provider, region)]
    known = [
        (int(row["data_year"]), date.fromisoformat(row["known_from"]), row)
        for row in _rows("emission_factors")
        if row["factor_set_id"] == FACTOR_SET and row["grid_zone"] in zones and row["grid_zone"]
        and int(row["data_year"]) <= year and date.fromisoformat(row["known_from"]) <= date(year, 12, 31)
    ]  # fmt: skip
    if not known:
        return None
    data_year, _, row = max(known, key=lambda entry: entry[:2])
    return Factor(row["factor_id"], Fraction(row["value"]), data_year)
