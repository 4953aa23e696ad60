"""The AWS policies of deploy/aws allow the calls that the code makes, and no other: on a server that refuses the rest.

Calls are recorded as they leave botocore; the server is moto's, with its check of IAM policies switched on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import boto3
import botocore.endpoint
import pytest

from connectors.errors import SourceUnreadableError
from connectors.stores.s3 import S3Bucket
from dagster_project.commands.providers import values_of, write_provider
from dagster_project.commands.verifying import verify_landing
from dagster_project.doctor.examination import diagnose
from dagster_project.warehouse.home import Home
from tests.aws_apis import Apis, costs, emissions, water
from tests.connectors.buckets import denying
from tests.landing.kit import Organisation, bill_line
from tests.run_side.test_run_doctor_apis import ARN, executions, export

pytestmark = pytest.mark.slow

ACCOUNT = "123456789012"  # moto's
# what AWS asks for, by the name of the call: https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
ACTIONS = {
    "ListObjectsV2": "s3:ListBucket",
    "GetObject": "s3:GetObject",
    "PutObject": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "DeleteObject": "s3:DeleteObject",
    "AssumeRole": "sts:AssumeRole",
}
# https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
OF_APIS = {
    "GetCostAndUsage": "ce:GetCostAndUsage",
    "GetEstimatedCarbonEmissions": "sustainability:GetEstimatedCarbonEmissions",
    "GetEstimatedWaterAllocation": "sustainability:GetEstimatedWaterAllocation",
    "ListExports": "bcm-data-exports:ListExports",
    "GetExport": "bcm-data-exports:GetExport",
    "ListExecutions": "bcm-data-exports:ListExecutions",
}
VALUES = values_of(
    "aws",
    {
        "account_id": ACCOUNT,
        "bucket": "acme-exports",
        "external_id": "our-external-id",
        "reader_principal": f"arn:aws:iam::{ACCOUNT}:user/trainledger",
        "landing_bucket": "acme-landing",
    },
)


@pytest.fixture
def policies(tmp_path: Path) -> dict[str, Any]:
    """The filled-in documents by the name of their file."""
    write_provider("aws", VALUES, tmp_path / "aws")
    return {path.stem: json.loads(path.read_text()) for path in (tmp_path / "aws").glob("*-policy.json")}


@pytest.fixture
def provider(
    endpoint: str, policies: dict[str, Any], made_up_credentials: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Who runs trainledger: with the policies for it, beside the role; from here on the server refuses what none
    of them allows. What comes is a client of an administrator, for times without that check."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    s3, iam = boto3.client("s3"), boto3.client("iam")
    for bucket in (VALUES["bucket"], VALUES["landing_bucket"]):
        s3.create_bucket(Bucket=bucket)
    s3.put_bucket_policy(Bucket=VALUES["bucket"], Policy=json.dumps(policies["bucket-policy"]))
    iam.create_role(RoleName="trainledger-reader", AssumeRolePolicyDocument=json.dumps(policies["trust-policy"]))
    reader = json.dumps(policies["reader-policy"])
    iam.put_role_policy(RoleName="trainledger-reader", PolicyName="read-exports", PolicyDocument=reader)
    iam.create_user(UserName="trainledger")
    for name in ("assume-policy", "landing-policy"):
        iam.put_user_policy(UserName="trainledger", PolicyName=name, PolicyDocument=json.dumps(policies[name]))
    key = iam.create_access_key(UserName="trainledger")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    checked(endpoint, True)
    yield s3
    checked(endpoint, False)


def checked(endpoint: str, on: bool) -> None:
    """Whether the server asks the policies."""
    kind = {"Content-Type": "application/octet-stream"}  # of a form moto reads no body
    urlopen(Request(f"{endpoint}/moto-api/reset-auth", b"0" if on else b"inf", kind)).close()


def deliver(provider: Any, endpoint: str, folder: Path) -> None:
    """Upload as AWS does, which none of our policies is about: data first, then the manifest."""
    checked(endpoint, False)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        key = f"exports/trainledger-cur/{path.relative_to(folder).as_posix()}"
        provider.upload_file(str(path), VALUES["bucket"], key)
    checked(endpoint, True)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """What leaves botocore: the action that AWS asks for, and the bucket or role."""
    seen: set[tuple[str, str]] = set()
    original = botocore.endpoint.Endpoint.make_request

    def noting(self: Any, operation: Any, request: dict[str, Any]) -> Any:
        if operation.name in OF_APIS:  # which moto does not have
            return original(self, operation, request)
        where = urlsplit(request["url"]).path.split("/")[1] or request["body"]["RoleArn"].rpartition("/")[2]
        seen.add((ACTIONS[operation.name], where))
        return original(self, operation, request)

    monkeypatch.setattr(botocore.endpoint.Endpoint, "make_request", noting)
    return seen


def allowed(policies: dict[str, Any]) -> set[tuple[str, str]]:
    """Action and bucket or role of what trainledger's identity and its role may do."""
    statements = [one for name in ("reader", "landing", "assume") for one in policies[f"{name}-policy"]["Statement"]]
    resources = {
        one["Resource"]: one["Resource"].rpartition(":")[2].removesuffix("/*").removeprefix("role/") for one in statements
    }
    return {(action, resources[one["Resource"]]) for one in statements for action in one["Action"]}


def test_policies_allow_the_calls_that_are_made_and_no_other(
    endpoint: str,
    policies: dict[str, Any],
    provider: Any,
    calls: set[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = {
        "name": "cur",
        "kind": "aws_cur",
        "location": f"s3://{VALUES['bucket']}/exports/trainledger-cur",
        "role_arn": f"arn:aws:iam::{ACCOUNT}:role/trainledger-reader",
        "external_id": VALUES["external_id"],
    }
    organisation = Organisation(tmp_path, source, landing=f"s3://{VALUES['landing_bucket']}/ledger")
    for day, cost in (("2026-04-10", 1.0), ("2026-04-20", 2.0)):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver([bill_line(cost)], at=day)
        ours = set(calls)
        deliver(provider, endpoint, organisation.folder / "exports/cur")
        calls.intersection_update(ours)  # without those of the delivery
        assert organisation.outcomes() == {"landed": 1}
    monkeypatch.setattr("dagster_project.doctor.examination._questions", lambda *_: iter(()))  # those ask no store
    assert diagnose(Home.of(organisation.settings), lambda _: None) == 0
    assert verify_landing(organisation.settings, lambda _: None) == 0
    landed = organisation.line.landing
    landed.remove(landed.read("cur").generations[0])  # as `prune --yes` does
    landing = S3Bucket(f"s3://{VALUES['landing_bucket']}/ledger")
    large = tmp_path / "large"
    large.write_bytes(bytes(9 << 20))
    landing.upload(large, "large")
    denying(landing.client, "UploadPart", "AccessDenied", 403)
    with pytest.raises(SourceUnreadableError):
        landing.upload(large, "large")
    assert calls == allowed(policies)


def test_the_calls_to_the_apis_of_aws_are_those_that_their_policy_allows(
    policies: dict[str, Any], made_up_credentials: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GetCallerIdentity needs no permission: AWS tells anybody who he is."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    apis = Apis(
        {
            "GetCostAndUsage": costs("2026-05", "2026-06", ("Usage", "1.5")),
            "GetEstimatedCarbonEmissions": {"Results": [emissions("2026-04", "2026-05", 1.0)]},
            "GetEstimatedWaterAllocation": {"Results": [water(2025, 1.0)]},
            "ListExports": {
                "Exports": [{"ExportArn": f"{ARN}cur", "ExportName": "cur", "ExportStatus": {"StatusCode": "HEALTHY"}}]
            },
            "GetExport": export("cur", "COST_AND_USAGE_REPORT"),
            "ListExecutions": executions(("DELIVERY_SUCCESS", None)),
        }
    )
    with apis.serving() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        sources = (
            {"name": "totals", "kind": "provider_totals", "location": "api", "months": "2026-05"},
            {"name": "carbon", "kind": "aws_carbon", "location": "api", "months": "2026-04"},
            {"name": "water", "kind": "aws_water", "location": "api"},
        )
        organisation = Organisation(tmp_path, *sources)
        assert organisation.outcomes() == {"landed": 3}
        assert diagnose(Home.of(organisation.settings), lambda _: None) == 0
    asked = {OF_APIS[name] for name, _ in apis.asked if name != "GetCallerIdentity"}
    assert asked == {action for statement in policies["api-policy"]["Statement"] for action in statement["Action"]}
