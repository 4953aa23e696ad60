"""`trainledger doctor` on a table of BigQuery: what it is, what a look at it costs, and what a refresh would pass over."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from tests.bigquery.doctor_of_tables import LOOK, Asked, millis
from tests.bigquery.exported import TABLE
from tests.connectors.gcp import BILLING, CARBON, EMISSION

DAY = 86_400_000


def test_a_table_that_can_be_read_is_reported_with_bytes_and_price_and_one_partition_of_it_is_read(asked: Asked) -> None:
    asked.described_as(clustering={"fields": ["currency"]}, lastModifiedTime=millis("2026-07-04"))
    code, checks = asked.checks()
    assert code == 0 and {check["outcome"] for check in checks} <= {"ok", "warning"}
    told = {check["question"]: check for check in reversed(checks)}
    assert told["login"]["message"].endswith("is asked without a login")
    assert told["table"]["message"] == (
        f"bq://{TABLE} is a table in EU, read by the day of _PARTITIONTIME, clustered by currency, 93 rows"
    )
    assert told["bytes"]["message"] == (
        "the next look, at all days, as they were not all landed yet, reads 3.0 GB, about 0.02 USD on demand;"
        " no query may read more than 100.0 GB (maximum_bytes_billed)"
    )
    assert told["bytes"]["facts"] == {"look_bytes": LOOK, "first_day": None, "maximum_bytes_billed": 100_000_000_000}
    [_, newest] = [check for check in checks if check["question"] == "bytes"]
    assert newest["message"].startswith(
        "a read of the partition of 2026-07-03, the newest, takes 8 MB, about 0.01 USD; 5,000 rows"
    )
    assert told["permissions"]["message"] == "it may describe the table and run queries, and stream rows"
    assert (
        told["source"]["message"]
        == "gcp_billing, 2 months, the newest is 2026-07; read 1 of 31 partitions, 6 rows; in part: 2026-07; not read: 2026-06"
    )
    assert asked.run == []


def test_what_doctor_asks_is_labelled_and_no_query_of_it_is_paid(asked: Asked) -> None:
    asked.checks()
    for settings in (body["configuration"] for body in asked.rest.asked):
        assert settings["dryRun"] and settings["labels"]["step"] == "doctor"
        assert int(settings["query"]["maximumBytesBilled"]) > 10**18


def columns_told(checks: list[dict[str, Any]]) -> str:
    [found] = [check["message"] for check in checks if check["question"] == "columns"]
    return str(found)


def test_columns_that_an_older_table_lacks_and_unknown_ones_are_named(asked: Asked) -> None:
    fields = [field for field in BILLING if field.name not in ("tags", "subscription")]
    asked.bill.schema = pa.schema([*fields, BILLING.field("cost").with_name("brand_new")])
    asked.described_as()
    said = columns_told(asked.checks()[1])
    assert "all that must be there" in said and "as they are unknown: brand_new" in said
    assert "not there, as in older tables: " in said and "tags" in said


# what is the case, the reason, words of the message
WARNINGS: dict[str, tuple[Callable[[Asked], object], str, str]] = {
    "half-exported month": (
        lambda asked: [asked.bill.days.pop(f"2026-06-{day}") for day in (23, 24)], "partial_month",
        "half exported: 2026-06 has no partition of 2026-06-23..2026-06-24",
    ),
    "export stopped": (
        lambda asked: asked.described_as(lastModifiedTime=millis("2026-07-01")), "export_stopped",
        "nothing was written into it since 2026-07-01 00:00 UTC",
    ),
    "partitions expire": (
        lambda asked: asked.described_as(timePartitioning={"type": "DAY", "expirationMs": str(60 * DAY)}), "table_expires",
        "its partitions are deleted after 60 days",
    ),
    "table expires": (
        lambda asked: asked.described_as(expirationTime=millis("2026-12-24")), "table_expires", "deleted on 2026-12-24",
    ),
    "not divided": (
        lambda asked: (asked.described_as(type="VIEW", timePartitioning=None), asked.bytes.update({"no day": LOOK})),
        "no_pruning", "goes through the whole table or view",
    ),
    "view": (
        lambda asked: asked.described_as(type="VIEW", timePartitioning=None), "rows_are_billed", "none is read here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNINGS)
def test_what_a_refresh_would_pass_over_is_a_warning(asked: Asked, name: str) -> None:
    arrange, reason, message = WARNINGS[name]
    arrange(asked)
    code, checks = asked.checks()
    [warning] = [check for check in checks if check["facts"].get("reason") == reason]
    assert (code, warning["outcome"]) == (0, "warning")
    assert message in warning["message"] and warning["remedy"]


def test_a_view_that_leaves_days_out_and_a_month_of_carbon_are_not_warned_of(asked: Asked) -> None:
    asked.described_as(type="VIEW", timePartitioning=None)
    assert "no_pruning" not in [check["facts"].get("reason") for check in asked.checks()[1]]
    asked.bill.schema, asked.bill.days = CARBON, {"2026-04-01": [EMISSION]}
    asked.source["kind"] = "gcp_carbon"
    asked.described_as(timePartitioning={"type": "MONTH", "field": "usage_month"}, lastModifiedTime=millis("2026-06-15"))
    code, checks = asked.checks()
    assert code == 0, checks
    assert [check["facts"].get("reason") for check in checks if check["outcome"] == "warning"] == []
    assert "read by the month of usage_month" in next(check["message"] for check in checks if check["question"] == "table")


def test_what_a_person_sees_fits_80_columns_and_nothing_is_written(asked: Asked) -> None:
    said = asked.doctor().stdout
    assert "ok       bytes of google: the next look, at all days" in said
    assert [line for line in said.splitlines() if len(line) > 80 and " " in line[12:].strip()] == []  # a path is not cut
    assert re.fullmatch(r"\d+ problems?, \d+ warnings?", said.splitlines()[-1])
    assert not (asked.folder / "home").exists()
