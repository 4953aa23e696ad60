"""Every statement that is sent is GoogleSQL that fits its table or view: by the analyser, against the full export schemas."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from connectors.gcp.bigquery_sql import INGESTION, Axis, modified_sql, partition_sql, partitions_sql
from connectors.gcp.grouped_sql import Table, grouped_sql
from connectors.gcp.tables import BILL, CARBON, FOCUS, PRICES
from tests.bigquery.described import described, fields_like
from tests.bigquery.servers import analysed, must_be_installed
from tests.connectors.focus import FOCUS as FOCUS_EXPORT
from tests.connectors.gcp import BILLING, BILLING_2019
from tests.connectors.gcp import CARBON as CARBON_EXPORT
from tests.connectors.prices import PRICING

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("googlesql")]

PSEUDO = [{"name": "_PARTITIONTIME", "type": "TIMESTAMP", "mode": "NULLABLE"}]
TABLES = {
    "acme-billing.exports.bill": [*fields_like(BILLING), *PSEUDO],
    "acme-billing.exports.bill_2019": [*fields_like(BILLING_2019), *PSEUDO],
    "acme-billing.exports.focus": [*fields_like(FOCUS_EXPORT), *PSEUDO],
    "acme-billing.exports.carbon": fields_like(CARBON_EXPORT),
    "acme-billing.exports.prices": [*fields_like(PRICING), *PSEUDO],
    # https://docs.cloud.google.com/bigquery/docs/information-schema-partitions (read 2026-11-22)
    "acme-billing.exports.INFORMATION_SCHEMA.PARTITIONS": [
        *({"name": name, "type": "STRING"} for name in ("table_catalog", "table_schema", "table_name", "partition_id")),
        *({"name": name, "type": "INTEGER"} for name in ("total_rows", "total_logical_bytes", "total_billable_bytes")),
        {"name": "last_modified_time", "type": "TIMESTAMP"},
        {"name": "storage_tier", "type": "STRING"},
    ],
}
DAY = date(2026, 4, 1)
EARLIER = (date(2025, 1, 1), date(2025, 1, 2), date(2025, 11, 1))  # two that follow each other, and one


def statements() -> list[str]:
    found = []
    for table, schema in (("bill", BILLING), ("bill_2019", BILLING_2019)):
        name, description = f"acme-billing.exports.{table}", described(schema)
        columns, _ = BILL.columns_of(description, name)
        for axis in (INGESTION, BILL.own_axis, Axis("export_time", unit="MONTH")):
            found += [partitions_sql(name, axis, BILL.changes_by(description), DAY), partition_sql(name, columns, axis, DAY)]
            found.append(partitions_sql(name, axis, BILL.changes_by(description), DAY, earlier=EARLIER))
            found.append(partition_sql(name, columns, axis, *EARLIER, DAY))
            found.append(grouped_sql(Table(name, fields_like(schema)), axis, ["training_run_id", "it's"], [*EARLIER, DAY]))
        found.append(partitions_sql(name, BILL.own_axis, None))
    found.append(modified_sql("acme-billing.exports", "carbon"))
    name, description = "acme-billing.exports.focus", described(FOCUS_EXPORT)
    columns, _ = FOCUS.columns_of(description, name)
    for axis in (INGESTION, FOCUS.own_axis):
        found += [partitions_sql(name, axis, FOCUS.changes_by(description), DAY), partition_sql(name, columns, axis, DAY)]
    name, description = "acme-billing.exports.carbon", described(CARBON_EXPORT)
    columns, _ = CARBON.columns_of(description, name)
    found += [partitions_sql(name, CARBON.own_axis, None), partition_sql(name, columns, CARBON.own_axis, DAY)]
    name = "acme-billing.exports.prices"
    plain = pa.schema([field for field in PRICING if field.name != "product_taxonomy"])  # which is in Beta
    for schema in (PRICING, plain):
        for divided in ({}, {"timePartitioning": {"type": "DAY"}}):
            description = described(schema, **divided)
            found.append(PRICES.look_sql(name, description, DAY, None, EARLIER))
            found.append(PRICES.rows_sql(name, description, [DAY]))
    return found


def test_every_statement_fits_its_table_and_a_wrong_column_is_found() -> None:
    must_be_installed()
    asked = statements()
    wrong = partition_sql("acme-billing.exports.bill", ["cots"], INGESTION, DAY)
    *answers, found = analysed(TABLES, [*asked, wrong])
    assert [(text, error) for text, error in zip(asked, answers, strict=True) if error] == []
    assert found is not None and "cots" in found
