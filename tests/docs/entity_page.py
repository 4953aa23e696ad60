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
([0001](adr/0001-a-published-snapshot-written-by-parts.md)), and it declares no foreign keys. `provider_name` belongs to every
key of accounts, services and regions: an id alone may be of both providers. An empty text points to nothing. A table that is in
no diagram points to none.
"""
DIAGRAMS = {
    "Runs and what they carry": ("dim_training_runs",),
    "Where it was billed": ("dim_accounts", "dim_services", "dim_regions"),
    "Accelerators and factors": ("dim_accelerators", "dim_emission_factors"),
}


class Entity(NamedTuple):
    """A published table: key, and type by column."""

    name: str
    key: tuple[str, ...]
    columns: dict[str, str]


def entities() -> Iterator[Entity]:
    """Models marked as published, by name."""
    models: list[dict[str, Any]] = []
    for path in sorted((ROOT / "dbt" / "models" / "marts").rglob("*.yml")):
        models += yaml.safe_load(path.read_text(encoding="utf-8")).get("models") or []
    for model in sorted(models, key=lambda model: model["name"]):
        meta = model.get("config", {}).get("meta", {})
        if meta.get("published"):
            types = {column["name"]: str(column.get("data_type", "string")) for column in model["columns"]}
            yield Entity(model["name"], tuple(meta["key"]), types)


def _diagram(tables: dict[str, Entity], shown: list[Relation]) -> str:
    """One picture: tables with the columns that are keys or point somewhere, and lines between them."""
    pointing: dict[str, set[str]] = {}
    for relation in shown:
        pointing.setdefault(relation.child, set()).update(relation.columns)
    lines = ["```mermaid", "erDiagram"]
    lines += [f"    {relation.parent} ||--o{{ {relation.child} : {relation.columns[-1]}" for relation in shown]
    for name in sorted({relation.parent for relation in shown} | pointing.keys()):
        lines.append(f"    {name} {{")
        for column, kind in tables[name].columns.items():
            marks = [mark for mark, has in (("PK", tables[name].key), ("FK", pointing.get(name, ()))) if column in has]
            if marks:
                lines.append(f"        {kind.split('(')[0]} {column} {', '.join(marks)}")
        lines.append("    }")
    return "\n".join([*lines, "```"])


def page() -> str:
    """The whole page."""
    tables = {entity.name: entity for entity in entities()}
    every = list(relations({name: list(entity.columns) for name, entity in tables.items()}))
    parts = [HEAD, "<!-- generated -->\n"]
    for title, parents in DIAGRAMS.items():
        parts.append(f"## {title}\n\n{_diagram(tables, [one for one in every if one.parent in parents])}\n")
    rows = ["## Every table", "", "| Table | Key | Points to |", "|---|---|---|"]
    for name, entity in tables.items():
        to = "; ".join(f"`{one.parent}` by `{', '.join(one.columns)}`" for one in every if one.child == name)
        rows.append(f"| `{name}` | {', '.join(f'`{column}`' for column in entity.key)} | {to} |")
    return "\n".join([*parts, *rows, "", "<!-- end of generated -->"]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
