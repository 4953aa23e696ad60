"""What an evidence pack is made of, in an empty folder: tables, seeds and SQL of one publication, and what made them.

    data/marts, data/ops, data/seeds   every published table and every seed, as Parquet
    load.sql, sql/                     queries that give every table and headline figure, in stock DuckDB, without our code
    rows/                              their answers
    report/                            the report, rendered from data/ and from nothing else
    code/                              versions of what ran
    issue.json, gates.json             who issued what of which build, and its gates
    validations/                       how each bill and carbon delivery was judged when it was landed

The same publication gives the same bytes. Who may issue, and where a pack goes, is decided in issuing.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.sql import literal, quoted
from dagster_project.election.winners import Name, name_of
from dagster_project.evidence.layout import asked_items, file_name, load_sql, query_name
from dagster_project.evidence.manifest import canonical
from dagster_project.landing.deriving.contents import JUDGED
from dagster_project.landing.judging.judge import Candidate, judge
from dagster_project.landing.records import safe_name
from dagster_project.publishing.digest import table_digest
from dagster_project.publishing.parts import LINK
from dagster_project.warehouse import statements
from reports.statements import report_statements

if TYPE_CHECKING:
    from dagster_project.landing.land import Landing
    from dagster_project.settings import SourceSettings
    from reports.publication import Publication

SCHEMAS = ("marts", "ops")
PARQUET = "(format parquet, compression zstd, row_group_size 122880, use_tmp_file false)"


def write_data(published_file: Path, folder: Path) -> None:
    """Every table and view of a published file as Parquet, sorted by all columns: no order of storage reaches the pack."""
    with duckdb.connect(str(published_file), read_only=True, config={"threads": 1}) as connection:
        connection.execute("set TimeZone = 'UTC'")
        own = "not internal and database_name = current_database()"
        sql = f"select distinct schema_name, table_name from duckdb_columns() where {own} order by all"
        for schema, table in connection.execute(sql).fetchall():
            if schema in SCHEMAS:
                _copy(connection, f"select * from {schema}.{quoted(table)} order by all", folder / schema / f"{table}.parquet")
        for files in sorted((published_file.parent / LINK).glob("*")):  # tables that are published as Parquet alone
            if not (folder / "marts" / f"{files.name}.parquet").exists():
                rows = f"select * from read_parquet({literal(f'{files}/*.parquet')}, hive_partitioning = false) order by all"
                _copy(connection, rows, folder / "marts" / f"{files.name}.parquet")


def write_seeds(home: Path, folder: Path) -> None:
    """Every seed of the dbt project as Parquet, as a build loads it."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for seed in statements.statements(home):
            if seed.kind == statements.SEED:
                _copy(connection, f"select * from ({seed.sql}\n) order by all", folder / f"{seed.name}.parquet")


def ops_digests(data: Path) -> dict[str, str]:
    """The digest of each table of ops of a pack, as it is read from its Parquet."""
    found = {}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("set TimeZone = 'UTC'; create schema ops")
        for file in sorted((data / "ops").glob("*.parquet")):
            connection.execute(f"create view ops.{quoted(file.stem)} as from read_parquet({literal(str(file))})")
            found[file.stem] = table_digest(connection, "ops", file.stem).digest
    return found


def _copy(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    connection.execute(f"copy ({query}) to {literal(str(target))} {PARQUET}")


def write_queries(pack: Path, record: Mapping[str, Any], publication: Publication) -> None:
    """The SQL of every table and figure of the report as files that stock DuckDB runs in the pack's folder, and their answers."""
    sql = pack / "sql"
    sql.mkdir()
    (pack / "load.sql").write_text(load_sql(pack))
    (pack / "rows").mkdir()
    with duckdb.connect(config={"threads": 1}) as writer:
        writer.execute("set TimeZone = 'UTC'")
        queries: dict[str, str] = {}
        for item in asked_items(record):
            queries.setdefault(query_name(item), item["sql"])  # a figure is in the report wherever it is printed
        for name, text in queries.items():
            (sql / f"{name}.sql").write_text(f"{text}\n;\n")
            writer.register("answer", publication.arrow(text))
            _copy(writer, "from answer", pack / "rows" / f"{name}.parquet")
    for model, statement in report_statements(publication).items():
        (sql / f"model-{file_name(model)}.sql").write_text(f"{statement}\n;\n")


def write_code(folder: Path, code_version: str, report_code: str) -> None:
    """Which code ran: its hashes, the locked versions where this is a checkout, and the versions that are installed."""
    folder.mkdir()
    version = metadata.version("trainledger")
    versions = {"trainledger": version, "code_version": code_version, "report_code_sha256": report_code}
    (folder / "version.json").write_bytes(canonical(versions))
    lock = project_folder().parent / "requirements" / "run.lock"
    if lock.is_file():
        (folder / "run.lock").write_bytes(lock.read_bytes())
    needed = [re.split(r"[^A-Za-z0-9._-]", text)[0] for text in metadata.requires("trainledger") or () if "extra ==" not in text]
    installed = sorted(f"{name}=={metadata.version(name)}" for name in needed)
    (folder / "installed.txt").write_text("\n".join(installed) + "\n")


def named_in(publication: Publication) -> frozenset[Name]:
    """The deliveries that count in a publication."""
    sql = "select source_name, partition, published_at, content_hash from ops.dim_deliveries where is_elected"
    return frozenset(tuple(row.values()) for row in publication.rows(sql))


def cited(named: Collection[Name], sources: Iterable[SourceSettings]) -> list[str]:
    """Deliveries that retention must keep for a report: those of bills and carbon, of which it removes old ones."""
    kept = {source.name for source in sources if source.facts.fact in JUDGED}
    return sorted({content_hash for source, _, _, content_hash in named if source in kept})


def write_validations(pack: Path, named: Collection[Name], landing: Landing, sources: Iterable[SourceSettings]) -> None:
    """What Great Expectations found of each bill and carbon delivery that a publication names, as the shelf has it."""
    candidates = [
        Candidate(source, generation, landing.contents(source, generation))
        for source in sources
        if source.facts.fact in JUDGED
        for generation in landing.read(source.name).generations
        if name_of(generation) in named
    ]
    judge(landing, candidates)  # where the cache was deleted since the build
    for _, generation, contents in candidates:
        target = pack / "validations" / generation.source / f"{safe_name(generation.partition)}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(landing.shelf.validation(generation, contents))
