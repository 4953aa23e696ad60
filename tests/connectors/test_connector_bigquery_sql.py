"""What is sent to BigQuery, word for word: constants for days, names for columns, and nothing that could be more than a name."""

from __future__ import annotations

import re
from datetime import date

import pytest

from connectors.gcp.bigquery_sql import (
    INGESTION,
    Axis,
    modified_sql,
    partition_sql,
    partitions_sql,
)

TABLE = "acme-billing.exports.bill"
APRIL = date(2026, 4, 1)
MONTHLY = Axis("usage_month", "DATE", "MONTH")


def test_the_look_groups_by_partition_and_filters_the_bare_column_by_constants() -> None:
    assert partitions_sql(TABLE, INGESTION, "export_time", date(2026, 1, 1), date(2026, 4, 6)) == (
        "SELECT DATE(`_PARTITIONTIME`, 'UTC') AS day, COUNT(*) AS row_count, "
        "MAX(`export_time`) AS newest_export, CAST(NULL AS NUMERIC) AS fingerprint\n"
        "FROM `acme-billing.exports.bill` AS source\n"
        "WHERE `_PARTITIONTIME` >= TIMESTAMP '2026-01-01 00:00:00+00' AND `_PARTITIONTIME` < TIMESTAMP '2026-04-06 00:00:00+00'\n"
        "GROUP BY day\n"
        "ORDER BY day"
    )


def test_a_look_at_everything_still_filters_partitions() -> None:
    """A table may be set to refuse queries without such a filter."""
    assert re.search(r"WHERE `_PARTITIONTIME` >= TIMESTAMP '2006-01-01 ", partitions_sql(TABLE, INGESTION, "export_time"))


def test_a_table_without_an_export_time_is_known_by_its_rows() -> None:
    text = partitions_sql(TABLE, MONTHLY, None, APRIL)
    assert "DATE_TRUNC(`usage_month`, MONTH) AS day" in text and "`usage_month` >= DATE '2026-04-01'" in text
    # a sum: in an exclusive or, a row that comes twice would be as none
    assert "SUM(CAST(FARM_FINGERPRINT(TO_JSON_STRING(source)) AS NUMERIC)) AS fingerprint" in text


@pytest.mark.parametrize(
    ("axis", "first", "condition"),
    [
        (INGESTION, APRIL, "TIMESTAMP '2026-04-01 00:00:00+00' AND `_PARTITIONTIME` < TIMESTAMP '2026-04-02 00:00:00+00'"),
        (Axis("day", "DATE"), date(2026, 2, 28), "DATE '2026-02-28' AND `day` < DATE '2026-03-01'"),
        (Axis("at", "DATETIME"), date(2026, 12, 31), "DATETIME '2026-12-31 00:00:00' AND `at` < DATETIME '2027-01-01 00:00:00'"),
        (MONTHLY, date(2026, 12, 1), "DATE '2026-12-01' AND `usage_month` < DATE '2027-01-01'"),
    ],
)
def test_a_partition_is_read_whole_by_its_first_and_its_next_day(axis: Axis, first: date, condition: str) -> None:
    text = partition_sql(TABLE, ["cost", "credits"], axis, first)
    assert text.startswith("SELECT\n  `cost`,\n  `credits`\nFROM `acme-billing.exports.bill`\n") and "*" not in text
    assert text.endswith(f"WHERE `{axis.column}` >= {condition}")


def test_when_partitions_were_written_is_asked_of_the_dataset_for_one_table() -> None:
    text = modified_sql("acme-billing.exports", "bill")
    assert "FROM `acme-billing.exports`.INFORMATION_SCHEMA.PARTITIONS" in text and "WHERE table_name = 'bill'" in text


@pytest.mark.parametrize("name", ["cost` FROM secrets --", "a\\"])
def test_no_name_ends_its_own_quotes(name: str) -> None:
    with pytest.raises(ValueError, match="no name of BigQuery"):
        partition_sql(TABLE, [name], INGESTION, APRIL)
    with pytest.raises(ValueError, match="no name of BigQuery"):
        modified_sql("acme-billing.exports", name + "'")
