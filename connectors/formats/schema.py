"""Declared columns: what every later step may rely on, and the check of a file against it.

Column order never matters, columns are matched by name. A required column must be there; an optional one may be absent and
is then null; an unknown one is reported and left in the landed bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from connectors.errors import ExportSchemaError, Place
from connectors.formats.lazy import pa

Text = "Text"
Number = "Number"  # money or quantity: a double, or a text or decimal that stays as written; a float32 has lost digits already
Timestamp = "Timestamp"
Date = "Date"
BigInt = "BigInt"
Boolean = "Boolean"
TextMap = "TextMap"


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name. `filled` columns hold a value in every row; numbers stay strictly below `below` in size."""

    name: str
    type: str
    required: bool = False
    filled: bool = False
    below: float | None = None


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

    def check_names(self, names: Collection[str], uri: str, key: str | None = None) -> tuple[str, ...]:
        """Return the unknown names; all missing required ones are named in one error, so that one repair is enough."""
        self.check_repeated(names, uri, key)
        missing = [c.name for c in self.columns if c.required and c.name not in names]
        if missing:
            raise ExportSchemaError(
                f"{uri} is missing columns {', '.join(missing)}. See {self.remedy_page}.",
                place=Place(key, column_name=", ".join(missing)),
                remedy=f"Add {', '.join(missing)} to the export. See {self.remedy_page}.",
            )
        declared = {column.name for column in self.columns}
        return tuple(name for name in names if name not in declared and name not in self.documented)

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


def optional(names: str | Iterable[str], type_: str, *, below: float | None = None) -> tuple[Column, ...]:
    """Declare columns that may be absent, one name per word."""
    return tuple(Column(name, type_, below=below) for name in (names.split() if isinstance(names, str) else names))


def is_text(found: pa.DataType) -> bool:
    """Whether a type is one of Arrow's three for text."""
    return pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)


def _fits(column: Column, found: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_null(found):  # a writer that saw no value; nothing is lost, unless values are promised
        return not column.filled
    types = pa.types
    is_time = types.is_date(found) or types.is_timestamp(found)
    return {
        Text: is_text(found),
        Number: types.is_float64(found) or is_text(found) or types.is_decimal(found) or types.is_integer(found),
        Timestamp: is_time,
        Date: is_time,
        BigInt: types.is_integer(found) and not types.is_uint64(found),
        Boolean: types.is_boolean(found),
        TextMap: types.is_map(found) and all(is_text(part) for part in (found.key_type, found.item_type)),
    }[column.type]
