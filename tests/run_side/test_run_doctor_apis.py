"""`trainledger doctor` and AWS's own APIs: what a refresh would pay is stated and not asked; data exports are listed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagster_project.doctor.apis import check_exports
from dagster_project.doctor.checks import Check
from dagster_project.doctor.examination import diagnose
from dagster_project.warehouse.home import Home
from tests.aws_apis import Apis, Refusal, costs
from tests.landing.kit import Organisation

pytestmark = pytest.mark.usefixtures("made_up_credentials")
ARN = "arn:aws:bcm-data-exports:us-east-1:000000000017:export/"
CUR = {
    "TIME_GRANULARITY": "HOURLY",
    "INCLUDE_RESOURCES": "TRUE",
    "INCLUDE_SPLIT_COST_ALLOCATION_DATA": "TRUE",
}


@pytest.fixture
def apis(monkeypatch: pytest.MonkeyPatch) -> Iterator[Apis]:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    found = Apis()
    with found.serving() as found.url:  # type: ignore[attr-defined]
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)  # type: ignore[attr-defined]
        yield found


def export(name: str, table: str, **settings: str) -> dict[str, Any]:
    """What GetExport answers: https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_DataExports_GetExport.html."""
    output = {"OutputType": "CUSTOM", "Format": "PARQUET", "Compression": "PARQUET", "Overwrite": "OVERWRITE_REPORT"}
    target = {"S3Bucket": "acme-exports", "S3Prefix": "exports", "S3Region": "eu-central-1", "S3OutputConfigurations": output}
    return {
        "Export": {
            "ExportArn": f"{ARN}{name}",
            "Name": name,
            "DataQuery": {"QueryStatement": f"SELECT a, b FROM {table}", "TableConfigurations": {table: settings}},
            "DestinationConfigurations": {"S3Destination": target},
            "RefreshCadence": {"Frequency": "SYNCHRONOUS"},
        }
    }


def executions(*statuses: tuple[str, str | None]) -> dict[str, Any]:
    found = []
    for number, (status, reason) in enumerate(statuses):
        stated = {"StatusCode": status, "CompletedAt": f"2026-06-{19 - number}T06:00:00Z"} | (
            {"StatusReason": reason} if reason else {}
        )
        found.append({"ExecutionId": f"e-{number}", "ExecutionStatus": stated})
    return {"Executions": found}


def answers(apis: Apis, exports: dict[str, dict[str, Any]], runs: dict[str, dict[str, Any]], **status: dict[str, str]) -> None:
    pages = [
        {
            "Exports": [
                {
                    "ExportArn": f"{ARN}{name}",
                    "ExportName": name,
                    "ExportStatus": {"StatusCode": "HEALTHY"} | status.get(name, {}),
                }
            ]
        }
        for name in exports
    ]
    for number, page in enumerate(pages[:-1]):
        page["NextToken"] = str(number + 1)
    apis.answers |= {
        "ListExports": lambda request: pages[int(request.get("NextToken") or 0)],
        "GetExport": lambda request: exports[request["ExportArn"].removeprefix(ARN)],
        "ListExecutions": lambda request: runs[request["ExportArn"].removeprefix(ARN)],
    }


def checked(folder: Path, *sources: dict[str, Any]) -> list[Check]:
    return [*check_exports(Organisation(folder, *sources).settings.sources)]


SOURCES: tuple[dict[str, Any], ...] = (
    {"name": "cur", "kind": "aws_cur", "location": "s3://acme-exports/exports/cur"},
    {"name": "carbon", "kind": "aws_carbon", "location": "s3://acme-exports/exports/carbon"},
)


def test_each_export_is_listed_with_its_settings_and_the_source_that_reads_it(tmp_path: Path, apis: Apis) -> None:
    exports = {"cur": export("cur", "COST_AND_USAGE_REPORT", **CUR), "old": export("old", "FOCUS_1_0_AWS")}
    answers(apis, exports, dict.fromkeys(exports, executions(("DELIVERY_SUCCESS", None))))
    cur, old = checked(tmp_path, *SOURCES)
    assert (cur.outcome, cur.facts["source"], cur.facts["settings"]["TIME_GRANULARITY"]) == ("ok", "cur", "HOURLY")
    assert cur.message == "cur, COST_AND_USAGE_REPORT, to s3://acme-exports/exports/cur, read by cur, as it should be"
    assert (old.outcome, old.facts["source"]) == ("ok", None) and "which no source reads" in old.message
    assert len(apis.requests("ListExports")) == 2, "two pages, and one login for both sources"


def test_daily_rows_without_resources_and_failed_deliveries_are_named_before_they_hurt(tmp_path: Path, apis: Apis) -> None:
    settings = CUR | {"TIME_GRANULARITY": "DAILY", "INCLUDE_RESOURCES": "FALSE"}
    runs = executions(("DELIVERY_FAILURE", "INSUFFICIENT_PERMISSION"), ("DELIVERY_SUCCESS", None), ("QUERY_FAILURE", None))
    exports = {"cur": export("cur", "COST_AND_USAGE_REPORT", **settings)}
    answers(apis, exports, {"cur": runs}, cur={"StatusCode": "UNHEALTHY", "StatusReason": "INSUFFICIENT_PERMISSION"})
    [cur] = checked(tmp_path, *SOURCES)
    assert cur.outcome == "warning" and "Data Exports" in cur.remedy
    for words in (
        "TIME_GRANULARITY is DAILY, and rows of a day or month are shared by all who held the machine in it",
        "INCLUDE_RESOURCES is FALSE, and without resource ids a run record meets no cost",
        "AWS calls it UNHEALTHY (INSUFFICIENT_PERMISSION)",
        "2 of the newest 3 runs failed, the last on 2026-06-19 06:00 UTC: DELIVERY_FAILURE (INSUFFICIENT_PERMISSION)",
    ):
        assert words in cur.message


def test_a_login_that_may_not_ask_is_named_and_nothing_fails(tmp_path: Path, apis: Apis) -> None:
    apis.answers["ListExports"] = Refusal(400, "AccessDeniedException")
    [found] = checked(tmp_path, *SOURCES)
    assert found.outcome == "warning" and found.facts["reason"] == "permission_denied"
    assert "Grant bcm-data-exports:ListExports, bcm-data-exports:GetExport, bcm-data-exports:ListExecutions" in found.remedy
    assert "planted" not in f"{found.message}{found.remedy}"


def test_folders_stores_like_s3_and_google_are_asked_for_no_exports_of_aws(tmp_path: Path, apis: Apis) -> None:
    sources = (
        {"name": "cur", "kind": "aws_cur"},
        {"name": "minio", "kind": "aws_cur", "location": "s3://a/b", "endpoint_url": "http://127.0.0.1:1"},
        {"name": "google", "kind": "gcp_billing", "location": "gs://a/b"},
    )
    assert checked(tmp_path, *sources) == [] and apis.asked == []


def test_doctor_states_what_a_refresh_would_pay_and_asks_cost_explorer_nothing(tmp_path: Path, apis: Apis) -> None:
    source = {"name": "totals", "kind": "provider_totals", "location": "api", "months": "2026-03.."}
    organisation = Organisation(
        tmp_path, source, {"name": "water", "kind": "aws_water", "location": "api", "months": "2024-01.."}
    )
    stated: list[str] = []
    assert diagnose(Home.of(organisation.settings), stated.append) == 0
    text = " ".join(" ".join(stated).split())
    assert "the next refresh asks for 2 years (2024, 2025) and pays nothing" in text
    assert "the next refresh asks for 3 months (2026-03, 2026-04, 2026-05) and pays 0.03 USD" in text
    assert apis.requests("GetCostAndUsage") == []
    apis.answers["GetCostAndUsage"] = lambda request: costs(
        request["TimePeriod"]["Start"][:7], request["TimePeriod"]["End"][:7], ("Usage", "1.5")
    )
    apis.answers["GetEstimatedWaterAllocation"] = {"Results": []}
    assert organisation.outcomes() == {"landed": 5}
    stated.clear()
    assert diagnose(Home.of(organisation.settings), stated.append) == 0
    text = " ".join(" ".join(stated).split())
    assert "no month is asked for" in text and "read 3 of 3 answers, 3 rows" in text
    assert len(apis.requests("GetCostAndUsage")) == 3
