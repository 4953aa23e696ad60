"""Answers of the AWS Sustainability API, saved or asked for: emissions by month, account, region and service, in MTCO2e.

An answer names no payer, its folder does. Each month of a file is a delivery of its own, so that a month counts by the newest
file that has it; a file that is named by its month is of that month and is not read to find it. Groups of several months, such
as a quarter, are in the deliveries of each (carbon_periods.py). The region lies in `location`,
where an export has its name: by the columns that no answer has an export is known to be the more detailed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from connectors.aws.carbon_periods import Period, period_of
from connectors.deliveries import Converted, Delivery, Part, Refusal, identity_of, refusal
from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.lazy import pa
from connectors.formats.parquet import write_tables
from connectors.stores import ObjectInfo, ObjectStore
from connectors.times import YEARS, is_month

API = "api"  # in the place of a model version, which only the rows name
UNIT = "MTCO2e"
_MOST = 1e12
_FILE = re.compile(r"(?:[^/]+/)*?payer=(?P<payer>\d{12})/(?:account=(?P<account>\d{12})/)?(?P<name>[^/]+)\.json", re.IGNORECASE)
_MASSES = {
    f"total_{mass.lower()}_emissions_value": f"TOTAL_{mass}_CARBON_EMISSIONS"
    for mass in ("LBM", "MBM", "SCOPE_1", "SCOPE_2_LBM", "SCOPE_2_MBM", "SCOPE_3_LBM", "SCOPE_3_MBM")
}
_REMEDY = (
    "Ask get-estimated-carbon-emissions with Granularity=MONTHLY and GroupBy REGION and SERVICE, of an organisation also "
    "USAGE_ACCOUNT_ID, and save the whole answer in a folder payer=<account id>. See docs/sources/aws_carbon.md."
)


class TimePeriod(msgspec.Struct, rename="pascal"):
    """The time of a figure; the AWS CLI and boto3 write it as ISO 8601."""

    start: datetime
    end: datetime


class Emissions(msgspec.Struct, rename="pascal"):
    """A mass with its unit."""

    value: float
    unit: str


class Result(msgspec.Struct, rename="pascal"):
    """The emissions of a group."""

    time_period: TimePeriod
    dimensions_values: dict[str, str]
    model_version: str
    emissions_values: dict[str, Emissions]


class Answer(msgspec.Struct, rename="pascal"):
    """https://docs.aws.amazon.com/sustainability/latest/APIReference/API_GetEstimatedCarbonEmissions.html."""

    results: list[Result]
    next_token: str | None = None


def is_answer(key: str) -> bool:
    """Whether an object lies where answers do."""
    return _FILE.fullmatch(key) is not None


def find_answers(store: ObjectStore, kind: str, *, has_others: bool) -> Iterator[Delivery | Refusal]:
    """Yield the months of each answer. Beside an export or reports they would be the same emissions once more."""
    for info in store.list_objects():
        if (match := _FILE.fullmatch(info.key)) is None:
            continue
        name = info.key.replace("/", "~")
        try:
            if has_others:
                raise ExportContentError(
                    f"{store.uri_of(info.key)} lies in the location of an export or of reports, whose emissions it would repeat.",
                    place=Place(info.key),
                    reason="two_exports",
                    remedy="Give answers of the API a source of their own: the export is the book of the months that it has.",
                )
            named = [Period(match["name"], match["name"])] if is_month(match["name"]) else _periods_in(store, info)
            for partition in (name for one in named for name in one.partitions(API, match["account"] or match["payer"])):
                yield Delivery(kind, partition, info.key, info.last_modified, (info,))
        except ExportContentError as error:
            yield refusal(error, name, identity_of(kind, name, (info,)), info.key, info.last_modified)


def _periods_in(store: ObjectStore, info: ObjectInfo) -> list[Period]:
    uri = store.uri_of(info.key)
    periods = sorted({period for period, _ in _results(_decoded(store.read(info), uri, info.key), uri, info.key)})
    if not periods:
        raise _wrong(uri, info.key, "it has no results, so it is of no month that is known", "no_rows")
    # of several months that are not all published it has some, and does not name them
    whole = [one for one in periods if one.first == one.last or one.is_published(info.last_modified)]
    if not whole:
        what = f"it was answered before all months from {periods[0].first} to {periods[0].last} were published, so it lacks some"
        raise _wrong(uri, info.key, what, "incomplete_answer")
    return whole


def convert_answer(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Write the groups of the delivery's month, with the account of the folder where a group names none."""
    (info,) = delivery.objects
    match = _FILE.fullmatch(info.key)
    assert match, info.key
    uri, (month, period) = f"{store_uri}/{info.key}", period_of(delivery.partition)
    results = list(_results(_decoded(files[info.key].read_bytes(), uri, info.key), uri, info.key))
    if is_month(match["name"]) and (others := sorted({one.first for one, _ in results if one != period})):
        raise _wrong(uri, info.key, f"it has {', '.join(others)}, and its name is of {month}", "contradicts_partition")
    versions = sorted({one.model_version for of, one in results if of == period})
    if len(versions) > 1:
        raise _wrong(uri, info.key, f"{month} has the model versions {', '.join(versions)}, and AWS answers one of each month")
    of_several = {"period_start": period.start, "period_end": period.end} if period.first < period.last else {}
    rows = [
        {
            "payer_account_id": match["payer"],
            "usage_account_id": one.dimensions_values.get("USAGE_ACCOUNT_ID") or match["account"] or match["payer"],
            "usage_period_start": datetime.fromisoformat(f"{month}-01"),
            **of_several,
            "model_version": one.model_version,
            "location": one.dimensions_values["REGION"],
            "product_code": one.dimensions_values["SERVICE"],
            **{name: _mass(one, type_, uri, info.key) for name, type_ in _MASSES.items()},
            "line_number": number,
        }
        for number, (of, one) in enumerate(results, 1)
        if of == period
    ]
    types: dict[str, Any] = dict.fromkeys(("usage_period_start", *of_several), pa.timestamp("us")) | {"line_number": pa.int64()}
    types |= dict.fromkeys(_MASSES, pa.float64())
    target = folder / "answer.parquet"
    table = [pa.Table.from_pylist(rows, pa.schema([(name, types.get(name, pa.string())) for name in rows[0]]))] if rows else []
    count = write_tables(table, target)
    return Converted((Part(target, info.key),) if count else (), count)


def _decoded(content: bytes, uri: str, key: str) -> Answer:
    try:
        answer = msgspec.json.decode(content, type=Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = f"{uri} is no answer of the AWS Sustainability API: {shorten(str(error))}."
        raise ExportContentError(what, place=Place(key), reason="bad_json", remedy=_REMEDY) from error
    if answer.next_token:
        raise _wrong(uri, key, "it has a next page, so it lacks emissions")
    return answer


def _results(answer: Answer, uri: str, key: str) -> Iterator[tuple[Period, Result]]:
    """Each group with its months."""
    for number, one in enumerate(answer.results, 1):
        start, end = (at.astimezone(UTC) if at.tzinfo else at for at in (one.time_period.start, one.time_period.end))
        count = end.year * 12 + end.month - start.year * 12 - start.month
        if not (start.day == end.day == 1 and 1 <= count <= 12) or start.year not in YEARS:
            what = f"result {number} is of the time from {start:%Y-%m-%d} to {end:%Y-%m-%d}, which is no whole months of a year"
            raise _wrong(uri, key, what, "unsupported_format")
        if lacking := [name for name in ("REGION", "SERVICE") if not one.dimensions_values.get(name)]:
            raise _wrong(uri, key, f"result {number} names no {' and no '.join(lacking)}")
        yield Period.of(start.year, start.month, count), one


def _mass(one: Result, type_: str, uri: str, key: str) -> float | None:
    found = one.emissions_values.get(type_)
    if found is None:
        return None
    if found.unit != UNIT:
        raise _wrong(uri, key, f"{type_} is in {shorten(found.unit)}, where {UNIT} is expected", "wrong_unit")
    if not abs(found.value) < _MOST:
        raise _wrong(uri, key, f"{type_} is {found.value}, no finite number below {_MOST:.0e}", "wrong_type")
    return found.value


def _wrong(uri: str, key: str, what: str, reason: str = "wrong_value") -> ExportContentError:
    return ExportContentError(f"{uri}: {what}.", place=Place(key), reason=reason, remedy=_REMEDY)
