"""`location: api`: what AWS's own APIs answer is landed month by month, asked for as often as it may change and no oftener.

The unmodified clients of boto3 ask a server on a local port (tests/aws_apis.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagster_project.base.failures import UsageError
from dagster_project.landing.planning import make_plan
from dagster_project.settings import settings_of
from tests.aws_apis import ACCOUNT, Apis, Refusal, costs, emissions, water
from tests.landing.kit import Organisation, carbon_row

pytestmark = pytest.mark.usefixtures("made_up_credentials")
BILLED = {"Usage": "90.00", "Tax": "10.00"}


@pytest.fixture
def apis(monkeypatch: pytest.MonkeyPatch) -> Iterator[Apis]:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    found = Apis({"GetCostAndUsage": billed, "GetEstimatedCarbonEmissions": emitted})
    with found.serving() as found.url:  # type: ignore[attr-defined]
        yield found


def billed(request: dict[str, Any]) -> dict[str, Any]:
    period = request["TimePeriod"]
    return costs(period["Start"][:7], period["End"][:7], *BILLED.items())


def emitted(request: dict[str, Any]) -> dict[str, Any]:
    period = request["TimePeriod"]
    return {"Results": [emissions(period["Start"][:7], period["End"][:7], 1.25)]}


def organisation(folder: Path, apis: Apis, kind: str = "provider_totals", *more: dict[str, Any], **source: Any) -> Organisation:
    asked = {"name": "asked", "kind": kind, "location": "api", "endpoint_url": apis.url, **source}  # type: ignore[attr-defined]
    return Organisation(folder, asked, *more)


def months_asked(apis: Apis, operation: str = "GetCostAndUsage") -> list[str]:
    return [request["TimePeriod"]["Start"][:7] for request in apis.requests(operation)]


def test_each_closed_month_is_asked_of_cost_explorer_once_and_its_answer_is_what_a_saved_one_is(
    tmp_path: Path, apis: Apis
) -> None:
    """On 20 June the bill of May is closed since the 15th: two weeks after its end."""
    made = organisation(tmp_path, apis, months="2026-04..")
    assert made.outcomes() == {"landed": 2}
    assert months_asked(apis) == ["2026-04", "2026-05"]
    [request, _] = apis.requests("GetCostAndUsage")
    assert request == {
        "TimePeriod": {"Start": "2026-04-01", "End": "2026-05-01"},
        "Granularity": "MONTHLY",
        "Metrics": ["UnblendedCost"],
        "GroupBy": [{"Type": "DIMENSION", "Key": "RECORD_TYPE"}],
    }
    rows = "select payer_account_id, usage_month::text, charge_type, amount__text from raw.provider_totals order by all"
    assert made.raw(rows) == [
        (ACCOUNT, month, name, amount) for month in ("2026-04-01", "2026-05-01") for name, amount in sorted(BILLED.items())
    ]
    saved = Organisation(tmp_path / "saved", {"name": "asked", "kind": "provider_totals"})
    folder = saved.folder / "exports/asked" / f"payer={ACCOUNT}"
    folder.mkdir(parents=True)
    for month, end in (("2026-04", "2026-05"), ("2026-05", "2026-06")):
        (folder / f"{month}.json").write_text(json.dumps(costs(month, end, *BILLED.items())))
    saved.refresh()
    assert saved.raw(rows) == made.raw(rows)
    assert made.refresh() == [] and len(months_asked(apis)) == 2


def test_a_month_is_asked_for_on_the_day_on_which_it_closes(tmp_path: Path, apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    made = organisation(tmp_path, apis, months="2026-05..")
    for now, asked in (
        ("2026-06-14T23:59:59Z", []),
        ("2026-06-15T00:00:00Z", ["2026-05"]),
        ("2026-07-14T00:00:00Z", ["2026-05"]),
    ):
        monkeypatch.setenv("TRAINLEDGER_NOW", now)
        made.refresh()
        assert months_asked(apis) == asked


def test_without_months_the_thirteen_that_cost_explorer_keeps_are_asked_for(tmp_path: Path, apis: Apis) -> None:
    made = organisation(tmp_path, apis)
    [source] = made.settings.sources
    plan = make_plan([source], made.settings.base, made.line.landing)
    assert len(plan.new) == 12 and apis.requests("GetCostAndUsage") == [], "listing asks for nothing that is billed"


def test_pages_of_an_answer_are_one(tmp_path: Path, apis: Apis) -> None:
    pages = {None: costs("2026-05", "2026-06", ("Usage", "90"), token="two"), "two": costs("2026-05", "2026-06", ("Tax", "10"))}
    apis.answers["GetCostAndUsage"] = lambda request: pages[request.get("NextPageToken")]
    made = organisation(tmp_path, apis, months="2026-05")
    assert made.outcomes() == {"landed": 1} and len(months_asked(apis)) == 2
    assert made.raw("select charge_type, amount__text from raw.provider_totals order by all") == [("Tax", "10"), ("Usage", "90")]


def test_a_month_that_aws_still_estimates_is_not_landed_and_asked_again(tmp_path: Path, apis: Apis) -> None:
    apis.answers["GetCostAndUsage"] = costs("2026-05", "2026-06", ("Usage", "90"), estimated=True)
    made = organisation(tmp_path, apis, months="2026-05")
    [landed] = made.refresh()
    assert landed.error and landed.error.reason == "not_published" and "still estimates it" in landed.error.message
    apis.answers["GetCostAndUsage"] = billed
    assert made.outcomes() == {"landed": 1}


@pytest.mark.parametrize(
    ("refused", "reason", "remedy"),
    [
        (Refusal(400, "AccessDeniedException"), "permission_denied", "Grant ce:GetCostAndUsage"),
        (Refusal(400, "LimitExceededException"), "too_many_requests", "the next refresh goes on"),
        (Refusal(400, "DataUnavailableException"), "not_published", "`months`"),
        (Refusal(400, "ValidationException"), "bad_query", "13 months"),
        (Refusal(403, "UnrecognizedClientException"), "no_credentials", "Log in again"),
        (Refusal(500, "InternalFailure"), "source_unreadable", "try again"),
    ],
)
def test_what_aws_refuses_is_named_with_its_remedy_and_without_its_text(
    tmp_path: Path, apis: Apis, monkeypatch: pytest.MonkeyPatch, refused: Refusal, reason: str, remedy: str
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)  # what boto3 waits for between two tries
    apis.answers["GetCostAndUsage"] = refused
    [landed] = organisation(tmp_path, apis, months="2026-05").refresh()
    assert landed.error and (landed.outcome, landed.error.reason) == ("unreadable", reason)
    assert remedy in landed.error.remedy and refused.code in landed.error.message
    assert "planted" not in f"{landed.error.message} {landed.error.remedy}"


def test_a_role_is_assumed_and_names_the_account(tmp_path: Path, apis: Apis) -> None:
    made = organisation(tmp_path, apis, months="2026-05", role_arn="arn:aws:iam::000000000099:role/reader", external_id="a-text")
    assert made.outcomes() == {"landed": 1}
    [taken] = apis.requests("AssumeRole")
    assert (taken["RoleArn"], taken["ExternalId"]) == ("arn:aws:iam::000000000099:role/reader", "a-text")
    assert apis.requests("GetCallerIdentity") == []
    assert made.raw("select distinct payer_account_id from raw.provider_totals") == [("000000000099",)]


def test_a_kind_without_an_api_and_keys_that_change_nothing_are_refused(tmp_path: Path) -> None:
    for source, what in (
        ({"kind": "aws_cur"}, "no API is asked for aws_cur; kinds with `location: api` are aws_carbon, aws_water, "),
        ({"kind": "provider_totals", "requester_pays": True}, "requester_pays changes nothing for api"),
    ):
        document = {"organisation": {"name": "Test"}, "sources": [{"name": "a", "location": "api", **source}]}
        with pytest.raises(UsageError) as raised:
            settings_of(document, tmp_path / "trainledger.yaml")
        assert what in str(raised.value)


def test_emissions_are_asked_by_account_region_and_service_and_again_each_month(
    tmp_path: Path, apis: Apis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 20 June the last month that AWS has published is April, on the 22nd it is May."""
    made = organisation(tmp_path, apis, "aws_carbon", months="2026-03..")
    assert made.outcomes() == {"landed": 2}
    operation = "GetEstimatedCarbonEmissions"
    assert months_asked(apis, operation) == ["2026-03", "2026-04"]
    request = apis.requests(operation)[0]
    assert request["TimePeriod"] == {"Start": "2026-03-01T00:00:00Z", "End": "2026-04-01T00:00:00Z"}
    assert request["GroupBy"] == ["USAGE_ACCOUNT_ID", "REGION", "SERVICE"] and len(request["EmissionsTypes"]) == 7
    assert made.refresh() == [] and len(months_asked(apis, operation)) == 2
    rows = (
        "select payer_account_id, usage_account_id, usage_period_start::date::text, location, product_code, model_version, "
        "total_lbm_emissions_value, _is_book, _is_elected_version from raw.aws_carbon order by all"
    )
    of_march = (ACCOUNT, "012345678901", "2026-03-01", "us-east-1", "AmazonEC2", "v3.0.1", 1.25, True, True)
    assert made.raw(rows)[0] == of_march
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-22T00:00:00Z")
    apis.answers[operation] = lambda request: {"Results": [emissions(*_months(request), 1.5 if "-03-" in str(request) else 1.25)]}
    assert made.outcomes() == {"landed": 2, "unchanged": 1}, "March was restated, May came"
    assert made.raw(rows)[0] == (*of_march[:6], 1.5, True, True)
    assert made.refresh() == []


def _months(request: dict[str, Any]) -> tuple[str, str]:
    return request["TimePeriod"]["Start"][:7], request["TimePeriod"]["End"][:7]


def test_an_export_is_the_book_of_the_months_that_it_has(tmp_path: Path, apis: Apis) -> None:
    export = {"name": "carbon", "kind": "aws_carbon"}
    made = organisation(tmp_path, apis, "aws_carbon", export, months="2026-03..2026-04")
    made.deliver_carbon([carbon_row(2.0, payer=ACCOUNT)], at="2026-05-16")
    made.refresh()
    books = "select _source_name, usage_period_start::date::text from raw.aws_carbon where _is_book order by all"
    assert made.raw(books) == [("asked", "2026-03-01"), ("carbon", "2026-04-01")]


def test_a_month_without_an_answer_yet_is_asked_for_again(tmp_path: Path, apis: Apis) -> None:
    apis.answers["GetEstimatedCarbonEmissions"] = {"Results": []}
    [landed] = organisation(tmp_path, apis, "aws_carbon", months="2026-04").refresh()
    assert landed.error and landed.error.reason == "not_published" and "no emissions" in landed.error.message


def test_water_is_asked_by_account_and_region_of_each_year_that_is_out_and_again_each_month(
    tmp_path: Path, apis: Apis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until AWS has published a year its answer is empty: it is landed with a remark, and asked for again with the next month."""
    operation = "GetEstimatedWaterAllocation"
    apis.answers[operation] = {"Results": []}
    made = organisation(tmp_path, apis, "aws_water", months="2024-07..")
    landed = made.refresh()
    assert [one.outcome for one in landed] == ["landed", "landed"]
    assert [one.contents.refusals[0].reason for one in landed if one.contents] == ["no_rows", "no_rows"]
    first, second = apis.requests(operation)
    assert second == {
        "TimePeriod": {"Start": "2025-01-01T00:00:00Z", "End": "2026-01-01T00:00:00Z"},
        "GroupBy": ["USAGE_ACCOUNT_ID", "REGION"],
        "AllocationTypes": ["TOTAL_WATER_WITHDRAWALS"],
        "Granularity": "YEARLY_CALENDAR",
        "MaxResults": 5000,
    }
    assert first["TimePeriod"]["Start"] == "2024-01-01T00:00:00Z" and made.refresh() == []
    pages = {
        None: {"Results": [water(2025, 2.5)], "NextToken": "two"},
        "two": {"Results": [water(2025, 0.5, REGION="eu-west-1")]},
    }
    starts = "2025-01-01T00:00:00Z"
    apis.answers[operation] = lambda request: (
        pages[request.get("NextToken")] if request["TimePeriod"]["Start"] == starts else {"Results": []}
    )
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-22T00:00:00Z")
    assert made.outcomes() == {"landed": 1, "unchanged": 1}
    columns = "payer_account_id, usage_account_id, period_start::text, region, withdrawal_m3, model_version"
    rows = f"select {columns} from raw.aws_water order by all"
    of_2025 = (ACCOUNT, "012345678901", "2025-01-01")
    assert made.raw(rows) == [(*of_2025, "eu-west-1", 0.5, "v1.0.0"), (*of_2025, "us-east-1", 2.5, "v1.0.0")]
    assert made.refresh() == []


def test_without_months_the_last_year_that_is_over_is_asked_for(
    tmp_path: Path, apis: Apis, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = organisation(tmp_path, apis, "aws_water")
    [source] = made.settings.sources
    for now, years in (
        ("2026-01-20T00:00:00Z", ["2024"]),
        ("2026-01-22T00:00:00Z", ["2025"]),
        ("2026-12-31T00:00:00Z", ["2025"]),
    ):
        monkeypatch.setenv("TRAINLEDGER_NOW", now)
        plan = make_plan([source], made.settings.base, made.line.landing)
        assert [one.objects[0].key.rpartition("/")[2] for _, one in plan.new] == [f"{year}.json" for year in years]
    assert apis.requests("GetEstimatedWaterAllocation") == []
