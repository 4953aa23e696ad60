"""A process of its own that builds one mart on Apache Spark from a landing and leaves it, and the raw tables, as Parquet.

`python -m tests.spark.on_spark CONFIG FOLDER MODEL`: one process, because dbt's session method takes the session it finds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dagster_project.kinds import built_kinds
from dagster_project.settings import load_settings
from dagster_project.warehouse.raw import TABLES
from dagster_project.warehouse.raw_spark import create_raw, open_session
from tests.landing.kit import Line

DBT = Path(__file__).resolve().parents[2] / "dbt"
# A hundred rows: compiling plans to Java, planning again while they run and optimising the JVM's code cost more than they save.
FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def build(config: Path, folder: Path, model: str) -> bool:
    """Raw tables, the model with its ancestors and their tests, and Parquet of all of it below `folder`."""
    from dbt.cli.main import dbtRunner

    line = Line(load_settings(config))
    election = line.elect()
    spark = open_session(folder, **FOR_FEW_ROWS)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        create_raw(spark, line.settings.rules, line.landing, election, line.months_to_build(election, full=True))
        os.environ |= {"DBT_TARGET_PATH": str(folder / "dbt"), "DBT_LOG_PATH": str(folder / "dbt"), "DO_NOT_TRACK": "1"}
        command = ["build", "--target", "spark", "--project-dir", str(DBT), "--profiles-dir", str(DBT), "--full-refresh"]
        # a test that also asks tables outside this model's line has nothing to ask here
        command += ["--select", f"+{model}", "--indirect-selection", "cautious", "--exclude-resource-type", "unit_test"]
        if not dbtRunner().invoke(command).success:
            return False
        for table in [f"marts.{model}", *(f"raw.{name}" for name in (*built_kinds(), *TABLES))]:
            spark.table(table).coalesce(1).write.parquet((folder / "parquet" / table).as_uri())
    finally:
        spark.stop()
    return True


if __name__ == "__main__":
    sys.exit(0 if build(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]) else 1)
