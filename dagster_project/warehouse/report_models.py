"""The SELECT of every report model, as the published file can run it: dbt's compiled text with the names of published tables.

Report models read published models and seeds only, directly or through ephemeral ones, which dbt writes into them. So their text
is the same in every build of one version of the code, and is kept beside the parsed project. What a publication does with it is
publishing/statements.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project import durable
from dagster_project.publishing.digest import quoted
from dagster_project.warehouse import modelling

if TYPE_CHECKING:
    from dagster_project.warehouse.site import Site

FOLDER = "marts/reports/"  # below dbt/models
SELECTOR = f"path:models/{FOLDER}"
RESULTS = "run_results.json"
FILE = "report_models.json"


def keep(site: Site, results: list[dict[str, Any]]) -> None:
    """Keep the statements that dbt has just compiled for DuckDB, for builds that start no dbt."""
    compiled = {result["unique_id"]: result["compiled_code"] for result in results if result.get("compiled_code")}
    manifest, kept = modelling.project(site.root), _file(site)
    if not kept.exists() and compiled.keys() >= _models(manifest).keys():
        durable.write_json(kept, published_statements(manifest, compiled))


def statements(site: Site) -> dict[str, str]:
    """The statements by model, as a build of this version of the code has left them."""
    return json.loads(_file(site).read_bytes())


def build(site: Site, arguments: Sequence[str], on_node: Callable[[modelling.Finished], None] | None) -> None:
    """Build the report models on DuckDB, of tables that another engine made, and add what became of them to its results.

    They are a few hundred rows made of a few thousand: Spark took minutes to plan a comparison that DuckDB ends in a second.
    """
    target, place = site.target / "reports", site.target / RESULTS
    modelling.lend_parse_state(modelling.parsed_project(site.root), target)
    nodes = modelling.project(site.root)["nodes"].values()
    seeds = [
        node["name"] for node in nodes if node["resource_type"] == "seed" and node["config"].get("meta", {}).get("published")
    ]
    chosen = ["--select", SELECTOR, *seeds]
    modelling.run_dbt([*arguments, *chosen], site.build_file, target, on_node, site.memory_limit)
    results = json.loads(place.read_bytes())
    known = {result["unique_id"] for result in results["results"]}
    more = json.loads((target / RESULTS).read_bytes())["results"]
    results["results"] += [result for result in more if result["unique_id"] not in known]
    durable.write_json(place, results)


def published_statements(manifest: Mapping[str, Any], compiled: Mapping[str, str]) -> dict[str, str]:
    """The compiled text of every report model over `marts.<table>`; one that reads what is not published is refused."""
    published = [node for node in manifest["nodes"].values() if (node["config"].get("meta") or {}).get("published")]
    found = {}
    for unique_id, node in _models(manifest).items():
        text = compiled[unique_id].strip()
        for other in published:
            text = text.replace(other["relation_name"], f"marts.{quoted(other.get('alias') or other['name'])}")
        database = node["relation_name"].partition(".")[0]
        if f"{database}." in text:
            rest = text.partition(f"{database}.")[2].split()[0]
            raise LookupError(f"report model {node['name']} reads {rest}, which is not published")
        found[node["name"]] = text
    return found


def _models(manifest: Mapping[str, Any]) -> dict[str, Any]:
    nodes = manifest["nodes"].items()
    return {
        key: node
        for key, node in nodes
        if node["resource_type"] == "model" and node["path"].startswith(FOLDER) and node["config"]["materialized"] != "ephemeral"
    }


def _file(site: Site) -> Path:
    return modelling.parsed_project(site.root) / FILE
