"""Google's carbon export: a month per partition, kilograms by project, service and location, nulls as Google leaves them.

The figures come from what the simulated racks drew and an invented provider's intensities. They are no statement about Google.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from dagster_project.demo.clock import HISTORY, MONTHS, days_after_month, seconds
from dagster_project.demo.gcp.account import (
    BILLING_ACCOUNT,
    EFFICIENCY,
    PLACES,
    PLATFORM,
    PRETRAINING,
    RESEARCH,
    SERVICES,
    TRIALS,
)
from dagster_project.demo.gcp.export import FLOAT, TEXT, WORDS, record, write_parquet
from dagster_project.demo.gcp.lines import Activity

FACILITY_PERMILLE = 1_090
PROJECTS = {
    project.account_id: project.project_id for project in (PRETRAINING, RESEARCH, PLATFORM, EFFICIENCY, TRIALS)
}  # a deleted one has none
DESCRIPTIONS = {service_id: words for words, service_id in SERVICES.items()}
COLUMNS = pa.schema(
    {
        "usage_month": pa.date32(),
        "billing_account_id": TEXT,
        "project": record(number=TEXT, id=TEXT),
        "service": WORDS,
        "location": record(location=TEXT, region=TEXT),
        "carbon_footprint_kgCO2e": record(scope1=FLOAT, scope2=record(location_based=FLOAT, market_based=FLOAT), scope3=FLOAT),
        "carbon_footprint_total_kgCO2e": record(after_offsets=FLOAT, market_based=FLOAT, location_based=FLOAT),
        "carbon_offsets_kgCO2e": FLOAT,
        "carbon_model_version": pa.int64(),
    }
)


def write_months(root: Path, activity: Mapping[str, Activity]) -> None:
    """September comes on 15 October. Version 17 came with July's data; June was backfilled with it, April and May were not."""
    for month in (*HISTORY, *MONTHS[:-1]):
        # permille of the location-based Scope 2 of version 16
        version, permille, clock = (16, 1_000, "07:42:10") if month < "2026-06" else (17, 1_046, "07:39:55")
        published = seconds("2026-08-20T09:14:26") if month == "2026-06" else days_after_month(month, 15, clock)
        shared = {"usage_month": date.fromisoformat(f"{month}-01"), "carbon_model_version": version}
        rows = [{**shared, **row} for row in _rows(activity[month], permille)]
        write_parquet(root / f"_PARTITIONTIME={month}-01/000000000000.parquet", COLUMNS, rows, published)


def _rows(cells: Activity, permille: int) -> Iterator[dict[str, Any]]:
    # something ran here that nobody was billed for
    unbilled = Counter({(PLATFORM.account_id, SERVICES["Networking"], "europe-west4", "europe-west4"): 41_000})
    for (number, service, location, region), watt_hours in sorted((cells + unbilled).items(), key=lambda cell: str(cell[0])):
        yield {
            "billing_account_id": BILLING_ACCOUNT,
            "project": {"number": number, "id": PROJECTS.get(number)},  # '' where there is none
            "service": {"id": service, "description": DESCRIPTIONS[service]},
            "location": {"location": location, "region": region},
            **_masses(watt_hours, PLACES[region].grams_per_kwh if region else 310, permille),
        }


def _masses(watt_hours: int, grams_per_kwh: int, permille: int) -> dict[str, Any]:
    """From whole grams. Market-based is lower, and in the Netherlands nought as often published."""
    location = watt_hours * FACILITY_PERMILLE * grams_per_kwh * permille // 10**9
    market = 0 if grams_per_kwh == PLACES["europe-west4"].grams_per_kwh else location * 31 // 100
    direct, upstream = location * 3 // 1_000, location * 17 // 100 + watt_hours // 14
    shared = direct + upstream
    return {
        "carbon_footprint_kgCO2e": {
            "scope1": direct / 1_000,
            "scope2": {"location_based": location / 1_000, "market_based": market / 1_000},
            "scope3": upstream / 1_000,
        },
        "carbon_footprint_total_kgCO2e": {
            "market_based": (shared + market) / 1_000,
            "location_based": (shared + location) / 1_000,
        },
    }
