"""Google's carbon export: a version per month, identities to the gram, nulls as published."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.proved_by("generator")


def number(value):
    """The decimal a double was written for."""
    return Decimal(repr(value))


def test_carbon_is_published_to_august_with_june_in_its_new_version(demo):
    versions = {}
    for path in sorted((demo.folder / "exports" / "gcp-carbon").rglob("*.parquet")):
        rows = pq.ParquetFile(path).read().to_pylist()
        assert {f"_PARTITIONTIME={row['usage_month']}" for row in rows} == {path.parent.name}
        [version] = {row["carbon_model_version"] for row in rows}
        versions[path.parent.name[-10:-3]] = (version, datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%m-%d"))
    assert versions == {
        "2025-11": (16, "12-15"),
        "2025-12": (16, "01-15"),
        "2026-01": (16, "02-15"),
        "2026-02": (16, "03-15"),
        "2026-03": (16, "04-15"),
        "2026-04": (16, "05-15"),
        "2026-05": (16, "06-15"),
        "2026-06": (17, "08-20"),
        "2026-07": (17, "08-15"),
        "2026-08": (17, "09-15"),
    }


def test_carbon_adds_up_to_the_gram_and_has_google_s_nulls(demo):
    nowhere, forgotten, zero, keys = 0, 0, 0, []
    for path in sorted((demo.folder / "exports" / "gcp-carbon").rglob("*.parquet")):
        for row in pq.ParquetFile(path).read().to_pylist():
            masses, totals = row["carbon_footprint_kgCO2e"], row["carbon_footprint_total_kgCO2e"]
            shared = number(masses["scope1"]) + number(masses["scope3"])
            assert number(totals["location_based"]) == shared + number(masses["scope2"]["location_based"])
            assert number(totals["market_based"]) == shared + number(masses["scope2"]["market_based"])
            assert row["carbon_offsets_kgCO2e"] is None is totals["after_offsets"]
            keys.append((row["usage_month"], *row["project"].values(), row["service"]["id"], row["location"]["location"]))
            nowhere += row["project"]["number"] == "" and row["project"]["id"] is None and row["location"]["region"] is None
            forgotten += row["project"]["number"] != "" and row["project"]["id"] is None
            zero += masses["scope2"]["market_based"] == 0
    assert nowhere and forgotten and zero
    assert len(set(keys)) == len(keys)
