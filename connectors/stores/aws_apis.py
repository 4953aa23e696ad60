"""APIs of AWS whose answers are landed as objects, `payer=<account>/2026-04.json`: one for each month or year that is asked for.

Cost Explorer states what a month cost, and bills 0.01 USD for each page of an answer; Sustainability states the emissions of a
month and the water of a year, and bills nothing. Listing asks at most for the account of the login, which is free; which months
there are comes with the options. An answer of several pages is kept as one. boto3's own clients ask, with the retries and roles
of `s3_access`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, UnknownServiceError

from connectors.errors import ConnectorError, ExportNotPublishedError, Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.s3_access import NO_CREDENTIALS, session_of
from connectors.stores.transfer import Remote, write_hashed

REGION = "us-east-1"  # where these services are, wherever the organisation is
MOST_PAGES = 200
_CONFIG = Config(retries={"mode": "standard", "max_attempts": 4}, connect_timeout=10, read_timeout=60)
_BUSY = {"LimitExceededException", "Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


@dataclass(frozen=True, slots=True)
class Api:
    """How a service is asked for a month or a year, and how the pages of its answer become one."""

    name: str
    client: str  # of boto3
    action: str  # what must be granted
    ask: Callable[[Any, date, date, str | None], dict[str, Any]]
    token: str  # the key of an answer that names its next page
    joined: Callable[[list[dict[str, Any]]], dict[str, Any]]
    # why an answer says nothing yet, or nothing
    lacks: Callable[[dict[str, Any]], str]
    is_yearly: bool = False


def _ask_costs(client: Any, first: date, end: date, token: str | None) -> dict[str, Any]:
    """https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_GetCostAndUsage.html."""
    answer: dict[str, Any] = client.get_cost_and_usage(
        TimePeriod={"Start": f"{first}", "End": f"{end}"},
        Granularity="MONTHLY",
        Metrics=["UnblendedCost"],
        GroupBy=[{"Type": "DIMENSION", "Key": "RECORD_TYPE"}],
        **({"NextPageToken": token} if token else {}),
    )
    return answer


def _joined_costs(pages: list[dict[str, Any]]) -> dict[str, Any]:
    """The groups of a month, which pages divide among them."""
    months: dict[str, dict[str, Any]] = {}
    for month in (month for page in pages for month in page.get("ResultsByTime", ())):
        known = months.setdefault(json.dumps(month["TimePeriod"], sort_keys=True), {**month, "Groups": []})
        known["Groups"] = [*known["Groups"], *month.get("Groups", ())]
        known["Estimated"] = bool(known.get("Estimated")) or bool(month.get("Estimated"))
    return {**pages[0], "ResultsByTime": [*months.values()]}


def _lacking_costs(answer: dict[str, Any]) -> str:
    months = answer.get("ResultsByTime", ())
    if not months:
        return "it has no month"
    return "AWS still estimates it" if any(month.get("Estimated") for month in months) else ""


def _ask_emissions(client: Any, first: date, end: date, token: str | None) -> dict[str, Any]:
    """https://docs.aws.amazon.com/sustainability/latest/APIReference/API_GetEstimatedCarbonEmissions.html."""
    methods = ("LBM", "MBM")
    masses = (*methods, "SCOPE_1", *(f"SCOPE_{scope}_{method}" for scope in (2, 3) for method in methods))
    answer: dict[str, Any] = client.get_estimated_carbon_emissions(
        TimePeriod={"Start": f"{first}T00:00:00Z", "End": f"{end}T00:00:00Z"},
        GroupBy=["USAGE_ACCOUNT_ID", "REGION", "SERVICE"],
        EmissionsTypes=[f"TOTAL_{mass}_CARBON_EMISSIONS" for mass in masses],
        Granularity="MONTHLY",
        MaxResults=5000,
        **({"NextToken": token} if token else {}),
    )
    return answer


def _ask_water(client: Any, first: date, end: date, token: str | None) -> dict[str, Any]:
    """https://docs.aws.amazon.com/sustainability/latest/APIReference/API_GetEstimatedWaterAllocation.html."""
    answer: dict[str, Any] = client.get_estimated_water_allocation(
        TimePeriod={"Start": f"{first}T00:00:00Z", "End": f"{end}T00:00:00Z"},
        GroupBy=["USAGE_ACCOUNT_ID", "REGION"],
        AllocationTypes=["TOTAL_WATER_WITHDRAWALS"],
        Granularity="YEARLY_CALENDAR",
        MaxResults=5000,
        **({"NextToken": token} if token else {}),
    )
    return answer


def _joined_results(pages: list[dict[str, Any]]) -> dict[str, Any]:
    return {**pages[0], "Results": [one for page in pages for one in page.get("Results", ())]}


APIS = {
    "ce": Api("AWS Cost Explorer", "ce", "ce:GetCostAndUsage", _ask_costs, "NextPageToken", _joined_costs, _lacking_costs),
    "sustainability": Api(
        "AWS Sustainability",
        "sustainability",
        "sustainability:GetEstimatedCarbonEmissions",
        _ask_emissions,
        "NextToken",
        _joined_results,
        lambda answer: "" if answer.get("Results") else "it has no emissions",
    ),
    "water": Api(
        "AWS Sustainability",
        "sustainability",
        "sustainability:GetEstimatedWaterAllocation",
        _ask_water,
        "NextToken",
        _joined_results,
        # when AWS publishes a year is not stated: until then its answer is empty, and landed as such
        lambda answer: "",
        is_yearly=True,
    ),
}


class AnswerStore(Remote):
    """The months of `first_day` to before `end_day`, or the years of which they have the last one, as a service of AWS answers
    them. The constructor asks nothing.

    The etag of one shows when it is asked again: a final one never, one that AWS may restate with each `asked_at`.
    """

    def __init__(self, options: StoreOptions) -> None:
        self.options, self._api = options, APIS[options.api]
        self.uri = f"api of {self._api.name}"

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """The months or years, by what the login is: no answer is asked for."""
        first, end, at = self.options.first_day, self.options.end_day, self.options.asked_at
        assert first and end, "whoever opens the store knows which months are over"
        for name, over in _years(first, end) if self._api.is_yearly else _months(first, end):
            key = f"payer={self.account}/{name}.json"
            if key.startswith(prefix):
                etag = "final" if at is None else f"asked {at:%Y-%m-%dT%H:%M:%SZ}"
                # without one, when the bill of a month is closed: two weeks after its end
                yield ObjectInfo(key, 0, etag, at or datetime(over.year, over.month, 1, tzinfo=UTC) + timedelta(days=14))

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """An answer is not read before it is landed: each is asked for once."""
        raise NotImplementedError(info.key)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Ask for a month or a year, page by page, and write the answer as boto3 gives it."""
        assert not self.options.is_free, "what is billed is asked by a refresh alone"
        name = info.key.rpartition("/")[2].removesuffix(".json")
        first = date.fromisoformat(f"{name}-01-01"[:10])
        end = first.replace(year=first.year + 1) if self._api.is_yearly else _next(first)
        pages: list[dict[str, Any]] = []
        token: str | None = None
        while True:
            answer = self._asked(info.key, partial(self._api.ask, self.client, first, end, token))
            token = answer.pop(self._api.token, None)
            answer.pop("ResponseMetadata", None)
            pages.append(answer)
            if not token:
                break
            if len(pages) == MOST_PAGES:
                what = f"{self.uri}: {name} has more than {MOST_PAGES} pages."
                raise SourceUnreadableError(what, place=Place(info.key), reason="incomplete_answer")
        whole = self._api.joined(pages)
        if why := self._api.lacks(whole):
            remedy = "The next refresh asks again." + (" Each request costs 0.01 USD." if self.options.api == "ce" else "")
            what = f"{self.uri}: the answer about {name} is none yet: {why}."
            raise ExportNotPublishedError(what, place=Place(info.key), remedy=remedy)
        return write_hashed([json.dumps(whole, indent=1, default=_as_text).encode() + b"\n"], path)

    @cached_property
    def client(self) -> Any:
        """The client of boto3, made when it is first needed."""
        return self._asked("", lambda: client_of(self._api.client, self.options))

    @cached_property
    def account(self) -> str:
        """The account that is asked about: that of the role, else of the login, which AWS tells anybody of himself."""
        if self.options.role_arn and (found := re.search(r":(\d{12}):", self.options.role_arn, re.ASCII)):
            return found[1]
        sts = self._asked("", lambda: client_of("sts", self.options))
        return str(self._asked("", sts.get_caller_identity)["Account"])

    def _asked(self, key: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (BotoCoreError, ClientError, ValueError) as error:
            raise failure(error, self._api.name, self._api.action, key, self.options) from error


def client_of(service: str, options: StoreOptions) -> Any:
    """A client of a service of AWS, with the default credential chain or the role assumed through it."""
    session, _ = session_of(options, REGION)
    return boto3.Session(botocore_session=session).client(
        service, region_name=REGION, endpoint_url=options.endpoint_url, config=_CONFIG
    )


def failure(error: Exception, name: str, action: str, key: str, options: StoreOptions) -> ConnectorError:
    """What a call that failed means. Of AWS's answer only the code is repeated."""
    code = str(error.response.get("Error", {}).get("Code", "?")) if isinstance(error, ClientError) else type(error).__name__
    made = getattr(error, "operation_name", "the request")
    reason, remedy = "source_unreadable", "Check the network, `endpoint_url` and the AWS credentials; then try again."
    if made == "AssumeRole":
        reason = "role_denied"
        remedy = f"Let these credentials assume {options.role_arn}, with the `external_id` of its trust policy."
    elif code in _DENIED:
        reason, remedy = "permission_denied", f"Grant {action} to this login (deploy/aws/api-policy.json)."
        if action.startswith("ce:"):
            remedy += " Cost Explorer must be switched on in the paying account, which takes a day."
    elif code in _BUSY:
        reason, remedy = "too_many_requests", "AWS takes fewer requests at a time: the next refresh goes on with the rest."
    elif code in {"DataUnavailableException", "BillExpirationException"}:
        reason, remedy = "not_published", "AWS has no data of this month: set `months` to begin later, or wait a day."
    elif code == "ValidationException":
        reason, remedy = (
            "bad_query",
            "AWS keeps 13 months for Cost Explorer unless more are switched on: set `months` to begin later.",
        )
    elif code in NO_CREDENTIALS.split():
        reason, remedy = "no_credentials", "Log in again: the AWS credential chain gives no valid credentials here."
    elif isinstance(error, UnknownServiceError):
        reason, remedy = "source_unreadable", "The installed botocore does not know this service: install 1.44.5 or newer."
    return SourceUnreadableError(f"{name}: {made} failed with {code}.", place=Place(key or None), reason=reason, remedy=remedy)


def _as_text(value: Any) -> str:
    """A time of boto3, as the AWS CLI writes it."""
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)


def _months(first: date, end: date) -> Iterator[tuple[str, date]]:
    """Each month by its name, with the day on which it is over."""
    month = first.replace(day=1)
    while month < end:
        yield f"{month:%Y-%m}", _next(month)
        month = _next(month)


def _years(first: date, end: date) -> Iterator[tuple[str, date]]:
    """Each calendar year that is over before `end`."""
    for year in range(first.year, end.year):
        yield f"{year}", date(year + 1, 1, 1)


def _next(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)
