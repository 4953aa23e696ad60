"""What of a pack follows from other parts of it, derived again, so that whoever writes a pack is free to choose none of it.

    digests in issue.json              tables in data/, all of them
    sql/, rows/                        queries of report.json and statements in ops, asked of data/
    attributions of the bill           cells of the marts
    gates.json, README.md, code/       ops, issue.json, report.json
    RO-Crate, names of files           the files themselves

Files are those of the manifest by then. Whether data/ is what was delivered is asked with the landing (rebuilding.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.evidence import crate, layout
from dagster_project.evidence.layout import ISSUE, REPORT
from dagster_project.evidence.manifest import MANIFEST, SIGNATURE, canonical, files_below, read_json
from dagster_project.evidence.signing import PUBLIC_KEY
from dagster_project.publishing.attributed import unequal_cells
from dagster_project.publishing.digest import literal, table_digest
from reports.door import Door
from reports.issue import Issue

ATTRIBUTIONS = "fct_charge_attributions"  # published as Parquet alone: without a digest
PLAIN = ("issue.json", "gates.json", "README.md", "load.sql", crate.FILE, MANIFEST, SIGNATURE, PUBLIC_KEY)
DOCUMENTS = ("report.json", "report.html", "report.pdf", "report.xlsx")
CODE = ("version.json", "installed.txt", "run.lock")
FOLDERS = re.compile(r"data/(marts|ops|seeds)/[a-z0-9_]+\.parquet|validations/[^/]+/[^/]+\.json")


def differences(folder: Path, issued: Mapping[str, Any], connection: duckdb.DuckDBPyConnection, door: Door) -> Iterator[str]:
    """Each part that is not what it follows from. The connection has copies of the pack's tables, and so has the door."""
    record = read_json(folder / "report" / REPORT)
    yield from _of_tables(issued, connection)
    yield from _of_attributions(connection)
    yield from _of_queries(folder, record, connection, door)
    yield from _of_documents(folder, issued, record, connection)
    yield from _of_names(folder, record)


def _of_tables(issued: Mapping[str, Any], connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Whether data/ has the published tables, whole: those that have a digest by it, all others by their SELECT."""
    stated: Mapping[str, str] = issued["build"]["tables"]
    there = _names(connection, "select table_name from duckdb_tables() where schema_name = 'marts'")
    views = _names(connection, "select model from ops.report_statements")
    absent = {*issued["build"]["absent"]}  # report tables that the publication went without
    for name in sorted(published_tables() - stated.keys() - views - absent - {ATTRIBUTIONS}):
        yield f"{ISSUE}: a publication has the table {name}, and the pack does not have it"
    for name in sorted(there - stated.keys() - views - {ATTRIBUTIONS}):
        yield f"data/marts/{name}.parquet: {ISSUE} has no digest of it, and no SELECT gives it"
    for name in sorted((stated.keys() | views | {ATTRIBUTIONS}) - there):
        yield f"data/marts/{name}.parquet: it is a published table, and it is not there"
    for name in sorted(stated.keys() & there):
        if table_digest(connection, "marts", name).digest != stated[name]:
            yield f"data/marts/{name}.parquet: its rows are not those whose digest {ISSUE} has"


def published_tables() -> set[str]:
    """The tables that every publication of this version has; a test compares them with the models."""
    return {*(Path(__file__).with_name("published_tables.txt").read_text().split())}


def _names(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    return {name for (name,) in connection.execute(sql).fetchall()}


def _of_attributions(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    other = connection.execute(f"select count(*) from ({unequal_cells(f'marts.{ATTRIBUTIONS}')})").fetchone() or (0,)
    if other[0]:
        yield f"data/marts/{ATTRIBUTIONS}.parquet: its parts of the bill do not add up to the published costs of their cells"


def _of_queries(folder: Path, record: Any, connection: duckdb.DuckDBPyConnection, door: Door) -> Iterator[str]:
    wanted = {}
    with duckdb.connect() as apart:
        apart.execute("set TimeZone = 'UTC'")
        for item in layout.asked_items(record):
            name = layout.query_name(item)
            if name in wanted:
                continue
            wanted[name] = item["sql"]
            file = folder / "rows" / f"{name}.parquet"
            apart.register("answer", door.arrow(item["sql"]))
            if not file.is_file() or not _has_rows(apart, "answer", file):
                yield f"rows/{name}.parquet: its query gives other rows of the pack's tables"
    statements = connection.execute("select model, statement from ops.report_statements").fetchall()
    texts = wanted | {f"model-{layout.file_name(model)}": statement for model, statement in statements}
    for name, text in sorted(texts.items()):
        file = folder / "sql" / f"{name}.sql"
        if not file.is_file() or file.read_text() != f"{text}\n;\n":
            yield f"sql/{name}.sql: it is not the query that the pack's own tables and {REPORT} have"
    there = {name.removesuffix(".sql") for name in files_below(folder / "sql")}
    for name in sorted(there - texts.keys()):
        yield f"sql/{name}.sql: no figure and no table has this query"


def _has_rows(connection: duckdb.DuckDBPyConnection, relation: str, file: Path) -> bool:
    """Whether a file has a relation's columns and rows."""
    other = f"read_parquet({literal(str(file))})"
    try:
        if connection.execute(f"describe from {relation}").fetchall() != connection.execute(f"describe from {other}").fetchall():
            return False
        differing = f"(from {relation} except all from {other}) union all (from {other} except all from {relation})"
        return connection.execute(f"select 1 from ({differing}) limit 1").fetchone() is None
    except duckdb.Error:  # it is no Parquet
        return False


def _of_documents(folder: Path, issued: Mapping[str, Any], record: Any, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Texts that are generated from issue.json, report.json and ops."""
    cursor = connection.execute(layout.GATES)
    names = [column[0] for column in cursor.description]
    gates = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    issue = Issue.of(issued)
    stated = {name: issued[name] for name in ("quarter", "organisation", "status", "status_note", "policy")}
    build = connection.execute("select build_id, fingerprint, code_version from ops.builds").fetchall()
    stated_build = tuple(issued["build"][name] for name in ("build_id", "fingerprint", "code_version"))
    code = {"code_version": issued["build"]["code_version"], "report_code_sha256": record["report_code_sha256"]}
    version = read_json(folder / "code" / "version.json")
    derived = {
        "gates.json": (folder / "gates.json").read_bytes() == canonical(gates),
        "README.md": (folder / "README.md").read_text() == layout.README.format(**issued),
        f"report/{REPORT}": record["issue"] == asdict(issue) and all(record[name] == value for name, value in stated.items()),
        "data/ops/builds.parquet": build == [stated_build],
        "code/version.json": isinstance(version, dict) and {name: version.get(name) for name in code} == code,
        crate.FILE: (folder / crate.FILE).read_bytes() == crate.crate_bytes(folder, issued),
    }
    for name, is_same in derived.items():
        if not is_same:
            yield f"{name}: it is not what follows from {ISSUE} and the pack's tables"


def _of_names(folder: Path, record: Any) -> Iterator[str]:
    """Files that no pack has: nobody compares them with anything."""
    tables = {f"tables/{item['id']}.csv" for item in layout.asked_items(record) if "rows" in item}
    known = {*PLAIN, *(f"report/{name}" for name in (*DOCUMENTS, *tables)), *(f"code/{name}" for name in CODE)}
    queries = {layout.query_name(item) for item in layout.asked_items(record)}
    known |= {f"rows/{name}.parquet" for name in queries}
    for name in files_below(folder):
        if name not in known and not name.startswith("sql/") and not FOLDERS.fullmatch(name):
            yield f"{name}: no pack has such a file"
