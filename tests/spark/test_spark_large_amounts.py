"""Every model of the ledger is built on Spark too where money, energy, tokens and hours are a million times as large, in
dollars and in won, with DuckDB's rows, and its gates can be asked there.

Both engines read the enlarged tables of schema raw of one build file. Spark's own reading of landed files is a matter of
test_spark_parity.py.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass

import pytest

from dagster_project.landing.deriving.typed_select import empty_select
from dagster_project.publishing.digest import literal
from dagster_project.warehouse import modelling, on_spark, statements
from dagster_project.warehouse.building import opened
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.site import Site
from tests import warm
from tests.enlarged import enlarge, run_all
from tests.line.kit import NOW
from tests.line.test_large_amounts import COMPARE_WITH_FILES
from tests.oracle.any_google import write_any_google
from tests.oracle.google_builders import GoogleExports
from tests.spark.test_spark_parity import require_spark, write_spark_defaults
from tests.spark.two_clouds import write_two_clouds

pytestmark = [pytest.mark.slow, pytest.mark.nightly]
FACTOR = 1_000_000
CURRENCY = {"two clouds": None, "any Google bill": "KRW"}  # None: that of its bills
BUILD = "enlarged"
AT_LEAST = {  # rows of models that overflowed, and of what only one of the organisations has
    "two clouds": {"int_aws_block_shares": 3, "int_carbon_rows": 5, "int_power_readings": 100},
    "any Google bill": {"int_line_overlaps": 100, "int_run_region_energy": 21, "int_telemetry_matches": 21},
}


@dataclass(frozen=True)
class Engines:
    """One enlarged organisation, built on each engine: where, and what became of each model and test."""

    organisation: str
    duckdb: Site
    spark: Site
    on_duckdb: list[NodeResult]
    on_spark: list[NodeResult]


@pytest.fixture(scope="module", params=AT_LEAST)
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    require_spark()
    folder = tmp_path_factory.mktemp("drawn")
    if request.param == "two clouds":
        config = write_two_clouds(folder)
    else:
        exports = GoogleExports(folder)
        write_any_google(exports, 2026)
        config = exports.config()
    done = warm.run_trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    [built] = folder.rglob("build.duckdb")
    sites = [Site(tmp_path_factory.mktemp(name), folder / f"dbt for {name}") for name in ("duckdb", "spark")]
    every = statements.statements(folder)
    shutil.copy(built, sites[0].build_file)
    with opened(sites[0]) as connection:
        enlarge(connection, FACTOR, currency=CURRENCY[request.param])
        months = [str(month) for (month,) in connection.execute("from raw.build_months").fetchall()]
        on_duckdb = run_all(connection, every, months)
    shutil.copy(sites[0].build_file, sites[1].build_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(write_spark_defaults(tmp_path_factory.mktemp("conf"))))
        compare_with_files = (one.name for one in every if one.is_test and one.name.startswith(COMPARE_WITH_FILES))
        patch.setattr(modelling, "BUILD_ARGUMENTS", (*modelling.BUILD_ARGUMENTS, "--exclude", *compare_with_files))
        write_plan(sites[1])
        nodes = on_spark.run_dbt(sites[1], BUILD, lambda: opened(sites[1]))
    return Engines(request.param, *sites, on_duckdb, nodes)


def write_plan(site: Site) -> None:
    """Tell Spark to take every table of schema raw from the build file, and to leave every table of the ledger."""
    with opened(site) as connection:
        connection.execute("drop schema marts cascade")  # a full build begins with a new file
        names = connection.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
        names += connection.execute("select view_name from duckdb_views() where schema_name = 'raw'").fetchall()
        columns = {
            name: [tuple(row[:2]) for row in connection.execute(f"describe raw.{name}").fetchall()]
            for (name,) in names
            if not name.endswith("_as_landed")
        }
    plan = {
        "views": {},
        "kinds": {},
        "small": {name: on_spark.in_spark_sql(empty_select(declared)) for name, declared in columns.items()},
        "tables": tables(site),
    }
    folder = on_spark.folder_of(site, BUILD)
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(plan))


def tables(site: Site) -> list[str]:
    """The models of the ledger that are tables, here or as published; every other view is read by one of them."""
    nodes = modelling.project(site.root)["nodes"].values()
    models = [node for node in nodes if node["resource_type"] == "model" and statements.is_built(node)]
    models = [node for node in models if not node["path"].startswith(statements.REPORTS)]
    configs = [(f"{node['schema']}.{node['name']}", node["config"]) for node in models]
    return [name for name, config in configs if config["materialized"] != "view" or config["meta"].get("published") == "parquet"]


def test_spark_builds_every_model_and_asks_every_gate_of_a_million_times_as_much(engines: Engines) -> None:
    unsound = [node for node in engines.on_spark if not node.is_sound]
    assert [f"{node.name} {node.detail}" for node in unsound if node.status in ("error", "skipped")] == []
    asked = {node.unique_id for node in engines.on_spark if node.is_test}
    assert {node.name for node in unsound} == {
        node.name for node in engines.on_duckdb if node.unique_id in asked and not node.is_sound
    }
    with opened(engines.spark) as connection:
        costs = "select max(abs(effective_cost)), min(billing_currency) from marts.fct_training_run_costs"
        [(largest, currency)] = connection.execute(costs).fetchall()
    assert largest > FACTOR, "nothing was made larger"
    assert currency == (CURRENCY[engines.organisation] or "USD")


def test_every_table_of_spark_has_the_rows_of_duckdb_of_a_million_times_as_much(engines: Engines) -> None:
    folder, different, rows = on_spark.folder_of(engines.spark, BUILD) / "tables", list[str](), dict[str, int]()
    with opened(engines.duckdb) as connection:
        for table in tables(engines.spark):
            found = f"read_parquet({literal(str(folder / table / '*.parquet'))})"
            described = connection.execute(f"describe {table}").fetchall()
            columns = ", ".join(f'cast("{name}" as {of_type}) as "{name}"' for name, of_type, *_ in described)
            connection.execute(f"create or replace temp table on_spark as select {columns} from {found}")
            rows[table.partition(".")[2]] = connection.execute("from (select count(*) from on_spark)").fetchall()[0][0]
            for engine, one, other in (("DuckDB", table, "on_spark"), ("Spark", "on_spark", table)):
                only = f"(select {columns} from {one} except all select {columns} from {other})"
                shown = connection.execute(f"from {only} order by all limit 2").fetchall()
                different += [f"{table} on {engine} only: {', '.join(map(str, row))}" for row in shown]
    assert different == []
    assert {name for name, least in AT_LEAST[engines.organisation].items() if rows[name] < least} == set()
