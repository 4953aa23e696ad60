"""Groups stay as an engine was asked for them: a statement that changes needs another VERSION, by which it is asked again.

A column or measure that a connector comes to read is part of its statement. Where an edit changes only how a text is laid out,
the digest here is written anew and VERSION stays: asking again would read every bill once more.
"""

from __future__ import annotations

from datetime import date
from hashlib import sha256

import pytest

from connectors.aws import grouped_sql as of_aws
from connectors.aws.cur_columns import SCHEMA
from connectors.aws.sql_dialects import SPARK, TRINO
from connectors.formats.schema import BigInt, Number, Text, TextMap, Timestamp
from connectors.gcp import grouped_sql as of_google
from connectors.gcp.bigquery_sql import INGESTION
from tests.bigquery.described import fields_like
from tests.connectors.gcp import BILLING

KEYS = ["training_run_id"]
TYPES = {Text: "varchar", Number: "double", Timestamp: "timestamp(3)", TextMap: "map(varchar, varchar)", BigInt: "bigint"}


def text_for_aws() -> str:
    types = {column.name: TYPES[column.type] for column in SCHEMA if column.name != of_aws.LINE_COUNT}
    return "\n".join(of_aws.grouped_sql(of_aws.Table("t", types, dialect), KEYS) for dialect in (TRINO, SPARK))


def text_for_google() -> str:
    return of_google.grouped_sql(of_google.Table("a.b.c", fields_like(BILLING)), INGESTION, KEYS, [date(2026, 4, 1)])


@pytest.mark.parametrize(
    ("version", "text", "digest"),
    [
        (of_aws.VERSION, text_for_aws(), ("1", "cb89b9f2a5157d4f")),
        (of_google.VERSION, text_for_google(), ("1", "9c9fb14e5acc35cc")),
    ],
    ids=["aws", "google"],
)
def test_another_statement_has_another_version(version: str, text: str, digest: tuple[str, str]) -> None:
    assert (version, sha256(text.encode()).hexdigest()[:16]) == digest, "raise VERSION beside the statement, and write both here"
