"""Days of Google's pricing export with nested records, as EXPORT DATA writes them; the columns are those of Google's page.

https://docs.cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/pricing-data (read 2026-11-29). Real rows are not
known; descriptions and prices are those of SKUs that the Cloud Billing Catalog had in June 2026.
"""

from __future__ import annotations

import datetime as dt
import zlib
from decimal import Decimal
from typing import Any

import pyarrow as pa

_TEXT, _FLOAT, _NUMERIC, _TIME = pa.string(), pa.float64(), pa.decimal128(38, 9), pa.timestamp("us", "UTC")
_RATES = pa.list_(
    pa.struct(
        {
            "pricing_unit_quantity": _FLOAT,
            "start_usage_amount": _FLOAT,
            "usd_amount": _NUMERIC,
            "account_currency_amount": _NUMERIC,
        }
    )
)
_AGGREGATION = pa.struct({"aggregation_level": _TEXT, "aggregation_interval": _TEXT})
PRICING = pa.schema(
    {
        "export_time": _TIME,
        "pricing_as_of_time": _TIME,
        "billing_account_id": _TEXT,
        "business_entity_name": _TEXT,
        "service": pa.struct({"id": _TEXT, "description": _TEXT}),
        "sku": pa.struct({"id": _TEXT, "description": _TEXT, "destination_migration_mappings": pa.list_(_TEXT)}),
        "product_taxonomy": pa.list_(_TEXT),
        "geo_taxonomy": pa.struct({"type": _TEXT, "regions": pa.list_(_TEXT)}),
        "pricing_unit": _TEXT,
        "pricing_unit_description": _TEXT,
        "account_currency_code": _TEXT,
        "currency_conversion_rate": _TEXT,
        "list_price": pa.struct({"aggregation_info": _AGGREGATION, "tiered_rates": _RATES}),
        "billing_account_price": pa.struct({"aggregation_info": _AGGREGATION, "tiered_rates": _RATES}),
        "consumption_model_prices": pa.list_(
            pa.struct({"consumption_model_id": _TEXT, "list_price": pa.struct({"tiered_rates": _RATES})})
        ),
    }
)


def price(
    description: str = "TpuV5e running in Americas", amount: str = "1.2", *regions: str, day: str = "2026-04-01", **changes: Any
) -> dict[str, Any]:
    """A SKU of a day's list, an hour at one price in US dollars, in us-west4 unless regions are named."""
    at = dt.datetime.fromisoformat(f"{day}T07:00:00+00:00")
    tier = {"pricing_unit_quantity": 1.0, "start_usage_amount": 0.0, "usd_amount": Decimal(amount)}
    places = list(regions or ("us-west4",))
    row = {
        "export_time": at + dt.timedelta(hours=4),
        "pricing_as_of_time": at,
        "billing_account_id": "0123AB-4567CD-89EF01",
        "business_entity_name": "GCP",
        "service": {"id": "6F81-5844-456A", "description": "Compute Engine"},
        "sku": {"id": f"{zlib.crc32(description.encode()):08X}", "description": description},
        "product_taxonomy": ["GCP", "Compute"],
        "geo_taxonomy": {"type": "REGIONAL" if len(places) == 1 else "MULTI_REGION", "regions": places},
        "pricing_unit": "h",
        "pricing_unit_description": "hour",
        "account_currency_code": "USD",
        "currency_conversion_rate": "1.0",
        "list_price": {"tiered_rates": [{**tier, "account_currency_amount": tier["usd_amount"]}]},
    }
    return {**row, **changes}
