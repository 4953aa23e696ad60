"""docs/entities.md, made from the YAML beside the models: `python -m tests.docs.entity_page` writes it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dagster_project.publishing.relations import Relation, relations

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "entities.md"
HEAD = """# Keys and relations

Which tables of `marts` there are, what makes a row of each unique, and which column leads to which table. This page is made from
the YAML beside the models (`python -m tests.docs.entity_page`); a test compares both, and checks each relation on the demo.
What tables and columns mean is in [the published tables in words](contract.md) and in the comments of the file.

The published file declares the keys of tables without months as primary keys; those of the others cost too much there
([0001](adr/0001-a-published-snapshot-written-by-parts.md)), and it declares no foreign keys:
DuckDB would not let the table that they point to be replaced. `provider_name` belongs to every
key of accounts, services and regions: an id alone may be of both providers. An empty text points to nothing. A table that is in
no figure points to none.
"""
FIGURES = {
    "Runs and what they carry": ("dim_training_runs",),
    "Where it was billed": ("dim_accounts", "dim_services", "dim_regions"),
    "Accelerators and factors": ("dim_accelerators", "dim_emission_factors"),
}


class Entity(NamedTuple):
    """A published table."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


def entities() -> Iterator[Entity]:
    """Models marked as published, by name."""
    models: list[dict[str, Any]] = []
    for path in sorted((ROOT / "dbt" / "models" / "marts").rglob("*.yml")):
        models += yaml.safe_load(path.read_text(encoding="utf-8")).get("models") or []
    for model in sorted(models, key=lambda model: model["name"]):
        meta = model.get("config", {}).get("meta", {})
        if meta.get("published"):
            yield Entity(model["name"], tuple(meta["key"]), tuple(column["name"] for column in model["columns"]))


def _figure(parents: tuple[str, ...], shown: list[Relation]) -> str:
    """Each parent with the tables that point to it below it, and by which columns beside what belongs to every key."""
    width = max(len(relation.child) for relation in shown)
    lines = ["```text"]
    for parent in parents:
        by: dict[str, list[str]] = {}
        for relation in shown:
            if relation.parent == parent:
                by.setdefault(relation.child, []).append(relation.columns[-1])
        if by:
            *others, last = by
            lines.append(parent)
            lines += [f"├─ {child:<{width}}  by {', '.join(by[child])}" for child in others]
            lines.append(f"└─ {last:<{width}}  by {', '.join(by[last])}")
    return "\n".join([*lines, "```"])


def page() -> str:
    """The whole page."""
    tables = {entity.name: entity for entity in entities()}
    every = list(relations({name: list(entity.columns) for name, entity in tables.items()}))
    parts = [HEAD, "<!-- generated -->\n"]
    for title, parents in FIGURES.items():
        parts.append(f"## {title}\n\n{_figure(parents, [one for one in every if one.parent in parents])}\n")
    rows = ["## Every table", "", "| Table | Key | Points to |", "|---|---|---|"]
    for name, entity in tables.items():
        to = "; ".join(f"`{one.parent}` by `{', '.join(one.columns)}`" for one in every if one.child == name)
        rows.append(f"| `{name}` | {', '.join(f'`{column}`' for column in entity.key)} | {to} |")
    return "\n".join([*parts, *rows, "", "<!-- end of generated -->"]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
