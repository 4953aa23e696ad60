"""Google's price list: a day is one delivery, of which SKUs of accelerators are kept, a row for each tier and region."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.deliveries import Delivery
from connectors.errors import ExportContentError, ExportSchemaError
from connectors.gcp.bigquery_sql import matching
from connectors.gcp.prices import is_accelerator
from tests.connectors.gcp import BILLING, line, write_lines, write_partition
from tests.connectors.kit import converted, found, rows_of
from tests.connectors.prices import PRICING, price

KIND = "gcp_prices"
DAY = "2026-04-01"


def read(folder: Path, *rows: dict[str, Any], schema: pa.Schema = PRICING) -> list[dict[str, Any]]:
    write_partition(folder / "prices", DAY, *rows, schema=schema)
    return rows_of(converted(KIND, folder / "prices", folder / "landing"))


def test_a_sku_is_there_once_for_each_region_and_tier_with_its_numbers_as_written(tmp_path: Path) -> None:
    tiers = [
        {
            "pricing_unit_quantity": 1.0,
            "start_usage_amount": start,
            "usd_amount": Decimal(usd),
            "account_currency_amount": Decimal(own),
        }
        for start, usd, own in ((0.0, "12", "11.04"), (1000.0, "11.5", "10.58"))
    ]
    row = price(
        "TPU7x running in Americas",
        "12",
        "us-west1",
        "us-central1",
        list_price={"tiered_rates": tiers},
        account_currency_code="EUR",
    )
    rows = read(tmp_path, price("N2 Instance Core running in Americas"), row)
    stated = [(one["line_number"], one["region_id"], one["start_usage_amount"], one["account_currency_amount"]) for one in rows]
    assert stated == [
        (2, "us-west1", 0.0, Decimal("11.04")),
        (2, "us-west1", 1000.0, Decimal("10.58")),
        (2, "us-central1", 0.0, Decimal("11.04")),
        (2, "us-central1", 1000.0, Decimal("10.58")),
    ]
    assert rows[0]["pricing_as_of_time"] == dt.datetime(2026, 4, 1, 7)  # noqa: DTZ001
    assert (rows[0]["account_currency_code"], rows[0]["sku_description"]) == ("EUR", "TPU7x running in Americas")


def test_a_list_of_json_lines_is_that_of_its_parquet(tmp_path: Path) -> None:
    rows = [price(), price("Nvidia H100 80GB GPU running in Iowa", "4.1", "us-central1", product_taxonomy=["GCP", "GPUs"])]
    parquet = read(tmp_path, *rows)
    write_lines(tmp_path / "lines", DAY, *rows)
    lines = rows_of(converted(KIND, tmp_path / "lines", tmp_path / "landed-lines"))
    assert lines == parquet and len(lines) == 2


def test_a_sku_without_a_region_or_a_price_is_kept_as_it_is(tmp_path: Path) -> None:
    rows = read(tmp_path, price(geo_taxonomy={"type": "GLOBAL", "regions": None}, list_price=None), price())
    assert [(one["region_id"], one["account_currency_amount"]) for one in rows] == [(None, None), ("us-west4", Decimal("1.2"))]


@pytest.mark.parametrize(
    ("description", "categories", "kept"),
    [
        ("TpuV5e running in Delhi", [], True),
        ("Reserved V6e TPU in Columbus in Calendar Mode", [], True),
        ("DWS Defined Duration V6e running in Columbus", [], True),
        ("Nvidia Tesla T4 GPU running in Americas", [], True),
        ("A4 B200 (1 gpu slice)", [], True),
        ("Training ct5lp-hightpu-4t in us-west4", [], True),
        ("TPU_V5_LITEPOD", [], True),
        ("Spicewood slice", ["GCP", "Compute", "TPUs"], True),
        ("Text model output tokens", [], False),
        ("N2 Instance Core running in Americas", ["GCP", "Cores: Per Core"], False),
        ("Provisioned throughput", ["Storage"], False),
    ],
)
def test_skus_of_accelerators_are_kept_by_their_words(description: str, categories: list[str], kept: bool) -> None:
    assert is_accelerator(description, categories) == kept


def test_a_list_without_accelerators_has_no_rows_and_no_file(tmp_path: Path) -> None:
    write_partition(tmp_path / "prices", DAY, price("N2 Instance Core running in Americas"), schema=PRICING)
    result = converted(KIND, tmp_path / "prices", tmp_path / "landing")
    assert (result.rows, result.parts) == (0, ())


def test_an_error_in_a_tier_names_the_row_of_the_list(tmp_path: Path) -> None:
    tier = {"usd_amount": Decimal("1"), "start_usage_amount": float("nan")}
    with pytest.raises(ExportContentError, match=r"row 2: list_price\.tiered_rates\.start_usage_amount") as raised:
        read(tmp_path, price(), price(list_price={"tiered_rates": [tier]}))
    assert raised.value.row_number == 2


def test_a_table_of_a_bill_is_no_price_list(tmp_path: Path) -> None:
    with pytest.raises(ExportSchemaError, match="is missing columns pricing_as_of_time, account_currency_code"):
        read(tmp_path, line(), schema=BILLING)


def test_regions_that_are_no_texts_are_refused_by_name(tmp_path: Path) -> None:
    regions = pa.field("geo_taxonomy", pa.struct({"type": pa.string(), "regions": pa.list_(pa.int64())}))
    schema = PRICING.set(PRICING.get_field_index("geo_taxonomy"), regions)
    with pytest.raises(ExportSchemaError, match=r"geo_taxonomy\.regions is no repeated text"):
        read(tmp_path, price(geo_taxonomy={"type": "REGIONAL", "regions": [1]}), schema=schema)


def test_columns_that_google_documents_and_nothing_reads_are_known(tmp_path: Path) -> None:
    write_partition(tmp_path / "prices", DAY, price(), schema=PRICING.append(pa.field("new_one", pa.string())))
    assert converted(KIND, tmp_path / "prices", tmp_path / "landing").unknown_columns == ("new_one",)


def test_each_day_is_a_delivery(tmp_path: Path) -> None:
    for day in ("2026-04-01", "2026-04-02"):
        write_partition(tmp_path / "prices", day, price(day=day), schema=PRICING)
    assert [one.partition for one in found(KIND, tmp_path / "prices") if isinstance(one, Delivery)] == [
        "2026-04-01",
        "2026-04-02",
    ]


def test_the_words_that_a_table_is_asked_by_are_one_text_of_sql() -> None:
    assert matching("sku.description", ["product_taxonomy"], "gpu") == (
        "REGEXP_CONTAINS(LOWER(CONCAT(IFNULL(`sku`.`description`, ''), ' ', "
        "IFNULL(ARRAY_TO_STRING(`product_taxonomy`, ' '), ''))), 'gpu')"
    )
