"""Rendering a published file, changed by statements or not, and reading the figures and tables of the record it gives."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from reports.quarterly import QuarterlyReport, render

OF_VERDICTS = ("comparison_strata", "trainium_vs_tpu", "comparison_pairs", "comparison_sensitivities", "break_even")
_kept = TemporaryDirectory()  # the comparison as tables, by what it was made of


@contextmanager
def with_tables(published: Path) -> Iterator[Path]:
    """A copy in which the comparison is tables, as it is in a publication: a report asks for it a dozen times.

    Most tests change what no comparison reads, so that its tables are made once and copied.
    """
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copy(published, folder))
        with duckdb.connect(str(copy)) as connection:
            query = "select view_name, sql from duckdb_views() where schema_name = 'marts' and not internal"
            views = {f"rpt_{name}": "" for name in OF_VERDICTS} | dict(connection.execute(query).fetchall())
            found = [f"rpt_{name}" for name in OF_VERDICTS if views[f"rpt_{name}"]]
            kept = Path(_kept.name) / f"{_read_by(connection, found, views)}.duckdb"
            is_made = kept.exists()
            connection.execute(f"attach '{kept}' as kept{' (read_only)' if is_made else ''}")
            for name in found:
                with suppress(duckdb.Error):  # a test took away what it reads: the report is to meet that
                    if not is_made:
                        connection.execute(f"create table kept.{name} as from marts.{name}")
                    connection.execute(f"create table marts.now_{name} as from kept.{name}")
                    connection.execute(f"drop view marts.{name}")
                    connection.execute(f"alter table marts.now_{name} rename to {name}")
        yield copy


def _read_by(connection: duckdb.DuckDBPyConnection, found: list[str], views: dict[str, str]) -> str:
    """A hash of these views, and of the columns and rows of every table that they, or views that they read, name."""
    asked = "select schema_name, table_name from duckdb_tables() where not internal"
    tables = {name: f"{schema}.{name}" for schema, name in connection.execute(asked).fetchall()}
    texts, words = "", {*found}
    while more := [views.pop(name) for name in sorted(words & views.keys())]:
        texts += "".join(more)
        words |= {*re.findall(r"\w+", texts)}
    states = []
    for name in sorted(words & tables.keys()):
        states.append(connection.execute(f"describe {tables[name]}").fetchall())
        states.append(connection.execute(f"select count(*), sum(hash(one)) from {tables[name]} as one").fetchall())
    return hashlib.sha256(f"{texts} {states}".encode()).hexdigest()


def rendered(published: Path, quarter: str, out: Path, *, organisation: str = "Example AG", note: str = "") -> QuarterlyReport:
    with with_tables(published) as publication:
        return render(publication, quarter, out, organisation=organisation, status_note=note or None)


def record_of(report: QuarterlyReport) -> dict:
    return json.loads(report.json.read_text())


def figures_of(record: dict) -> dict[str, dict]:
    """Figures by the last part of their ids: effective_cost, or effective_cost,EUR where bills are in several currencies."""
    return {figure["id"].partition("/glance/")[2]: figure for figure in record["figures"]}


def tables_of(record: dict) -> dict[str, dict]:
    return {table["id"]: table for section in record["sections"] for table in section["tables"]} | {"vintage": record["vintage"]}


def values_of(record: dict, table: str) -> list[dict]:
    return [row["values"] for row in tables_of(record)[table]["rows"]]


def changed(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path
