"""What an organisation, or AWS in an answer of its, states of capacity that was paid ahead: instances, start, end.

From docs/sources/user_inputs.md, "Capacity paid ahead". Of several statements of one time the one published last counts.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from .exports import modified_at, moment
from .records import microseconds

Term = tuple[int | None, int | None]


@dataclass
class Capacity:
    instances: int = 0  # as stated last
    stated: dict[Term, int] = field(default_factory=dict)

    @property
    def term(self) -> tuple[int, int] | None:
        starts, ends = ([at for at in side if at is not None] for side in zip(*self.stated, strict=True))
        return (min(starts), max(ends)) if starts and ends else None

    @property
    def paid(self) -> int | None:
        """Instance time of all blocks of a plan."""
        times = [(end - start) * count for (start, end), count in self.stated.items() if start is not None and end is not None]
        return sum(times) if times else None


def key_of(name: str) -> str:
    return name.rsplit("/", 1)[-1] if ":capacity-reservation/" in name else name


def _at(value: object) -> int | None:
    if value in (None, ""):
        return None
    at = datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else moment(str(value))
    return microseconds(at)


def _answered(document: dict) -> Iterator[tuple]:
    for one in document.get("CapacityReservations", ()):
        if one.get("EndDate"):
            yield one["CapacityReservationId"], one["TotalInstanceCount"], one.get("StartDate"), one["EndDate"]
    for one in document.get("CapacityBlockExtensions", ()):
        if one.get("CapacityBlockExtensionStatus", "payment-succeeded") == "payment-succeeded":
            ends = (one[f"CapacityBlockExtension{end}Date"] for end in ("Start", "End"))
            yield one["CapacityReservationId"], one["InstanceCount"], *ends
    for one in document.get("ReservedCapacitySummaries", ()):
        yield document["TrainingPlanArn"], one["TotalInstanceCount"], one.get("StartTime"), one.get("EndTime")


def _rows(path: Path) -> Iterator[tuple]:
    if path.suffix == ".json":
        yield from _answered(json.loads(path.read_text(encoding="utf-8")))
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            if "capacity_id" in row:
                yield row["capacity_id"], int(row["instances"]), row.get("started_at"), row.get("ended_at")


def read_capacities(locations: list[Path], as_published: datetime | None = None) -> dict[str, Capacity]:
    found: dict[str, Capacity] = {}
    paths = [path for location in locations for path in location.glob("*") if path.suffix in (".csv", ".json")]
    for path in sorted(paths, key=modified_at):
        if as_published is not None and modified_at(path) > as_published:
            continue
        of_file: dict[str, int] = {}
        for name, count, start, end in _rows(path):
            capacity = found.setdefault(key_of(name), Capacity())
            capacity.stated[_at(start), _at(end)] = count
            of_file[key_of(name)] = max(of_file.get(key_of(name), 0), count)
        for key, count in of_file.items():
            found[key].instances = count
    return found
