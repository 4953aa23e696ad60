"""The small tables of schema raw: what SQL reads of a build beside the rows of its deliveries. Their columns, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from connectors.stores.local import has_file_time
from dagster_project.base.months import first_day
from dagster_project.election.election import Election
from dagster_project.election.months import is_read_by, payer_months
from dagster_project.election.run_tags import tag_key
from dagster_project.election.winners import Elected
from dagster_project.landing.deriving.contents import MeasureTotal
from dagster_project.landing.deriving.measures import ROW_COUNT
from dagster_project.landing.deriving.typed_select import quoted
from dagster_project.settings import Rules

if TYPE_CHECKING:
    import duckdb

TABLES: dict[str, dict[str, str]] = {
    "quarantine": {
        "source_name": "VARCHAR",
        "source_object": "VARCHAR",
        "row_number": "BIGINT",
        "column_name": "VARCHAR",
        "value": "VARCHAR",
        "reason": "VARCHAR",
        "remedy": "VARCHAR",
    },
    "delivery_totals": {
        "source_name": "VARCHAR",
        "kind": "VARCHAR",
        "partition": "VARCHAR",
        "content_hash": "VARCHAR",
        "payer_account_id": "VARCHAR",
        "usage_month": "DATE",
        "currency": "VARCHAR",
        "line_count": "BIGINT",
        "billed_cost": "DECIMAL(38, 12)",
    },
    "measure_totals": {  # of the deliveries that this build reads
        "source_name": "VARCHAR",
        "kind": "VARCHAR",
        "partition": "VARCHAR",
        "content_hash": "VARCHAR",
        "measure": "VARCHAR",
        "column_type": "VARCHAR",
        "decimals": "BIGINT",
        "value_count": "BIGINT",
        "total": "VARCHAR",  # exact, of as many decimals as the measure has
    },
    "run_tag_keys": {"position": "BIGINT", "tag_key": "VARCHAR"},
    # whose time a registration has: the store's, or one that anybody who may write the file can set
    "registration_files": {"source_name": "VARCHAR", "source_object": "VARCHAR", "evidence_of_time": "VARCHAR"},
    "host_names": {"host_id": "VARCHAR", "resource_id": "VARCHAR"},
    "shared_meters": {"meter": "VARCHAR", "machine": "VARCHAR"},
    "settings": {
        "carbon_weights": "VARCHAR",
        "reporting_currency": "VARCHAR",
        "least_difference": "DECIMAL(38, 12)",
        "scope3_electricity": "VARCHAR",
        "scope3_electricity_reason": "VARCHAR",
        "fiscal_year_start": "BIGINT",
    },
    "months": {
        "provider_name": "VARCHAR",
        "payer_account_id": "VARCHAR",
        "usage_month": "DATE",
        "is_bill_landed": "BOOLEAN",
        "is_bill_closed": "BOOLEAN",
        "is_carbon_published": "BOOLEAN",
        "is_carbon_final": "BOOLEAN",
    },
    "restatements": {
        "report_id": "VARCHAR",
        "datapoint_id": "VARCHAR",
        "cause": "VARCHAR",
        "before": "DECIMAL(38, 12)",
        "after": "DECIMAL(38, 12)",
        "delta": "DECIMAL(38, 12)",
    },
    "restated_texts": {
        "report_id": "VARCHAR",
        "datapoint_id": "VARCHAR",
        "cause": "VARCHAR",
        "before": "VARCHAR",
        "after": "VARCHAR",
    },
    "build_months": {"usage_month": "DATE"},
    "build_days": {"kind": "VARCHAR", "usage_day": "DATE", "version": "VARCHAR"},  # '' where nothing is left of a day
    "status_months": {"usage_month": "DATE"},
}


def rows_of_tables(
    rules: Rules, election: Election, months: Sequence[date], read: Sequence[Elected]
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each of TABLES that an election gives; `read` are the generations whose rows this build reads."""
    return {
        "quarantine": _quarantine(election),
        "delivery_totals": _delivery_totals(election),
        "measure_totals": _measure_totals(read, {f"{month:%Y-%m}" for month in months}),
        "run_tag_keys": list(enumerate(dict.fromkeys(tag_key(key) for key in rules.run_tag_keys))),
        "registration_files": _registration_files(election),
        "host_names": sorted(rules.hosts.items()),
        "shared_meters": sorted((meter, machine) for meter, machines in rules.meters.items() for machine in machines),
        "settings": [
            (
                *(rules.carbon_weights, rules.reporting_currency, rules.least_difference),
                *(*rules.scope3_electricity, rules.fiscal_year_start),
            )
        ],
        "months": [tuple((asdict(m) | {"usage_month": first_day(m.usage_month)}).values()) for m in payer_months(election)],
        "restatements": [one[:6] for one in election.restated if not one.is_text],
        "restated_texts": [one[:5] for one in election.restated if one.is_text],
        "build_months": [(month,) for month in sorted(months)],
    }


def _quarantine(election: Election) -> list[tuple[Any, ...]]:
    """Refused deliveries in force and refused records of elected generations; one row per place, the newest word on it."""
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    records = sorted(election.refusals, key=lambda record: record.refused_at)
    for source, refusal in [
        *((member.generation.source, refusal) for member in election.members for refusal in member.contents.refusals),
        *((record.source, refusal) for record in records for refusal in record.refusals),
    ]:
        place = (source, refusal.source_object, refusal.row_number, refusal.column_name)
        rows[place] = (*place, refusal.value, refusal.reason, refusal.remedy)
    return list(rows.values())


def _delivery_totals(election: Election) -> list[tuple[Any, ...]]:
    return [
        (*place, total.payer_account_id, first_day(total.usage_month), total.currency, total.line_count, total.billed_cost)
        for member in election.of_fact("bill")
        for landed in [member.generation]
        for place in [(landed.source, str(landed.kind), landed.partition, landed.content_hash)]
        for total in member.totals
    ]


def _measure_totals(read: Sequence[Elected], months: set[str]) -> list[tuple[Any, ...]]:
    return [
        (landed.source, str(landed.kind), landed.partition, landed.content_hash, *astuple(total))
        for member in read
        if is_read_by(member, months)
        for landed in [member.generation]
        for total in (*member.contents.measures, MeasureTotal(*ROW_COUNT, member.contents.rows, None))
        if total.value_count
    ]


def _registration_files(election: Election) -> list[tuple[Any, ...]]:
    return [
        (member.generation.source, landed.key, "file_time" if has_file_time(landed.etag) else "object_store")
        for member in election.members
        if member.is_registration
        for landed in member.generation.objects
    ]


def fill(con: duckdb.DuckDBPyConnection, table: str, columns: dict[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Create or replace a small table with some rows."""
    con.execute(f"CREATE OR REPLACE TABLE {table} ({declared(columns)})")
    insert(con, table, rows)


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows, by column: thousands of run records are ten thousands of totals."""
    if values := [list(column) for column in zip(*rows, strict=True)]:
        con.execute(f"INSERT INTO {table} SELECT {', '.join('unnest(?)' for _ in values)}", values)


def declared(columns: dict[str, str]) -> str:
    """Names and types as `create table` has them."""
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
