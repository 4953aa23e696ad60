"""Monthly carbon reports of the AWS console: a CSV of several months and services without any account, which its folder names.

Each month and model version of a file is a delivery of its own, so that a month counts by the newest file that has it. A row
keeps its number in the file. Reports by quarter or year have no month, and are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

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
_KEYS = (required(_MONTH, Text, filled=True), required(_VERSION, Text, filled=True))
_SOURCES = {"product_code": "service", "location": "region", _VERSION: _VERSION} | {
    f"total_{mass}_emissions_value": f"total_{mass}_emissions" for mass in ("lbm", "mbm")
}
_HEADER = Schema(
    (*_KEYS, required("region", Text), required("service", Text)),
    frozenset({"cfe_savings_value", *_SOURCES.values()}),
    "docs/sources/aws_carbon.md",
)


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
            for month, version in _months_in(store, info):
                name = f"{month}@{version}~{account}"
                yield Delivery(kind, name, info.key, info.last_modified, (info,))
        except (ExportContentError, ExportSchemaError) as error:
            name = info.key.replace("/", "~")
            yield refusal(error, name, identity_of(kind, name, (info,)), info.key, info.last_modified)


def _months_in(store: ObjectStore, info: ObjectInfo) -> list[tuple[str, str]]:
    """The months and model versions that the rows of a report are of."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report"  # the name of an object may be longer than that of a file
        path.write_bytes(store.read(info))
        csv = CsvFile(path, info.key, store.uri_of(info.key))
        found, rows = set[tuple[str, str]](), Rows(csv.key, csv.uri)
        for batch in csv.batches(_checked_header(csv), (_MONTH, _VERSION)):
            months, versions = (batch.column(name) for name in (_MONTH, _VERSION))
            for column, values in zip(_KEYS, (months, versions), strict=True):
                check_filled(column, values, rows)
            good = pa.array([month for month in months.unique().to_pylist() if is_month(month)], pa.string())
            rows.check(_MONTH, months, pc.is_in(months, value_set=good), "no month such as 2026-04", "wrong_type")
            is_version = pc.match_substring_regex(versions, "^[A-Za-z0-9][A-Za-z0-9._-]{0,40}$")
            rows.check(_VERSION, versions, is_version, "no version such as v3.0.1", "wrong_type")
            pairs = pa.table([months, versions], names=[_MONTH, _VERSION]).group_by([_MONTH, _VERSION]).aggregate([])
            found |= {(pair[_MONTH], pair[_VERSION]) for pair in pairs.to_pylist()}
            rows = rows.after(batch.num_rows)
    if not found:
        what, remedy = f"{csv.uri} has no rows, so it is of no month that is known.", "Download a report that has rows."
        raise ExportContentError(what, place=Place(csv.key), reason="no_rows", remedy=remedy)
    return sorted(found)


def _checked_header(csv: CsvFile) -> Sequence[str]:
    header = csv.header()
    for longer in ("quarter", "year"):
        if f"usage_{longer}" in header and _MONTH not in header:
            raise ExportContentError(
                f"{csv.uri} is a report of the AWS console by {longer}, whose rows are of no month.",
                place=Place(csv.key, column_name=f"usage_{longer}"),
                reason="unsupported_format",
                remedy="Download the monthly report of the same time; the console has it too.",
            )
    _HEADER.check_names(header, csv.uri, csv.key)
    return header


def convert_report(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, schema: Schema) -> Converted:
    """Write the rows of the delivery's month and model version, with the account of the folder and their numbers in the file."""
    (info,) = delivery.objects
    match = _FILE.fullmatch(info.key)
    assert match, info.key
    month, _, version = delivery.partition.rpartition("~")[0].partition("@")
    csv = CsvFile(files[info.key], info.key, f"{store_uri}/{info.key}")
    header = _checked_header(csv)
    unknown = tuple(name for name in _HEADER.check_names(header, csv.uri, csv.key) if name not in schema.names)
    named = {name: _SOURCES.get(name, name) for name in schema.names}
    columns = [column for column in schema if named[column.name] in header]
    stated = {"payer_account_id": match["payer"], "usage_account_id": match["account"] or match["payer"]}

    def tables() -> Iterator[pa.Table]:
        rows = Rows(csv.key, csv.uri)
        for batch in csv.batches(header, tuple(dict.fromkeys([_MONTH, *(named[column.name] for column in columns)]))):
            arrays = {column.name: typed(column, batch.column(named[column.name]), rows) for column in columns}
            numbers = pl.int_range(rows.before + 1, rows.before + batch.num_rows + 1, eager=True).to_arrow()
            periods = pc.strptime(pc.binary_join_element_wise(batch.column(_MONTH), "01", "-"), "%Y-%m-%d", "us")
            arrays |= {"line_number": numbers, "usage_period_start": periods}
            arrays |= {name: pa.repeat(pa.scalar(value), batch.num_rows) for name, value in stated.items()}
            wanted = pc.and_(pc.equal(batch.column(_MONTH), month), pc.equal(batch.column(_VERSION), version))
            if (table := pa.table(arrays).filter(wanted)).num_rows:
                yield table
            rows = rows.after(batch.num_rows)

    target = folder / f"{Path(info.key).name}.parquet"
    count = write_tables(tables(), target)
    return Converted((Part(target, info.key),) if count else (), count, unknown)
