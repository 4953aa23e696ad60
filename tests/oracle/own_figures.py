"""What an organisation states itself (user_inputs): which figure of a kind counts for a run, a region and a month.

The rules of docs/sources/user_inputs.md a second time. What a figure takes the place of is in energy.py, seeds.py and
modelled.py; whether a file is in order is the connector's affair.
"""

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

from .doubts import band_of
from .exports import modified_at
from .records import Runs, normalised

# of kWh, W, kgCO2e per kWh, or 1
_UNITS = {
    "Wh": Fraction(1, 1000), "kWh": Fraction(1), "MWh": Fraction(1000), "GWh": Fraction(10**6), "ratio": Fraction(1),
    "W": Fraction(1), "kW": Fraction(1000), "kgCO2e/kWh": Fraction(1), "tCO2e/MWh": Fraction(1),
    "gCO2e/kWh": Fraction(1, 1000), "kgCO2e/MWh": Fraction(1, 1000),
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """Run, region and type are None where the figure is of every one."""

    kind: str
    run: str | None
    region: str | None
    accelerator_type: str | None
    valid_from: date | None
    valid_to: date | None
    basis: str
    value: Fraction
    figure_id: str

    def is_of(self, month: date, run: str, region: str, accelerator_type: str | None) -> bool:
        begun = self.valid_from is None or self.valid_from <= month
        return (
            begun and (self.valid_to is None or month < self.valid_to) and self.accelerator_type == accelerator_type
            and self.run in (None, run) and self.region in (None, region)
        )  # fmt: skip

    @property
    def narrowness(self) -> tuple[bool, bool, date]:
        return self.run is not None, self.region is not None, self.valid_from or date.min


class OwnFigures:
    def __init__(self, figures: list[Figure]) -> None:
        self._figures = figures

    def of(self, kind: str, month: date, run: str, region: str, accelerator_type: str | None = None) -> Figure | None:
        """The narrowest in force when the month begins; of equals what began last."""
        known = [each for each in self._figures if each.kind == kind and each.is_of(month, run, region, accelerator_type)]
        return max(known, key=lambda figure: figure.narrowness, default=None)

    def value_of(self, kind: str, month: date, run: str, region: str, accelerator_type: str | None = None) -> Fraction | None:
        figure = self.of(kind, month, run, region, accelerator_type)
        return figure and figure.value

    def readings(self, is_drawable: Callable[[Figure], bool]) -> dict[tuple[str, date], list[Figure]]:
        """Measured energy that chips can draw by run and month: one of the whole run, or those of its regions."""
        found: dict[tuple[str, date], list[Figure]] = defaultdict(list)
        for figure in self._figures:
            if figure.kind == "measured_energy" and is_drawable(figure):
                found[figure.run, figure.valid_from].append(figure)
        return {place: [each for each in of_run if each.region is None] or of_run for place, of_run in found.items()}


def _rows(location: Path, as_published: datetime | None) -> Iterator[dict[str, str]]:
    """Of the files published by then, the one published first comes first."""
    paths = [location] if location.is_file() else [*location.glob("*.csv"), *location.glob("*.csv.gz")]
    for path in sorted(paths, key=modified_at):
        if as_published is None or modified_at(path) <= as_published:
            opened = gzip.open if path.name.endswith(".gz") else open
            with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
                yield from csv.DictReader(file)


def rows_of_tables(locations: list[Path], as_published: datetime | None) -> Iterator[dict[str, str]]:
    """The rows of all files, figures and prices."""
    for location in locations:
        yield from _rows(location, as_published)


def _figure(row: dict[str, str], runs: Runs) -> Figure:
    kind, key = row["kind"], row["key"]
    is_reading, is_of_place, is_of_type = kind == "measured_energy", kind in ("pue", "factor"), kind.endswith("_power")
    run_id = key if is_reading else row.get("training_run_id")
    of_run = f":run={normalised(run_id)}" if run_id and not is_reading else ""
    starts, ends = row.get("valid_from"), row.get("valid_to")
    return Figure(
        kind=kind,
        run=runs.of_tag(run_id) if run_id else None,
        region=(key if key != "*" else None) if is_of_place else row.get("region_id") or None,
        accelerator_type=key if is_of_type else None,
        valid_from=date.fromisoformat(starts) if starts else None,
        valid_to=date.fromisoformat(ends) if ends else None,
        basis=row.get("basis") or "",
        value=Fraction(row["value"]) * _UNITS[row["unit"]],
        figure_id=f"user:{kind}:{key}{of_run}{f':{starts}' if starts else ''}",
    )


def read_own_figures(locations: list[Path], runs: Runs, as_published: datetime | None = None) -> OwnFigures:
    """Where two files say the same of the same, the one published last."""
    found: dict[tuple, Figure] = {}
    for row in rows_of_tables(locations, as_published):
        is_of_a_year = row.get("kind", "").startswith("own_")  # an inventory
        if "kind" in row and "price_per_hour" not in row and not is_of_a_year:  # nor a plan of pairs, nor a table of names
            figure = _figure(row, runs)
            found[figure.kind, figure.run, figure.region, figure.accelerator_type, figure.valid_from] = figure
    return OwnFigures([figure for figure in found.values() if _is_plausible(figure)])


def _is_plausible(figure: Figure) -> bool:
    """Watts of a chip that one of its type can draw."""
    if not figure.kind.endswith("_power"):
        return True
    least, most = band_of(figure.accelerator_type).chip
    return least <= figure.value <= most
