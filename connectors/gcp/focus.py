"""Google Cloud bills in FOCUS: the export of BigQuery (Preview) as Parquet or JSON lines, nested, one delivery per partition.

The layout and the flat copy are those of the detailed export: a row per export row and a row per credit, under the names that the
detailed export has for them (focus_columns). BilledCost holds the credits already, which the rows of credits only explain.
"""

from __future__ import annotations

from datetime import date
from functools import partial

from connectors.formats.lazy import pa, pc
from connectors.gcp import billing
from connectors.gcp.focus_columns import SCHEMA, SHAPE
from connectors.layouts.partition_folders import find_partition_deliveries

KIND = "gcp_focus"

find_deliveries = partial(find_partition_deliveries, kind=KIND, partition_of=date.isoformat)


def _invoice_month(lines: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The month of the billing period: it begins at midnight in UTC or in California, which is the same month in UTC."""
    starts = lines.get("billing_period_start")
    return {} if starts is None else {"invoice_month": pc.strftime(starts.cast(pa.timestamp("us")), format="%Y%m")}


convert = partial(billing.convert, shape=SHAPE, schema=SCHEMA, added=_invoice_month)
