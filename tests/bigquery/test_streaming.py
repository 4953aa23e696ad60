"""A partition as the product can read it: a capped query over REST, its rows as a stream of the Storage API over gRPC.

The emulator answers a stream of a query's rows with 404; so here both ends are fakes, and only the client is real.
"""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")
pytest.importorskip("google.cloud.bigquery_storage_v1", reason="google-cloud-bigquery-storage is not installed")

from google.cloud import bigquery

from connectors.gcp.bigquery_sql import INGESTION, partition_sql
from tests.bigquery.described import fields_like
from tests.bigquery.rest_fake import RestFake, Rows
from tests.bigquery.storage_fake import StorageFake
from tests.connectors.gcp import BILLING, line

READ = partition_sql("acme-billing.exports.bill", BILLING.names, INGESTION, date(2026, 4, 1))


@pytest.mark.parametrize(("cuts", "offsets"), [([], [0]), ([1, 1], [0, 2, 4])])
def test_the_rows_of_a_query_stream_in_batches_also_over_a_cut(cuts: list[int], offsets: list[int]) -> None:
    batches = [pa.RecordBatch.from_pylist([line(cost=float(start + n)) for n in range(2)], schema=BILLING) for start in (0, 2, 4)]
    rest, storage = RestFake(answers=[Rows(fields_like(BILLING), total=6)]), StorageFake(batches, cuts=cuts)
    with rest.client() as client, storage.client() as reader:
        job = client.query(READ, job_config=bigquery.QueryJobConfig(maximum_bytes_billed=10_000_000_000))
        stream = job.result().to_arrow_iterable(bqstorage_client=reader, max_queue_size=1, max_stream_count=1)
        found = list(stream)
    assert [batch.num_rows for batch in found] == [2, 2, 2]
    assert pa.Table.from_batches(found).schema.equals(BILLING)
    assert pa.Table.from_batches(found).column("cost").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert storage.offsets == offsets
    [session] = storage.sessions
    assert session.table == "projects/acme-billing/datasets/_anonymous/tables/result"
    assert rest.asked[0]["configuration"]["query"]["maximumBytesBilled"] == "10000000000"
