"""Text into declared types, and the checks of values: numbers are finite and small enough, required values are present.

Numbers stay text as written (1.81E-8 stays 1.81E-8): SQL makes them exact decimals, once. Every refusal names object, row,
column and value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.lazy import pa, pc, pl
from connectors.formats.schema import Column, Number, is_text
from connectors.times import YEARS, parse_utc

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$"
_MAP = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Rows:
    """The place of an array in its object: its first row is row `before` + 1, or `parents` names the row of each value."""

    key: str
    uri: str
    before: int = 0
    parents: pa.Array | None = None

    def after(self, count: int) -> Rows:
        """The rows behind the next `count`."""
        return replace(self, before=self.before + count)

    def error(self, column: str, index: int, value: object, what: str, reason: str) -> ExportContentError:
        """Name one value of an array."""
        row = self.before + (index if self.parents is None else self.parents[index].as_py()) + 1
        text = None if value is None else shorten(str(value))
        shown = "nothing" if text is None else f"'{text}'"
        return ExportContentError(
            f"{self.uri}, row {row}: {column} is {shown}, {what}.",
            place=Place(self.key, row_number=row, column_name=column, value=text),
            reason=reason,
        )

    def check(self, column: str, values: pa.Array, good: pa.Array, what: str, reason: str) -> None:
        """Refuse the first value for which `good` is false; where it is null, nothing is known against the value."""
        if not pc.all(good, min_count=0).as_py():
            index = pc.index(good, False).as_py()
            raise self.error(column, index, _shown(values[index]), what, reason)


def _shown(value: pa.Scalar) -> object:
    try:
        return value.as_py()
    except (OverflowError, ValueError):  # a time that Python has no year for
        return value.cast(pa.int64()).as_py()


def arrow_type(column: Column) -> pa.DataType:
    """The type a column has in a typed copy."""
    return {
        "Text": pa.string(),
        "Number": pa.string(),
        "Timestamp": pa.timestamp("us"),
        "Date": pa.date32(),
        "BigInt": pa.int64(),
        "Boolean": pa.bool_(),
        "TextMap": pa.map_(pa.string(), pa.string()),
    }[column.type]


def measured_schema(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of a table of measurements. Their numbers are doubles, for they are never added up to the cent."""
    return pa.schema([(one.name, pa.float64() if one.type == Number else arrow_type(one)) for one in columns])


def map_array(pairs: pl.DataFrame, rows: int) -> pa.Array:
    """A map for each of so many rows, of the columns `key` and `value`; `pairs` is in the order of its column `row`."""
    starts = pairs["row"].search_sorted(pl.int_range(rows + 1, eager=True), side="left")
    keys, values = (pairs[name].to_arrow().cast(pa.string()) for name in ("key", "value"))
    return pa.MapArray.from_arrays(starts.to_arrow().cast(pa.int32()), keys, values)


def decoded(values: pa.Array) -> pa.Array:
    """An array without dictionary encoding."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def typed(column: Column, values: pa.Array, rows: Rows) -> pa.Array:
    """Give a text array the type of its column; a number stays text. Null stays null."""
    check_filled(column, values, rows)
    if column.type == "Number":
        check_numbers(column, values, rows)
    return values if column.type in {"Text", "Number"} else _each_distinct(column, values, rows, *_READ[column.type])


def check_filled(column: Column, values: pa.Array, rows: Rows) -> None:
    """Refuse a null, or the empty text, where every row needs a value: a cost without its account is of no account."""
    if not column.filled:
        return
    values = decoded(values)
    missing = values.is_null()
    if is_text(values.type):
        missing = pc.fill_null(pc.equal(values.cast(pa.string()), ""), True)  # Parquet has null and '', a CSV only one of them
    index = pc.index(missing, True).as_py()
    if index >= 0:
        raise rows.error(column.name, index, None, "where every row must have a value", "missing_value")


def check_numbers(column: Column, values: pa.Array, rows: Rows) -> None:
    """Refuse what is no number, not finite, or too large to be an exact amount. Takes text, decimals, integers and doubles."""
    values = decoded(values)
    if pa.types.is_null(values.type):
        return
    floats = values
    if is_text(values.type):
        text = values.cast(pa.string())
        text = pc.if_else(pc.equal(text, ""), None, text)  # Parquet may hold the empty text where a CSV has nothing
        rows.check(column.name, values, pc.match_substring_regex(text, _NUMBER), "no number", "wrong_type")
        floats = pc.replace_substring_regex(text, r"^\+", "")  # Arrow reads no plus sign
    floats = floats.cast(pa.float64())
    # below infinity is every number that is one: NaN is below nothing
    good = pc.less(pc.abs(floats), math.inf if column.below is None else column.below)
    limit = "no finite number" if column.below is None else f"no finite number below {column.below:.0e}"
    rows.check(column.name, values, good, limit, "wrong_type")


def check_month(name: str, values: pa.Array, month: str, rows: Rows) -> None:
    """Refuse a time outside the month of its folder: a June row in May's folder would be counted in both months."""
    first = datetime.fromisoformat(f"{month}-01")
    following = (first + timedelta(days=31)).replace(day=1)
    _check_between(name, values, first, following, rows, f"outside {month}, the month of its folder", "contradicts_partition")


def check_years(name: str, values: pa.Array, rows: Rows) -> None:
    """Refuse a time in a year that no cloud has billed, such as 0001 or 9999: no report covers such a month."""
    first, end = (datetime.fromisoformat(f"{year}-01-01") for year in (YEARS.start, YEARS.stop))
    _check_between(name, values, first, end, rows, f"outside the years {YEARS[0]} to {YEARS[-1]}", "wrong_type")


def _check_between(name: str, values: pa.Array, first: datetime, end: datetime, rows: Rows, what: str, reason: str) -> None:
    is_fine = pa.types.is_timestamp(values.type) and values.type.unit == "ns"  # cut to microseconds; any other loss is an error
    times = values.cast(pa.timestamp("us"), safe=not is_fine)
    inside = pc.and_(pc.greater_equal(times, pa.scalar(first, times.type)), pc.less(times, pa.scalar(end, times.type)))
    rows.check(name, values, inside, what, reason)


def _each_distinct(column: Column, values: pa.Array, rows: Rows, read: Callable[[str], Any], what: str) -> pa.Array:
    """Read each distinct text once: in a bill the same times and tags are repeated in thousands of rows."""
    encoded = values.dictionary_encode()
    found = []
    for text in encoded.dictionary.to_pylist():
        try:
            found.append(read(text))
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            index = pc.index(values, pa.scalar(text, values.type)).as_py()
            raise rows.error(column.name, index, text, what, "wrong_type") from error
    return pa.array(found, arrow_type(column)).take(encoded.indices)


def _date(text: str) -> date:
    if len(text) != 10:
        raise ValueError(text)  # the standard library also reads 20260401 and 2026-W14-3
    return date.fromisoformat(text)


def _whole(text: str) -> int:
    if not text.removeprefix("-").isdecimal():
        raise ValueError(text)  # int reads 1_000 and ' 7' as well
    return int(text)


def _pairs(text: str) -> list[tuple[str, str | None]]:
    """Read a JSON object as a map of texts; a number keeps its spelling."""
    texts = ((key, bytes(raw).strip()) for key, raw in _MAP.decode(text).items())
    return [(key, msgspec.json.decode(raw) if raw.startswith(b'"') or raw == b"null" else raw.decode()) for key, raw in texts]


_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "Timestamp": (lambda text: parse_utc(text).replace(tzinfo=None), "no time"),
    "Date": (_date, "no date of the form 2026-04-01"),
    "BigInt": (_whole, "no whole number"),
    "TextMap": (_pairs, "no JSON object"),
}
