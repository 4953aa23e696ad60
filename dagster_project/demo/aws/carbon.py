"""Carbon Data Exports of both payers: whole grams per account, region, product and month, so that every scope identity is exact.

The figures come from what the simulated racks drew and an invented provider's intensities. They are no statement about AWS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dagster_project.demo.aws.account import PAYER_A, PAYER_B, PLATFORM, REGIONS, ROBOTICS, VISION, Payer
from dagster_project.demo.aws.cur import BUCKET
from dagster_project.demo.clock import HISTORY, MONTHS, days_after_month, iso, iso_milli, month_bounds, seconds
from dagster_project.demo.files import NUMBER, TEXT, TIME, parquet_bytes, put, put_json
from dagster_project.demo.organisation import UNIT, uuid

Activity = Mapping[tuple[str, str, str], int]
GRAM = UNIT // 1_000_000  # the export counts tonnes at 1e-6
SCOPES = ("scope_1", "scope_2_lbm", "scope_2_mbm", "scope_3_lbm", "scope_3_mbm")
KINDS = {"value": NUMBER, "timestamp": TIME, "start": TIME, "end": TIME}  # by the last word of a column's name
FACILITY_PERMILLE = 1_140
# per thousand of the location-based Scope 2 of v3.0.0
VERSIONS = {"v2.0.1": 940, "v3.0.0": 1_000, "v3.0.1": 1_032}


class Release(NamedTuple):
    """One month in one model version, and when it came."""

    payer: Payer
    version: str
    month: str
    published: int
    is_late: bool = False  # it arrives after a report was issued


def releases() -> Iterator[Release]:
    """September is not published yet; April to June were repeated in August when payer A's export got the new version.

    Of these June is late. Before April only payer B has months.
    """
    again = seconds("2026-08-11T04:20:00")
    for month in HISTORY:
        yield Release(PAYER_B, "v3.0.1", month, days_after_month(month, 17, "11:47:30"))
    for number, month in enumerate(MONTHS[:-1]):
        is_old = month <= "2026-06"
        yield Release(PAYER_A, "v3.0.0" if is_old else "v3.0.1", month, days_after_month(month, 16 + number, "09:31:12"))
        if is_old:
            yield Release(PAYER_A, "v3.0.1", month, again + 600 * number, is_late=month == "2026-06")
        if month == "2026-04":
            yield Release(PAYER_B, "v2.0.1", month, days_after_month(month, 15, "10:02:45"))
        yield Release(PAYER_B, "v3.0.1", month, days_after_month(month, 17 + number, "11:47:30"))


def write_release(root: Path, release: Release, activity: Activity) -> None:
    """Payer A overwrites, under `carbon_model_version=`; payer B keeps executions, under `model_version=`: both occur."""
    source, execution_id = release.payer.carbon_source, uuid("carbon", release.version, release.month)
    level, folder = "carbon_model_version", ""
    if release.payer is PAYER_B:
        level, folder = "model_version", f"{iso(release.published)[:-1]}.061Z-{execution_id}/"
    partition = f"{level}={release.version}/usage_period={release.month}/"
    key = f"data/{partition}{folder}{source}-00001.snappy.parquet"
    rows = list(_rows(release, activity))
    columns = [(name, KINDS.get(name.rpartition("_")[2], TEXT)) for name in sorted(rows[0])]
    values = {name: [row[name] for row in rows] for name, _ in columns}
    put(root / key, parquet_bytes(columns, values), release.published - 40)
    first, last = month_bounds(release.month)
    manifest = {
        "exportName": source,
        "executionId": execution_id,
        "usagePeriod": {"start": iso_milli(first), "end": iso_milli(last)},
        "columns": [{"name": name} for name, _ in columns],
        "dataFiles": [f"s3://{BUCKET}/exports/{source}/{key}"],
    }
    for target in sorted({folder, ""}):
        put_json(root / f"metadata/{partition}{target}{source}-Manifest.json", manifest, release.published)


def _rows(release: Release, activity: Activity) -> Iterator[dict[str, Any]]:
    for (account_id, region_id, product), watt_hours in sorted(activity.items()):
        yield _row(release, account_id, region_id, product, _scopes(release, watt_hours, REGIONS[region_id].grams_per_kwh))
    month, platform = int(release.month[5:]), PLATFORM.account_id
    if release.payer is PAYER_A:
        page = {"scope_2_lbm": 410 + month, "scope_3_lbm": 96, "scope_3_mbm": 96}
        yield _row(release, platform, "Global", "AmazonCloudFront", page)
        # transfer and queues: nothing a run is billed for
        yield _row(release, platform, "us-east-1", "Other", _scopes(release, 61_000 + 900 * month, 357))
        # something ran here that nobody was billed for: a cell without any billed row
        yield _row(release, platform, "eu-central-1", "AmazonEC2", {"scope_2_lbm": 12, "scope_3_lbm": 5, "scope_3_mbm": 5})
    else:
        yield _row(release, VISION.account_id, None, "AmazonCloudFront", {"scope_2_lbm": 37, "scope_3_lbm": 8, "scope_3_mbm": 8})
        yield _row(release, ROBOTICS.account_id, "eu-west-1", "AmazonS3", {})


def _scopes(release: Release, watt_hours: int, grams_per_kwh: int) -> dict[str, int]:
    """Whole grams by scope; market-based Scope 2 is nought, as in the real exports seen."""
    location = watt_hours * FACILITY_PERMILLE * grams_per_kwh * VERSIONS[release.version] // 10**9
    upstream = location * 19 // 100
    embodied = watt_hours * 7 // 100
    return {
        "scope_1": location * 4 // 1_000,
        "scope_2_lbm": location,
        "scope_2_mbm": 0,
        "scope_3_lbm": upstream + embodied,
        "scope_3_mbm": upstream * 6 // 10 + embodied,
    }


def _row(release: Release, account_id: str, region_id: str | None, product: str, grams: dict[str, int]) -> dict[str, Any]:
    first, last = month_bounds(release.month)
    region = REGIONS.get(region_id or "")
    row: dict[str, Any] = {
        "last_refresh_timestamp": release.published - 7_200,
        "location": region.carbon_name if region else "Global",
        "model_version": release.version,
        "payer_account_id": release.payer.account_id,
        "product_code": product,
        "region_code": region_id,
        "usage_account_id": account_id,
        "usage_period_start": first,
        "usage_period_end": last,
    }
    scopes = {scope: grams.get(scope, 0) for scope in SCOPES}
    totals = {way: scopes["scope_1"] + scopes[f"scope_2_{way}"] + scopes[f"scope_3_{way}"] for way in ("lbm", "mbm")}
    # the first model version has totals only
    for measure, value in (totals if release.version.startswith("v2") else totals | scopes).items():
        row |= {f"total_{measure}_emissions_value": value * GRAM, f"total_{measure}_emissions_unit": "MTCO2e"}
    return row
