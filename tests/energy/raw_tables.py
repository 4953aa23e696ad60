"""The raw tables as landing gives them to dbt, empty, and short ways to put run records and telemetry into them.

Their columns are those the connectors declare, so that a table here is never a shape of its own.
"""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import duckdb
import pyarrow as pa

from connectors.registry import KINDS, connector_for
from dagster_project.landing.deriving.typed_select import EMPTY_MAP, quoted, typed_columns
from dagster_project.warehouse.raw_tables import TABLES

LANDED = {
    "_source_name": "VARCHAR",
    "_delivery_content_hash": "VARCHAR",
    "_source_object": "VARCHAR",
    "_file_number": "BIGINT",
    "_row_number": "BIGINT",
    "_published_at": "TIMESTAMP",
    "_is_book": "BOOLEAN",
    "_is_elected_version": "BOOLEAN",
    "_run_tag": "VARCHAR",
}

SAMPLE = ("host_id", "device_index", "sample_start", "sample_end", "utilisation_ratio")  # a row of `Line.samples`


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Every raw table, empty, as of a company that configured nothing."""
    tables = {kind: dict(typed_columns(connector_for(kind).SCHEMA)) | LANDED for kind in KINDS} | TABLES
    connection.execute("create schema if not exists raw")
    for name, definitions in tables.items():
        # landing gives no null maps
        columns = [
            f"{quoted(column)} {kind}" + (f" default {EMPTY_MAP}" if kind.startswith("MAP") else "")
            for column, kind in definitions.items()
        ]
        connection.execute(f"create or replace table raw.{name} ({', '.join(columns)})")
    connection.execute("insert into raw.settings values ('list_cost', 'USD', 0.05, 'location', 'the default', 1)")


ROW_NUMBERS = itertools.count(1)


def insert(connection: duckdb.DuckDBPyConnection, table: str, **values: object) -> None:
    """One row; what is not named is null. Rows of run records are numbered as those of one file: each has a number of its own."""
    if table == "training_runs":
        values["_row_number"] = next(ROW_NUMBERS)
    marks = ", ".join("?" for _ in values)
    connection.execute(f"insert into raw.{table} ({', '.join(values)}) values ({marks})", list(values.values()))


class Line:
    """Puts runs and telemetry into the raw tables, with row numbers and objects nobody has to think of."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, published_at: datetime) -> None:
        self.connection = connection
        self.published_at = published_at
        self.rows = 0

    def meta(self, source: str) -> dict[str, object]:
        self.rows += 1
        return {
            "_source_name": source,
            "_delivery_content_hash": "h",
            "_source_object": f"object-{self.rows}",
            "_file_number": self.rows,
            "_row_number": self.rows,
            "_published_at": self.published_at,
            "_is_book": True,
        }

    def run(self, run_id: str, provider: str, *nodes: tuple, machines: int = 1) -> None:
        """A run.json; each node: resource, type, chips, start, end. Every node is an attempt of its own."""
        record = {"record_system": "run_json", "recorded_id": run_id} | self.meta("runs")
        insert(self.connection, "training_runs", part="run", provider_name=provider, **record)
        for number, (resource, kind, chips, start, end) in enumerate(nodes):
            attempt = {"attempt_id": f"a{number}", "started_at": start, "ended_at": end} | record
            insert(self.connection, "training_runs", part="attempt", state="succeeded" if end else "running", **attempt)
            insert(
                self.connection,
                "training_runs",
                part="node",
                resource_id=resource,
                accelerator_type=kind,
                chips=chips,
                node_count=machines,
                **attempt,
            )

    def job(self, run_id: str, system: str, resource: str, *kinds: tuple, start: datetime, end: datetime) -> None:
        """A managed job; each kind of machine: type, chips of one (None: not said), how many."""
        record = {"record_system": system, "recorded_id": run_id} | self.meta("runs")
        provider = "AWS" if system == "sagemaker" else "Google Cloud"
        insert(self.connection, "training_runs", part="run", provider_name=provider, **record)
        insert(self.connection, "training_runs", part="alias", alias_system=system, alias_id=resource, **record)
        attempt = {"attempt_id": "1", "started_at": start, "ended_at": end} | record
        insert(self.connection, "training_runs", part="attempt", state="succeeded", **attempt)
        for kind, chips, count in kinds:
            machine = {"resource_id": resource, "accelerator_type": kind, "chips": chips, "node_count": count}
            insert(self.connection, "training_runs", part="node", **machine, **attempt)

    def samples(
        self,
        table: str,
        rows: list[tuple],
        key: str | None = None,
        evidence: str = "measured",
        source: str | None = None,
        states: tuple = (None, None),
        region: str | None = None,
    ) -> None:
        """Telemetry rows: host, device, start (None for a point), end, utilisation; all state one type, device count, region."""
        meta = self.meta(table)
        texts = [f"{host}-{device}-{end}-{use}-{evidence}" for host, device, _, end, use in rows]
        stated = pa.table([*map(pa.array, zip(*rows, strict=True)), pa.array(texts)], names=[*SAMPLE, "document_hash"])
        self.connection.register("told", stated)  # one statement for all rows: each of its own costs a millisecond
        self.connection.execute(
            f"insert into raw.{table} ({', '.join(SAMPLE)}, document_hash, _row_number, run_key, evidence, is_idle_by_absence, "
            "_source_name, _source_object, _published_at, accelerator_type, device_count, region_id, _is_book) "
            "select *, row_number() over (), ?, ?, ?, ?, ?, ?, ?, ?, ?, true from told",
            [key, evidence, evidence == "presence", source or table, meta["_source_object"], self.published_at, *states, region],
        )
        self.connection.unregister("told")

    def power(self, table: str, rows: list[tuple], meter: str, source: str | None = None, **shared: object) -> None:
        """Readings: host, device, start (None for a point), end, watts; `shared` is what is the same in all of them.

        Further columns of a row, as a rail or a driver's share, are in a dictionary at its end.
        """
        for host, device, start, end, watts, *more in rows:
            stated = shared | (more[0] if more else {})
            text = f"{host}-{device}-{start}-{end}-{watts}-{sorted(stated.items())}"
            values = {
                "host_id": host, "device_index": device, "sample_start": start, "sample_end": end, "power_w": watts,
                "document_hash": text, "evidence": "power", "is_idle_by_absence": False, "meter": meter,
                "boundary": "node" if device is None else "chip", "is_sampled": False,
                "sdk_version": f"of {host} alone",  # else many machines of a type would calibrate the others' watts
            } | stated  # fmt: skip
            insert(self.connection, table, **values, **self.meta(source or table))

    def bill_hour(self, resource: str, kind: str, start: datetime, account: str = "2", **more: object) -> None:
        """A machine's hour at 1.34375 USD in us-east-1."""
        insert(
            self.connection,
            "aws_cur",
            identity_line_item_id=f"{resource}-{start}",
            bill_payer_account_id="1",
            bill_invoice_id="invoice",
            line_item_usage_account_id=account,
            line_item_line_item_type="Usage",
            line_item_product_code="AmazonEC2",
            line_item_usage_type=f"BoxUsage:{kind}",
            line_item_resource_id=resource,
            line_item_usage_start_date=start,
            line_item_usage_end_date=start + timedelta(hours=1),
            line_item_usage_amount__text="1",
            line_item_unblended_cost__text="1.34375",
            pricing_public_on_demand_cost__text="1.34375",
            line_item_currency_code="USD",
            pricing_unit="Hrs",
            product_region_code="us-east-1",
            **more,
            **self.meta("cur"),
        )


def series(
    host: str, device: int, start: datetime, count: int, seconds: float, use: float | None, length: float | None = None
) -> list[tuple]:
    """Samples one after the other, each `seconds` after the last and `length` long."""
    step = timedelta(seconds=seconds)
    long = timedelta(seconds=length or seconds)
    return [(host, device, start + number * step, start + number * step + long, use) for number in range(count)]
