"""A schema names what is missing, what has another type and what is not declared, all at once and by name."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from connectors.errors import ExportContentError, ExportSchemaError
from connectors.formats.parquet import read_rows
from connectors.formats.schema import BigInt, Boolean, Column, Date, Number, Schema, Text, TextMap, Timestamp, optional, required
from connectors.formats.values import Rows

SCHEMA = Schema(
    columns=(
        required("id", Text, filled=True),
        required("cost", Number),
        *optional("at until", Timestamp),
        *optional("day", Date),
        *optional("count", BigInt),
        *optional("flag", Boolean),
        *optional("tags", TextMap),
        Column("version", Text, filled=True),
    ),
    documented=frozenset({"known"}),
    remedy_page="docs/sources/x.md",
)
GOOD = {"id": pa.string(), "cost": pa.float64()}


def check(**types: pa.DataType) -> tuple[str, ...]:
    return SCHEMA.check(pa.schema({**GOOD, **types}), "s3://b/x.parquet", "x.parquet")


def test_all_missing_columns_are_named_at_once_with_file_and_page() -> None:
    with pytest.raises(ExportSchemaError) as caught:
        SCHEMA.check(pa.schema({"at": pa.timestamp("us")}), "s3://b/x.parquet", "x.parquet")
    assert (caught.value.source_object, caught.value.column_name) == ("x.parquet", "id, cost")
    assert caught.value.message == "s3://b/x.parquet is missing columns id, cost."
    assert caught.value.remedy == "Add id, cost to the export. See docs/sources/x.md."


def test_a_column_the_folder_gives_may_be_absent() -> None:
    assert check() == ()


def test_unknown_columns_are_returned_and_documented_ones_are_not() -> None:
    assert check(known=pa.string(), novelty=pa.int8()) == ("novelty",)


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("id", pa.large_string()),
        ("id", pa.string_view()),
        ("id", pa.dictionary(pa.int32(), pa.string())),
        ("cost", pa.string()),
        ("cost", pa.decimal128(38, 12)),
        ("cost", pa.int64()),
        ("at", pa.timestamp("ns")),
        ("at", pa.timestamp("ms", "UTC")),
        ("at", pa.date32()),
        ("day", pa.date32()),
        ("count", pa.int32()),
        ("flag", pa.bool_()),
        ("tags", pa.map_(pa.string(), pa.string())),
        ("until", pa.null()),
    ],
)
def test_types_that_lose_nothing_are_taken(name: str, type_: pa.DataType) -> None:
    assert check(**{name: type_}) == ()


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("id", pa.int64()),
        ("id", pa.binary()),
        ("id", pa.null()),
        ("cost", pa.float32()),
        ("cost", pa.float16()),
        ("cost", pa.bool_()),
        ("at", pa.string()),
        ("at", pa.int64()),
        ("day", pa.string()),
        ("count", pa.float64()),
        ("count", pa.uint64()),
        ("flag", pa.string()),
        ("tags", pa.string()),
        ("tags", pa.map_(pa.string(), pa.float64())),
    ],
)
def test_types_that_lose_or_mean_something_else_are_refused(name: str, type_: pa.DataType) -> None:
    with pytest.raises(ExportSchemaError) as caught:
        check(**{name: type_})
    assert (caught.value.reason, caught.value.column_name, caught.value.value) == ("wrong_type", name, str(type_))


def test_a_file_that_gives_fewer_rows_than_its_footer_counts_is_refused() -> None:
    """A damaged column may end early, and its reader says nothing."""
    batches = pa.table({"a": [1, 2]}).to_batches()
    file = SimpleNamespace(metadata=SimpleNamespace(num_rows=3), iter_batches=lambda *_, **__: batches)
    with pytest.raises(ExportContentError, match="footer counts 3 rows, and it has 2"):
        list(read_rows(file, ["a"], Rows("key", "uri")))
