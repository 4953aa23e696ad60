"""Which tables readers get, with their keys and words: the dbt models marked for publication, and tables of schema ops.

Words of the marts are in the YAML beside the models, those of schema ops in ops.yml.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

OPS = Path(__file__).with_name("ops.yml")
COPIED = ("dim_deliveries", "listed_objects", "gate_results", "builds")  # made by the warehouse; publication makes the others


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table that readers get: its place in the build, its unique key and its words."""

    name: str
    schema: str
    key: tuple[str, ...]
    description: str
    columns: dict[str, str]
    is_view: bool = False  # asked when it is read: a few rows that other tables have already
    is_parquet_only: bool = False  # too many rows for the DuckDB file: month_files.py


def published_tables(manifest: dict[str, Any]) -> list[PublishedTable]:
    """The models marked `meta: {published: true, key: [...]}`, or `published: parquet`, by name."""
    tables = []
    for node in manifest["nodes"].values():
        meta = node.get("config", {}).get("meta") or {}
        if node["resource_type"] not in ("model", "seed") or not meta.get("published"):
            continue
        words = {name: column.get("description", "") for name, column in node["columns"].items()}
        relation = node.get("alias") or node["name"]
        key, is_parquet_only = tuple(meta.get("key", ())), meta["published"] == "parquet"
        is_view = node["config"].get("materialized") == "view" and not is_parquet_only
        description = node.get("description", "")
        tables.append(PublishedTable(relation, node["schema"], key, description, words, is_view, is_parquet_only))
    return sorted(tables, key=lambda table: table.name)


@cache
def ops_tables() -> dict[str, PublishedTable]:
    """The tables of schema ops by name."""
    described = yaml.load(OPS.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {
        name: PublishedTable(name, "ops", tuple(of["key"]), of["description"], of["columns"]) for name, of in described.items()
    }
