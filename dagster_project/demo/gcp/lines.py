"""Billing rows as they pile up: each a use of a SKU, sorted into daily partitions, and the columns many of them share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dagster_project.demo.clock import DAY, HOUR, month_of
from dagster_project.demo.gcp.account import MILLIONTH, PLACES, SERVICES, Project, Sku
from dagster_project.demo.organisation import UNIT, digest
from dagster_project.demo.truth import Claim

# watt-hours by project number, service id, location and region
Activity = Counter[tuple[str, str, str, str | None]]


class Credit(NamedTuple):
    """What is taken off a cost again: some per cent of it, rounded down to a millionth, and at most the limit."""

    kind: str
    name: str
    percent: int = 100
    limit: int | None = None

    def amount(self, cost: int) -> int:
        part = cost * self.percent // 100 // MILLIONTH * MILLIONTH
        return -part if self.limit is None else -min(part, self.limit)


@dataclass(frozen=True, slots=True)
class Usage:
    """One row to be: how much of a SKU in a time; `Sku.amounts` shows what `size` counts."""

    start: int
    end: int
    size: int
    claim: Claim | None = None
    credits: tuple[Credit, ...] = ()
    cost: int | None = None  # of a charge that no price made: it has no usage and no price of its own
    exported: int | None = None  # of a late row, which lies in the partition of that day
    invoice: str | None = None  # its month, where that is not California's at the start
    month: str | None = None  # whose length a price per month is for, where that is not the month of the start

    @property
    def export_time(self) -> int:
        """Half a day after the use, a little more or less."""
        return self.exported or self.end + 5 * HOUR + self.end // HOUR * 7_919 % (9 * HOUR)


@dataclass(slots=True)
class Export:
    """All charges by the day of their partition, and the watt-hours behind them for the carbon export."""

    days: dict[int, list[tuple[Sku, Mapping[str, Any], Usage]]] = field(default_factory=lambda: defaultdict(list))
    activity: dict[str, Activity] = field(default_factory=lambda: defaultdict(Counter))  # by month

    def add(self, sku: Sku, shared: Mapping[str, Any], usages: Iterable[Usage], watts: int = 0) -> None:
        """`watts` is what one pricing unit draws for an hour."""
        number = (shared["project"] or {}).get("number", "")
        location = shared["location"]
        for usage in usages:
            self.days[(usage.exported or usage.start) // DAY * DAY].append((sku, shared, usage))
            if watts:
                month = month_of(usage.start)
                _, priced = sku.amounts(usage.start, usage.end, usage.size, month)
                cell = (number, SERVICES[sku.service], location["location"], location.get("region"))
                self.activity[month][cell] += priced * watts // UNIT


def windows(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The clock hours of a life; its first and last are cut where it began and ended."""
    for hour in range(start - start % HOUR, end, HOUR):
        yield max(hour, start), min(hour + HOUR, end)


def columns_of(
    project: Project | None,
    region_id: str | None,
    name: str | None = None,
    global_name: str | None = None,
    *,
    zonal: bool = True,
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """What the rows of one thing share. Without a project, or a name, the whole record is null; without a region it is global."""
    location: dict[str, Any] = {"location": "global"}
    if region_id is not None:
        place = PLACES[region_id]
        location = {"location": region_id, "country": place.country, "region": region_id}
        location |= {"location": place.zone, "zone": place.zone} if zonal else {}
    return {
        "project": None if project is None else _project(project),
        "location": location,
        "resource": {"name": name, "global_name": global_name} if name else None,
        "labels": pairs(labels or {}),
        "system_labels": [],
        "tags": [],
        **more,
    }


def _project(project: Project) -> dict[str, Any]:
    ancestors = {
        "organizations/770300200100": "example-ag.synthetic",
        "folders/550010020030": "machine-learning",
        f"projects/{project.account_id}": project.name,
    }
    return {
        "id": project.project_id,
        "number": project.account_id,
        "name": project.name,
        "labels": [],
        "ancestry_numbers": "/770300200100/550010020030/",
        "ancestors": [{"resource_name": path, "display_name": name} for path, name in ancestors.items()],
    }


def pairs(labels: Mapping[str, str]) -> list[dict[str, str]]:
    """A map as the export repeats it."""
    return [{"key": key, "value": value} for key, value in labels.items()]


def compute_labels(labels: Mapping[str, str]) -> list[dict[str, str]]:
    """System labels of Compute Engine."""
    return pairs({f"compute.googleapis.com/{key}": value for key, value in labels.items()})


def compute_name(project: Project, zone: str, what: str) -> str:
    return f"//compute.googleapis.com/projects/{project.account_id}/zones/{zone}/{what}"


def instance_of(*seed: str) -> str:
    """The end of an instance's global name: a number, not what it is called."""
    return f"instances/{int(digest(*seed)[:15], 16)}"
