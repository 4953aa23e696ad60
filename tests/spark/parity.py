"""`make parity`: the demo on both engines, and whether every published table has the same digest.

`python -m tests.spark.parity FOLDER SCALE...` exits with 1 and names tables and first differing rows. Both read one landing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import yaml

from dagster_project.publishing.digest import literal, table_digest

SHOWN_ROWS = 3
FILE = Path("published/trainledger.duckdb")


def differences(left: Path, right: Path) -> list[str]:
    """Tables of two homes' publications that differ, each with the first rows that only one of them has."""
    found = []
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        for name, home in (("l", left), ("r", right)):
            connection.execute(f"attach {literal(str(home / FILE))} as {name} (read_only)")
        tables = connection.execute(
            "select database_name, table_name from duckdb_tables() where schema_name = 'marts'"
        ).fetchall()
        names = [{table for database, table in tables if database == side} for side in ("l", "r")]
        found += [f"{name}: only one engine published it" for name in sorted(names[0] ^ names[1])]
        for table in sorted(names[0] & names[1]):
            columns = [
                connection.execute(f"select column_name, column_type from (describe {side}.marts.{table})").fetchall()
                for side in ("l", "r")
            ]
            if columns[0] != columns[1]:
                found.append(f"{table}: other columns or types")
                continue
            digests = set()
            for side in ("l", "r"):
                connection.execute(f"use {side}")
                digests.add(table_digest(connection, "marts", table).digest)
            connection.execute("use memory")
            if len(digests) > 1:
                found += [f"{table}: other digests", *_rows(connection, table, left, right)]
    return found + _other_files(left, right)


def _other_files(left: Path, right: Path) -> list[str]:
    """Files of tables that are Parquet alone, of which only one home has these bytes."""
    files = []
    for home in (left, right):
        record = json.loads((home / FILE.with_name("PUBLICATION.json")).read_bytes())
        files.append({(name, sha256) for name, sha256 in record["parquet"].items() if name.partition("/")[0] in record["files"]})
    return [f"{name}: other bytes" for name in sorted({name for name, _ in files[0] ^ files[1]})]


def _rows(connection: duckdb.DuckDBPyConnection, table: str, left: Path, right: Path) -> list[str]:
    shown = []
    for home, one, other in ((left, "l", "r"), (right, "r", "l")):
        only = f"from {one}.marts.{table} except all from {other}.marts.{table}"
        rows = connection.execute(f"from ({only}) order by all limit {SHOWN_ROWS}").fetchall()
        shown += [f"  only in {home.name}: {', '.join(map(str, row))}" for row in rows]
    return shown


def spark_config(config: Path, home: str = "home-on-spark", engine: str = "spark") -> Path:
    """A second configuration beside the first: another home, the same landing, `engine: spark` or the one that is named."""
    document = yaml.safe_load(config.read_text(encoding="utf-8"))
    landing = document.get("landing") or f"{document['home']}/landing"
    written = config.with_name(f"{home}.yaml")
    changed = document | {"home": f"./{home}", "landing": landing, "engine": engine}
    written.write_text(yaml.safe_dump(changed), encoding="utf-8")
    kept = config.parent / document["home"] / "cache"  # derived copies need not be derived again
    shutil.copytree(kept, config.parent / home / "cache", ignore=shutil.ignore_patterns("dbt", "spark"), dirs_exist_ok=True)
    return written


def demo_differences(folder: Path, scale: int) -> list[str]:
    """Build the demo at a scale on DuckDB, refresh the same landing on Spark, and compare."""
    shutil.rmtree(folder, ignore_errors=True)
    program = [sys.executable, "-c", "from dagster_project import main; main()"]
    subprocess.run([*program, "demo", "--dir", str(folder), "--scale", str(scale)], check=True)
    config = folder / "trainledger.yaml"
    clock = config.read_text(encoding="utf-8").partition("TRAINLEDGER_NOW=")[2].partition(".")[0]
    on_spark = [*program, "refresh", "--config", str(spark_config(config))]
    found = folder / "trainledger-home" / "reports" / "restatements.jsonl"  # what is read beside the landing
    (folder / "home-on-spark" / "reports").mkdir(exist_ok=True)
    shutil.copy(found, folder / "home-on-spark" / "reports")
    subprocess.run(["env", f"TRAINLEDGER_NOW={clock}", *on_spark], check=True)
    counts = json.loads((folder / "trainledger-home" / "published" / "PUBLICATION.json").read_bytes())["rows"]
    print(f"scale {scale}: {len(counts)} tables with {sum(counts.values())} rows")
    return differences(folder / "trainledger-home", folder / "home-on-spark")


if __name__ == "__main__":
    different = [line for scale in sys.argv[2:] for line in demo_differences(Path(sys.argv[1]) / f"scale-{scale}", int(scale))]
    print("\n".join(different) or "DuckDB and Spark publish the same.")
    sys.exit(1 if different else 0)
