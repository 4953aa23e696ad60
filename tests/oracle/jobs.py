"""Numbers of Slurm's jobs: each cluster counts its own, and a number alone is a name while one cluster is known.

Written from docs/sources/training_runs.md, section Slurm and section Identity.
"""

import re
from collections.abc import Iterable
from datetime import date
from typing import Protocol

from .months import month_of

SLURM = "slurm"
CHIPS = ("gpu", "neuron", "tpu")


class Named(Protocol):
    """What is needed of a record."""

    recorded_id: str
    aliases: set[tuple[str, str]]

    @property
    def begun(self) -> int | None: ...


def number_of(name: str) -> str:
    return name.rsplit("/", 1)[-1]


class Numbers:
    """Which numbers are names, by all records there are."""

    def __init__(self, records: Iterable[Named]) -> None:
        first: dict[str, date] = {}
        for record in records:
            clusters = [name.rsplit("/", 1)[0] for system, name in record.aliases if system == SLURM and "/" in name]
            if clusters and record.begun is not None:
                cluster, month = min(clusters), month_of(record.begun)
                first[cluster] = min(month, first.get(cluster, month))
        self.second = min(sorted(first.values())[1:], default=None)

    def are_names(self, record: Named) -> bool:
        return self.second is None or (record.begun is not None and month_of(record.begun) < self.second)

    def is_numbered(self, record: Named) -> bool:
        return (SLURM, record.recorded_id) in record.aliases

    def is_unclear(self, record: Named) -> bool:
        return self.is_numbered(record) and "/" not in record.recorded_id and not self.are_names(record)

    def spelling(self, record: Named) -> str:
        """The id as it is compared and published."""
        return number_of(record.recorded_id) if self.is_numbered(record) and self.are_names(record) else record.recorded_id

    def aliases(self, record: Named) -> set[tuple[str, str]]:
        """Those of Slurm under which the record may be meant."""
        full = {(SLURM, name) for system, name in record.aliases if system == SLURM and "/" in name}
        bare = {(SLURM, number_of(name)) for system, name in record.aliases if system == SLURM}
        return full | bare if self.are_names(record) else full


def machines_of(job: dict) -> list[str]:
    """`a[1-2],b` are a1, a2 and b."""
    found = []
    for item in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", job.get("nodes") or ""):
        name, _, numbers = item.rstrip("]").partition("[")
        for part in numbers.split(",") if numbers else [""]:
            first, _, last = part.partition("-")
            found += [name + str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1)] if first else [name]
    return found


def chips_of(job: dict) -> tuple[str | None, int | None]:
    """Name of the type and chips of one machine."""
    given = {one["name"]: one["count"] for one in job["tres"]["allocated"] if one["type"] == "gres"}
    nodes = len(machines_of(job))
    for kind in CHIPS:
        typed = {name.partition(":")[2]: count for name, count in given.items() if name.startswith(f"{kind}:")}
        if total := given.get(kind, sum(typed.values())):
            return (next(iter(typed)) if len(typed) == 1 else None), total // nodes if total % nodes == 0 else None
    return None, None
