"""What bills of AWS share, whichever columns they have: the folders of Data Exports, and when the objects of a bill are one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from connectors.aws.payers import Object
from connectors.deliveries import Converted, Delivery, merged
from connectors.errors import ExportContentError, Place
from connectors.layouts.exports import Layout
from connectors.layouts.payers import with_only_payer
from connectors.times import is_month


def _period(match: re.Match[str]) -> str | None:
    return match["month"] if is_month(match["month"]) else None


EXECUTION = r"/(?:(?P<execution>[^/]+)/)?"
DATA_EXPORT = Layout(
    re.compile(rf"metadata/BILLING_PERIOD=(?P<month>[^/]+){EXECUTION}[^/]*Manifest\.json", re.I),
    re.compile(rf"data/BILLING_PERIOD=(?P<month>[^/]+){EXECUTION}[^/]+\.(?:parquet|csv|gz|zip)", re.I),
    _period,
)


def convert_bill(
    delivery: Delivery,
    files: dict[str, Path],
    store_uri: str,
    convert_object: Callable[[Object, str | None], Converted],
    payers: Callable[[Object], Iterable[Any]],
    column: str,
) -> Converted:
    """What the objects of a bill become. One without any row is refused, and so is an object without bytes."""
    objects = [(info.key, files[info.key], f"{store_uri}/{info.key}") for info in delivery.objects]
    for key, path, uri in objects:
        if not path.stat().st_size:
            raise ExportContentError(f"{uri} is cut off: it has no bytes.", place=Place(key), reason="truncated")
    bill = merged(with_only_payer(objects, convert_object, payers, column))
    if not bill.rows:  # usually an export whose query lost its table: a month without any cost would be published
        key = delivery.objects[0].key
        what = f"{store_uri}/{key}: the bill of {delivery.partition} has no rows."
        raise ExportContentError(what, place=Place(key), reason="no_rows", remedy="Look at the export's query and filters.")
    return bill
