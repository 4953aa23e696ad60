"""The dbt project as asset specs and check specs: names, lineage, descriptions, columns, owners, kinds and places in the code.

Read from the manifest and from what is known of columns; nothing is run here. It is not done by dagster-dbt, whose import
costs two seconds in every process of the UI, and whose checks stop a run at the first failed test: a build asks every test, so
that whoever corrects it sees every failed gate at once. Dagster's blocking flag is set where a failed test refuses the
publication, and it is our publish that refuses: Dagster itself ends a step for it only after the last of its tests.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import dagster as dg

from dagster_project.assets import names
from dagster_project.assets.columns import Sources, Types
from dagster_project.assets.labels import code_references
from dagster_project.base.dbt_project import project_folder
from dagster_project.warehouse import statements
from dagster_project.warehouse.gates import expected_dbt_gates, is_blocking
from dagster_project.warehouse.report_models import models_of_reports

BY_HAND = (
    "Run alone, outside the job `refresh`, this model is built but **not published**; the next refresh then builds everything."
)


def model_specs(manifest: dict[str, Any], columns: Mapping[str, tuple[Types, Sources]]) -> list[dg.AssetSpec]:
    """One spec for each model and seed."""
    return [
        _spec(manifest, unique_id, node, *columns.get(unique_id, ({}, {})))
        for unique_id, node in sorted(manifest["nodes"].items())
        if statements.is_built(node)
    ]


def _spec(manifest: dict[str, Any], unique_id: str, node: dict[str, Any], types: Types, sources: Sources) -> dg.AssetSpec:
    is_seed = node["resource_type"] == "seed"
    everything = {**manifest["nodes"], **manifest["sources"]}
    said = (node.get("description") or "").strip()
    kind = "seed" if is_seed else "view" if node["config"].get("materialized") == "view" else "table"
    return dg.AssetSpec(
        names.node_key(node),
        deps=[names.node_key(everything[parent]) for parent in node["depends_on"].get("nodes", []) if parent in everything],
        description=f"{said}\n\n{BY_HAND}" if said else BY_HAND,
        group_name="seeds" if is_seed else node["fqn"][1],
        kinds={"dbt", "duckdb", kind},
        code_version=node["checksum"]["checksum"],
        tags={"trainledger/area": node["fqn"][2]} if len(node["fqn"]) > 3 else {},
        metadata={
            "dagster/table_name": f"{node['schema']}.{node['name']}",
            "dbt unique id": unique_id,
            **column_schema(node, types),
            **column_lineage(everything, sources),
            **code_references(project_folder() / node["original_file_path"]),
        },
    )


def column_schema(node: Mapping[str, Any], types: Types) -> dict[str, Any]:
    """The columns in the order of the table, each with its type and its description from the YAML."""
    told = node.get("columns", {})
    columns = [
        dg.TableColumn(
            name,
            types.get(name) or told.get(name, {}).get("data_type") or "unknown",
            description=" ".join((told.get(name, {}).get("description") or "").split()) or None,
        )
        for name in (types or told)
    ]
    return {"dagster/column_schema": dg.TableSchema(columns)} if columns else {}


def column_lineage(nodes: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """Which columns of the tables before it each column is made of. (The open-source UI shows it as JSON.)"""
    lineage = {
        column: [dg.TableColumnDep(names.node_key(nodes[table]), below) for table, below in leaves if table in nodes]
        for column, leaves in sources.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(lineage)} if lineage else {}


def test_specs(manifest: dict[str, Any]) -> list[dg.AssetCheckSpec]:
    """One check for each dbt test, at the model it is about."""
    gates = expected_dbt_gates(manifest, models_of_reports(manifest))
    return [_check(manifest, node, gates) for _, node in sorted(manifest["nodes"].items()) if node["resource_type"] == "test"]


def _check(manifest: dict[str, Any], node: dict[str, Any], gates: AbstractSet[str]) -> dg.AssetCheckSpec:
    key = names.check_of_test(manifest, node)
    words = (node.get("description") or "").strip()
    words = words or node["name"].removeprefix("assert_").replace("_", " ").strip().capitalize() + "."
    is_gate = f"dbt.{node['name']}" in gates
    consequence = "It keeps its report tables out of the publication." if is_blocking(node) else "A warning: it blocks nothing."
    return dg.AssetCheckSpec(
        key.name,
        asset=key.asset_key,
        description=words if is_gate else f"{words} {consequence}",
        blocking=is_gate,
    )
