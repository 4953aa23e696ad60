"""From the groups of a reader to the Parquet of a delivery, for every kind of telemetry: counted, written, and remarked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

from connectors.deliveries import Converted, Delivery, Part
from connectors.formats.costs import allowance, spend
from connectors.formats.lazy import pa, pc
from connectors.formats.parquet import write_tables
from connectors.formats.schema import Column, Number
from connectors.formats.text_lines import TextFile
from connectors.formats.values import measured_schema
from connectors.layouts.single_files import find_file_deliveries
from connectors.stores import ObjectStore
from connectors.telemetry.samples import COLUMNS, KeyFacts, Problems, facts_of

Finder = Callable[[ObjectStore], Iterator[Delivery]]
Converter = Callable[[Delivery, dict[str, Path], Path, str], Converted]
_FLUSH = 1 << 16
_ROWS_PER_BYTE = 8  # of a packed file: a document of 600 bytes has 16 devices, and packs to a hundredth
_RATIOS = ("utilisation_ratio", "power_ratio")


class Group(NamedTuple):
    """Rows that share most of what they say: the devices of a document, the points of a series.

    Its reader names the columns of both; those that it does not name are null. Times are microseconds since 1970.
    """

    shared: Sequence[Any]  # a value of each column that is the same in all its rows
    own: Sequence[Sequence[Any]]  # the values of each other column, one for each row


@dataclass(frozen=True, slots=True)
class Reader:
    """How a kind is read: `read` yields groups with the columns named here, and adds to the problems what it leaves out."""

    read: Callable[[TextFile, KeyFacts, Problems], Iterator[Group]]
    shared: tuple[str, ...]
    own: tuple[str, ...]
    columns: tuple[Column, ...] = COLUMNS  # of the kind; connectors.power has more


def find_and_convert(kind: str, readers: Mapping[tuple[str, ...], Reader]) -> tuple[Finder, Converter]:
    """How a kind's files are found and converted whose ending decides which of its readers reads them."""

    def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
        name = delivery.objects[0].key.lower()
        reader = next(one for endings, one in readers.items() if name.endswith(endings))
        return convert_with(delivery, files, folder, store_uri, reader)

    return partial(find_file_deliveries, kind=kind, endings=(*chain.from_iterable(readers),)), convert


def convert_with(
    delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, reader: Reader, name: str = "samples.parquet"
) -> Converted:
    """Write the rows that the reader finds in a delivery's first file; without any row there is no Parquet."""
    key = delivery.objects[0].key
    file, problems, target = TextFile(files[key], key, f"{store_uri}/{key}"), Problems(), folder / name
    # measurements hardly repeat; without Arrow's own schema the dictionaries of texts are read as texts
    repeating = [column.name for column in reader.columns if column.type != Number]
    with allowance(key, file.uri, file.path.stat().st_size * _ROWS_PER_BYTE):
        tables = _tables(reader.read(file, facts_of(key), problems), reader)
        rows = write_tables(tables, target, use_dictionary=repeating, store_schema=False)
    parts = (Part(target, key),) if rows else ()
    return Converted(parts, rows, refusals=tuple(problems.refusals(delivery, file.uri, rows)))


def _tables(groups: Iterator[Group], reader: Reader) -> Iterator[pa.Table]:
    """Tables of so many rows that they fill a row group and little memory."""
    gathered: list[Group] = []
    rows = 0
    for group in groups:
        gathered.append(group)
        spend(len(group.own[0]))
        rows += len(group.own[0])
        if rows >= _FLUSH:
            yield _table(gathered, reader)
            gathered, rows = [], 0
    if rows:
        yield _table(gathered, reader)


def _table(groups: list[Group], reader: Reader) -> pa.Table:
    """A row takes what it shares from its group, by the group's number. Texts stay in the dictionaries they are written with."""
    shape = measured_schema(reader.columns)
    sizes = [len(group.own[0]) for group in groups]
    numbers = pa.array([*chain.from_iterable(map(repeat, range(len(sizes)), sizes))], pa.int32())
    shared = zip(reader.shared, zip(*(group.shared for group in groups), strict=True), strict=True)
    own = zip(reader.own, zip(*(group.own for group in groups), strict=True), strict=True)
    columns = {name: _repeated(pa.array(values, shape.field(name).type), numbers) for name, values in shared}
    columns |= {name: pa.array([*chain.from_iterable(values)], shape.field(name).type) for name, values in own}
    columns |= {name: _rounded(columns[name]) for name in _RATIOS if name in columns}
    absent = {field.name: pa.nulls(len(numbers), field.type) for field in shape if field.name not in columns}
    return pa.table({name: (columns | absent)[name] for name in shape.names})


def _repeated(values: pa.Array, numbers: pa.Array) -> pa.Array:
    if not pa.types.is_string(values.type):
        return values.take(numbers)
    texts = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(texts.indices.take(numbers), texts.dictionary)


def _rounded(ratios: pa.Array) -> pa.Array:
    """Numbers from 0 to 1 with 12 decimals, as round(ratio, 12) gives them.

    A product with 1e12 is off by less than 0.001, so its whole part is the right one, unless it lies about halfway between
    two: there each is rounded by itself. A whole number over 1e12 is the double nearest to the decimal.
    """
    scaled = pc.multiply(ratios, 1e12)
    whole = pc.round(scaled)
    is_halfway = pc.fill_null(pc.greater(pc.abs(pc.subtract(scaled, whole)), 0.499), False)
    alone = [round(ratio, 12) for ratio in ratios.filter(is_halfway).to_pylist()]
    return pc.replace_with_mask(pc.divide(whole, 1e12), is_halfway, pa.array(alone, pa.float64()))
