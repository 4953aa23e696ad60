"""Which exports of AWS Data Exports there are, as their account states them: what they hold, where they go, how they fare.

Three calls of `bcm-data-exports`, which cost nothing and change nothing: ListExports, GetExport and ListExecutions.
https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_Operations_AWS_Billing_and_Cost_Management_Data_Exports.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from connectors.stores import StoreOptions
from connectors.stores.aws_apis import client_of, failure

SERVICE, NAME = "bcm-data-exports", "AWS Data Exports"
ACTIONS = ("ListExports", "GetExport", "ListExecutions")
LOOKED_AT = 20  # executions, the newest first
_TABLE = re.compile(r"\bFROM\s+\"?([A-Za-z0-9_]+)\"?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of an export."""

    status: str
    reason: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class DataExport:
    """One export: of which table and with which of its settings, where it is delivered, and its newest executions."""

    name: str
    table: str
    settings: dict[str, str]  # of the table
    location: str
    status: str
    reason: str
    executions: tuple[Execution, ...]


def data_exports(options: StoreOptions) -> list[DataExport]:
    """Every export of the account of this login; SourceUnreadableError where it may not ask."""
    try:
        client = client_of(SERVICE, options)
        listed = [one for page in client.get_paginator("list_exports").paginate() for one in page.get("Exports", ())]
        return [_export(client, one) for one in listed]
    except (BotoCoreError, ClientError, ValueError) as error:
        granted = ", ".join(f"{SERVICE}:{action}" for action in ACTIONS)
        raise failure(error, NAME, granted, "", options) from error


def _export(client: Any, listed: dict[str, Any]) -> DataExport:
    export = client.get_export(ExportArn=listed["ExportArn"])["Export"]
    query = export["DataQuery"]
    table = match[1].upper() if (match := _TABLE.search(query["QueryStatement"])) else ""
    target = export["DestinationConfigurations"]["S3Destination"]
    prefix = target["S3Prefix"].strip("/")
    pages = client.get_paginator("list_executions").paginate(
        ExportArn=listed["ExportArn"], PaginationConfig={"PageSize": LOOKED_AT, "MaxItems": LOOKED_AT}
    )
    executions = islice((one["ExecutionStatus"] for page in pages for one in page.get("Executions", ())), LOOKED_AT)
    status = listed["ExportStatus"]
    return DataExport(
        name=export["Name"],
        table=table,
        settings={key: str(value).upper() for key, value in query.get("TableConfigurations", {}).get(table, {}).items()},
        location="/".join(part for part in (f"s3://{target['S3Bucket']}", prefix, export["Name"]) if part),
        status=status.get("StatusCode", ""),
        reason=status.get("StatusReason", ""),
        executions=tuple(
            Execution(one.get("StatusCode", ""), one.get("StatusReason", ""), one.get("CompletedAt") or one.get("LastUpdatedAt"))
            for one in executions
        ),
    )
