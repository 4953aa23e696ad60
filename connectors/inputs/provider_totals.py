"""What a provider states by itself that a month costs: totals of invoices as a CSV, and saved answers of AWS Cost Explorer.

They are compared with the bill and are no part of it: which rows a total is of, and how far it may differ, is decided in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path

import msgspec

from connectors.deliveries import Converted, Delivery, Part, refusal_of
from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.lazy import pa
from connectors.formats.parquet import write_tables
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.inputs.small_tables import CURRENCY, Row, Table, convert_table, wrong_currencies
from connectors.layouts.single_files import find_file_deliveries
from connectors.stores import READ_LIMIT

KIND = "provider_totals"
PROVIDERS = ("AWS", "Google Cloud")

SCHEMA = Schema(
    columns=(
        required("provider_name", Text, filled=True),
        required("payer_account_id", Text, filled=True),
        required("usage_month", Date, filled=True),
        required("currency", Text, filled=True),
        required("amount", Number, filled=True, below=1e12),
        *optional("charge_type source", Text),
    ),
    remedy_page="docs/sources/provider_totals.md",
    measures={"amount": 12},
)


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    yield from wrong_currencies(row, "currency")
    if row["provider_name"] not in PROVIDERS:
        yield "provider_name", f"neither {' nor '.join(PROVIDERS)}"
    if row["usage_month"].day != 1:
        yield "usage_month", "where the first day of a month is meant, as 2026-04-01"


FORMS = (Table("totals", SCHEMA, ("provider_name", "payer_account_id", "usage_month", "currency", "charge_type"), _mistakes),)
find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".csv", ".csv.gz", ".json"))


class Period(msgspec.Struct, rename="pascal"):
    """From the first day to the first that is no longer in it."""

    start: date
    end: date


class Amount(msgspec.Struct, rename="pascal"):
    """Cost Explorer writes decimals as text."""

    amount: str
    unit: str


class Group(msgspec.Struct, rename="pascal"):
    """A charge type, which AWS calls RECORD_TYPE."""

    keys: list[str]
    metrics: dict[str, Amount]


class Result(msgspec.Struct, rename="pascal"):
    """A month: one total, or one for each charge type."""

    time_period: Period
    total: dict[str, Amount] = {}
    groups: list[Group] = []
    estimated: bool = False


class Definition(msgspec.Struct, rename="pascal"):
    """What an answer is grouped by."""

    key: str = ""


class Answer(msgspec.Struct, rename="pascal"):
    """GetCostAndUsage: https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_GetCostAndUsage.html."""

    results_by_time: list[Result]
    group_definitions: list[Definition] = []
    next_page_token: str | None = None


METRIC = "UnblendedCost"  # of the bill: net columns and amortised costs are other figures
_DECIMAL = re.compile(r"-?\d{1,12}(?:\.\d{1,30})?(?:[eE]-?\d{1,2})?", re.ASCII)
_PAYER = re.compile(r"(?:^|/)payer=(\d{12})/")
_REMEDY = (
    "Ask get-cost-and-usage with Granularity=MONTHLY, Metrics=UnblendedCost and GroupBy RECORD_TYPE or none, of whole months "
    "that fit on one page, and save it in a folder payer=<account id>. See docs/sources/provider_totals.md."
)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Read a CSV that people wrote, or an answer of Cost Explorer, of which estimated months are left out and remarked on."""
    [info] = delivery.objects
    if not info.key.lower().endswith(".json"):
        return convert_table(delivery, files, folder, store_uri, FORMS)
    uri = f"{store_uri}/{info.key}"
    if info.size > READ_LIMIT:
        raise ExportContentError(f"{uri} is larger than {READ_LIMIT} bytes.", place=Place(info.key), reason="too_large")
    try:
        answer = msgspec.json.decode(files[info.key].read_bytes(), type=Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = f"{uri} is no answer of Cost Explorer: {shorten(str(error))}."
        raise ExportContentError(what, place=Place(info.key), reason="bad_json", remedy=_REMEDY) from error
    payer = _PAYER.search(info.key)
    if payer is None:
        raise _wrong(uri, info.key, "it lies in no folder payer=<account id>, and an answer names no payer")
    rows = list(_rows(answer, payer[1], uri, info.key))
    estimated = [f"{one.time_period.start:%Y-%m}" for one in answer.results_by_time if one.estimated]
    remarks = []
    if estimated:
        what = f"{uri}: {', '.join(estimated)} is an estimate, and no total."
        remedy = "Ask again when the month is closed; until then nothing is compared."
        place = Place(info.key, value=", ".join(estimated))
        remarks.append(refusal_of(delivery, ExportContentError(what, place=place, reason="estimated_total", remedy=remedy)))
    target = folder / "table.parquet"
    shape = pa.schema([(name, pa.date32() if name == "usage_month" else pa.string()) for name in SCHEMA.names])
    count = write_tables([pa.Table.from_pylist(rows, shape)], target) if rows else 0
    return Converted((Part(target, info.key),) if count else (), count, refusals=tuple(remarks))


def _rows(answer: Answer, payer: str, uri: str, key: str) -> Iterator[Row]:
    if answer.next_page_token:
        raise _wrong(uri, key, "it has a next page, so it may lack charge types")
    grouped_by = [one.key for one in answer.group_definitions]
    if grouped_by not in ([], ["RECORD_TYPE"]):
        raise _wrong(uri, key, f"it is grouped by {', '.join(map(shorten, grouped_by))}")
    seen = set[tuple[date, str | None]]()
    for result in answer.results_by_time:
        start, end = result.time_period.start, result.time_period.end
        if start.day != 1 or (end.year * 12 + end.month, end.day) != (start.year * 12 + start.month + 1, 1):
            raise _wrong(uri, key, f"the time from {start} to {end} is no month")
        parts: list[tuple[str | None, dict[str, Amount]]] = [("".join(one.keys[:1]), one.metrics) for one in result.groups]
        for charge_type, metrics in () if result.estimated else parts or [(None, result.total)]:
            stated = metrics.get(METRIC)
            if stated is None:
                raise _wrong(uri, key, f"{start:%Y-%m} has no {METRIC}")
            if not _DECIMAL.fullmatch(stated.amount):
                raise _wrong(uri, key, f"{shorten(stated.amount)} in {start:%Y-%m} is no amount")
            if not CURRENCY.fullmatch(stated.unit):
                raise _wrong(uri, key, f"{shorten(stated.unit)} in {start:%Y-%m} is no currency")
            if (start, charge_type) in seen:
                raise _wrong(uri, key, f"{start:%Y-%m} has {shorten(charge_type or 'its total')} twice")
            seen.add((start, charge_type))
            yield {
                "provider_name": "AWS",
                "payer_account_id": payer,
                "usage_month": start,
                "currency": stated.unit,
                "amount": stated.amount,
                "charge_type": charge_type,
                "source": "AWS Cost Explorer",
            }


def _wrong(uri: str, key: str, what: str) -> ExportContentError:
    return ExportContentError(f"{uri}: {what}.", place=Place(key), reason="wrong_value", remedy=_REMEDY)
