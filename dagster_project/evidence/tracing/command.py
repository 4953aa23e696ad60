"""`trainledger trace --figure ID`: the rows of the marts that alone give a figure, and the landed rows and seeds behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster_project.base.failures import GateError, UsageError
from dagster_project.evidence.tracing import origins
from dagster_project.evidence.tracing.behind import Trace
from dagster_project.evidence.tracing.landed import Landed
from dagster_project.publishing.digest import literal
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

SHOWN = 10  # rows of each kind that are printed; --out has all
ATTRIBUTIONS = "fct_charge_attributions"
REPORT = "report.json"


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
            yield Trace(home, prover, Landed(connection, home), report_statements(Publication(connection)))
    except ReportError as error:
        raise UsageError(str(error).rstrip(".")) from None


def proof_of(home: Home, figure: Figure) -> Proof:
    """The proof of a figure, by a report's SQL: of the published file alone, where it reaches nothing else.

    GateError where no row gives the figure.
    """
    with opened(home.site.published_file, home.site.memory_limit) as prover:
        prover.lock()
        proof = prove(prover, figure, quarter_of(figure))
    if proof.is_of_nothing:
        remedy = "Its SQL states the figure by itself. Render the report again and compare both."
        raise GateError(f"{figure.id}: {proof.sentence} of the ledger", remedy=remedy)
    return proof


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
    connection, shown = trace.prover.connection, [one for one in proof.rows if one.count]
    written = {"out": str(out), "out_rows": origins.write(connection, out)} if out else {}
    return {
        "figure": text,
        "value": proof.value,
        "column": figure.column,
        "row": dict(figure.key),
        "sql": figure.sql,
        "proof": proof.sentence,
        "rows": [{"table": one.table, "count": one.count, "where": one.condition.replace("published.", "")} for one in shown],
        "behind": origins.summary(connection),
        "first": origins.first(connection, SHOWN),
        **written,
    }


def figure_text(document: dict[str, Any]) -> str:
    """The answer for people: the figure with its proof, then what is behind it, counted, and the first rows of each kind."""
    lines = [f"{document['figure']} = {document['value'] if document['value'] is not None else 'no value'}"]
    lines += [f"  {document['proof']}"]
    lines += [f"    {row['count']} x {row['table']} where {row['where']}" for row in document["rows"]]
    lines += ["behind them:"]
    for one in document["behind"]:
        lines.append(f"  {one['kind']} rows: {one['rows']} in {one['objects']} objects, behind {one['of_table']}")
    lines += [f"  {_line(row)}" for row in document["first"]]
    if document.get("out"):
        lines.append(f"all {document['out_rows']} are in {document['out']}")
    elif any((one["rows"] or 0) > SHOWN for one in document["behind"]):
        lines.append(f"of each kind the first {SHOWN} are shown; --out FILE.parquet or FILE.csv has all")
    return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    numbers = {row["first_row"], row["last_row"]} - {None}
    rows = f":{'-'.join(str(number) for number in sorted(numbers))}" if numbers else ""
    amount = f" {row['amount']} {row['unit']}" if row["amount"] is not None else ""
    who = row["training_run_id"] or (f"residual {row['reason']}" if row["reason"] else "")
    rule = f" by {row['attribution_rule']}," if row["attribution_rule"] else ""
    share = f"{rule} share {row['share']}" if rule or row["share"] else ""
    hashes = [f"delivery {row['delivery_content_hash'][:16]}"] if row["delivery_content_hash"] else []
    hashes += [f"sha256 {row['object_sha256'][:16]}"] if row["object_sha256"] else []
    to = f" -> {who}{share}" if who else ""
    end = f" ({', '.join(hashes)})" if hashes else ""
    detail = f": {row['detail']}" if row["detail"] else ""
    return f"{row['kind']} {row['source_name']} {row['object']}{rows}{amount}{to}{end}{detail}"
