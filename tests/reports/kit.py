"""Rendering a published file, changed by statements or not, and reading the figures and tables of the record it gives."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from reports.quarterly import QuarterlyReport, render

OF_VERDICTS = ("trainium_vs_tpu", "comparison_pairs", "comparison_sensitivities", "comparison_strata", "break_even")


@contextmanager
def _with_tables(published: Path) -> Iterator[Path]:
    """A copy in which the comparison is tables, as it is in a publication: a report asks for it a dozen times."""
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copy(published, folder))
        with duckdb.connect(str(copy)) as connection:
            views = connection.execute("select view_name from duckdb_views() where schema_name = 'marts'").fetchall()
            for name in map("rpt_{}".format, OF_VERDICTS):
                if (name,) in views:
                    with suppress(duckdb.Error):  # a test took away what it reads: the report is to meet that
                        connection.execute(f"create table marts.now_{name} as from marts.{name}")
                        connection.execute(f"drop view marts.{name}")
                        connection.execute(f"alter table marts.now_{name} rename to {name}")
        yield copy


def rendered(published: Path, quarter: str, out: Path) -> QuarterlyReport:
    with _with_tables(published) as publication:
        return render(publication, quarter, out, organisation="Example AG")


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
