"""A refresh of a company with a bill in a table that refuses: it is reported, and all else is published."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.rest_fake import Failure
from tests.conftest import Command
from tests.connectors.gcp import line, write_partition
from tests.landing.kit import hour, instant, set_time
from tests.line.kit import query

pytestmark = pytest.mark.slow
NOW = "2026-05-20T00:00:00Z"
OTHER = "FEDCBA-987654-3210FE"


@pytest.fixture
def bill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Exported]:
    exported = Exported({"2026-04-10": [line(**hour("2026-04-10T06:00", export_time=instant("2026-04-11")))]})
    other = line(**hour("2026-04-10T06:00", billing_account_id=OTHER))
    set_time(write_partition(tmp_path / "files", "2026-04-10", other), "2026-04-11")
    with exported.serving(monkeypatch) as url:
        sources = [
            {"name": "table", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url},
            {"name": "files", "kind": "gcp_billing", "location": "./files"},
        ]
        document = {"organisation": {"name": "Test"}, "home": "./home", "sources": sources}
        (tmp_path / "trainledger.yaml").write_text(yaml.safe_dump(document))
        yield exported


def test_a_table_that_refuses_is_reported_and_the_other_sources_are_published(
    bill: Exported, tmp_path: Path, trainledger: Command
) -> None:
    bill.rest.answers.append(Failure(403, "quotaExceeded"))
    done = trainledger("refresh", "--config", tmp_path / "trainledger.yaml", now=NOW)
    assert done.returncode == 3, done.stdout + done.stderr
    stated = f"Unreadable or quarantined: table: bq://{TABLE}: the query failed with quotaExceeded. Wait until the quota"
    assert stated in done.stdout + done.stderr
    sums = "select payer_account_id, sum(provider_total) from marts.fct_reconciliation where measure = 'billed_cost' group by all"
    assert [(payer, f"{cost:.2f}") for payer, cost in query(tmp_path / "home", sums)] == [(OTHER, "8.10")]
