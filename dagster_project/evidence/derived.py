"""What of a pack follows from other parts of it, derived again, so that whoever writes a pack is free to choose none of it.

    digests in issue.json              tables in data/, all of them, those of ops too
    SELECTs of report models, pages    those of the version that issued it (known.py)
    data/seeds                         those of the version that issued it (known.py)
    sql/, rows/                        queries of report.json and statements in ops, asked of data/
    attributions of the bill           cells of the marts
    gates.json, README.md, code/       ops, issue.json, report.json
    validations/, configuration        deliveries and gates of ops, settings of the marts (beside.py)
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

from dagster_project import __version__
from dagster_project.evidence import beside, crate, known, layout
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.layout import ISSUE, REPORT
from dagster_project.evidence.manifest import BESIDE, MANIFEST, canonical, files_below, read_json
from dagster_project.publishing.attributed import ADDED_UP, unequal_cells
from dagster_project.publishing.digest import literal, rows_by_name, table_digest
from reports.door import Door, Row
from reports.issue import Issue
from reports.page.numbers import plain

PLAIN = ("issue.json", "gates.json", "README.md", "load.sql", crate.FILE, MANIFEST, *BESIDE)
CODE = ("version.json", "installed.txt", "run.lock")
OTHER_FORM = (
    "This pack has another form than this version writes (those before 0.9 have none): digests of tables, SELECTs, rows/, sql/, "
    "attributions, gates.json, README.md, code/ and the list of files are not derived again; it has no digests of what its "
    "documents print, and none of the SQL of its tables. Verify it with its own version too."
)
FOLDERS = re.compile(r"data/(marts|ops|seeds)/[a-z0-9_]+\.parquet|validations/[^/]+/[^/]+\.json")


def compare(
    folder: Path, found: Findings, connection: duckdb.DuckDBPyConnection, door: Door, answers: Mapping[str, list[Row]]
) -> None:
    """Find each part that is not what it follows from. The connection has copies of the pack's tables, and so has the door.

    `answers` are those that the door has given already, by their SQL.
    """
    issued, record = found.issued, read_json(folder / "report" / REPORT)
    if issued.get("form") != layout.FORM:
        found.remarks.append(OTHER_FORM)
        found.is_partial = True
        return
    version = read_json(folder / "code" / "version.json")
    found.differences += _of_tables(issued, connection)
    of_version = (("data/ops", "SELECT", _other_selects(issued, connection)), ("data/seeds", "seed", [*_other_seeds(connection)]))
    for folder_of, kind, others in of_version:
        named = f"{', '.join(others[:5])}{' and others' if len(others) > 5 else ''}"
        if others and version.get("trainledger") == __version__:
            found.differences.append(f"{folder_of}: the {kind} of {named} is not that of trainledger {__version__}")
        elif others:
            what = f"The {kind} of {named} is not that of this version: install trainledger {version.get('trainledger')}"
            found.remarks.append(f"{what} to see whether it is that version's.")
            found.is_partial = True
    found.differences += _of_attributions(connection)
    found.differences += _of_queries(folder, record, connection, door, answers)
    found.differences += _of_documents(folder, issued, record, version, connection)
    found.differences += _of_names(folder, record)
    found.differences += beside.differences(folder, issued, connection)


def _other_selects(issued: Mapping[str, Any], connection: duckdb.DuckDBPyConnection) -> list[str]:
    """SELECTs by which the pack's figures are worked out, and which this version does not have, or has otherwise."""
    own, ours = known.selects_of(connection), known.selects()
    missing = set() if issued["build"]["absent"] else ours.keys() - own.keys()
    return sorted({name for name, digest in own.items() if ours.get(name) != digest} | missing)


def _other_seeds(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Seeds of the pack that this version has otherwise or not at all, and those that the pack lacks: tables are made of them."""
    there, ours = _names(connection, "select table_name from duckdb_tables() where schema_name = 'seeds'"), known.seeds()
    for name in sorted(there | ours.keys()):
        if name not in there or name not in ours or table_digest(connection, "seeds", name).digest != ours[name]:
            yield name


def _of_tables(issued: Mapping[str, Any], connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Whether data/ has the published tables, whole: those that have a digest by it, all others by their SELECT."""
    stated: Mapping[str, str] = issued["build"]["tables"]
    there = _names(connection, "select table_name from duckdb_tables() where schema_name = 'marts'")
    views = _names(connection, "select model from ops.report_statements")
    absent = {*issued["build"]["absent"]}  # report tables that the publication went without
    for name in sorted(known.tables() - stated.keys() - views - absent - ADDED_UP.keys()):
        yield f"{ISSUE}: a publication has the table {name}, and the pack does not have it"
    for name in sorted(there - stated.keys() - views - ADDED_UP.keys()):
        yield f"data/marts/{name}.parquet: {ISSUE} has no digest of it, and no SELECT gives it"
    for name in sorted((stated.keys() | views | ADDED_UP.keys()) - there):
        yield f"data/marts/{name}.parquet: it is a published table, and it is not there"
    of_ops: Mapping[str, str] = issued["build"]["ops"]
    for name in sorted(of_ops.keys() ^ _names(connection, "select table_name from duckdb_tables() where schema_name = 'ops'")):
        yield f"data/ops/{name}.parquet: it is there and {ISSUE} has no digest of it, or the other way round"
    for schema, name in sorted([("marts", name) for name in stated.keys() & there] + [("ops", name) for name in of_ops]):
        digest = stated[name] if schema == "marts" else of_ops[name]
        if table_digest(connection, schema, name).digest != digest:
            yield f"data/{schema}/{name}.parquet: its rows are not those whose digest {ISSUE} has"


def _names(connection: duckdb.DuckDBPyConnection, sql: str) -> set[str]:
    return {name for (name,) in connection.execute(sql).fetchall()}


def _of_attributions(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    there = _names(connection, "select table_name from duckdb_tables() where schema_name = 'marts'")
    for name in ADDED_UP.keys() & there:
        if connection.execute(f"{unequal_cells(name, f'marts.{name}')} limit 1").fetchone():
            yield f"data/marts/{name}.parquet: its parts of the bill do not add up to the published costs of their cells"


def _of_queries(
    folder: Path, record: Any, connection: duckdb.DuckDBPyConnection, door: Door, answers: Mapping[str, list[Row]]
) -> Iterator[str]:
    wanted = {}
    with duckdb.connect() as apart:
        apart.execute("set TimeZone = 'UTC'")
        for item in layout.asked_items(record):
            name = layout.query_name(item)
            if name in wanted:
                continue
            wanted[name] = item["sql"]
            file = folder / "rows" / f"{name}.parquet"
            rows = answers[item["sql"]] if item["sql"] in answers else door.rows(item["sql"], is_plain=False)
            if not file.is_file() or _rows_of(apart, file) != _plain(rows):
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


def _rows_of(connection: duckdb.DuckDBPyConnection, file: Path) -> list[Row] | None:
    """The rows of a Parquet file in their order; None where it is no Parquet."""
    try:
        return _plain(rows_by_name(connection.execute(f"from read_parquet({literal(str(file))})")))
    except duckdb.Error:
        return None


def _plain(rows: list[Row]) -> list[Row]:
    """With every digit as text, as report.json has it: a file has no type for the largest whole numbers."""
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def _of_documents(
    folder: Path, issued: Mapping[str, Any], record: Any, version: Any, connection: duckdb.DuckDBPyConnection
) -> Iterator[str]:
    """Texts that are generated from issue.json, report.json and ops."""
    cursor = connection.execute(layout.GATES)
    names = [column[0] for column in cursor.description]
    gates = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    issue = Issue.of(issued)
    stated = {name: issued[name] for name in ("quarter", "organisation", "status", "status_note", "policy")}
    build = connection.execute("select build_id, fingerprint, code_version from ops.builds").fetchall()
    stated_build = tuple(issued["build"][name] for name in ("build_id", "fingerprint", "code_version"))
    code = {"code_version": issued["build"]["code_version"], "report_code_sha256": record["report_code_sha256"]}
    derived = {
        "gates.json": (folder / "gates.json").read_bytes() == canonical(gates),
        "README.md": (folder / "README.md").read_text() == layout.README.format(**issued),
        f"report/{REPORT}": record["issue"] == asdict(issue) and all(record[name] == value for name, value in stated.items()),
        "data/ops/builds.parquet": build == [stated_build],
        "code/version.json": {name: version.get(name) for name in code} == code,
        crate.FILE: (folder / crate.FILE).read_bytes() == crate.crate_bytes(folder, issued),
    }
    for name, is_same in derived.items():
        if not is_same:
            yield f"{name}: it is not what follows from {ISSUE} and the pack's tables"


def _of_names(folder: Path, record: Any) -> Iterator[str]:
    """Files that no pack has: nobody compares them with anything."""
    documents = [*layout.documents_of(record["quarter"])]
    documents += [f"tables/{item['id']}.csv" for item in layout.asked_items(record) if "rows" in item]
    known = {
        *PLAIN,
        *(f"report/{name}" for name in documents),
        *(f"code/{name}" for name in CODE),
    }
    queries = {layout.query_name(item) for item in layout.asked_items(record)}
    known |= {f"rows/{name}.parquet" for name in queries}
    for name in files_below(folder):
        if name not in known and not name.startswith("sql/") and not FOLDERS.fullmatch(name):
            yield f"{name}: no pack has such a file"
