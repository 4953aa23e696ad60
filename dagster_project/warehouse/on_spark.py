"""`engine: spark`: the models of a build run on Apache Spark, on the same landing, and the file that is published is the same.

Here is the side of the refresh: what Spark is told to read, its process, and the finished tables on their way back into the
build file, where the ordinary gates and the ordinary publication find them. What happens inside that process is in
spark_process.py. Needs the extra `scale` and a Java runtime.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.base import durable
from dagster_project.base.failures import UsageError
from dagster_project.publishing.digest import literal
from dagster_project.warehouse import modelling
from dagster_project.warehouse.nodes import NodeResult, node_results
from dagster_project.warehouse.site import Site
from dagster_project.warehouse.statements import REPORTS

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election
    from dagster_project.landing.land import Landing
    from dagster_project.settings import Rules

SPARK = "spark"


def require(engine: str) -> None:
    """Refuse to begin what the engine of the configuration cannot do here."""
    if engine != SPARK:
        return
    if find_spec("pyspark") is None or find_spec("dbt.adapters.spark") is None:
        what, remedy = "the extra `scale`, which is not installed", "Run `pip install pyspark 'dbt-spark<1.12'`"
    elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        what, remedy = "Java, and there is none here", "Install Java 17 or newer, or set JAVA_HOME"
    else:
        return
    raise UsageError(f"'engine: spark' needs {what}", remedy=f"{remedy}, or leave `engine` out: DuckDB needs neither.")


def folder_of(site: Site, build_id: str) -> Path:
    """What Spark reads and leaves of a build. Workers on other machines must see it under this path. A folder for each build: the
    Java process of a killed one may write for a second more."""
    return site.root / "cache" / SPARK / build_id


def write_plan(site: Site, build_id: str, rules: Rules, landing: Landing, election: Election) -> None:
    """Tell Spark what schema raw is made of, as SQL in its dialect. The small tables it takes from the build file itself."""
    from dagster_project.base.kinds import built_kinds
    from dagster_project.landing.deriving.typed_select import empty_select
    from dagster_project.warehouse import raw, raw_tables

    views: dict[str, list[str]] = {}

    def view_of(paths: list[str]) -> str:
        views[name := f"files_{len(views)}"] = list(paths)
        return name

    kinds = {}
    for kind in built_kinds():
        select = raw.rows_of(kind, rules, raw.landed_files(landing, election.members, kind), view_of)
        rows = sum(member.contents.rows for member in election.members if member.generation.kind == kind)
        kinds[str(kind)] = {"select": in_spark_sql(select), "rows": rows}
    small = {"landed_files": raw.FILE_COLUMNS} | raw_tables.TABLES
    plan = {
        "views": views,
        "kinds": kinds,
        "small": {name: in_spark_sql(empty_select(columns.items())) for name, columns in small.items()},
        "tables": [f"{node['schema']}.{node['name']}" for node in _marts(site)],
    }
    clear(site)  # what a killed build left
    folder = folder_of(site, build_id)
    folder.mkdir(parents=True)
    durable.write_json(folder / "plan.json", plan)


def clear(site: Site) -> None:
    """Remove what Spark read and left."""
    shutil.rmtree(site.root / "cache" / SPARK, ignore_errors=True)


def in_spark_sql(text: str) -> str:
    """A SELECT written for DuckDB, whose TIMESTAMP is without a zone and UTC, as Spark's is in a session of ours."""
    from sqlglot import exp, parse_one

    select = parse_one(text, read="duckdb")
    for kind in select.find_all(exp.DataType):
        if kind.is_type("timestamp", "timestampntz"):
            kind.replace(exp.DataType.build("timestamptz"))
    return select.sql("spark")


def run_dbt(site: Site, build_id: str, connect: Callable[[], Any]) -> list[NodeResult]:
    """Run dbt on Spark in a process of its own, all but the models of reports, and take the tables that readers get into the
    build file. They are a few hundred rows made of a few thousand, which Spark takes minutes to plan: DuckDB runs them."""
    folder = folder_of(site, build_id)
    site.target.mkdir(parents=True, exist_ok=True)
    path = site.target / "run_results.json"
    path.unlink(missing_ok=True)  # an old result must not pass for this build's
    program = [sys.executable, "-P", str(Path(__file__).with_name("spark_process.py")), str(os.getpid()), str(folder)]
    others = [f"path:models/{folder}" for folder in REPORTS]
    chosen = [*modelling.BUILD_ARGUMENTS, "--full-refresh", "--exclude", *others, "--target", SPARK]
    modelling.run_process(program, chosen, site.build_file, site.target)
    results = json.loads(path.read_bytes())
    with connect() as connection:
        _take(connection, _marts(site), folder, {result["unique_id"]: result for result in results["results"]})
        return node_results(modelling.project(site.root), results, connection)


def _marts(site: Site) -> list[dict[str, Any]]:
    """Published tables that Spark makes; report models are DuckDB's, and a published view is made anew in the published file."""
    nodes = modelling.project(site.root)["nodes"].values()
    models = [node for node in nodes if node["resource_type"] == "model" and not node["path"].startswith(REPORTS)]
    how = [(node, node["config"]["materialized"], node["config"].get("meta", {}).get("published")) for node in models]
    return [node for node, kind, published in how if published == "parquet" or (published and kind != "view")]


def _take(
    connection: duckdb.DuckDBPyConnection, marts: list[dict[str, Any]], folder: Path, results: dict[str, dict[str, Any]]
) -> None:
    """Spark's tables know no constraints: here each gets the types and NOT NULL of its contract, and one that breaks them is
    a model that was not built."""
    import duckdb

    connection.execute("create schema if not exists marts")
    for node in marts:
        result = results.get(node["unique_id"])
        if result is None or result["status"] != "success":
            continue
        files = folder / "tables" / f"{node['schema']}.{node['name']}" / "*.parquet"
        table, rows = f'marts."{node["name"]}"', f"from read_parquet({literal(str(files))})"
        try:
            if all(column.get("data_type") for column in node["columns"].values()):
                declared = ", ".join(f'"{name}" {_type_of(column)}' for name, column in node["columns"].items())
                connection.execute(f"create or replace table {table} ({declared}); insert into {table} by name {rows}")
            else:
                connection.execute(f"create or replace table {table} as {rows}")
        except duckdb.ConstraintException as error:
            result.update(status="error", message=str(error))


def _type_of(column: dict[str, Any]) -> str:
    not_null = any(rule["type"] == "not_null" for rule in column.get("constraints", []))
    return f"{column['data_type']}{' not null' if not_null else ''}"
