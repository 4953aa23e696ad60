"""What would make a run's figures better known: a line for each weakness that the published tables show of it, and what to do.

The words are in words.yml, by the values of the published columns. Nothing is measured here.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from reports.page.numbers import amount, share

WORDS: dict[str, Any] = yaml.load(
    Path(__file__).with_name("words.yml").read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)
UNKNOWN_FIGURES: dict[str, str] = WORDS["unknown_figures"]
_ADVICE: Mapping[str, str] = WORDS["advice"]
WEAK_POWER = ("assumed", "third_party")


def advice_for(account: Mapping[str, Any], by_time: Decimal | None) -> list[str]:
    """One line a weakness, what is unknown first; none for a run of which everything is known as well as it can be.

    `by_time`: the energy that rests on time alone.
    """
    unknown = [one for one in (account["unknown_because"] or "").split("; ") if one]
    lines = [f"{one}. {UNKNOWN_FIGURES.get(one) or ''}".rstrip() for one in unknown]
    return [*lines, *_of_energy(account, by_time), *_of_cost(account)]


def _of_energy(account: Mapping[str, Any], by_time: Decimal | None) -> Iterator[str]:
    energies = [row for row in account["energy"] if row["facility_energy_kwh"] is not None]
    if by_time:
        yield _ADVICE["by_time"].format(energy=amount(by_time, "kWh"))
    for confidence in dict.fromkeys(row["power_confidence"] for row in energies):
        if confidence in WEAK_POWER:
            yield _ADVICE[confidence].format(type=account["accelerator_type"] or "its machines")
    covered = account["telemetry_coverage_ratio"]
    if covered is not None and 0 < covered < 1:
        yield _ADVICE["coverage"].format(share=share(Decimal(repr(covered))))


def _of_cost(account: Mapping[str, Any]) -> Iterator[str]:
    for rule in dict.fromkeys(row["attribution_rule"] for row in account["costs"]):
        if rule in _ADVICE:
            yield _ADVICE[rule]
    if account["conflicts"]:
        yield _ADVICE["conflicts"].format(count=len(account["conflicts"]))
