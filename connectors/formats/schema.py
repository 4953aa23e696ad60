"""Declared columns: what every later step may rely on, and the check of a file against it.

Column order never matters, columns are matched by name. A required column must be there; an optional one may be absent and
is then null; an unknown one is reported and left in the landed bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath

from connectors.errors import ExportSchemaError, Place, looks_like
from connectors.formats.lazy import pa

Text = "Text"
Number = "Number"  # money or quantity: a double, or a text or decimal that stays as written; a float32 has lost digits already
Timestamp = "Timestamp"
Date = "Date"
BigInt = "BigInt"
Boolean = "Boolean"
TextMap = "TextMap"
EXACT_DIGITS = 38  # of a decimal that every engine takes as it is


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name. `filled` columns hold a value in every row; numbers stay strictly below `below` in size.

    A value that is none of `known` is news from the provider, not an error: whoever reads the delivery is told of it.
    Entries of a `spread` map may also be columns of their own: `resource_tags_user_team` is the entry user_team of resource_tags.
    Of a map with `entries` only these are read of such columns: a legacy bill has a hundred for its products.
    """

    name: str
    type: str
    required: bool = False
    filled: bool = False
    below: float | None = None
    spread: bool = False
    entries: frozenset[str] | None = None
    known: frozenset[str] = frozenset()


required = partial(Column, required=True)  # a column without which a file is refused


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a kind. `documented` names are further columns of the provider: not read, and not reported as unknown.

    `measures` are the columns that are added up and have control totals, each with the decimals of its exact figures (12, 9, 0).
    """

    columns: tuple[Column, ...]
    documented: frozenset[str] = frozenset()
    remedy_page: str = "docs/sources"
    measures: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in declared order."""
        return tuple(column.name for column in self.columns)

    def entries_of(self, column: Column, names: Iterable[str]) -> dict[str, str]:
        """The columns among these names that hold an entry of a spread map that is read, with the name of the entry."""
        spread = self._spread(column, names)
        return {name: entry for name, entry in spread.items() if column.entries is None or entry in column.entries}

    def _spread(self, column: Column, names: Iterable[str]) -> dict[str, str]:
        others, prefix = {*self.names, *self.documented}, f"{column.name}_"
        spread = (name for name in names if column.spread and name.startswith(prefix) and name not in others)
        return {name: name.removeprefix(prefix) for name in spread if name != prefix}

    def spread_columns(self, names: Collection[str]) -> list[Column]:
        """The columns among these names that hold entries of spread maps."""
        return [Column(name, Text) for column in self.columns for name in self.entries_of(column, names)]

    def check_names(self, names: Collection[str], uri: str, key: str | None = None) -> tuple[str, ...]:
        """Return the unknown names; all missing required ones are named in one error, so that one repair is enough."""
        self.check_repeated(names, uri, key)
        missing = [c.name for c in self.columns if c.required and c.name not in names]
        if missing:
            looks = looks_like("\n".join(names).encode("utf-8", "surrogatepass"), PurePosixPath(self.remedy_page).stem)
            is_other = f"; this looks like {looks.what}" if looks else ""
            raise ExportSchemaError(
                f"{uri} is missing columns {', '.join(missing)}{is_other}.",
                place=Place(key, column_name=", ".join(missing)),
                remedy=looks.remedy if looks else f"Add {', '.join(missing)} to the export. See {self.remedy_page}.",
            )
        known = {*self.names, *self.documented, *(name for column in self.columns for name in self._spread(column, names))}
        return tuple(name for name in names if name not in known)

    def check_repeated(self, names: Collection[str], uri: str, key: str | None = None) -> None:
        """Refuse a header that has one name twice: which of the two is meant cannot be known."""
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if repeated:
            raise ExportSchemaError(
                f"{uri} has column {', '.join(repeated)} more than once.",
                place=Place(key, column_name=", ".join(repeated)),
                reason="repeated_column",
                remedy=f"Give each column one name in the export's query. See {self.remedy_page}.",
            )

    def check(self, arrow_schema: pa.Schema, uri: str, key: str | None = None) -> tuple[str, ...]:
        """Check names and physical types of a provider's Parquet and return the unknown names."""
        unknown = self.check_names(arrow_schema.names, uri, key)
        present = set(arrow_schema.names)
        for column in self.columns:
            if column.name not in present:
                continue
            found = arrow_schema.field(column.name).type
            if not _fits(column, found):
                raise ExportSchemaError(
                    f"{uri}: column {column.name} is {found}, which is no {column.type}.",
                    place=Place(key, column_name=column.name, value=str(found)),
                    reason="wrong_type",
                    remedy=f"Deliver {column.name} with the provider's own type. See {self.remedy_page}.",
                )
        return unknown


def has_more_digits(found: pa.DataType) -> bool:
    """Whether a decimal is wider than engines have, so that DuckDB would read a double: it loses digits without a word."""
    return bool(pa.types.is_decimal(found)) and found.precision > EXACT_DIGITS


def optional(names: str | Iterable[str], type_: str, *, below: float | None = None, spread: bool = False) -> tuple[Column, ...]:
    """Declare columns that may be absent, one name per word."""
    words = names.split() if isinstance(names, str) else names
    return tuple(Column(name, type_, below=below, spread=spread) for name in words)


def is_text(found: pa.DataType) -> bool:
    """Whether a type is one of Arrow's three for text."""
    return any((pa.types.is_string(found), pa.types.is_large_string(found), pa.types.is_string_view(found)))


def _fits(column: Column, found: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found):  # a writer that saw no value; nothing is lost, unless values are promised
        return not column.filled
    types = pa.types
    is_time = types.is_date(found) or types.is_timestamp(found)
    fitting: dict[object, bool] = {
        Text: is_text(found),
        Number: types.is_float64(found) or is_text(found) or types.is_decimal(found) or types.is_integer(found),
        Timestamp: is_time,
        Date: is_time,
        BigInt: types.is_integer(found) and not types.is_uint64(found),
        Boolean: types.is_boolean(found),
        TextMap: types.is_map(found) and all(is_text(part) for part in (found.key_type, found.item_type)),
    }
    return fitting[column.type]
