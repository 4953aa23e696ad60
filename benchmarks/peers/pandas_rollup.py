"""The same rollup in pandas, in doubles: `python pandas_rollup.py FILE ...`. Only the columns it needs are read."""

from __future__ import annotations

import sys

import pandas as pd
from rollup_columns import KEYS, MAPS, MEASURES, TIME

if __name__ == "__main__":
    parts = []
    for name in sys.argv[1:]:
        frame = pd.read_parquet(name, columns=[*KEYS, *MAPS, TIME, *MEASURES])
        # pyarrow gives a map as a list of pairs
        tags, product = (frame[column].map(dict) for column in MAPS)
        frame["run"] = tags.map(lambda one: one.get("user_training_run_id", ""))
        frame["region"] = frame["product_region_code"].fillna(product.map(lambda one: one.get("region", "")))
        frame["day"] = frame[TIME].dt.floor("D")
        keys = ["run", "line_item_usage_account_id", "line_item_product_code", "region", "day"]
        parts.append(frame.groupby(keys, dropna=False, observed=True)[MEASURES].sum())
    print(len(pd.concat(parts).groupby(level=list(range(5)), dropna=False).sum()))
