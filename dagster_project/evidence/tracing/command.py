"""`trainledger trace --figure ID`: the rows of the marts that alone give a figure, and the landed rows and seeds behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dagster_project.base.failures import UsageError
from dagster_project.base.sql import literal
from dagster_project.evidence.layout import REPORT
from dagster_project.evidence.tracing import facts, origins
from dagster_project.evidence.tracing.answer import answer_of, require_rows
from dagster_project.evidence.tracing.behind import Walk
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.publishing.parts import LINK
from dagster_project.publishing.tables import published_tables
from dagster_project.warehouse import modelling
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home
from reports.errors import ReportError
from reports.publication import Publication
from reports.statements import report_statements
from reports.tracing.figures import Figure, in_report, of_published, parts_of, quarter_of, read_report
from reports.tracing.proof import Proof, opened, prove

ATTRIBUTIONS = "fct_charge_attributions"


@dataclass(frozen=True)
class Trace(Walk[Landed]):
    """An open publication with its landing, for one question."""

    home: Home

    @property
    def landed(self) -> Landed:
        return self.origins


def report_of(home: Home, quarter: str) -> dict[str, Any]:
    """The report of a quarter that was rendered last into the home."""
    return read_report(home.site.root / "reports" / quarter / REPORT)


def figure_of(trace: Trace, text: str, report: Path | None = None) -> Figure:
    """The figure that an id names."""
    quarter, *_ = parts_of(text)
    if quarter:
        return in_report(read_report(report / REPORT) if report else report_of(trace.home, quarter), text)
    tables = published_tables(modelling.project(trace.home.root))
    keys = {table.name: table.key for table in tables if not table.is_parquet_only}
    return of_published(text, keys, trace.report_statements)


@contextmanager
def opened_trace(home: Home) -> Iterator[Trace]:
    """Open the home's publication and its landing, both for reading."""
    site = home.site
    if site.publication() is None:
        raise UsageError("nothing is published yet", where=str(site.published_file), remedy="Run `trainledger refresh` first.")
    files = site.published / LINK / ATTRIBUTIONS
    try:
        with opened(site.published_file, site.memory_limit) as prover:
            connection = prover.connection
            declared = modelling.project(home.root)["nodes"][f"model.trainledger.{ATTRIBUTIONS}"]["columns"]
            columns = ", ".join(f"{name} {column['data_type']}" for name, column in declared.items())
            made = f"table attributions ({columns})"
            if any(files.glob("*.parquet")):
                made = f"view attributions as from read_parquet({literal(f'{files}/*.parquet')}, hive_partitioning = false)"
            connection.execute(f"create temp {made}")
            statements = report_statements(Publication(connection))
            yield Trace(prover, Landed(connection, home), statements, facts.WAYS, facts.add_seed_rows, home)
    except ReportError as error:
        raise UsageError(str(error).rstrip(".")) from None


def proof_of(home: Home, figure: Figure) -> Proof:
    """The proof of a figure, by a report's SQL: of the published file alone, where it reaches nothing else.

    GateError where no row gives the figure.
    """
    with opened(home.site.published_file, home.site.memory_limit) as prover:
        prover.lock()
        return require_rows(prove(prover, figure, quarter_of(figure)))


def trace_figure(
    trace: Trace, text: str, report: Path | None = None, out: Path | None = None, listener: Listener = no_listener
) -> dict[str, Any]:
    """Answer --figure: prove the rows of the marts, and follow them down."""
    figure = figure_of(trace, text, report)
    listener("proof", 0, 1, text)
    proof = proof_of(trace.home, figure)
    listener("proof", 1, 1, text)
    for done, one in enumerate(proof.rows):
        listener("landed rows", done, len(proof.rows), one.table)
        trace.follow([one], quarter_of(figure))
    listener("landed rows", len(proof.rows), len(proof.rows))
    connection = trace.prover.connection
    written = {"out": str(out), "out_rows": origins.write(connection, out)} if out else {}
    return answer_of(connection, text, figure, proof) | written
