"""`keep: raw` beside groups that BigQuery made: the provider's rows are landed as evidence, give the same groups, and no model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from dagster_project.commands.verifying import verify_landing
from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.servers import GoogleSQL, must_be_installed
from tests.bigquery.test_grouped_bills import bill, engine  # noqa: F401  # fixtures
from tests.landing.kit import Organisation

pytestmark = pytest.mark.slow

DAY = "2026-04-10"


def organisation(folder: Path, exported: Exported, url: str, **more: Any) -> Organisation:
    exported.days = {DAY: exported.days[DAY]}
    source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url}
    return Organisation(folder / "organisation", source | {"engine": "bigquery", "keep": "raw"} | more)


def test_try(bill, tmp_path):  # noqa: F811
    exported, url = bill
    made = organisation(tmp_path, exported, url)
    assert made.outcomes() == {"landed": 1}
    for path in sorted(made.landing.rglob("*")):
        print(path.relative_to(made.landing), path.stat().st_size)
    told = []
    print(verify_landing(made.settings, told.append), told)
    assert 0
