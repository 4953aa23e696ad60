"""`engine: spark` where no Spark is needed: what is refused, when a build is a full one, what comes back into the build file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.failures import UsageError
from dagster_project.publishing.publish import COMMIT_RECORD, FILE_NAME
from dagster_project.settings import load_settings
from dagster_project.warehouse import builds, on_spark, spark_process
from dagster_project.warehouse.nodes import node_results
from dagster_project.warehouse.site import Site
from tests.conftest import Command
from tests.spark.parity import FILE, differences

UNITS = {"~shared": "0", "AWS/2026-04": "1"}
MART = {
    "unique_id": "model.trainledger.fct_x",
    "resource_type": "model",
    "schema": "marts",
    "name": "fct_x",
    "config": {"meta": {"published": True}},
    "columns": {
        "run": {"data_type": "string", "constraints": [{"type": "not_null"}]},
        "cost": {"data_type": "decimal(38,12)"},
        "at": {"data_type": "timestamp"},
    },
}


def site_of(folder: Path) -> Site:
    return Site.of_home(folder / "home")


@pytest.mark.parametrize("missing", ["pyspark", "dbt.adapters.spark"])
def test_without_the_extra_a_refresh_ends_with_2_and_shows_what_to_install(
    missing: str, tmp_path: Path, trainledger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = on_spark.find_spec
    monkeypatch.setattr(on_spark, "find_spec", lambda name: None if name == missing else known(name))
    config = tmp_path / "trainledger.yaml"
    (tmp_path / "runs").mkdir()
    config.write_text(
        "organisation: {name: Test}\nhome: ./home\nengine: spark\nsources: [{name: runs, kind: training_runs, location: runs}]\n"
    )
    done = trainledger("refresh", "--config", config)
    assert done.returncode == 2
    assert "needs the extra `scale`" in done.stderr and "pip install pyspark 'dbt-spark<1.12'" in done.stderr
    assert not (tmp_path / "home").exists(), "nothing is landed for a build that cannot be"


def test_without_java_the_remedy_is_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_spark, "find_spec", lambda name: name)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(UsageError, match=r"needs Java.*Install Java 17"):
        on_spark.require("spark")
    on_spark.require("duckdb")


def test_an_engine_that_does_not_exist_is_named(tmp_path: Path) -> None:
    config = tmp_path / "trainledger.yaml"
    config.write_text("organisation: {name: T}\nengine: flink\nsources: [{name: r, kind: training_runs, location: r}]\n")
    with pytest.raises(UsageError, match="'engine': this must be 'duckdb' or 'spark'"):
        load_settings(config)


def test_dbt_does_not_turn_off_the_mode_in_which_overflow_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    session = pytest.importorskip("dbt.adapters.spark.session")
    monkeypatch.setattr(session.Connection, "cursor", session.Connection.cursor)
    forced = {"spark.sql.ansi.enabled": "false"}
    assert session.Connection(server_side_parameters=forced).cursor().server_side_parameters == forced, (
        "nothing to prevent any more"
    )
    spark_process.keep_settings()
    assert session.Connection(server_side_parameters=forced).cursor().server_side_parameters == {}


ENGINES = [("duckdb", "duckdb", False), ("duckdb", "spark", True), ("spark", "duckdb", True)]


@pytest.mark.parametrize(("before", "now", "is_full"), ENGINES)
def test_a_build_on_spark_and_the_first_after_it_are_full(
    before: str, now: str, is_full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_spark, "find_spec", lambda name: name)
    monkeypatch.setenv("JAVA_HOME", "/java")
    site = site_of(tmp_path)
    site.published.mkdir(parents=True)
    for path in (site.build_file, site.published / FILE_NAME):
        path.touch()
    record = {"engine": before, "code_version": builds.code_version(), "units": UNITS, "fingerprint": "f"}
    (site.published / COMMIT_RECORD).write_text(json.dumps(record))
    assert builds.start(site, UNITS | {"AWS/2026-05": "2"}, engine=now).is_full is is_full


def taken(tmp_path: Path, rows: str) -> tuple[duckdb.DuckDBPyConnection, dict]:
    """The build file after Spark left these rows of a mart, and dbt's result of it."""
    folder = tmp_path / "tables" / "marts.fct_x"
    folder.mkdir(parents=True)
    connection = duckdb.connect()
    connection.execute(f"set TimeZone = 'UTC'; copy ({rows}) to '{folder}/part.parquet' (format parquet)")
    result = {"unique_id": MART["unique_id"], "status": "success", "message": ""}
    on_spark._take(connection, [MART], tmp_path, {MART["unique_id"]: result})
    return connection, result


def test_a_table_of_spark_gets_the_types_of_its_contract(tmp_path: Path) -> None:
    rows = "select timestamptz '2026-04-01 00:00:00+00' as at, 1.5::decimal(38,12) as cost, 'a' as run"
    connection, result = taken(tmp_path, rows)
    assert result["status"] == "success"
    types = connection.execute("select column_name, data_type from duckdb_columns() where schema_name = 'marts'").fetchall()
    assert types == [("run", "VARCHAR"), ("cost", "DECIMAL(38,12)"), ("at", "TIMESTAMP")]


def test_a_null_that_the_contract_forbids_is_a_model_that_was_not_built(tmp_path: Path) -> None:
    rows = "select null::timestamptz as at, 1.5::decimal(38,12) as cost, null::varchar as run"
    _, result = taken(tmp_path, rows)
    assert result["status"] == "error" and "NOT NULL constraint failed: fct_x.run" in result["message"]


def test_failing_rows_of_a_test_on_spark_are_shown_from_what_it_left(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute(f"copy (select 'run-a' as run, 1.5::decimal(38,12) as cost) to '{tmp_path}/rows.parquet' (format parquet)")
    manifest = {"nodes": {"test.t": {"resource_type": "test", "name": "t"}}}
    result = {
        "unique_id": "test.t",
        "status": "fail",
        "failures": 1,
        "compiled_code": f"from read_parquet('{tmp_path}/*.parquet')",
    }
    [node] = node_results(manifest, {"results": [result]}, connection)
    assert node.detail == '[{"run": "run-a", "cost": "1.500000000000"}]'


def test_what_differs_between_engines_is_named_with_its_rows(tmp_path: Path) -> None:
    for name, cost in (("duck", "1.000000000001"), ("spark", "1.000000000000")):
        (tmp_path / name / FILE).parent.mkdir(parents=True)
        with duckdb.connect(str(tmp_path / name / FILE)) as connection:
            connection.execute("create schema marts; create table marts.same as select 1 as x")
            connection.execute(f"create table marts.costs as select 'run-a' as run, {cost}::decimal(38,12) as cost")
        files = {"files": ["parts"], "parquet": {"parts/2026-06.parquet": f"sha256 of {cost}", "costs.parquet": f"of {name}"}}
        (tmp_path / name / FILE).with_name("PUBLICATION.json").write_text(json.dumps(files))
    assert differences(tmp_path / "duck", tmp_path / "spark") == [
        "costs: other digests",
        "  only in duck: run-a, 1.000000000001",
        "  only in spark: run-a, 1.000000000000",
        "parts/2026-06.parquet: other bytes",
    ]
    assert differences(tmp_path / "duck", tmp_path / "duck") == []
