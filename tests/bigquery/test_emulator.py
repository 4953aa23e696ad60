"""A small bill in a running BigQuery, read with the unmodified client by the product's statements, is the bill of its Parquet.

What differs from the service: the emulator takes `_PARTITIONTIME` for today, so the table is read by the time of use here; the
statements by `_PARTITIONTIME` are type-checked in test_statements_are_googlesql.py.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from google.cloud.bigquery_storage_v1 import types

from connectors.gcp.bigquery_sql import modified_sql, partition_sql, partitions_sql
from connectors.gcp.tables import BILL
from connectors.stores import StoreOptions
from connectors.stores.bigquery import GRPC, TableStore
from connectors.stores.bigquery_preview import try_stream
from tests.bigquery.described import fields_like
from tests.bigquery.servers import Emulator, bigquery_emulator, must_be_installed
from tests.connectors.gcp import BILLING, BILLING_2019, START, as_exported, cud_rows, koku_rows, line, write_partition
from tests.connectors.kit import converted, rows_of
from tests.connectors.prices import PRICING, price
from tests.landing.kit import Organisation
from tests.shared import SHARED, SHARED_REASON

pytestmark = pytest.mark.slow

ROWS = [
    line(cost_at_effective_price_default=Decimal("1.123456789"), labels=[{"key": "team", "value": "Zürich"}]),
    line(cost=-0.1, credits=[], export_time=START + dt.timedelta(days=40)),
    line(usage_start_time=START + dt.timedelta(days=1), usage_end_time=START + dt.timedelta(days=1, hours=1), cost=3.0),
]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    must_be_installed()
    with bigquery_emulator(tmp_path_factory.mktemp("bigquery")) as running:
        yield running


@pytest.fixture(scope="module")
def client(emulator: Emulator) -> bigquery.Client:
    options = ClientOptions(api_endpoint=emulator.rest)
    return bigquery.Client(emulator.project, client_options=options, credentials=AnonymousCredentials())


@pytest.fixture(scope="module")
def table(client: bigquery.Client) -> str:
    name = f"{client.project}.exports.bill"
    client.create_dataset(f"{client.project}.exports")
    schema = [bigquery.SchemaField.from_api_repr(field) for field in fields_like(BILLING)]
    client.create_table(bigquery.Table(name, schema=schema))
    # a load job as multipart is refused by the emulator for its content type
    assert client.insert_rows_json(name, [as_exported(row) for row in ROWS]) == []
    return name


def asked(client: bigquery.Client, text: str) -> Any:
    return client.query_and_wait(text, wait_timeout=60)


def test_the_look_finds_a_day_of_use_with_its_rows_and_its_newest_export(client: bigquery.Client, table: str) -> None:
    found = [tuple(row)[:3] for row in asked(client, partitions_sql(table, BILL.own_axis, "export_time"))]
    assert found == [
        (dt.date(2026, 4, 1), 2, START + dt.timedelta(days=40)),
        (dt.date(2026, 4, 2), 1, START + dt.timedelta(hours=5)),
    ]


def test_a_day_that_is_read_from_the_table_is_the_day_of_its_parquet(client: bigquery.Client, table: str, tmp_path: Path) -> None:
    description = client.get_table(table).to_api_repr()
    columns, unknown = BILL.columns_of(description, table)
    assert unknown == ()
    rows = asked(client, partition_sql(table, columns, BILL.own_axis, dt.date(2026, 4, 1))).to_arrow(
        create_bqstorage_client=False
    )
    folder = tmp_path / "table/_PARTITIONTIME=2026-04-01"
    folder.mkdir(parents=True)
    pq.write_table(rows, folder / "rows.parquet")
    write_partition(tmp_path / "parquet", "2026-04-01", *ROWS[:2])
    read, exported = (
        # without their places: the order of a table's rows is not promised
        sorted(
            repr({**row, "line_number": 0})
            for row in rows_of(converted("gcp_billing", tmp_path / name, tmp_path / f"{name}-landed"))
        )
        for name in ("table", "parquet")
    )
    assert read == exported


def test_a_table_is_landed_through_the_emulator_as_its_parquet_is(emulator: Emulator, table: str, tmp_path: Path) -> None:
    source = {"name": "google", "kind": "gcp_billing"}
    of_table = Organisation(tmp_path / "table", {**source, "location": f"bq://{table}", "endpoint_url": emulator.rest})
    of_files = Organisation(tmp_path / "files", source)
    of_files.deliver_google("2026-04-01", *ROWS[:2], at="2026-04-02")
    of_files.deliver_google("2026-04-02", *ROWS[2:], at="2026-04-03")
    # without their places: the order of a table's rows is not promised
    rows = r"select columns(c -> c not like '\_%' escape '\' and c <> 'line_number') from raw.gcp_billing order by all"
    for organisation in (of_table, of_files):
        assert organisation.outcomes() == {"landed": 2}
    assert of_table.raw(rows) == of_files.raw(rows)
    assert len(of_table.raw(rows)) == 5, "3 lines and 2 credits"
    assert of_table.refresh() == []


def test_the_storage_api_of_the_emulator_streams_the_table_to_the_products_own_reader(
    emulator: Emulator, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session on a table, as doctor opens one. One on a query's rows, as a refresh reads, only the fake of the API serves."""
    monkeypatch.setenv(GRPC, emulator.grpc)
    store = TableStore(f"bq://{table}", StoreOptions(endpoint_url=emulator.rest))
    assert try_stream(store, "cost")
    wanted = types.ReadSession(
        table=f"projects/{emulator.project}/datasets/exports/tables/bill",
        data_format=types.DataFormat.ARROW,
        read_options=types.ReadSession.TableReadOptions(selected_fields=["cost"]),
    )
    session = store.reader.create_read_session(
        parent=f"projects/{emulator.project}", read_session=wanted, max_stream_count=1, timeout=60
    )
    [stream] = session.streams
    costs = [row["cost"].as_py() for row in store.reader.read_rows(stream.name, timeout=60).rows(session)]
    assert sorted(costs) == sorted(row["cost"] for row in ROWS)


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_real_rows_through_the_emulator_have_the_totals_of_their_files(
    client: bigquery.Client, emulator: Emulator, tmp_path: Path
) -> None:
    samples = SHARED / "samples/gcp" if SHARED else tmp_path
    koku = list(koku_rows(samples / "koku/202011_2020-11-08_2020-11-11.csv"))
    cuds = [("2019-01-21", row) for row in cud_rows(samples / "google-cuds-billing/test_9_3.export.json")]
    client.create_dataset(f"{client.project}.real")
    sources: dict[str, list[dict[str, Any]]] = {"table": [], "files": []}
    for name, days, schema in (("koku", koku, BILLING), ("cud", cuds, BILLING_2019)):
        table = f"{client.project}.real.{name}"
        fields = [bigquery.SchemaField.from_api_repr(field) for field in fields_like(schema)]
        client.create_table(bigquery.Table(table, schema=fields))
        rows = [pa.Table.from_pylist([row], schema=schema).to_pylist()[0] for _, row in days]
        assert client.insert_rows_json(table, [as_exported(row) for row in rows]) == []
        for day in sorted({day for day, _ in days}):
            write_partition(tmp_path / "files/exports" / name, day, *(row for one, row in days if one == day), schema=schema)
        sources["files"].append({"name": name, "kind": "gcp_billing"})
        sources["table"].append(sources["files"][-1] | {"location": f"bq://{table}", "endpoint_url": emulator.rest})
    of_table, of_files = (Organisation(tmp_path / name, *listed) for name, listed in sources.items())
    totals = (
        "select source_name, payer_account_id, usage_month, currency, sum(line_count), sum(billed_cost) "
        "from raw.delivery_totals group by all order by all"
    )
    assert set(of_table.outcomes()) == set(of_files.outcomes()) == {"landed"}
    assert of_table.raw(totals) == of_files.raw(totals) != []


def test_a_price_list_is_read_by_the_words_of_its_skus_as_its_parquet_is(
    client: bigquery.Client, emulator: Emulator, tmp_path: Path
) -> None:
    """Of a list of thousands of SKUs a table is asked for those of accelerators; a file has them all."""
    name = f"{client.project}.prices.cloud_pricing_export"
    client.create_dataset(f"{client.project}.prices")
    client.create_table(bigquery.Table(name, schema=[bigquery.SchemaField.from_api_repr(one) for one in fields_like(PRICING)]))
    lists = {
        day: [
            price(day=day),
            price("Nvidia L9 GPU running in Iowa", "0.4", "us-central1", "us-east1", day=day),
            price("N2 Instance Core running in Americas", "0.03", day=day),
            price("Text model output tokens", "0.1", day=day, pricing_unit="count"),
            price("Spicewood slice", "5", day=day, product_taxonomy=["GCP", "TPUs"]),
        ]
        for day in ("2026-04-01", "2026-04-02")
    }
    for rows in lists.values():
        assert client.insert_rows_json(name, [as_exported(row) for row in rows]) == []
    source = {"name": "prices", "kind": "gcp_prices"}
    of_table = Organisation(tmp_path / "table", {**source, "location": f"bq://{name}", "endpoint_url": emulator.rest})
    of_files = Organisation(tmp_path / "files", source)
    for day, rows in lists.items():
        of_files.deliver_prices(day, *rows, at="2026-04-03")
    rows = r"select columns(c -> c not like '\_%' escape '\' and c <> 'line_number') from raw.gcp_prices order by all"
    for organisation in (of_table, of_files):
        assert organisation.outcomes() == {"landed": 2}
    assert of_table.raw(rows) == of_files.raw(rows)
    assert len(of_table.raw(rows)) == 8, "two days of a TPU, a GPU in two regions, and what only its category shows"
    assert of_table.refresh() == []


def test_when_the_partitions_of_a_table_were_written_is_asked_in_words_that_bigquery_knows(
    client: bigquery.Client, table: str
) -> None:
    dataset, _, name = table.rpartition(".")
    found = asked(client, modified_sql(dataset, name))
    assert [field.name for field in found.schema] == ["partition_id", "last_modified_time", "total_rows"]
