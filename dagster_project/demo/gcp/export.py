"""Parquet as BigQuery's EXPORT DATA leaves it: nested and repeated records, NUMERIC as decimals, times in UTC microseconds."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dagster_project.demo import truth
from dagster_project.demo.clock import HOUR, MICRO, iso, month_of
from dagster_project.demo.files import put
from dagster_project.demo.gcp.account import BILLING_ACCOUNT, SERVICES, Sku, money_of
from dagster_project.demo.gcp.lines import Credit, Export, Usage
from dagster_project.demo.gcp.table import Table
from dagster_project.demo.organisation import UNIT, digest

PACIFIC = 7 * HOUR  # an invoice month is one of California, where it is summer time in all months of the demo
ROWS_PER_FILE = 250_000
SETTLED = 611  # seconds from the last append to a partition to its export
TEXT = pa.string()
FLOAT = pa.float64()
NUMERIC = pa.decimal128(38, 9)
TIME = pa.timestamp("us", tz="UTC")


def record(**fields: pa.DataType) -> pa.StructType:
    return pa.struct(list(fields.items()))


PAIRS = pa.list_(record(key=TEXT, value=TEXT))
ANCESTORS = pa.list_(record(resource_name=TEXT, display_name=TEXT))
WORDS = record(id=TEXT, description=TEXT)
COLUMNS = pa.schema(
    {
        "billing_account_id": TEXT,
        "service": WORDS,
        "sku": WORDS,
        "usage_start_time": TIME,
        "usage_end_time": TIME,
        "project": record(id=TEXT, number=TEXT, name=TEXT, labels=PAIRS, ancestry_numbers=TEXT, ancestors=ANCESTORS),
        "labels": PAIRS,
        "system_labels": PAIRS,
        "location": record(location=TEXT, country=TEXT, region=TEXT, zone=TEXT),
        "resource": record(name=TEXT, global_name=TEXT),
        "tags": pa.list_(record(key=TEXT, value=TEXT, inherited=pa.bool_(), namespace=TEXT)),
        "price": record(
            effective_price=NUMERIC,
            tier_start_amount=NUMERIC,
            unit=TEXT,
            pricing_unit_quantity=NUMERIC,
            list_price=NUMERIC,
            effective_price_default=NUMERIC,
            list_price_consumption_model=NUMERIC,
        ),
        "transaction_type": TEXT,
        "seller_name": TEXT,
        "export_time": TIME,
        "cost": FLOAT,
        "currency": TEXT,
        "currency_conversion_rate": FLOAT,
        "usage": record(amount=FLOAT, unit=TEXT, amount_in_pricing_units=FLOAT, pricing_unit=TEXT),
        "credits": pa.list_(record(name=TEXT, amount=FLOAT, full_name=TEXT, id=TEXT, type=TEXT)),
        "invoice": record(month=TEXT, publisher_type=TEXT),
        "cost_type": TEXT,
        "adjustment_info": record(id=TEXT, description=TEXT, mode=TEXT, type=TEXT),
        "cost_at_list": FLOAT,
        "subscription": record(instance_id=TEXT),
        "cost_at_effective_price_default": NUMERIC,
        "cost_at_list_consumption_model": NUMERIC,
        "consumption_model": WORDS,
    }
)


def write_partitions(root: Path, export: Export, table: Table) -> dict[str, dict[str, Any]]:
    """One folder per day that has rows, which `table` takes as well; returns what is true of each object."""
    told: dict[str, dict[str, Any]] = {}
    for day, charges in sorted(export.days.items()):
        modified = max(usage.export_time for *_, usage in charges) + SETTLED
        for number, first in enumerate(range(0, len(charges), ROWS_PER_FILE)):
            part = charges[first : first + ROWS_PER_FILE]
            rows, costs, credits = zip(*(row_of(*charge) for charge in part), strict=True)
            key = f"_PARTITIONTIME={iso(day)[:10]}/{number:012d}.parquet"
            write_parquet(root / key, COLUMNS, rows, modified)
            table.add(rows)
            lines = truth.ranges([usage.claim for *_, usage in part])
            told[key] = {"rows": len(rows), "cost": exact(sum(costs)), "credits": exact(sum(credits)), "lines": lines}
    return told


def write_parquet(path: Path, columns: pa.Schema, rows: Sequence[dict[str, Any]], modified: int) -> None:
    sink = io.BytesIO()
    table = pa.Table.from_pylist(rows, schema=columns)
    pq.write_table(table, sink, compression="snappy", store_schema=False, row_group_size=1 << 20)
    put(path, sink.getvalue(), modified)


def exact(units: int) -> str:
    return str(numeric(units).quantize(Decimal("1e-6")))


@lru_cache(maxsize=1 << 16)
def numeric(units: int) -> Decimal:
    return Decimal(units).scaleb(-10)


def row_of(sku: Sku, shared: Mapping[str, Any], usage: Usage) -> tuple[dict[str, Any], int, int]:
    """The columns of a row, and exactly what it costs and what credits take off, in 1e-10."""
    used, priced = sku.amounts(usage.start, usage.end, usage.size, usage.month or month_of(usage.start))
    paid = sku.price_paid(usage.start)
    amounts = {"amount": used / UNIT, "amount_in_pricing_units": priced / UNIT}
    prices = dict.fromkeys(("effective_price", "effective_price_default"), numeric(paid))
    prices |= dict.fromkeys(("list_price", "list_price_consumption_model"), numeric(sku.price))
    cost, at_list = money_of(priced, paid), money_of(priced, sku.price)
    if usage.cost is not None:  # no price made it
        cost = at_list = usage.cost
        amounts, prices = {}, {}
    columns = {
        "billing_account_id": BILLING_ACCOUNT,
        "service": {"id": SERVICES[sku.service], "description": sku.service},
        "sku": {"id": sku.sku_id, "description": sku.description},
        "usage_start_time": usage.start * MICRO,
        "usage_end_time": usage.end * MICRO,
        "price": {"tier_start_amount": numeric(0), "unit": sku.pricing_unit, "pricing_unit_quantity": numeric(UNIT), **prices},
        "transaction_type": "GOOGLE",
        "seller_name": "Google LLC (synthetic)",
        "export_time": usage.export_time * MICRO,
        "cost": cost / UNIT,
        "currency": "USD",
        "currency_conversion_rate": 1.0,
        "usage": {"unit": sku.usage_unit, "pricing_unit": sku.pricing_unit, **amounts},
        "credits": [_credit(credit, cost) for credit in usage.credits],
        "invoice": {"month": (usage.invoice or month_of(usage.start - PACIFIC)).replace("-", ""), "publisher_type": "GOOGLE"},
        "cost_type": "regular",
        "cost_at_list": at_list / UNIT,
        "cost_at_effective_price_default": numeric(cost),
        "cost_at_list_consumption_model": numeric(at_list),
        "consumption_model": {"id": "7754-699E-0EBF", "description": "Default"},
    }
    return {**columns, **shared}, cost, sum(credit.amount(cost) for credit in usage.credits)


def _credit(credit: Credit, cost: int) -> dict[str, Any]:
    return {
        "name": credit.name,
        "amount": credit.amount(cost) / UNIT,
        "full_name": f"{credit.name} (synthetic)",
        "id": digest("credit", credit.name)[:16],
        "type": credit.kind,
    }
