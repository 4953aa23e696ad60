"""What the service does and the emulator does not, told to the unmodified client: caps, denials, `_PARTITIONTIME`, dry runs."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import bigquery

from connectors.gcp.bigquery_sql import INGESTION, partitions_sql
from connectors.gcp.tables import BILL
from connectors.stores.google_errors import meaning_of
from tests.bigquery.described import described
from tests.bigquery.rest_fake import Failure, RestFake, Rows
from tests.connectors.gcp import BILLING

TABLE = "acme-billing.exports.bill"
LOOK = partitions_sql(TABLE, INGESTION, "export_time")
DAYS = [
    {"name": "day", "type": "DATE"},
    {"name": "row_count", "type": "INTEGER"},
    {"name": "newest_export", "type": "TIMESTAMP"},
    {"name": "fingerprint", "type": "NUMERIC"},
]


def capped(**more: Any) -> bigquery.QueryJobConfig:
    return bigquery.QueryJobConfig(maximum_bytes_billed=10_000_000_000, labels={"product": "trainledger"}, **more)


def test_a_described_table_states_by_what_it_is_read() -> None:
    with RestFake({TABLE: described(BILLING, timePartitioning={"type": "DAY"})}).client() as client:
        description = client.get_table(TABLE).to_api_repr()
    assert BILL.axis_of(description) == INGESTION
    columns, unknown = BILL.columns_of(description, TABLE)
    assert columns == tuple(BILLING.names) and unknown == ()


def test_the_look_is_one_capped_and_labelled_query() -> None:
    exported = dt.datetime(2026, 4, 2, 5, 0, 0, 7, tzinfo=dt.UTC)
    microseconds = str((exported - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1))
    fake = RestFake(answers=[Rows(DAYS, [["2026-04-01", "2", microseconds, None]])])
    with fake.client() as client:
        [row] = client.query_and_wait(LOOK, job_config=capped())
    assert tuple(row) == (dt.date(2026, 4, 1), 2, exported, None)
    [asked] = fake.asked
    assert asked["query"] == LOOK
    assert (asked["maximumBytesBilled"], asked["labels"]) == ("10000000000", {"product": "trainledger"})


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Failure(500, "bytesBilledLimitExceeded"), "above_byte_cap"),  # a status that others are asked again for
        (Failure(403, "accessDenied"), "permission_denied"),
        (Failure(403, "quotaExceeded"), "quota_exceeded"),
        (Failure(404, "notFound"), "missing_table"),
        (Failure(403, "billingNotEnabled"), "permission_denied"),
    ],
)
def test_a_refused_query_is_asked_once_and_identified_by_googles_word(failure: Failure, reason: str) -> None:
    fake = RestFake(answers=[failure])
    with fake.client() as client, pytest.raises(GoogleAPICallError) as caught:
        client.query_and_wait(LOOK, job_config=capped())
    assert meaning_of(code_of(caught.value), "query", TABLE)[0] == reason
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(Failure(404, "notFound"), "missing_table"), (Failure(403, "accessDenied"), "permission_denied")],
)
def test_a_table_that_cannot_be_described_is_reported(failure: Failure, reason: str) -> None:
    fake = RestFake({TABLE: failure})
    with fake.client() as client, pytest.raises(GoogleAPICallError) as caught:
        client.get_table(TABLE)
    assert meaning_of(code_of(caught.value), "describe", TABLE)[0] == reason


def code_of(error: GoogleAPICallError) -> str:
    """Google's word for an error of the REST API."""
    return str(error.errors[0]["reason"])
