"""Writes dagster_project/evidence/tracing/rules.json: how each number is made, from `meta.trace` of the models.

`python -m tests.evidence.known` writes it too, after a change of a table, a page or its `meta.trace`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dagster_project.publishing.tables import ops_tables
from dagster_project.warehouse import modelling

NUMBERS = ("decimal", "bigint", "int", "double", "hugeint")


def nodes(root: Path) -> dict[str, dict[str, Any]]:
    """Every published table and every page that is printed, by the name that readers know."""
    found = {}
    for node in modelling.project(root)["nodes"].values():
        meta = node["config"].get("meta") or {}
        if node["resource_type"] in ("model", "seed") and (meta.get("published") or meta.get("printed")):
            found[node.get("alias") or node["name"]] = node
    return found


def numbers_of(node: Mapping[str, Any]) -> list[str]:
    """The numeric columns of a model."""
    return [name for name, column in node["columns"].items() if (column.get("data_type") or "").startswith(NUMBERS)]


def schema_of(node: Mapping[str, Any]) -> str:
    return "pages" if node["path"].startswith("pages/") else "marts"


def document(root: Path) -> str:
    manifest, found = modelling.project(root), nodes(root)
    names = {node["unique_id"]: name for name, node in found.items()}

    def read_by(node: Mapping[str, Any]) -> Iterator[str]:
        """The published tables that a statement reads, directly or through tables that it has in common with others."""
        for key in node["depends_on"].get("nodes", ()):
            other = manifest["nodes"].get(key)
            if key in names and other and (other["config"].get("meta") or {}).get("published"):
                yield names[key]
            elif other is not None:
                yield from read_by(other)
            elif manifest["sources"].get(key, {}).get("schema") == "ops":
                yield manifest["sources"][key]["name"]

    def written(rule: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
        """A statistic lists all that its statement reads: rows of the same key where a rule names inputs, else whole tables."""
        if "statistic" not in rule or "gives" in rule:
            return dict(rule)
        if rule["statistic"] == "statement":
            stated, by = [], {"by": dict.fromkeys(node["config"]["meta"].get("key") or ())}
        else:
            stated, by = rule["statistic"] if isinstance(rule["statistic"], list) else [rule["statistic"]], {}
        there = {one if isinstance(one, str) else one["of"] for one in (*stated, *rule.get("inputs", ()))}
        return {
            **rule,
            "statistic": [*stated, *({"of": name, **by} for name in dict.fromkeys(read_by(node)) if name not in there)],
        }

    tables = {
        name: {
            "schema": schema_of(node),
            "key": node["config"]["meta"].get("key") or [],
            "numbers": numbers_of(node),
            "trace": [written(rule, node) for rule in node["config"]["meta"].get("trace") or []],
        }
        for name, node in found.items()
    }
    for name, table in ops_tables().items():
        tables[name] = {"schema": "ops", "key": list(table.key), "numbers": [], "trace": [{"lookup": "operations"}]}
    lines = [f" {json.dumps(name)}: {json.dumps(table, separators=(',', ':'))}" for name, table in sorted(tables.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"
