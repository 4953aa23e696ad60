"""A refresh on Spark workers that are processes of their own, beside DuckDB's: what both cost, and whether they publish the same.

`python -m tests.spark.workers CONFIG WORKERS...`, for example `trainledger-demo/trainledger.yaml 1 2`. CONFIG is of a refreshed
home, and all read its landing. A worker has one core and 2 GB. CPU seconds are those of a process and of all that it waited for.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.browser import free_port
from tests.spark.parity import differences, spark_config

# a refresh of minutes: what Java's second compiler makes of Spark's code, and Spark of its plans, costs more than it saves
COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": COMPILER,
    "spark.executor.memory": "1600m",
    "spark.executor.extraJavaOptions": COMPILER,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
}
ROLES = "org.apache.spark.deploy.{0}.{1}"


def ended(process: subprocess.Popen) -> float:
    """CPU seconds of a process that ended, and of its own."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def refreshed(config: Path, environment: dict[str, str]) -> tuple[float, float]:
    """CPU seconds and wall seconds of one refresh."""
    started = time.perf_counter()
    program = [sys.executable, "-c", "from dagster_project import main; main()", "refresh", "--config", str(config)]
    process = subprocess.Popen(program, env=os.environ | environment)
    cpu = ended(process)
    if process.returncode:
        sys.exit(f"refresh of {config} ended with {process.returncode}")
    return cpu, time.perf_counter() - started


def installed_home() -> Path:
    """The folder of the pyspark that is installed here."""
    found = importlib.util.find_spec("pyspark")
    assert found and found.submodule_search_locations, "pyspark is in the extra `scale`"
    return Path(found.submodule_search_locations[0])


@contextlib.contextmanager
def cluster(
    workers: int, folder: Path, spent: dict[str, float], home: Path | None = None, settings: Mapping[str, str] = SETTINGS
) -> Iterator[dict[str, str]]:
    """A master and workers until the block ends; then `spent` has what each of them used. Gives a client's environment.

    `home`: of which Spark, else of the pyspark that is installed here.
    """
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    environment = {"SPARK_CONF_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder / "local")}
    if home:
        environment["SPARK_HOME"] = str(home)
    spark_class = (home or installed_home()) / "bin" / "spark-class"
    url = f"spark://127.0.0.1:{(port := free_port())}"
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    of_a_worker = [*place, "--cores", "1", "--memory", "2g", "--work-dir", str(folder / "work"), url]
    commands = {"master": [ROLES.format("master", "Master"), *place, "--port", str(port)]}
    commands |= {f"worker {number}": [ROLES.format("worker", "Worker"), *of_a_worker] for number in range(1, workers + 1)}
    with (folder / "cluster.log").open("w") as log, contextlib.ExitStack() as stack:
        processes = {}
        for name, words in commands.items():
            processes[name] = subprocess.Popen(
                [str(spark_class), *words], env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT
            )
            stack.callback(processes[name].kill)
        yield environment | {"MASTER": url}
        for name, process in reversed(processes.items()):
            process.terminate()
            spent[name] = ended(process)


def main(config: Path, numbers: list[int]) -> int:
    """Print a line for DuckDB and one for each number of workers. Returns 1 where a published table differs."""
    now = config.read_text(encoding="utf-8").partition("TRAINLEDGER_NOW=")[2][:20]
    clock = {"TRAINLEDGER_NOW": now} if now else {}
    homes = {}
    for workers in (0, *numbers):
        name, spent = f"home-{workers}-workers" if workers else "home-on-duckdb", {}
        shutil.rmtree(homes.setdefault(workers, config.parent / name), ignore_errors=True)
        written = spark_config(config, name, engine="spark" if workers else "duckdb")
        with tempfile.TemporaryDirectory() as folder:
            running = cluster(workers, Path(folder), spent) if workers else contextlib.nullcontext({})
            with running as environment:
                cpu, wall = refreshed(written, clock | environment)
        parts = ", ".join(f"{part} {seconds:.0f}" for part, seconds in {"refresh": cpu, **spent}.items())
        print(f"{name}: {cpu + sum(spent.values()):.0f} CPU seconds ({parts}), {wall:.0f} s wall", flush=True)
    different = [line for workers in numbers for line in differences(homes[0], homes[workers])]
    print("\n".join(different) or "All publish the same.")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), [int(number) for number in sys.argv[2:]]))
