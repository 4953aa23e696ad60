"""The SELECT of every report model and page, as the published file can run it: dbt's text with the names of published tables.

Report models read published models and seeds only, directly or through the tables that they have in common, whose SELECTs are
written before theirs; pages, which reports print, read these and tables of ops. So their text is the same in every build of one
version of the code. What a publication does with it is publishing/statements.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dagster_project.publishing.digest import quoted
from dagster_project.publishing.statements import Page
from dagster_project.warehouse import gates, modelling, statements
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.statements import Statement

FOLDER, *IN_COMMON = statements.REPORTS  # the others: tables of a build, not published, that report models alone read
WITH = re.compile(r"(?:\s|--[^\n]*\n)*with\s", re.IGNORECASE)


def select_texts(home: Path) -> dict[str, str]:
    """The SELECT of every report model, by name."""
    return published_statements(modelling.project(home), modelling.compiled(home))


def models_of_reports(manifest: Mapping[str, Any]) -> set[str]:
    """The unique ids of report models and of what they have in common."""
    return set(_models(manifest, FOLDER, *IN_COMMON))


def unsound(manifest: Mapping[str, Any], nodes: Iterable[NodeResult]) -> list[gates.GateResult]:
    """A failed gate for each published report model that was not built, or of which a blocking test failed.

    A table below one of these was not built either: the runner skips it.
    """
    found, models = dict[str, str | None](), _models(manifest, FOLDER)
    for node in nodes:
        if node.is_sound:
            continue
        if node.unique_id in models:
            found.setdefault(node.unique_id, node.detail)
        elif node.is_test and gates.is_blocking(of_test := manifest["nodes"][node.unique_id]):
            for model in models.keys() & {*of_test["depends_on"]["nodes"]}:
                found.setdefault(model, f"{node.name}: {node.detail}")
    return [gates.GateResult(gates.REPORT + models[model]["name"], False, 0, detail) for model, detail in sorted(found.items())]


def left_to_duckdb(home: Path, done: Iterable[NodeResult]) -> list[Statement]:
    """What a build on another engine leaves: report models and what they have in common, tests not asked, published seeds."""
    asked, nodes = {node.unique_id for node in done if node.is_test}, modelling.project(home)["nodes"]
    others = {key for key, node in nodes.items() if node["resource_type"] == "seed" and node["config"]["meta"].get("published")}
    chosen = _models(modelling.project(home), FOLDER, *IN_COMMON).keys() | others
    return [one for one in statements.statements(home) if one.unique_id in chosen or (one.is_test and one.unique_id not in asked)]


def pages(home: Path) -> list[Page]:
    """Every page by name: a model of reports, or a published table of which some rows are printed as they are."""
    manifest, compiled = modelling.project(home), modelling.compiled(home)
    made = published_statements(manifest, compiled, statements.PAGES)
    found = [
        Page(node["name"], made[node["name"]], _printed(node))
        for node in _models(manifest, statements.PAGES).values()
        if node["name"] in made
    ]
    for node in [*manifest["nodes"].values(), *manifest.get("sources", {}).values()]:
        if (printed := _printed(node)) and not node["path"].startswith(statements.PAGES):
            schema = "ops" if node["schema"] == "ops" else "marts"
            found.append(Page(node["name"], f"select * from {schema}.{quoted(node['name'])}", printed, is_table=True))
    ids = Counter(id for page in found for id in page.printed)
    if twice := [id for id, count in ids.items() if count > 1]:
        raise LookupError(f"two pages print a table of reports with the id {twice[0]}")
    return sorted(found, key=lambda page: page.model)


def _printed(node: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of reports that print rows of a model: by id how each chooses, orders and calls them."""
    return (node["config"].get("meta") or {}).get("printed") or {}


def published_statements(manifest: Mapping[str, Any], compiled: Mapping[str, str], folder: str = FOLDER) -> dict[str, str]:
    """The compiled text of the models of a folder over `marts.<table>`; one that reads what is not published is refused."""
    published = [node for node in manifest["nodes"].values() if (node["config"].get("meta") or {}).get("published")]
    in_common = {
        node["relation_name"]: (node["name"], compiled[key].strip()) for key, node in _models(manifest, *IN_COMMON).items()
    }
    found = {}
    for unique_id, node in _models(manifest, folder).items():
        if node["config"]["materialized"] == "ephemeral":
            continue
        text = _standing_alone(compiled[unique_id].strip(), in_common)
        for other in published:
            text = text.replace(other["relation_name"], f"marts.{quoted(other.get('alias') or other['name'])}")
        database = node["relation_name"].partition(".")[0]
        text = text.replace(f'{database}."ops".', "ops.")
        if f"{database}." in text:
            rest = text.partition(f"{database}.")[2].split()[0]
            raise LookupError(f"report model {node['name']} reads {rest}, which is not published")
        found[node["name"]] = text
    return found


def _standing_alone(text: str, in_common: Mapping[str, tuple[str, str]]) -> str:
    """A SELECT with each table in common that it reads, directly or through another, written before it under the table's name."""
    written: dict[str, str] = {}

    def write(reader: str) -> None:
        for relation, (name, select) in in_common.items():
            if relation in reader and name not in written:
                write(select)
                written[name] = f"{name} as (\n{select}\n)"

    write(text)
    if written:
        begun = WITH.match(text)
        text = f"with {', '.join(written.values())}{', ' if begun else ' '}{text[begun.end() :] if begun else text}"
    for relation, (name, _) in in_common.items():
        text = text.replace(relation, name)
    return text


def _models(manifest: Mapping[str, Any], *folders: str) -> dict[str, Any]:
    nodes = manifest["nodes"].items()
    return {key: node for key, node in nodes if node["resource_type"] == "model" and node["path"].startswith(folders)}
