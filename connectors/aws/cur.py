"""AWS bills: CUR 2.0 and the legacy Cost and Usage Report, in Parquet or CSV, one delivery per billing period and execution.

Here a bill is found, checked and given one shape. Which of several bills of a month counts is decided by the election, and what
each cost means in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from connectors.aws.bills import DATA_EXPORT, EXECUTION, convert_bill
from connectors.aws.cur_columns import SCHEMA
from connectors.aws.cur_legacy import legacy_plan
from connectors.aws.payers import Object, payers_in
from connectors.deliveries import Converted, Delivery, Part
from connectors.formats.delimited import CsvFile
from connectors.formats.parquet import check_parquet, copy_parquet, has_clashing_names, named_errors, open_parquet, read_rows
from connectors.formats.typed_copies import Plan, copy_csv
from connectors.formats.values import Rows, check_month, check_years
from connectors.layouts.exports import Layout, find_export_deliveries
from connectors.times import is_month

KIND = "aws_cur"
_PAYER = "bill_payer_account_id"
_PAYER_MAY_LACK = replace(SCHEMA, columns=tuple(replace(one, filled=one.filled and one.name != _PAYER) for one in SCHEMA))
_TIMES = ("bill_billing_period_start_date", "line_item_usage_start_date", "line_item_usage_end_date")


def _dates(match: re.Match[str]) -> str | None:
    """A legacy folder runs from the first of a month to the first of the next, which is excluded; Parquet lies by its month."""
    if (named := match.groupdict()).get("year"):
        name = f"{named['year']}-{int(named['month']):02}"
        return name if is_month(name) else None
    year, month = int(match["start"][:4]), int(match["start"][4:6])
    following = f"{year + month // 12:04}{month % 12 + 1:02}01"
    name = f"{year:04}-{month:02}"
    return name if match["start"][6:] == "01" and is_month(name) and match["end"] == following else None


LAYOUTS = (
    DATA_EXPORT,
    Layout(
        re.compile(rf"(?P<start>\d{{8}})-(?P<end>\d{{8}}){EXECUTION}[^/]*Manifest\.json"),
        re.compile(
            rf"(?P<start>\d{{8}})-(?P<end>\d{{8}}){EXECUTION}[^/]+\.(?:csv|gz|zip)"
            r"|(?:[^/]+/)?year=(?P<year>\d{4})/month=(?P<month>\d{1,2})/[^/]+\.parquet",
            re.I,
        ),
        _dates,
        status=re.compile(r"(?:[^/]+/)?cost_and_usage_data_status/[^/]+\.parquet", re.I),
    ),
)


find_deliveries = partial(find_export_deliveries, kind=KIND, layouts=LAYOUTS)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects and write a typed copy of each CSV into `folder`.

    Rows without a payer get the only payer that the delivery names; where it names several, it is refused.
    """
    payers = partial(payers_in, column=_PAYER, in_csv=lambda csv, header: _plan_of(csv, header).columns[_PAYER])
    return convert_bill(delivery, files, store_uri, partial(_convert_object, delivery.partition, folder), payers, _PAYER)


def _convert_object(partition: str, folder: Path, one: Object, payer: str | None) -> Converted:
    (key, path, uri), check = one, partial(_must_be_of_period, partition)
    if key.lower().endswith(".parquet"):
        target = path
        with named_errors(key, uri):
            schema = _PAYER_MAY_LACK if payer else SCHEMA
            count, unknown, names = check_parquet(path, schema, key, uri, check, _TIMES)
        if count and (payer or has_clashing_names(names)):
            target = folder / f"{path.name}.parquet"
            read = {*SCHEMA.names, *(column.name for column in SCHEMA.spread_columns(names))}
            constants = {_PAYER: payer} if payer else {}
            copied = {name: name for name in names if name in read and name not in constants}
            copy_parquet(path, target, copied, constants, key, uri)
    else:
        target = folder / f"{path.name}.parquet"
        count, unknown = _convert_csv(CsvFile(path, key, uri), target, payer)
        with named_errors(key, uri):
            for rows, batch in read_rows(open_parquet(target, key, uri), _TIMES, Rows(key, uri)) if count else ():
                check(rows, batch)
    if not count:
        return Converted()
    return Converted((Part(target, key),), count, unknown)


def _convert_csv(csv: CsvFile, target: Path, payer: str | None) -> tuple[int, tuple[str, ...]]:
    header = csv.header()
    if not header:
        return 0, ()  # a surplus chunk of a shrunken export is overwritten with nothing
    plan = _plan_of(csv, header)
    if payer:
        plan = replace(plan, columns={**plan.columns, _PAYER: ()}, constants={_PAYER: payer})
    return copy_csv(csv, header, [*SCHEMA, *SCHEMA.spread_columns(header)], plan, target), plan.unknown


def _plan_of(csv: CsvFile, header: Sequence[str]) -> Plan:
    if any("/" in name for name in header):  # a legacy report names its columns category/Name
        SCHEMA.check_repeated(header, csv.uri, csv.key)
        plan = legacy_plan(header, SCHEMA)
        SCHEMA.check_names([*plan.columns, *plan.maps], csv.uri, csv.key)
        return plan
    unknown = SCHEMA.check_names(header, csv.uri, csv.key)
    read = {*SCHEMA.names, *(column.name for column in SCHEMA.spread_columns(header))}
    return Plan({name: (name,) for name in header if name in read}, unknown=unknown)


def _must_be_of_period(partition: str, rows: Rows, batch: Any) -> None:
    """Refuse a bill in the folder of another month, where it would be counted beside its own, and usage in no month at all."""
    period, *usage = _TIMES
    check_month(period, batch.column(period), partition, rows)
    for name in usage:
        check_years(name, batch.column(name), rows)
