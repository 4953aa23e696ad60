"""A trace in an evidence pack: from a figure of its report to rows of its tables, groups of the bill, seeds and deliveries.

A pack has no landed bytes, so the way ends at what it states of them: the delivery's hash, and of a group of bill rows its first
row, how many there are and what they contribute together. A pack may come from anybody: its statements of pages go through the
door before they are views, and everything is asked on a locked connection. No SQL of its report is asked.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import GateError, UsageError, writing_to
from dagster_project.base.sql import literal, quoted
from dagster_project.evidence.layout import REPORT
from dagster_project.evidence.manifest import manifest_differences, opened_pack
from dagster_project.evidence.tracing import origins, published
from dagster_project.evidence.tracing.answer import answer_of, walked
from dagster_project.evidence.tracing.published import GROUP, Rows
from dagster_project.evidence.tracing.rules import traced
from dagster_project.evidence.tracing.walk import PARTS, WEIGHT, Walk, columns_of, show_parts
from reports.door import SECONDS_OF_ALL, DoorError, lock, require_select, settings, time_limit
from reports.publication import copied_tables
from reports.tracing.figures import QUARTER, in_report, read_report


class Packed:
    """The tables of a pack, as far as they state where their rows come from."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        origins.create(connection)

    def add(self, kind: str, of_table: str, rows: str) -> None:
        """Report rows of a query as behind rows of a table."""
        origins.add(self.connection, kind, of_table, rows)


@contextmanager
def readable_tables(pack: Path) -> Iterator[Path]:
    """The tables of a pack in a DuckDB file, with its pages as views; a page whose statement the door refuses is none."""
    with copied_tables(pack / "data") as file:
        with duckdb.connect(str(file), config=settings(file.with_name("spill"))) as connection:
            connection.execute("create schema if not exists pages")
            pages = connection.execute("select model, statement from ops.report_pages order by model").fetchall()
            for model, statement in pages:
                with suppress(DoorError, duckdb.Error):
                    if model in traced() and traced()[model].schema == "pages":
                        require_select(statement)
                        connection.execute(f"create view pages.{quoted(model)} as {statement}")
        yield file


def trace_in_pack(path: Path, text: str, out: Path | None = None) -> dict[str, Any]:
    """Answer --figure of a pack, folder or zip. GateError where a file of it is not that of its manifest."""
    if not QUARTER.fullmatch(text.partition("/")[0]):
        remedy = "Name one as 2026Q2/glance/effective_cost; a figure of any published table is traced in its home."
        raise UsageError(f"{text[:200]!r} is no figure of a report", where=str(path), remedy=remedy)
    with opened_pack(path) as (folder, zip_differences):
        if differing := [*zip_differences, *manifest_differences(folder)]:
            raise GateError(f"the pack is not as it was issued: {differing[0]}", where=str(path), remedy="Verify it first.")
        figure = in_report(read_report(folder / "report" / REPORT), text)
        with readable_tables(folder) as file, duckdb.connect(config=settings(file.with_name("spill"))) as connection:
            connection.execute(f"set TimeZone = 'UTC'; attach {literal(str(file))} as published (read_only)")
            lock(connection)
            show_parts(connection, {name: f"published.marts.{name}" for name in PARTS.keys() & columns_of(connection).keys()})
            found = Packed(connection)

            def end(ending: str, table: str, column: str, rows: str) -> None:
                ENDINGS[ending](found, table, column, rows)

            walk = Walk(connection, end, columns_of(connection))
            with time_limit(connection, SECONDS_OF_ALL):
                value, _ = walked(walk, figure)
            answer = answer_of(connection, text, figure, value, walk)
            return answer | (_written(connection, out) if out else {})


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


def add_groups(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """These parts of groups of the bill, each with its contribution."""
    found.add(
        "weight" if column == WEIGHT else "bill",
        of_table,
        f"""select source_name, regexp_extract(charge_group_id, '{GROUP}', 1) as object,
            cast(regexp_extract(charge_group_id, '{GROUP}', 2) as bigint) as first_row, row_count, delivery_content_hash,
            usage_month, training_run_id, reason, attribution_rule, share_numerator || '/' || share_denominator as share,
            charge_group_id, billed_cost as amount, billing_currency as unit, amount_ as contribution,
            {literal(column)} as measure,
            'the first row of a group of ' || row_count as detail
        from {rows}""",
    )


def add_cells(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """These cells of carbon, each with its contribution: the provider's rows are in the landing."""
    names = published.columns_of(found, rows)
    share = "weight_numerator || '/' || weight_denominator" if "weight_numerator" in names else "null"
    account = "sub_account_id, service_code, region_id, " if "sub_account_id" in names else ""
    source = "source_name" if "source_name" in names else "provider_name"
    run, reason = ("training_run_id" if "training_run_id" in names else "null"), ("reason" if "reason" in names else "null")
    found.add(
        "carbon",
        of_table,
        f"""select {source} as source_name, concat_ws(' / ', {account}usage_month, provider_model_version) as object,
            usage_month, {run} as training_run_id, {reason} as reason, {share} as share, amount_ as contribution,
            'kgCO2e' as unit, {literal(column)} as measure
        from {rows}""",
    )


def add_runs(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """These runs as the pack has them; which records and tags made a run, only its landing shows."""
    run = "concat_ws(' ', recorded_id, state, accelerator_type, started_at, ended_at)"
    rows = published.runs_of(found, rows)
    of_rows = f"published.marts.dim_training_runs semi join {rows} using (training_run_id)"
    place = "'runs' as source_name, training_run_id as object, 1 as row_count"
    found.add("record", of_table, f"select {place}, training_run_id, {run} as detail from {of_rows}")


def add_samples(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """The samples of these runs and months, counted by host."""
    samples = f"""select source_name, concat_ws(', run key ', 'host ' || host, nullif(run_key, '')) as object,
            sample_count as row_count, usage_month, training_run_id
        from published.marts.fct_telemetry_matches semi join {rows} using (training_run_id, usage_month)"""
    found.add("sample", of_table, samples)


def add_energy(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """These integrals, the samples of their runs and months, the runs, and the seeds of power and PUE."""
    published.add_integrals(found, of_table, column, rows)
    add_samples(found, of_table, column, rows)
    add_runs(found, of_table, column, rows)
    for seed, condition in published.seeds_of_energy(rows).items():
        add_seed_rows(found, of_table, seed, condition)


def add_lookup(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """The rows of a seed that state these rows."""
    seed, condition = published.lookup_condition(of_table, rows)
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


def add_listed(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """The deliveries of the rows' source and month."""
    published.add_deliveries(found, of_table, rows)


def add_held(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """Places in quarantine."""
    if "source_object" in published.columns_of(found, rows):
        published.add_quarantined(found, of_table, rows)


def add_of_build(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """Deliveries, or what a build states of itself."""
    published.add_operations(found, of_table, rows)


def add_nothing(found: Packed, of_table: str, column: str, rows: Rows) -> None:
    """What is written in the model itself or in issued reports has no row of a delivery."""


ENDINGS: dict[str, Callable[[Packed, str, str, Rows], None]] = {
    "bill": add_groups,
    "carbon": add_cells,
    "carbon_of_version": add_cells,
    "constant": add_nothing,
    "deliveries": add_listed,
    "energy": add_energy,
    "inputs": add_listed,
    "issued": add_nothing,
    "operations": add_of_build,
    "quarantine": add_held,
    "readings": add_listed,
    "records": add_runs,
    "samples": add_samples,
    "seed": add_lookup,
    "settings": published.add_settings,
    "stated": published.add_inputs,
    "water": published.add_withdrawals,
}
