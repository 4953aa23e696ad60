"""`engine: spark` on a small organisation on both clouds with telemetry: the whole refresh runs there and publishes the same."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.dbt_project import project_folder
from dagster_project.warehouse import modelling
from dagster_project.warehouse.statements import REPORTS
from tests.conftest import Command
from tests.line.kit import NOW, query
from tests.spark.parity import FILE, differences, spark_config
from tests.spark.two_clouds import write_two_clouds

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("spark")]
# A hundred rows: compiling plans to Java, planning again while they run and optimising the JVM's code cost more than they save.
FOR_FEW_ROWS = {
    "spark.master": "local[2]",
    # the plans of all statements stay in one session, those of unit tests too: with 3 GB it did little but collect garbage
    "spark.driver.memory": "8g" if "UNIT_TESTS_ON_SPARK" in os.environ else "5g",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.files.minPartitionNum": "1",
    # the quick compiler alone is given 48 MB for its code, which a sweeper then keeps free, and the young a third of the heap
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xmn1g",
}


UNIT_TESTS = "UNIT_TESTS_ON_SPARK" in os.environ


@dataclass(frozen=True)
class Homes:
    """One organisation refreshed on each engine, from one landing."""

    duckdb: Path
    spark: Path


def require_spark() -> None:
    """Without Java or pyspark: a failure under CI, a listed skip elsewhere."""
    refuse = pytest.fail if os.environ.get("CI") else pytest.skip
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        refuse("no Java on this machine; `make test` installs it where it may")
    if importlib.util.find_spec("pyspark") is None:
        refuse("pyspark is not installed: it is in the extra `scale`")


def write_spark_defaults(folder: Path) -> Path:
    """Settings of Spark for few rows, in a folder that SPARK_CONF_DIR may name."""
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in FOR_FEW_ROWS.items()))
    return folder


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Homes:
    require_spark()
    folder, conf = tmp_path_factory.mktemp("two clouds"), tmp_path_factory.mktemp("conf")  # a blank, which Spark encodes in paths
    config = write_two_clouds(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(write_spark_defaults(conf)))
        for path in (config, None):
            if path is None and UNIT_TESTS:  # each before its model; on DuckDB tests/test_rules_of_calculation.py runs them
                patch.setattr(modelling, "BUILD_ARGUMENTS", ("build",))
            done = trainledger("refresh", "--config", path or spark_config(config), now=NOW)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return Homes(folder / "home", folder / "home-on-spark")


def test_every_published_table_has_the_digest_of_duckdb(homes: Homes) -> None:
    assert differences(homes.duckdb, homes.spark) == []
    rules = query(homes.spark, "select distinct attribution_rule from marts.fct_training_run_costs where billed_cost <> 0")
    known = {"managed_job", "split_allocation", "tag", "resource_time", "cluster_key"}
    assert known == {rule for (rule,) in rules}, "a table without a rule proves nothing of it"
    seen = "select training_run_id from marts.fct_training_run_energy where energy_kwh_utilisation_model > 0"
    assert {"run-a", "run-d"} <= {run for (run,) in query(homes.spark, seen)}, "telemetry of both clouds"
    bases = "select sum(energy_kwh_measured), sum(energy_kwh_driver_power) from marts.fct_training_run_energy"
    assert all(energy > 0 for (row,) in [query(homes.spark, bases)] for energy in row), "a meter and a driver"
    with duckdb.connect(str(homes.spark / FILE), read_only=True) as connection:
        found = "select table_name, estimated_size from duckdb_tables() where schema_name = 'marts'"
        tables = connection.execute(found).fetchall()
    # two runs a cloud are no pairs of a workload with list prices, nobody states what a port costs, nothing was published before
    empty = {"fct_run_conflicts", "fct_restatements", "fct_restated_texts", "dim_porting_costs", "rpt_purchase_options"}
    empty |= {"rpt_break_even", "rpt_break_even_emissions", "fct_power_calibration"}  # an hour of metered chips is not there
    empty |= {name for name, _ in tables if name.startswith(("rpt_comparison_", "rpt_trainium_"))}
    empty |= {"fct_water_withdrawals"}  # AWS has not stated the year
    # nor does anybody register a pair, name a model twice or state an inventory
    empty |= {"dim_comparison_registrations", "dim_model_names", "dim_own_inventory"}
    assert {name for name, rows in tables if not rows} <= empty


def test_the_build_on_spark_passed_the_same_gates(homes: Homes) -> None:
    gates = "select gate, passed, failing_rows from ops.gate_results order by gate"
    assert query(homes.spark, gates) == query(homes.duckdb, gates) != []


@pytest.mark.skipif(not UNIT_TESTS, reason="`make parity` asks them: on Spark a third of the time of this whole file")
def test_every_rule_of_calculation_holds_on_spark_too(homes: Homes) -> None:
    results = json.loads((homes.spark / "cache" / "dbt" / "run_results.json").read_bytes())["results"]
    statuses = {name: result["status"] for result in results if (name := result["unique_id"]).startswith("unit_test.")}
    left = tuple(str(project_folder() / "models" / folder) for folder in REPORTS)  # DuckDB builds models of reports
    written = (path for path in project_folder().rglob("*_unit_tests.yml") if not str(path).startswith(left))
    assert len(statuses) == sum(path.read_text().count("\n  - name:") for path in written) > 0
    assert {status: name for name, status in statuses.items() if status != "pass"} == {}


def test_nothing_of_spark_stays_in_the_home(homes: Homes) -> None:
    assert not (homes.spark / "cache" / "spark").exists()
    assert not (homes.spark / "building.json").exists()
