"""`trainledger trace --figure ID`: from a figure of a report, of an issued one or of a published table to landed rows and seeds.

The figure is looked up by its key in the page or table that it is a column of. No SQL that came in a report is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from dagster_project.base.failures import GateError, UsageError
from dagster_project.base.sql import literal
from dagster_project.evidence import chain
from dagster_project.evidence.layout import REPORT
from dagster_project.evidence.manifest import manifest_differences, opened_pack
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.answer import answer_of, walked
from dagster_project.evidence.tracing.endings import ENDINGS
from dagster_project.evidence.tracing.in_pack import readable_tables
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.evidence.tracing.rules import traced
from dagster_project.evidence.tracing.walk import PARTS, Walk, columns_of, show_parts
from dagster_project.publishing.parts import LINK
from dagster_project.warehouse import modelling
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home
from reports.door import settings
from reports.errors import ReportError
from reports.quarter import is_year
from reports.tracing.figures import QUARTER, Figure, in_report, of_published, parts_of, read_report


@dataclass(frozen=True)
class Trace:
    """Open tables with their landing, for one question."""

    home: Home
    landed: Landed
    walk: Walk
    report: dict[str, Any] | None = None  # of the pack whose tables these are

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return self.walk.connection


def report_of(home: Home, quarter: str) -> dict[str, Any]:
    """The report of a quarter that was rendered last into the home."""
    folder = f"year-{quarter}" if is_year(quarter) else quarter
    return read_report(home.site.root / "reports" / folder / REPORT)


def figure_of(home: Home, text: str, report: Path | None = None, issued: dict[str, Any] | None = None) -> Figure:
    """The figure that an id names: of the issued report whose tables are asked, of a rendered report, or of a published table."""
    quarter, *_ = parts_of(text)
    if quarter:
        record = issued or (read_report(report / REPORT) if report else report_of(home, quarter))
        return in_report(record, text)
    keys = {name: table.key for name, table in traced().items() if table.schema != "pages"}
    return of_published(text, keys)


@contextmanager
def opened_trace(home: Home, text: str = "") -> Iterator[Trace]:
    """Open the tables that a question is about, the home's publication or an issued report's, and the landing behind them."""
    named = QUARTER.fullmatch(text.partition("/")[0])
    try:
        if named and named[2]:
            with _opened_issue(home, named[0]) as (file, record), _opened(home, file, None) as trace:
                yield Trace(home, trace.landed, trace.walk, record)
            return
        if home.site.publication() is None:
            remedy = "Run `trainledger refresh` first."
            raise UsageError("nothing is published yet", where=str(home.site.published_file), remedy=remedy)
        with _opened(home, home.site.published_file, home.site.published / LINK) as trace:
            yield trace
    except ReportError as error:
        raise UsageError(str(error).rstrip(".")) from None


@contextmanager
def _opened_issue(home: Home, report_id: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The tables of an issued report as a file, and its report.json. GateError where the pack is not as it was issued."""
    folder = home.site.root / "reports" / chain.FOLDER
    path = next((one for one in (folder / report_id, folder / f"{report_id}.zip") if one.exists()), None)
    if path is None:
        raise UsageError(
            f"there is no issued report {report_id}", where=str(folder), remedy="`restatements` lists which there are."
        )
    with opened_pack(path) as (pack, _):
        if differing := next(manifest_differences(pack), None):
            raise GateError(f"the report is not as it was issued: {differing}", where=str(path), remedy="Verify it first.")
        with readable_tables(pack) as file:
            record = read_report(pack / "report" / REPORT)
            yield file, record | {"quarter": record["quarter"]}


def read_of_parts(connection: duckdb.DuckDBPyConnection, home: Home, name: str, parquet: Path | None) -> str:
    """Where parts of the bill are read: in an issued report, in the Parquet of a publication, or in an empty table."""
    if parquet is None:
        return f"published.marts.{name}"
    if any((parquet / name).glob("*.parquet")):
        return f"read_parquet({literal(f'{parquet / name}/*.parquet')}, hive_partitioning = false)"
    declared = modelling.project(home.root)["nodes"][f"model.trainledger.{name}"]["columns"]
    columns = ", ".join(f"{column} {one['data_type']}" for column, one in declared.items())
    connection.execute(f"create temp table no_{name} ({columns})")
    return f"no_{name}"


@contextmanager
def _opened(home: Home, file: Path, parquet: Path | None) -> Iterator[Trace]:
    with (
        TemporaryDirectory(prefix="trainledger-trace-") as spill,
        duckdb.connect(config=settings(Path(spill), home.site.memory_limit)) as connection,
    ):
        connection.execute(f"set TimeZone = 'UTC'; attach {literal(str(file))} as published (read_only)")
        parts = PARTS if parquet else PARTS.keys() & columns_of(connection).keys()
        show_parts(connection, {name: read_of_parts(connection, home, name, parquet) for name in parts})
        landed = Landed(connection, home)

        def end(ending: str, table: str, column: str, rows: str) -> None:
            ENDINGS[ending](landed, table, column, rows)

        yield Trace(home, landed, Walk(connection, end, columns_of(connection)))


def trace_figure(
    trace: Trace, text: str, report: Path | None = None, out: Path | None = None, listener: Listener = no_listener
) -> dict[str, Any]:
    """Answer --figure: follow it down to landed rows."""
    listener("landed rows", 0, 1, text)
    figure = figure_of(trace.home, text, report, trace.report)
    value, _ = walked(trace.walk, figure)
    listener("landed rows", 1, 1, text)
    written = {"out": str(out), "out_rows": origins.write(trace.connection, out)} if out else {}
    return answer_of(trace.connection, text, figure, value, trace.walk) | written
