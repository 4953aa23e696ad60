"""Water that AWS withdrew for an account in a calendar year: answers of the AWS Sustainability API, saved or asked for, in m3.

An answer is of years and accounts, and where it was asked so of regions; it names no payer, its folder does. Which of two answers
about a year counts, and what of it is a run's, is decided in SQL. An answer without results is a year that AWS has not published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from connectors.deliveries import Converted, Delivery, Part
from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.lazy import pa
from connectors.formats.parquet import write_tables
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.layouts.single_files import find_file_deliveries
from connectors.stores import READ_LIMIT
from connectors.times import YEARS

KIND = "aws_water"
MEASURE, UNIT = "TOTAL_WATER_WITHDRAWALS", "m3"
_MOST = 1e12

SCHEMA = Schema(
    columns=(
        required("payer_account_id", Text, filled=True),
        required("usage_account_id", Text, filled=True),
        required("period_start", Date, filled=True),
        required("model_version", Text, filled=True),
        required("withdrawal_m3", Number, filled=True, below=_MOST),
        *optional("region", Text),  # null: all regions of the account
    ),
    remedy_page="docs/sources/aws_water.md",
    measures={"withdrawal_m3": 9},
)

find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".json",))


class Period(msgspec.Struct, rename="pascal"):
    """The time of a figure; the AWS CLI and boto3 write it as ISO 8601."""

    start: datetime
    end: datetime


class Amount(msgspec.Struct, rename="pascal"):
    """A volume with its unit."""

    value: float
    unit: str


class Result(msgspec.Struct, rename="pascal"):
    """The water of a group."""

    time_period: Period
    dimensions_values: dict[str, str]
    model_version: str
    allocation_values: dict[str, Amount]


class Answer(msgspec.Struct, rename="pascal"):
    """https://docs.aws.amazon.com/sustainability/latest/APIReference/API_GetEstimatedWaterAllocation.html."""

    results: list[Result]
    next_token: str | None = None


_FOLDERS = re.compile(r"(?:[^/]+/)*?payer=(?P<payer>\d{12})/(?:account=(?P<account>\d{12})/)?[^/]+", re.IGNORECASE | re.ASCII)
_REMEDY = (
    "Ask get-estimated-water-allocation with GroupBy USAGE_ACCOUNT_ID and REGION, of whole calendar years, and save the whole "
    "answer in a folder payer=<account id>. See docs/sources/aws_water.md."
)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Write the groups of an answer, with the account of the folder where a group names none."""
    [info] = delivery.objects
    uri = f"{store_uri}/{info.key}"
    if info.size > READ_LIMIT:
        raise ExportContentError(f"{uri} is larger than {READ_LIMIT} bytes.", place=Place(info.key), reason="too_large")
    try:
        answer = msgspec.json.decode(files[info.key].read_bytes(), type=Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = f"{uri} is no answer about water of the AWS Sustainability API: {shorten(str(error))}."
        raise ExportContentError(what, place=Place(info.key), reason="bad_json", remedy=_REMEDY) from error
    rows = list(_rows(answer, uri, info.key))
    target = folder / "answer.parquet"
    types: dict[str, Any] = {"period_start": pa.date32(), "withdrawal_m3": pa.float64()}
    shape = pa.schema([(name, types.get(name, pa.string())) for name in SCHEMA.names])
    count = write_tables([pa.Table.from_pylist(rows, shape)], target) if rows else 0
    return Converted((Part(target, info.key),) if count else (), count)


def _rows(answer: Answer, uri: str, key: str) -> Iterator[dict[str, Any]]:
    folders = _FOLDERS.fullmatch(key)
    if folders is None:
        raise _wrong(uri, key, "it lies in no folder payer=<account id>, and an answer names no payer")
    if answer.next_token:
        raise _wrong(uri, key, "it has a next page, so it lacks water")
    seen = set[tuple[date, str, str | None]]()
    for number, one in enumerate(answer.results, 1):
        groups = one.dimensions_values
        account, region = groups.get("USAGE_ACCOUNT_ID") or folders["account"], groups.get("REGION")
        if account is None:
            raise _wrong(uri, key, f"result {number} names no USAGE_ACCOUNT_ID, and no folder account=<account id> does")
        if more := sorted({*groups} - {"USAGE_ACCOUNT_ID", "REGION"}):
            raise _wrong(uri, key, f"result {number} is a part by {', '.join(map(shorten, more))}")
        year = _year(one, number, uri, key)
        if (year, account, region) in seen:
            raise _wrong(uri, key, f"result {number} has {year:%Y} of {shorten(account)} {shorten(region or '')} once more")
        seen.add((year, account, region))
        yield {
            "payer_account_id": folders["payer"],
            "usage_account_id": account,
            "period_start": year,
            "model_version": one.model_version,
            "withdrawal_m3": _withdrawal(one, number, uri, key),
            "region": region,
        }
    if {one[:2] for one in seen if one[2] is None} & {one[:2] for one in seen if one[2] is not None}:
        raise _wrong(uri, key, "it has an account both whole and by region, which would count its water twice")


def _year(one: Result, number: int, uri: str, key: str) -> date:
    start, end = one.time_period.start, one.time_period.end
    if start.year in YEARS and end.year in YEARS:  # a time of the year 1 may have none in UTC
        start, end = (at.astimezone(UTC) if at.tzinfo else at for at in (start, end))
    if (start.month, start.day, end.month, end.day, end.year) != (1, 1, 1, 1, start.year + 1) or start.year not in YEARS:
        what = f"result {number} is of the time from {start:%Y-%m-%d} to {end:%Y-%m-%d}, which is no calendar year"
        raise _wrong(uri, key, what, "unsupported_format")
    return start.date()


def _withdrawal(one: Result, number: int, uri: str, key: str) -> float:
    found = one.allocation_values.get(MEASURE)
    if found is None:
        raise _wrong(uri, key, f"result {number} has no {MEASURE}")
    if found.unit != UNIT:
        raise _wrong(uri, key, f"{MEASURE} is in {shorten(found.unit)}, where {UNIT} is expected", "wrong_unit")
    if not 0 <= found.value < _MOST:
        raise _wrong(uri, key, f"{MEASURE} of result {number} is {found.value}, no number from 0 to {_MOST:.0e}", "wrong_type")
    return found.value


def _wrong(uri: str, key: str, what: str, reason: str = "wrong_value") -> ExportContentError:
    return ExportContentError(f"{uri}: {what}.", place=Place(key), reason=reason, remedy=_REMEDY)
