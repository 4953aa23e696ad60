"""What AWS's own APIs would be asked and at which price, and which of its data exports there are. Nothing billed is asked."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from connectors.deliveries import Delivery
from connectors.errors import ConnectorError
from connectors.stores import StoreOptions
from dagster_project.doctor.checks import KEPT, Check, counted, some
from dagster_project.landing.land import Landing
from dagster_project.landing.sources import is_api
from dagster_project.settings import SourceSettings

# of a request, which is a page of an answer: https://aws.amazon.com/aws-cost-management/pricing (read 2026-11-20)
USD_PER_REQUEST = {"ce": Decimal("0.01")}
_CUR = "COST_AND_USAGE_REPORT"
_FAILED = {"QUERY_FAILURE", "DELIVERY_FAILURE"}
_WANTED = {
    "TIME_GRANULARITY": ("HOURLY", "rows of a day or month are shared by all who held the machine in it"),
    "INCLUDE_RESOURCES": ("TRUE", "without resource ids a run record meets no cost"),
}


def to_ask(source: SourceSettings, known: Landing, deliveries: Iterable[Delivery]) -> tuple[Check, list[Delivery]]:
    """Which months or years the next refresh asks an API for, at which price; and those landed, which are free to read."""
    listed = list(deliveries)
    landed = {generation.identity for generation in known.read(source.name).generations} | known.listed.same(source.name)
    months = sorted(one.objects[0].key.rpartition("/")[2].removesuffix(".json") for one in listed if one.identity not in landed)
    price = USD_PER_REQUEST.get(source.facts.api, Decimal(0)) * len(months)
    period = "year" if source.facts.api == "water" else "month"
    message = f"no {period} is asked for: what AWS has of closed {period}s was landed"
    if months:
        cost = f"{price} USD, a cent for each month and page" if price else "nothing, as AWS states no price"
        message = (
            f"the next refresh asks for {counted(len(months), period)} ({some(months)}) and pays {cost}; nothing is asked here"
        )
    facts = {"source": source.name, "months": months[:KEPT], "usd": str(price)}
    check = Check(f"price of {source.name}", "ok", message, "", True, "price", facts)
    return check, [one for one in listed if one.identity in landed]


def check_exports(sources: Sequence[SourceSettings]) -> Iterator[Check]:
    """The exports of AWS Data Exports in each account that these sources are read from, asked once for each login."""
    asked: dict[tuple[str | None, str | None], SourceSettings] = {}
    for source in sources:
        is_of_aws = source.facts.provider_name == "AWS" and source.facts.fact in ("bill", "carbon")
        # an endpoint of one's own is a store like S3, and no account of AWS
        if is_of_aws and (is_api(source) or (source.location.startswith("s3://") and not source.endpoint_url)):
            asked.setdefault((source.role_arn, source.external_id), source)
    locations = {source.location.rstrip("/"): source.name for source in sources}
    for source in asked.values():
        yield from _exports_of(source, locations)


def _exports_of(source: SourceSettings, locations: dict[str, str]) -> Iterator[Check]:
    from connectors.stores.aws_exports import data_exports  # boto3 takes a while to load

    about = f"exports of {source.name}"
    options = StoreOptions(role_arn=source.role_arn, external_id=source.external_id, endpoint_url=source.endpoint_url)
    try:
        exports = data_exports(options)
    except ConnectorError as error:
        remedy = f"{error.remedy} Without it everything else works."
        facts = {"source": source.name, "reason": error.reason}
        yield Check(about, "warning", f"not known: {error.message}", remedy, True, "exports", facts)
        return
    if not exports:
        remedy = "Ask as the paying account, whose exports they are."
        yield Check(about, "warning", "this account has no data export", remedy, True, "exports", {"source": source.name})
    for export in exports:
        executions = export.executions
        failed = [one for one in executions if one.status in _FAILED]
        found = []
        if export.table == _CUR:
            given = [(key, export.settings[key], *one) for key, one in _WANTED.items() if key in export.settings]
            found += [f"{key} is {value}, and {why}" for key, value, wanted, why in given if value != wanted]
        if export.status != "HEALTHY":
            found.append(f"AWS calls it {export.status or 'of no known status'}{_because(export.reason)}")
        if failed:
            newest = failed[0]
            when = f" on {newest.at:%Y-%m-%d %H:%M} UTC" if newest.at else ""
            last = f"{newest.status}{_because(newest.reason)}"
            found.append(f"{len(failed)} of the newest {len(executions)} runs failed, the last{when}: {last}")
        read_by = locations.get(export.location)
        message = f"{export.name}, {export.table or 'of no known table'}, to {export.location}"
        message += f", read by {read_by}" if read_by else ", which no source reads"
        message += "".join(f"; {one}" for one in found) or ", as it should be"
        remedy = "Mend it under Billing, Data Exports; settings of a table need a new export under another name." if found else ""
        stated: dict[str, Any] = {
            "source": read_by,
            "export": export.name,
            "table": export.table,
            "settings": export.settings,
            "location": export.location,
            "status": export.status,
            "failed": [{"status": one.status, "reason": one.reason} for one in failed],
        }
        yield Check(f"export {export.name}", "warning" if found else "ok", message, remedy, True, "exports", stated)


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""
