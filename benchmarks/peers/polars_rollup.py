"""The same rollup in Polars, in doubles: `python polars_rollup.py FILE ...`. Lazy, so only the columns it needs are read."""

from __future__ import annotations

import sys

import polars as pl
from rollup_columns import MEASURES, TIME


def entry(column: str, key: str) -> pl.Expr:
    """A value of a map column."""
    pairs = pl.col(column).cast(pl.List(pl.Struct({"key": pl.String, "value": pl.String})))
    found = pairs.list.eval(pl.when(pl.element().struct["key"] == key).then(pl.element().struct["value"])).list.drop_nulls()
    return found.list.first()


if __name__ == "__main__":
    rows = pl.scan_parquet(sys.argv[1:]).group_by(
        entry("resource_tags", "user_training_run_id").alias("run"),
        pl.col("line_item_usage_account_id"),
        pl.col("line_item_product_code"),
        pl.coalesce(pl.col("product_region_code"), entry("product", "region")).alias("region"),
        pl.col(TIME).dt.date().alias("day"),
    )
    print(rows.agg(pl.col(MEASURES).sum()).collect(engine="streaming").height)
