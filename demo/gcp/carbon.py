"""Google's carbon export: a month per partition, kilograms by project, service and location, nulls as Google leaves them.

The figures come from what the simulated racks drew and an invented provider's intensities. They are no statement about Google.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from demo.clock import MONTHS, days_after_month, seconds
from demo.files import put
from demo.gcp.account import (
    BILLING_ACCOUNT,
    COMPUTE,
    LOGGING,
    NETWORKING,
    PLACES,
    PLATFORM,
    PRETRAINING,
    RESEARCH,
    STORAGE,
    VERTEX,
)
from demo.gcp.export import FLOAT, TEXT, Tree, parquet_bytes
from demo.organisation import UNIT

Activity = Mapping[tuple[str, str, str, str | None, str], int]
GRAM = UNIT // 1_000  # the export counts kilograms
FACILITY_PERMILLE = 1_090
PROJECTS = {project.account_id: project.project_id for project in (PRETRAINING, RESEARCH, PLATFORM)}  # a deleted one has no id
SERVICES = dict((COMPUTE, STORAGE, NETWORKING, VERTEX, LOGGING))
MASSES = (("scope1", FLOAT), ("scope2", (("location_based", FLOAT), ("market_based", FLOAT))), ("scope3", FLOAT))
TOTALS = (("after_offsets", FLOAT), ("market_based", FLOAT), ("location_based", FLOAT))
COLUMNS: Tree = (
    ("usage_month", pa.date32()),
    ("billing_account_id", TEXT),
    ("project", (("number", TEXT), ("id", TEXT))),
    ("service", (("id", TEXT), ("description", TEXT))),
    ("location", (("location", TEXT), ("region", TEXT))),
    ("carbon_footprint_kgCO2e", MASSES),
    ("carbon_footprint_total_kgCO2e", TOTALS),
    ("carbon_offsets_kgCO2e", FLOAT),
    ("carbon_model_version", pa.int64()),
)


class Release(NamedTuple):
    """A month as the table has it now."""

    month: str
    version: int
    published: int
    permille: int  # of the location-based Scope 2 of version 16


def releases() -> Iterator[Release]:
    """September comes on 15 October. Version 17 came with July's data; June was backfilled with it, April and May were not."""
    for month in MONTHS[:-1]:
        if month == "2026-06":
            yield Release(month, 17, seconds("2026-08-20T09:14:26"), 1_046)
        elif month < "2026-06":
            yield Release(month, 16, days_after_month(month, 15, "07:42:10"), 1_000)
        else:
            yield Release(month, 17, days_after_month(month, 15, "07:39:55"), 1_046)


def write_release(root: Path, release: Release, activity: Activity) -> None:
    rows = list(_rows(release, activity))
    key = f"_PARTITIONTIME={release.month}-01/000000000000.parquet"
    content = parquet_bytes(COLUMNS, lambda path: [row.get(path) for row in rows], len(rows))
    put(root / key, content, release.published)


def _rows(release: Release, activity: Activity) -> Iterator[dict[str, Any]]:
    cells: dict[tuple[str, str, str, str | None], int] = defaultdict(int)
    for (number, service, location, region, month), watt_hours in activity.items():
        if month == release.month:
            cells[number, service, location, region] += watt_hours
    # something ran here that nobody was billed for
    cells[PLATFORM.account_id, NETWORKING[0], "europe-west4", "europe-west4"] += 41_000
    for cell in sorted(cells, key=str):
        number, service, location, region = cell
        place = PLACES.get(region or "")
        row = _row(release, number, service, _scopes(release, cells[cell], place.grams_per_kwh if place else 310))
        yield row | {"location.location": location, "location.region": region}


def _scopes(release: Release, watt_hours: int, grams_per_kwh: int) -> dict[str, int]:
    """Whole grams. Market-based is lower, and in the Netherlands nought as often published."""
    location = watt_hours * FACILITY_PERMILLE * grams_per_kwh * release.permille // 10**9
    market = 0 if grams_per_kwh == PLACES["europe-west4"].grams_per_kwh else location * 31 // 100
    upstream = location * 17 // 100 + watt_hours // 14
    return {"scope1": location * 3 // 1_000, "location": location, "market": market, "scope3": upstream}


def _row(release: Release, number: str, service: str, grams: dict[str, int]) -> dict[str, Any]:
    year, month = (int(part) for part in release.month.split("-"))
    shared = grams["scope1"] + grams["scope3"]
    masses = {
        "carbon_footprint_kgCO2e.scope1": grams["scope1"],
        "carbon_footprint_kgCO2e.scope2.location_based": grams["location"],
        "carbon_footprint_kgCO2e.scope2.market_based": grams["market"],
        "carbon_footprint_kgCO2e.scope3": grams["scope3"],
        "carbon_footprint_total_kgCO2e.location_based": shared + grams["location"],
        "carbon_footprint_total_kgCO2e.market_based": shared + grams["market"],
    }
    return {
        "usage_month": date(year, month, 1),
        "billing_account_id": BILLING_ACCOUNT,
        "project.number": number,  # '' where there is none
        "project.id": PROJECTS.get(number),
        "service.id": service,
        "service.description": SERVICES[service],
        "carbon_model_version": release.version,
        **{name: value * GRAM for name, value in masses.items()},
    }
