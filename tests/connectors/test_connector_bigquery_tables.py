"""A table is checked by its description alone: by what it is divided, what it lacks, and what its rows will look like."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from connectors.errors import ExportSchemaError
from connectors.formats.bigquery_types import arrow_schema
from connectors.gcp.bigquery_sql import INGESTION, Axis
from connectors.gcp.tables import BILL, CARBON
from tests.bigquery.described import described
from tests.connectors.gcp import BILLING, BILLING_2019
from tests.connectors.gcp import CARBON as CARBON_EXPORT
from tests.shared import SHARED, SHARED_REASON

URI = "bq://acme-billing.exports.bill"


@pytest.mark.parametrize("schema", [BILLING, BILLING_2019, CARBON_EXPORT])
def test_a_table_has_the_types_of_its_parquet_export(schema: pa.Schema) -> None:
    assert arrow_schema(described(schema)["schema"]) == schema


def test_both_names_of_a_type_are_one() -> None:
    old, new = (arrow_schema({"fields": [{"name": "a", "type": kind, "mode": "NULLABLE"}]}) for kind in ("INTEGER", "INT64"))
    assert old == new and new.field("a").type == pa.int64()


def test_columns_are_read_by_name_as_far_as_the_table_has_them() -> None:
    columns, unknown = BILL.columns_of(described(BILLING_2019), URI)
    assert columns == tuple(BILLING_2019.names) and "tags" not in columns
    assert unknown == ()


def test_an_undeclared_column_is_read_and_reported() -> None:
    given = BILLING.append(pa.field("sustainability", pa.struct({"grams": pa.float64()})))
    columns, unknown = BILL.columns_of(described(given), URI)
    assert columns[-1] == "sustainability" and unknown == ("sustainability.grams",)


@pytest.mark.parametrize(("reading", "schema", "column"), [(BILL, BILLING, "cost"), (CARBON, CARBON_EXPORT, "usage_month")])
def test_a_required_column_that_lacks_is_named_before_a_byte_is_billed(reading: Any, schema: pa.Schema, column: str) -> None:
    with pytest.raises(ExportSchemaError, match=f"exports.bill is missing columns {column}"):
        reading.columns_of(described(schema.remove(schema.get_field_index(column))), URI)


def test_a_table_of_another_export_is_recognised() -> None:
    with pytest.raises(ExportSchemaError, match="this looks like a gcp_carbon"):
        BILL.columns_of(described(CARBON_EXPORT), URI)


@pytest.mark.parametrize(
    ("divided", "axis"),
    [
        ({"type": "DAY"}, INGESTION),
        ({"type": "HOUR"}, INGESTION),
        ({"type": "MONTH"}, Axis("_PARTITIONTIME", unit="MONTH")),
        ({"type": "DAY", "field": "export_time"}, Axis("export_time")),
        ({"type": "MONTH", "field": "EXPORT_TIME"}, Axis("EXPORT_TIME", unit="MONTH")),
        ({"type": "YEAR", "field": "export_time"}, Axis("usage_start_time")),
        (None, Axis("usage_start_time")),  # a view, or a table that is only clustered
    ],
)
def test_a_bill_is_read_by_what_divides_its_table_else_by_the_time_of_use(divided: Any, axis: Axis) -> None:
    description = described(BILLING, clustering={"fields": ["export_time"]}) | ({"timePartitioning": divided} if divided else {})
    assert BILL.axis_of(description) == axis
    assert BILL.changes_by(description) == "export_time"


def test_carbon_is_read_by_its_month_and_known_by_its_rows() -> None:
    description = described(CARBON_EXPORT, timePartitioning={"type": "DAY"})
    assert CARBON.axis_of(description) == Axis("usage_month", "DATE", "MONTH")
    assert CARBON.changes_by(description) is None


def test_a_view_without_the_time_of_export_is_known_by_its_rows() -> None:
    schema = BILLING.remove(BILLING.get_field_index("export_time"))
    assert BILL.changes_by(described(schema)) is None


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_googles_own_schema_of_2019_is_read() -> None:
    assert SHARED
    fields = json.loads((SHARED / "samples/gcp/google-cuds-billing/billing_export_schema.json").read_text())
    columns, unknown = BILL.columns_of({"schema": {"fields": fields}}, URI)
    assert {"cost", "credits", "export_time"} <= set(columns) and unknown == ()
