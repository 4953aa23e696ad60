"""The unmodified client of the Storage Read API reads from the fake, batch by batch, and goes on where a stream was cut."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("google.cloud.bigquery_storage_v1", reason="google-cloud-bigquery-storage is not installed")

from google.api_core.exceptions import PermissionDenied
from google.cloud.bigquery_storage_v1 import BigQueryReadClient, types

from tests.bigquery.storage_fake import StorageFake
from tests.connectors.gcp import BILLING, line

TABLE = "projects/acme-billing/datasets/exports/tables/bill"


def batches(count: int, rows: int) -> list[pa.RecordBatch]:
    """Batches of a bill, with the number of each row as its cost."""
    return [
        pa.RecordBatch.from_pylist([line(cost=float(start + n)) for n in range(rows)], schema=BILLING)
        for start in range(0, count * rows, rows)
    ]


def costs(client: BigQueryReadClient) -> list[float]:
    wanted = types.ReadSession(table=TABLE, data_format=types.DataFormat.ARROW)
    session = client.create_read_session(parent="projects/acme-billing", read_session=wanted, max_stream_count=1)
    pages = client.read_rows(session.streams[0].name).rows(session).pages
    return [cost for page in pages for cost in page.to_arrow().column("cost").to_pylist()]


def test_a_table_streams_in_batches() -> None:
    fake = StorageFake(batches(3, rows=2))
    with fake.client() as client:
        assert costs(client) == [0, 1, 2, 3, 4, 5]
    assert [session.table for session in fake.sessions] == [TABLE] and fake.offsets == [0]


def test_a_stream_that_is_cut_goes_on_behind_the_last_whole_batch() -> None:
    fake = StorageFake(batches(4, rows=2), cuts=[2, 1])
    with fake.client() as client:
        assert costs(client) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert fake.offsets == [0, 4, 6]


def test_a_denied_session_is_reported_as_such() -> None:
    with (
        StorageFake(batches(1, rows=1), denied="bigquery.readsessions.create").client() as client,
        pytest.raises(PermissionDenied),
    ):
        costs(client)
