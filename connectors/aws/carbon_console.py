"""Carbon reports of the AWS console, by month, quarter or year: a CSV without any account, which its folder names.

Each month and model version of a file is a delivery of its own, so that a month counts by the newest file that has it. A row
keeps its number in the file. Rows of a quarter or a year are in the deliveries of all its months (carbon_periods.py); a period
of which AWS had not published all months when the file was written has only some of them, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from connectors.aws.carbon_periods import EXAMPLES, QUARTER, YEAR, Period, calendar_period, is_fiscal, period_of
from connectors.deliveries import Converted, Delivery, Part, Refusal, identity_of, refusal
from connectors.errors import ExportContentError, ExportSchemaError, Place
from connectors.formats.delimited import CsvFile
from connectors.formats.lazy import pa, pc, pl
from connectors.formats.parquet import write_tables
from connectors.formats.schema import Schema, Text, required
from connectors.formats.values import Rows, check_filled, typed
from connectors.stores import ObjectInfo, ObjectStore
from connectors.times import is_month

_FILE = re.compile(r"(?:[^/]+/)*?payer=(?P<payer>\d{12})/(?:account=(?P<account>\d{12})/)?[^/]+\.csv(?:\.gz)?", re.IGNORECASE)
_MONTH, _VERSION = "usage_month", "model_version"
_VERSION_KEY = required(_VERSION, Text, filled=True)
_SOURCES = {"product_code": "service", "location": "region", _VERSION: _VERSION} | {
    f"total_{mass}_emissions_value": f"total_{mass}_emissions" for mass in ("lbm", "mbm")
}
_HEADERS = {
    time: Schema(
        (required(time, Text, filled=True), _VERSION_KEY, required("region", Text), required("service", Text)),
        frozenset({"cfe_savings_value", *_SOURCES.values()}),
        "docs/sources/aws_carbon.md",
    )
    for time in (_MONTH, QUARTER, YEAR)
}


def is_report(key: str) -> bool:
    """Whether an object lies where reports of the console do."""
    return _FILE.fullmatch(key) is not None


def find_reports(store: ObjectStore, kind: str) -> Iterator[Delivery | Refusal]:
    """Yield the months of each report, as they are named in it."""
    for info in store.list_objects():
        if (match := _FILE.fullmatch(info.key)) is None:
            continue
        try:
            account = match["account"] or match["payer"]
            for period, version in _periods_in(store, info):
                for name in period.partitions(version, account):
                    yield Delivery(kind, name, info.key, info.last_modified, (info,))
        except (ExportContentError, ExportSchemaError) as error:
            name = info.key.replace("/", "~")
            yield refusal(error, name, identity_of(kind, name, (info,)), info.key, info.last_modified)


def _periods_in(store: ObjectStore, info: ObjectInfo) -> list[tuple[Period, str]]:
    """The months, quarters or years and the model versions that the rows of a report are of."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report"  # the name of an object may be longer than that of a file
        path.write_bytes(store.read(info))
        csv = CsvFile(path, info.key, store.uri_of(info.key))
        header = csv.header()
        time = _time_column(csv, header)
        found, rows = set[tuple[str, str]](), Rows(csv.key, csv.uri)
        for batch in csv.batches(header, (time, _VERSION)):
            times, versions = (batch.column(name) for name in (time, _VERSION))
            for column, values in ((required(time, Text, filled=True), times), (_VERSION_KEY, versions)):
                check_filled(column, values, rows)
            rows.check(time, times, pc.is_in(times, value_set=_known(csv, time, times)), _expected(time), "wrong_type")
            is_version = pc.match_substring_regex(versions, "^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$")
            rows.check(_VERSION, versions, is_version, "no version such as v3.0.1", "wrong_type")
            pairs = pa.table([times, versions], names=[time, _VERSION]).group_by([time, _VERSION]).aggregate([])
            found |= {(pair[time], pair[_VERSION]) for pair in pairs.to_pylist()}
            rows = rows.after(batch.num_rows)
    if not found:
        what, remedy = f"{csv.uri} has no rows, so it is of no month that is known.", "Download a report that has rows."
        raise ExportContentError(what, place=Place(csv.key), reason="no_rows", remedy=remedy)
    periods = sorted({(period, version) for text, version in found if (period := _period(time, text))})
    return periods if time == _MONTH else _published(periods, csv, time, info.last_modified)


def _published(periods: list[tuple[Period, str]], csv: CsvFile, time: str, at: datetime) -> list[tuple[Period, str]]:
    """The quarters or years of one version whose months were all published when the report was written."""
    names = [period for period, _ in periods]
    if twice := next((period for period in names if names.count(period) > 1), None):
        raise ExportContentError(
            f"{csv.uri} has the months from {twice.first} to {twice.last} in several model versions, which cannot be told apart.",
            place=Place(csv.key, column_name=_VERSION),
            reason="wrong_value",
            remedy="Download the report again once AWS has worked out the whole time in one version, or the monthly report.",
        )
    whole = [(period, version) for period, version in periods if period.is_published(at)]
    if not whole:
        raise ExportContentError(
            f"{csv.uri} was written before all months from {names[0].first} to {names[0].last} were published, so it lacks some.",
            place=Place(csv.key, column_name=time),
            reason="incomplete_answer",
            remedy="Download it again 21 days after the end of that time; until then the monthly report has what there is.",
        )
    return whole


def _period(time: str, text: str) -> Period | None:
    """What the column of time names."""
    if time == _MONTH:
        return Period(text, text) if is_month(text) else None
    return calendar_period(time, text)


def _expected(time: str) -> str:
    return f"no {time.removeprefix('usage_')} such as {EXAMPLES.get(time, '2026-04')}"


def _known(csv: CsvFile, time: str, times: pa.Array) -> pa.Array:
    """The texts among some that name a month, a quarter or a year."""
    texts = [text for text in times.unique().to_pylist() if text]
    if fiscal := next((text for text in texts if time != _MONTH and is_fiscal(text)), None):
        raise ExportContentError(
            f"{csv.uri} is a report of the AWS console by fiscal {time.removeprefix('usage_')}, whose months it does not state.",
            place=Place(csv.key, column_name=time, value=fiscal),
            reason="unsupported_format",
            remedy="Download the report of the same time by month, or by calendar quarter or year.",
        )
    return pa.array([text for text in texts if _period(time, text)], pa.string())


def _time_column(csv: CsvFile, header: Sequence[str]) -> str:
    """The finest column of time that a report has; the report has what else is needed."""
    time = next((name for name in _HEADERS if name in header), _MONTH)
    _HEADERS[time].check_names(header, csv.uri, csv.key)
    return time


def convert_report(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, schema: Schema) -> Converted:
    """Write the rows of the delivery's month and model version, with the account of the folder and their numbers in the file."""
    (info,) = delivery.objects
    match = _FILE.fullmatch(info.key)
    assert match, info.key
    month, period = period_of(delivery.partition)
    version = delivery.partition.partition("@")[2].partition("~")[0]
    csv = CsvFile(files[info.key], info.key, f"{store_uri}/{info.key}")
    header = csv.header()
    time = _time_column(csv, header)
    unknown = tuple(name for name in _HEADERS[time].check_names(header, csv.uri, csv.key) if name not in schema.names)
    named = {name: _SOURCES.get(name, name) for name in schema.names}
    columns = [column for column in schema if named[column.name] in header]
    stated: dict[str, Any] = {"payer_account_id": match["payer"], "usage_account_id": match["account"] or match["payer"]}
    stated["usage_period_start"] = Period(month, month).start
    if period.first < period.last:
        stated |= {"period_start": period.start, "period_end": period.end}

    def tables() -> Iterator[pa.Table]:
        rows = Rows(csv.key, csv.uri)
        for batch in csv.batches(header, tuple(dict.fromkeys([time, *(named[column.name] for column in columns)]))):
            arrays = {column.name: typed(column, batch.column(named[column.name]), rows) for column in columns}
            numbers = pl.int_range(rows.before + 1, rows.before + batch.num_rows + 1, eager=True).to_arrow()
            arrays |= {"line_number": numbers}
            arrays |= {name: pa.repeat(pa.scalar(value), batch.num_rows) for name, value in stated.items()}
            texts = [text for text in batch.column(time).unique().to_pylist() if text and _period(time, text) == period]
            is_of_period = pc.is_in(batch.column(time), value_set=pa.array(texts, pa.string()))
            wanted = pc.and_(is_of_period, pc.equal(batch.column(_VERSION), version))
            if (table := pa.table(arrays).filter(wanted)).num_rows:
                yield table
            rows = rows.after(batch.num_rows)

    target = folder / f"{Path(info.key).name}.parquet"
    count = write_tables(tables(), target)
    return Converted((Part(target, info.key),) if count else (), count, unknown)
