"""A trace in an evidence pack: from a figure of its report to rows of its tables, groups of the bill, seeds and deliveries.

A pack has no landed bytes, so the way ends at what it states of them: the delivery's hash, and of a group of bill rows its first
row and how many there are. Everything is asked on a locked connection, since a pack may come from anybody.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import GateError, UsageError, writing_to
from dagster_project.base.sql import literal, quoted
from dagster_project.evidence.layout import REPORT
from dagster_project.evidence.manifest import manifest_differences, opened_pack
from dagster_project.evidence.tracing import origins, published
from dagster_project.evidence.tracing.answer import answer_of, require_rows
from dagster_project.evidence.tracing.behind import Walk
from dagster_project.evidence.tracing.published import GROUP, Rows
from reports.door import SECONDS_OF_ALL, require_select, time_limit
from reports.publication import Publication, copied_tables
from reports.statements import report_statements
from reports.tracing.figures import QUARTER, in_report, quarter_of, read_report
from reports.tracing.proof import opened, prove


class Packed:
    """The tables of a pack, as far as they state where their rows come from."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        connection.execute("create temp view attributions as from published.marts.fct_charge_attributions")
        origins.create(connection)

    def add(self, kind: str, of_table: str, rows: str) -> None:
        """Report rows of a query as behind rows of a table."""
        origins.add(self.connection, kind, of_table, rows)


def trace_in_pack(path: Path, text: str, out: Path | None = None) -> dict[str, Any]:
    """Answer --figure of a pack, folder or zip. GateError where a file of it is not that of its manifest."""
    if not QUARTER.fullmatch(text.partition("/")[0]):
        remedy = "Name one as 2026Q2/glance/effective_cost; a figure of any published table is traced in its home."
        raise UsageError(f"{text[:200]!r} is no figure of a report", where=str(path), remedy=remedy)
    with opened_pack(path) as (folder, zip_differences):
        if differing := [*zip_differences, *manifest_differences(folder)]:
            raise GateError(f"the pack is not as it was issued: {differing[0]}", where=str(path), remedy="Verify it first.")
        figure = in_report(read_report(folder / "report" / REPORT), text)
        with copied_tables(folder / "data") as file, opened(file) as prover:
            found = Packed(prover.connection)
            prover.lock()
            proof = require_rows(prove(prover, figure, quarter_of(figure)))
            statements = report_statements(Publication(prover.connection))
            for statement in statements.values():
                require_select(prover.connection, statement)
            walk = Walk(prover, found, statements, WAYS, add_seed_rows)
            with time_limit(prover.connection, SECONDS_OF_ALL):
                walk.follow(proof.rows, quarter_of(figure))
            answer = answer_of(prover.connection, text, figure, proof)
            return answer | (_written(prover.connection, out) if out else {})


def _written(connection: duckdb.DuckDBPyConnection, out: Path) -> dict[str, Any]:
    """All that was found as CSV, written by this process: the connection reaches no file."""
    if out.suffix != ".csv":
        raise UsageError("--out needs a name that ends in .csv", where=str(out))
    cursor = connection.execute(f"from origins order by {origins.ORDER}")
    with writing_to(out), out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(name for name, *_ in cursor.description)
        rows = cursor.fetchall()
        writer.writerows(rows)
    return {"out": str(out), "out_rows": len(rows)}


def add_groups(found: Packed, of_table: str, rows: Rows) -> None:
    """The groups of the bill that were attributed to these cells."""
    published.take_groups(found, rows)
    found.add(
        "bill",
        of_table,
        f"""select source_name, regexp_extract(charge_group_id, '{GROUP}', 1) as object,
            cast(regexp_extract(charge_group_id, '{GROUP}', 2) as bigint) as first_row, row_count, delivery_content_hash,
            usage_month, training_run_id, reason, attribution_rule, share_numerator || '/' || share_denominator as share,
            charge_group_id, billed_cost as amount, billing_currency as unit,
            'the first row of a group of ' || row_count || ': ' || effective_cost || ' effective' as detail
        from groups""",
    )


def add_runs(found: Packed, of_table: str, rows: Rows) -> None:
    """These runs as the pack has them; which records and tags made a run, only its landing shows."""
    run = "concat_ws(' ', recorded_id, state, accelerator_type, started_at, ended_at)"
    of_rows = f"published.marts.dim_training_runs semi join {rows} using (training_run_id)"
    place = "'runs' as source_name, training_run_id as object, 1 as row_count"
    found.add("record", of_table, f"select {place}, training_run_id, {run} as detail from {of_rows}")


def add_energy(found: Packed, of_table: str, rows: Rows) -> None:
    """The samples of these runs and months, counted by host, the runs, and the seeds of power and PUE."""
    samples = f"""select source_name, concat_ws(', run key ', 'host ' || host, nullif(run_key, '')) as object,
            sample_count as row_count, usage_month, training_run_id
        from published.marts.fct_telemetry_matches semi join {rows} using (training_run_id, usage_month)"""
    found.add("sample", of_table, samples)
    add_runs(found, of_table, rows)
    for seed, condition in published.seeds_of_energy(rows).items():
        add_seed_rows(found, of_table, seed, condition)


def add_seed_rows(found: Packed, of_table: str, seed: str, condition: str) -> None:
    """Rows of a seed (in the condition `seed`, all text), numbered from 1 in its Parquet, with their source."""
    table = f"published.seeds.{quoted(seed)}"
    names = published.columns_of(found, table)
    sources = [f"'{name} ' || {name}" for name in ("source", "source_date", "confidence", "licence") if name in names]
    as_text = ", ".join(f"cast({name} as varchar) as {name}" for name in names)
    text = f"(select row_number() over () as number, {as_text} from {table}) as seed"
    detail = f"concat_ws(', ', {', '.join(names[:4])}) || '; ' || concat_ws('; ', {', '.join(sources) or 'null'})"
    place = f"'seeds' as source_name, {literal(f'data/seeds/{seed}.parquet')} as object, number as first_row"
    found.add("seed", of_table, f"select {place}, {detail} as detail from {text} where {condition}")


WAYS = {
    "fct_run_cell_costs": add_groups,
    "fct_residual_costs": add_groups,
    "fct_training_run_energy": add_energy,
    "fct_quarantine": published.add_quarantined,
    "fct_run_conflicts": add_runs,
    "dim_training_runs": add_runs,
    "dim_own_inventory": published.add_inputs,
    "dim_disclosure_settings": published.add_settings,
}
