"""Columns of the models: their types, and which columns of which tables each one is made of.

Both are properties of the SQL, not of a build. They are worked out once for each version of the dbt project (twelve processor
seconds of sqlglot), when `trainledger ui` starts or at the end of a build that Dagster ran, and kept beside the manifest, which
homes share: a refresh from the command line and the loading of the graph parse no SQL.
"""

import json
import logging
from pathlib import Path
from typing import Any

from dagster_project.base import durable
from dagster_project.warehouse import building, modelling, statements
from dagster_project.warehouse.site import Site

COLUMNS = "columns.json"
Types = dict[str, str]  # column -> type
Sources = dict[str, list[tuple[str, str]]]  # column -> (unique id of a model, seed or source, column)


def kept_columns(home: Path) -> dict[str, tuple[Types, Sources]]:
    """What is known by unique id; empty before the first build of this version of the project."""
    path = modelling.laid_out(home) / COLUMNS
    if not path.exists():
        return {}
    return {unique_id: (found["types"], found["sources"]) for unique_id, found in json.loads(path.read_bytes()).items()}


def learn_columns(site: Site, manifest: dict[str, Any]) -> None:
    """Read types from the build file and lineage from the SQL that dbt ran, unless this version of the project is known."""
    path = modelling.laid_out(site.root) / COLUMNS
    if path.exists() or not site.build_file.exists():
        return
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it prints whole queries whose scope it does not follow
    with building.opened(site) as connection:
        rows = connection.execute(
            "select schema_name, table_name, column_name, data_type from duckdb_columns()"
            " where not internal order by column_index"
        ).fetchall()
    types: dict[str, dict[str, Types]] = {}
    for schema, table, column, kind in rows:
        types.setdefault(schema, {}).setdefault(table, {})[column] = kind.lower()
    nodes = {unique_id: node for unique_id, node in manifest["nodes"].items() if statements.is_built(node)}
    by_table = {(n["schema"], n["name"]): unique_id for unique_id, n in {**nodes, **manifest["sources"]}.items()}
    compiled = modelling.compiled(site.root)
    found = {}
    for unique_id, node in nodes.items():
        own = types.get(node["schema"], {}).get(node["name"], {})
        sql = compiled.get(unique_id) if node["resource_type"] == "model" else None
        found[unique_id] = {"types": own, "sources": _sources_of(sql, own, types, by_table) if sql else {}}
    durable.write_json(path, found)


def _sources_of(sql: str, columns: Types, types: dict[str, dict[str, Types]], by_table: dict[tuple[str, str], str]) -> Sources:
    """Which columns of the tables below each column of a query comes from, through all its common table expressions."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.lineage import to_node
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import MappingSchema

    # only names matter for lineage
    names = {schema: {table: dict.fromkeys(own, "int") for table, own in tables.items()} for schema, tables in types.items()}
    known = MappingSchema({"build": names}, dialect="duckdb")
    query = qualify(sqlglot.parse_one(sql, dialect="duckdb"), dialect="duckdb", schema=known, validate_qualify_columns=False)
    scope = build_scope(query)
    if scope is None:
        return {}
    sources: Sources = {}
    for column in columns:
        leaves = set()
        for leaf in to_node(column, scope, "duckdb", schema=known, trim_selects=False).walk():
            if isinstance(leaf.expression, exp.Table):
                unique_id = by_table.get((leaf.expression.db, leaf.expression.name))
                if unique_id:
                    leaves.add((unique_id, leaf.name.rpartition(".")[2].strip('"')))
        sources[column] = sorted(leaves)
    return sources
