"""Which rows of a bill a group was made of, where they are kept beside it: what grouped_sql groups by, as text for DuckDB.

The same expressions are asked of a row and of a group in the columns of the export; rows with the values of a group are its own,
or travelled by themselves and are like them. A trace lists them; no figure rests on them.
"""

from __future__ import annotations

from collections.abc import Collection

from connectors.gcp.grouped_sql import KEYS, MEASURES, PRICE_CREDITS

LIST = ".list.element."  # between a repeated record and its field, as Parquet has it


def group_columns(paths: Collection[str]) -> dict[str, str]:
    """By name what groups are made by, over a row with columns at these paths of a Parquet file."""
    found = {"usage_day": "cast(usage_start_time as date)"}
    found |= {path: _dotted(path) for path in KEYS if path in paths}
    if {"location.region", "location.zone"} <= {*paths}:
        region = _dotted("location.region")
        found["location.zone"] = f"case when contains(coalesce({region}, ''), '-') then null else {_dotted('location.zone')} end"
    for path in MEASURES:
        if path in paths:
            amount = _dotted(path)
            is_there = f"coalesce({amount} <> 0, false)" if path == "usage.amount" else f"{amount} is not null"
            found[f"has {path}"] = is_there
    price = "0"
    if f"credits{LIST}type" in paths:
        kind = "upper(coalesce(one.\"type\", ''))"
        kinds = f"list_sort(list_distinct(list_transform(credits, lambda one: {kind})))"
        found["credit_types"] = f"coalesce(array_to_string({kinds}, ','), '')"
        listed = ", ".join(f"'{name}'" for name in PRICE_CREDITS)
        of_price = f"list_filter(credits, lambda one: {kind} in ({listed}))"
        price = f"coalesce(list_sum(list_transform({of_price}, lambda one: cast(one.amount as decimal(38, 12)))), 0)"
    found["is_negative"] = f"cast(cost as double) + cast({price} as double) < 0"
    return found


def _dotted(path: str) -> str:
    return ".".join(f'"{part}"' for part in path.split("."))
