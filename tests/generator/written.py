"""A drawn payer's bills as AWS delivers them: the same rows in each layout, type and spelling that a source reads.

Amounts are doubles in Parquet and ten decimals in CSV, as AWS writes them. Each format has a name; `write` has them all.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.connectors.aws_focus import focus_rows, write_focus

from .amazon import BY_DAY, DOLLARS, Drawn, Payer, after

_MAPS = ("product", "resource_tags")
_TIMES = ("bill_billing_period_start_date", "line_item_usage_start_date", "line_item_usage_end_date")
# columns that one setting of a CUR 2.0 brings from November 2025 on: before, and in a legacy report, the hours of a capacity
# block have its ARN as their resource
RESERVATIONS, RESERVATIONS_FROM = "capacity_reservation_", date(2025, 11, 1)
# legacy categories and the names that follow no rule of capitals
_CATEGORIES = {
    "identity_": "identity", "bill_": "bill", "line_item_": "lineItem", "pricing_": "pricing", "reservation_": "reservation",
    "savings_plan_": "savingsPlan", "split_line_item_": "splitLineItem",
}  # fmt: skip
_LEGACY = {
    "pricing_public_on_demand_cost": "pricing/publicOnDemandCost",
    "pricing_unit": "pricing/unit",
    "product_region_code": "product/regionCode",
    "reservation_reservation_a_r_n": "reservation/ReservationARN",
    "savings_plan_savings_plan_a_r_n": "savingsPlan/SavingsPlanARN",
}


def _columns(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Every column that a row has a value in, in one order; a column without any is not in a table that AWS makes."""
    return sorted({name for row in rows for name, value in row.items() if value not in (None, {})})


def _type_of(name: str, rows: Sequence[Mapping[str, object]]) -> pa.DataType:
    if name in _MAPS:
        return pa.map_(pa.string(), pa.string())
    if name in _TIMES:
        return pa.timestamp("ns")
    return pa.float64() if any(isinstance(row.get(name), Decimal) for row in rows) else pa.string()


def parquet(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """The 96-bit times and snappy pages of a real export."""
    arrays = {}
    for name in _columns(rows):
        values = [row.get(name) for row in rows]
        if name in _MAPS:
            values = [list((value or {}).items()) for value in values]
        elif isinstance(next((value for value in values if value is not None), None), Decimal):
            values = [None if value is None else float(value) for value in values]
        arrays[name] = pa.array(values, _type_of(name, rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays), path, compression="snappy", use_deprecated_int96_timestamps=True)
    return path


def text(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value:.10f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S.000Z}"
    if isinstance(value, dict):
        return json.dumps(value)
    return "" if value is None else str(value)


def csv_gz(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    written = io.StringIO(newline="")
    names = _columns(rows)
    writer = csv.writer(written)
    writer.writerow(names)
    writer.writerows([text(row.get(name)) for name in names] for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(written.getvalue().encode(), mtime=0))
    return path


def manifest(path: Path, key: str, name: str = "dataFiles") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({name: [key]}), encoding="utf-8")


def legacy_name(name: str) -> str:
    """lineItem/UnblendedCost for line_item_unblended_cost."""
    if name in _LEGACY:
        return _LEGACY[name]
    before, category = next((before, category) for before, category in _CATEGORIES.items() if name.startswith(before))
    return f"{category}/{''.join(part.title() for part in name.removeprefix(before).split('_'))}"


def legacy_row(row: Mapping[str, object]) -> dict[str, object]:
    """A column for each tag and attribute, under the names of the legacy report."""
    flat = {legacy_name(name): value for name, value in row.items() if name not in _MAPS}
    flat["product/ProductName"] = row["product"]["product_name"]
    flat["product/region"] = row["product"]["region"]
    spelled = {"user_training_run_id": "user:training_run_id"}
    tags = row.get("resource_tags") or {}
    return flat | {f"resourceTags/{spelled.get(name, name.replace('aws_', 'aws:', 1))}": value for name, value in tags.items()}


def athena_row(row: Mapping[str, object]) -> dict[str, object]:
    """The same for Athena: the names of CUR 2.0, flat."""
    flat = {name: value for name, value in row.items() if name not in _MAPS}
    flat |= {f"product_{name}": value for name, value in row["product"].items()}
    return flat | {f"resource_tags_{name}": value for name, value in (row.get("resource_tags") or {}).items()}


def has_arn_for_resource(name: str, drawn: Drawn) -> bool:
    """Whether it is an hour of a capacity block that names the block and no machine."""
    if drawn.bought_as != "block" or drawn.row["line_item_line_item_type"] != "Usage":
        return False
    is_column = name.startswith("CUR") and drawn.month >= RESERVATIONS_FROM
    return not (is_column or name == "FOCUS 1.2")


def cur_row(drawn: Drawn) -> dict[str, object]:
    """The row as its payer's table has it: the second one never has columns of reservations."""
    return drawn.row if drawn.payer is not BY_DAY and drawn.month >= RESERVATIONS_FROM else without_reservations(drawn)


def without_reservations(drawn: Drawn) -> dict[str, object]:
    is_hour = drawn.bought_as == "block" and drawn.row["line_item_line_item_type"] == "Usage"
    block = drawn.row["capacity_reservation_capacity_reservation_arn"] if is_hour else None
    row = {name: value for name, value in drawn.row.items() if not name.startswith(RESERVATIONS)}
    return row | ({"line_item_resource_id": block} if block else {})


# formats


def cur_parquet(folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str) -> None:
    """CUR 2.0 in Parquet: one payer's export is overwritten, another's has a folder for each execution."""
    _data_export(folder, payer, month, rows, execution, ".snappy.parquet", parquet)


def cur_csv(folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str) -> None:
    """CUR 2.0 in CSV, its maps as JSON."""
    _data_export(folder, payer, month, rows, execution, ".csv.gz", csv_gz)


def _data_export(
    folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str, ending: str, write_rows: Callable
) -> None:
    below = f"BILLING_PERIOD={month:%Y-%m}" + ("" if payer is DOLLARS else f"/{execution}")
    path = write_rows(folder / f"data/{below}/cur-00001{ending}", [cur_row(drawn) for drawn in rows])
    manifest(folder / f"metadata/{below}/cur-Manifest.json", f"s3://bucket/prefix/{path.relative_to(folder.parent)}")


def legacy_csv(folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str) -> None:
    """The legacy report in CSV, in a folder for each assembly or without one."""
    below = f"{month:%Y%m%d}-{after(month):%Y%m%d}" + (f"/{_assembly(execution)}" if payer is DOLLARS else "")
    path = csv_gz(folder / f"{below}/cur-00001.csv.gz", [legacy_row(without_reservations(drawn)) for drawn in rows])
    manifest(folder / f"{below}/cur-Manifest.json", f"/{path.relative_to(folder.parent)}", "reportKeys")


def legacy_parquet(folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str) -> None:
    """The legacy report for Athena, with its manifests."""
    path = _for_athena(folder, month, rows)
    place = folder / f"{month:%Y%m%d}-{after(month):%Y%m%d}/cur-Manifest.json"
    manifest(place, f"/{path.relative_to(folder.parent)}", "reportKeys")


def legacy_parquet_alone(folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str) -> None:
    """The same without manifests: its status is all that shows it to be complete."""
    _for_athena(folder, month, rows)
    status = folder / "cost_and_usage_data_status/cost_and_usage_data_status.parquet"
    status.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"status": ["READY"]}), status)


def _for_athena(folder: Path, month: date, rows: Sequence[Drawn]) -> Path:
    path = folder / f"cur/year={month.year}/month={month.month}/cur-00001.snappy.parquet"
    return parquet(path, [athena_row(without_reservations(drawn)) for drawn in rows])


def _assembly(execution: str) -> str:
    return execution[:19].replace("-", "").replace(":", "") + "Z"


def focus(version: str) -> Callable[[Path, Payer, date, Sequence[Drawn], str], None]:
    def write_month(folder: Path, payer: Payer, month: date, rows: Sequence[Drawn], execution: str) -> None:
        """What AWS writes in FOCUS: after discounts, and without what only a CUR has."""
        stated = []
        for drawn in rows:
            if drawn.is_in_focus:
                named = drawn.row if version == "1.2" else without_reservations(drawn)
                row = {name: float(value) if isinstance(value, Decimal) else value for name, value in named.items()}
                row |= {name: float(value) for name, value in drawn.in_focus.items()}
                stated += focus_rows(row, version, InvoiceIssuerName=row["bill_invoicing_entity"])
        write_focus(folder, *stated, version=version, month=f"{month:%Y-%m}")

    return write_month


FORMATS = {
    "CUR 2.0, Parquet": ("aws_cur", cur_parquet),
    "CUR 2.0, CSV": ("aws_cur", cur_csv),
    "legacy report, CSV": ("aws_cur", legacy_csv),
    "legacy report, Parquet with manifests": ("aws_cur", legacy_parquet),
    "legacy report, Parquet without manifests": ("aws_cur", legacy_parquet_alone),
    "FOCUS 1.0": ("aws_focus", focus("1.0")),
    "FOCUS 1.2": ("aws_focus", focus("1.2")),
}
