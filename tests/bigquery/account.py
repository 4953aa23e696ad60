"""A billing account of Google's in which most rows are worth the same, so that who is first among equals would show.

Four TPU nodes in two projects, under commitments of both models, by amount and by spend; late rows and corrections that reached a
later invoice, promotions and tax; and, where the samples are there, real rows of two other accounts. No row of it is
held back: a quarantine row names the object and the row it is about, which another way of reading names differently.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

import pyarrow as pa

from tests.connectors.gcp import BILLING, BILLING_2019, cud_rows, koku_rows
from tests.oracle.google_builders import GoogleExports, credits_of, kilograms, labels_of, tpu_hour, tpu_run
from tests.shared import SHARED

Days = dict[str, list[dict[str, Any]]]  # the rows of each partition

FIRST = datetime(2026, 4, 10, tzinfo=UTC)
LATE = datetime(2026, 5, 28, 3, 0, 0, 123456, tzinfo=UTC)  # 48 days after the use, when April was invoiced
HOURS = 7  # no number of equal rows divides a fee
PROJECTS = ("401000000001", "401000000002")
TPU, CORE, RAM = "TpuV5e running in Columbus", "N2 Instance Core running in Columbus", "N2 Instance Ram running in Columbus"
TRAINING = {"id": "C7E2-9256-1C43", "description": "Vertex AI"}
BY_AMOUNT, BY_SPEND = "Commitment v1: TpuV5e running in Columbus for 1 Year", "Commitment - dollar based v1: GCE for 1 year"


def write_account(exports: GoogleExports) -> dict[str, tuple[pa.Schema, Days]]:
    """Write everything but the bills into `exports`, and return those: of each source its columns and its partitions."""
    exports.google_carbon([kilograms(40.0 + number, project={"number": project}) for number, project in enumerate(PROJECTS)])
    hold = [f"{FIRST + timedelta(minutes=minutes):%Y-%m-%dT%H:%M:%SZ}" for minutes in (0, 130, 400)]
    exports.runs(
        tpu_run("run-a", ("tpu-0", hold[0], hold[2], 4), ("tpu-3", hold[0], hold[1], 3), kind="v5e"),
        tpu_run("run-b", ("tpu-1", hold[0], hold[2], 4), ("tpu-3", hold[0], hold[2], 1), kind="v5e"),
        tpu_run("run-c", ("tpu-2", hold[0], hold[2], 4), kind="v5e"),
    )
    bills = {"gcp": (BILLING, _account())}
    if SHARED:
        samples, days = SHARED / "samples/gcp", defaultdict(list)
        real = sorted(koku_rows(samples / "koku/202011_2020-11-08_2020-11-11.csv"), key=lambda row: row[0])
        for day, rows in groupby(real, key=lambda row: row[0]):
            days[day] += [row for _, row in rows]
        cuds = cud_rows(samples / "google-cuds-billing/test_9_3.export.json")
        bills |= {"koku": (BILLING, dict(days)), "cud": (BILLING_2019, {"2019-01-21": cuds})}
    return bills


def _account() -> Days:
    days: Days = defaultdict(list)
    for number in range(HOURS):
        at = FIRST + timedelta(hours=number)
        late = LATE if number == HOURS - 1 else None  # the last hour came late
        for row in _usage(at):
            _export(days, row, late)
    for row in _fees(FIRST):
        _export(days, row)
    taken_back = {"cost_type": "adjustment", "adjustment_info": {"type": "USAGE_CORRECTION"}}
    usage = {"amount": -14_400.0, "unit": "seconds", "amount_in_pricing_units": -4.0}
    _export(days, _row(FIRST, -4.8, TPU, usage=usage, **_node("tpu-1"), **taken_back), LATE)
    _export(days, _row(FIRST, 1.234567, "Tax", cost_type="tax"), LATE)
    return dict(days)


def _export(days: Days, row: dict[str, Any], late: datetime | None = None) -> None:
    """Half a day after its use a row is appended to the partition of that day; its invoice is that of the month of the export."""
    at = late or row["usage_start_time"] + timedelta(hours=12)
    days[f"{at:%Y-%m-%d}"].append(row | {"export_time": at, "invoice": {"month": f"{at:%Y%m}", "publisher_type": "GOOGLE"}})


def _row(at: datetime, cost: float, sku: str, **columns: Any) -> dict[str, Any]:
    return tpu_hour(f"{at:%Y-%m-%dT%H:%M:%S}", cost, sku) | {"sku": {"id": sku[:13], "description": sku}, **columns}


def _node(name: str) -> dict[str, Any]:
    number = PROJECTS[name == "tpu-1"]
    path = f"//tpu.googleapis.com/projects/{number}/locations/us-east5-b/nodes/{name}"
    return {"project": {"number": number, "id": f"project-{number[-1]}"}, "resource": {"name": name, "global_name": path}}


def _usage(at: datetime) -> list[dict[str, Any]]:
    """An hour: chips of four nodes at one price, one of them billed by two services, and cores and memory of both projects."""
    covered = credits_of(COMMITTED_USAGE_DISCOUNT=-1.6)
    spent = credits_of(COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE=-0.3)
    labels = {"tpu-2": labels_of(training_run_id="run-c"), "tpu-0": labels_of(team="a", training_run_id="run-a")}
    price = {"cost_at_effective_price_default": Decimal("4.512345679")}
    rows = [
        _row(at, 4.8, TPU, credits=covered, labels=labels.get(name), **price, **_node(name))
        for name in ("tpu-3", "tpu-2", "tpu-1", "tpu-0")
    ]
    rows.append(_row(at, 4.8, TPU, service=TRAINING, credits=covered, **price, **_node("tpu-3")))
    for number in PROJECTS:
        for sku, unit in ((CORE, "hour"), (RAM, "gibibyte hour")):
            usage = {"amount": 3600.0, "unit": "seconds", "amount_in_pricing_units": 1.0, "pricing_unit": unit}
            where = {"project": {"number": number}, "resource": None, "usage": usage}
            rows.append(_row(at, 0.9, sku, credits=spent, **where))
            rows.append(_row(at, 0.9, sku, credits=[*spent, *credits_of(PROMOTION=-0.1)], labels=labels["tpu-2"], **where))
    return rows


def _fees(at: datetime) -> list[dict[str, Any]]:
    """What the commitments cost: amounts that no number of equal rows divides, offset in the newer model."""
    where = {"resource": None, "location": {"location": "us-east5", "region": "us-east5"}}
    bought = {"amount": 3600.0, "unit": "seconds", "amount_in_pricing_units": 1.0, "pricing_unit": "hour"}
    rows = [
        _row(at + timedelta(hours=hour), 13.000000000003, BY_AMOUNT, usage=bought, project={"number": PROJECTS[0]}, **where)
        for hour in range(2)
    ]
    for sku in (CORE, RAM, None):
        labels = sku and labels_of(**{"goog-originating-sku-id": sku[:13]})
        columns = {"labels": labels, "subscription": {"instance_id": "sub-spend"}, "resource": None, "location": None}
        rows.append(_row(at, 1.000000000003, BY_SPEND, **columns))
        offset = credits_of(FEE_UTILIZATION_OFFSET=-0.4) if sku else None
        rows.append(
            _row(at, 0.500000000003, BY_SPEND, credits=offset, **(columns | {"subscription": {"instance_id": "sub-offset"}}))
        )
    return rows
