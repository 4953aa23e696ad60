"""Google's price list: the pricing export of Cloud Billing as Parquet or JSON lines, nested, one delivery per day.

Each day lists every SKU of an account with the prices in force then. Only SKUs of accelerators are kept of it, by the words of
their description and categories: a row per SKU, price tier and region. What a SKU is, and which price counts, is decided in SQL.
https://docs.cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/pricing-data (read 2026-11-29).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from connectors.deliveries import Converted, Delivery, merged
from connectors.formats.lazy import pa, pc
from connectors.formats.nested import NestedFile, Shape, at, flat
from connectors.formats.schema import BigInt, Column, Number, Schema, Text, Timestamp, required
from connectors.formats.values import Rows
from connectors.gcp.accounts import convert_objects
from connectors.layouts.partition_folders import find_partition_deliveries

KIND = "gcp_prices"
PAGE = "docs/sources/gcp_prices.md"
TIERS, REGIONS, CATEGORIES = "list_price.tiered_rates", "geo_taxonomy.regions", "product_taxonomy"

# of SKUs that are of accelerators, or look like it: TpuV5e, Cloud TPU, GPU, NVIDIA, ct5lp-hightpu-4t, TPU v5 Lite, and SKUs of
# flex-start, which leave the word out. Lower case, for RE2, which GoogleSQL has as well. "output tokens" is none
ACCELERATORS = (
    r"(^|[^a-z])(cloud)?tpu|(^|[^a-z])gpus?([^a-z]|$)|nvidia|(^|[^a-z])dws([^a-z]|$)|(^|[^0-9a-z])(ct[0-9]+[a-z]*-|v5[ _-]?lite)"
)
_ACCELERATORS = re.compile(ACCELERATORS)

_COLUMNS: dict[str, Column] = {
    **at("billing_account_id", Text, required=True, filled=True),
    **at("pricing_as_of_time", Timestamp, required=True, filled=True),
    **at("service.id service.description", Text),
    **at("sku.id sku.description", Text, required=True, filled=True),
    **at("geo_taxonomy.type pricing_unit pricing_unit_description", Text),
    **at("account_currency_code", Text, required=True, filled=True),
    **at("export_time", Timestamp),
}
_TIER: dict[str, Column] = at("pricing_unit_quantity start_usage_amount usd_amount account_currency_amount", Number, below=1e12)
_DOCUMENTED = """
billing_account_name business_entity_name sku.destination_migration_mappings currency_conversion_rate
list_price.aggregation_info billing_account_price consumption_model_prices
"""
_PRICES = ("usd_amount", "account_currency_amount")
SHAPE = Shape(
    _COLUMNS,
    frozenset(_DOCUMENTED.split()),
    PAGE,
    records={TIERS: _TIER},
    decimals=frozenset(f"{TIERS}.{name}" for name in _PRICES),
    texts=frozenset((REGIONS, CATEGORIES)),
)

SCHEMA = Schema(
    columns=(
        required("line_number", BigInt, filled=True),  # the row of the export, from 1
        *_COLUMNS.values(),
        Column("categories", Text),  # product_taxonomy, as one text
        Column("region_id", Text),  # null where a SKU is of no region
        *_TIER.values(),
    ),
    documented=frozenset(_DOCUMENTED.split()),
    remedy_page=PAGE,
    measures=dict.fromkeys(_TIER, 12),
)

# the partition of each day; its files are the delivery, as this export has no manifest
find_deliveries = partial(find_partition_deliveries, kind=KIND, partition_of=date.isoformat)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects and write prices-<n>.parquet with the accelerators of the n-th of them into `folder`."""
    copies = convert_objects(delivery, files, folder, store_uri, SHAPE, "prices", _flat_tables)
    return merged(replace(copy, parts=copy.parts if copy.rows else ()) for copy in copies)  # no accelerators, no copy


def _flat_tables(source: NestedFile) -> Iterator[pa.Table]:
    """The accelerators of each batch: its SKUs, each with its tiers and regions."""
    for rows, batch in source.batches():
        lines = source.lines(batch, rows)
        categories = _texts(source, batch, CATEGORIES)
        texts = zip(lines["sku_description"].to_pylist(), categories, strict=True)
        kept = [number for number, words in enumerate(texts) if is_accelerator(*words)]
        if not kept:
            continue
        regions = _texts(source, batch, REGIONS)
        parents, tiers = _tiers(source, batch, rows)
        of_row: dict[int, list[int | None]] = {}
        for number, row in enumerate(parents):
            of_row.setdefault(row, []).append(number)
        places = [
            (row, region, tier) for row in kept for region in (*regions[row],) or (None,) for tier in of_row.get(row, [None])
        ]
        taken = pa.array([row for row, _, _ in places], pa.int64())
        columns = {name: array.take(taken) for name, array in lines.items()}
        columns["categories"] = pa.array([", ".join(categories[row]) or None for row, _, _ in places], pa.string())
        columns["region_id"] = pa.array([region for _, region, _ in places], pa.string())
        taken = pa.array([tier for _, _, tier in places], pa.int64())
        columns |= {name: array.take(taken) for name, array in tiers.items()}
        yield pa.table({name: columns[name] for name in SCHEMA.names if name in columns})


def is_accelerator(description: str, categories: list[str]) -> bool:
    """Whether a SKU is one of accelerators by its words, recognised or not."""
    return _ACCELERATORS.search(" ".join([description, *categories]).lower()) is not None


def _texts(source: NestedFile, batch: pa.RecordBatch, path: str) -> list[list[str]]:
    """The texts of each row at a path, without nulls; none where the file has no such column."""
    found = batch.column(path).to_pylist() if path in source.paths else [None] * batch.num_rows
    return [[text for text in one or () if text] for one in found]


def _tiers(source: NestedFile, batch: pa.RecordBatch, rows: Rows) -> tuple[list[int], dict[str, pa.Array]]:
    """The row of the batch that each tier of a list price is of, and the columns of the tiers."""
    parents, elements = source.elements(batch, TIERS)
    places = replace(rows, parents=parents)  # an error in the second tier of row 7 names row 7
    found = {}
    for field in elements.type:
        if column := _TIER.get(field.name):
            found[column.name] = flat(column, f"{TIERS}.{field.name}", pc.struct_field(elements, [field.name]), places)
    return parents.to_pylist(), found
