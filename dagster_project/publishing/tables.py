"""Which tables readers get: the dbt models marked for publication, with their keys and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A dbt model that readers get: its place, its unique key and its words."""

    name: str
    schema: str
    key: tuple[str, ...]
    description: str
    columns: dict[str, str]


def published_tables(manifest: dict[str, Any]) -> list[PublishedTable]:
    """The models marked `meta: {published: true, key: [...]}`, by name."""
    tables = []
    for node in manifest["nodes"].values():
        meta = node.get("config", {}).get("meta") or {}
        if node["resource_type"] not in ("model", "seed") or not meta.get("published"):
            continue
        words = {name: column.get("description", "") for name, column in node["columns"].items()}
        relation = node.get("alias") or node["name"]
        tables.append(PublishedTable(relation, node["schema"], tuple(meta.get("key", ())), node.get("description", ""), words))
    return sorted(tables, key=lambda table: table.name)
