"""What a model's sheet states: all that was spent on the model, of every run and attempt (EU AI Act, Annex XI, 1 (2)(d) and (e)).

A sheet is of a model's whole life as far as it has been published, not of a quarter. Its figures are rows, and the text on
method is made of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from reports import pages
from reports.door import Row
from reports.publication import Publication
from reports.quarter import listed

FILED = "facility"  # no rule names a boundary: all four are shown, and this one is filed
BOUNDARIES = {
    "chip": "Chips",
    "chip_host": "Chips and hosts",
    "it": "IT: chips, hosts, network, storage",
    "facility": "Facility: IT times PUE",
}
ESTIMATED = (
    "Estimated: chips by telemetry where there is any, else by the hours they were held; plus their share of hosts, network "
    "and storage, times the provider's PUE."
)

PAGES = {"energy": "model_energy", "runs": "model_runs", "hardware": "model_hardware", "basis": "model_basis"}


@dataclass(frozen=True)
class Sheet:
    """One model: its energy by boundary, the filed row among it, its runs by outcome, its hardware, and on what all rests."""

    model: str
    build: Row
    energy: Sequence[Row]
    attempts: Sequence[Row]
    hardware: Sequence[Row]
    basis: Row

    @property
    def filed(self) -> Row:
        return next(row for row in self.energy if row["boundary"] == FILED)

    @property
    def span(self) -> tuple[str, str]:
        """The days of the first start and the last end, as far as they are known."""
        return str(self.basis["first_day"] or "an unknown day"), str(self.basis["last_day"] or "a day not yet known")

    @property
    def method(self) -> str:
        """About 100 words, as the Code of Practice asks for, made of the rows."""
        filed, (first, last) = self.filed, self.span
        types = listed(list(dict.fromkeys(row["accelerator_type"] or "unknown accelerators" for row in self.hardware)))
        basis = "Measured." if self.basis["is_measured"] else ESTIMATED
        coverage, confidence = _percent(filed["telemetry_coverage_ratio"]), filed["power_confidence"].replace("_", " ")
        confidence += f" ({windows})" if (windows := self.basis["calibrated_from"]) else ""
        return (
            f"Electricity of {_many(filed['run_count'], 'run')} with {_many(filed['attempt_count'], 'attempt')} from {first} to "
            f"{last} on {types}; failed, interrupted and intermediate ones are included. {basis} Telemetry covers {coverage} % "
            f"of the chip-hours; the weakest source of chip power is {confidence}. Filed is the {FILED}; no rule names a "
            "boundary, so three narrower ones stand beside it. Low and high are plausible bounds of all runs together and no "
            "confidence interval. Machines kept ready, data preparation outside recorded runs, and inference are not included."
        )


def queries(publication: Publication) -> dict[str, str]:
    """What the parts of a sheet are asked by; nothing of a publication without pages."""
    return {name: pages.query(publication, page, {}) for name, page in PAGES.items() if page in publication.pages}


def sheets(publication: Publication, asked: Mapping[str, str]) -> list[Sheet]:
    """A sheet per model of the publication, by name."""
    (build,) = pages.rows(publication, "build_of_sheets", {})
    found = {name: _by_model(publication.rows(sql)) for name, sql in asked.items()}
    return [
        Sheet(model, build, energy, found["runs"].get(model, []), found["hardware"].get(model, []), found["basis"][model][0])
        for model, energy in found["energy"].items()
    ]


def _by_model(rows: list[Row]) -> dict[str, list[Row]]:
    return {model: list(of_model) for model, of_model in groupby(rows, itemgetter("model_name"))}


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _percent(ratio: float) -> str:
    """Never rounded up to all, nor down to none."""
    return "100" if ratio == 1 else "0" if ratio == 0 else str(min(99, max(1, round(ratio * 100))))
