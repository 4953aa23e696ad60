"""AWS carbon: exports, a row per payer, account, region, product, month and version, reports and answers of AWS's API, in MTCO2e.

Values are handed on as delivered; tonnes become kilograms, and versions are elected, in SQL. Months without data are legal.
A file in AWS's present shape is read as it is; one in an older spelling gets a copy with the declared names beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from connectors.aws.carbon_answers import convert_answer, find_answers, is_answer
from connectors.aws.carbon_console import convert_report, find_reports, is_report
from connectors.aws.objects import Sources, convert_object
from connectors.aws.payers import Object, payers_in
from connectors.deliveries import Converted, Delivery, Refusal, merged
from connectors.errors import ExportSchemaError, Place
from connectors.formats.lazy import pc
from connectors.formats.parquet import open_parquet, read_rows
from connectors.formats.schema import BigInt, Column, Number, Schema, Text, Timestamp, optional, required
from connectors.formats.values import Rows, check_month, check_years
from connectors.layouts.exports import Layout, find_export_deliveries
from connectors.layouts.payers import with_only_payer
from connectors.stores import ObjectStore
from connectors.times import is_month

KIND = "aws_carbon"
_PAYER = "payer_account_id"
UNIT = "MTCO2e"  # the only one AWS has; kilograms read as tonnes would be wrong by a factor of a thousand, in silence

_MASSES = ("lbm", "mbm", "scope_1", "scope_2_lbm", "scope_2_mbm", "scope_3_lbm", "scope_3_mbm")
_VALUES = tuple(f"total_{mass}_emissions_value" for mass in _MASSES)
_UNITS = tuple(f"total_{mass}_emissions_unit" for mass in _MASSES)

SCHEMA = Schema(
    columns=(
        required(_PAYER, Text, filled=True),
        required("usage_account_id", Text, filled=True),
        required("usage_period_start", Timestamp, filled=True),
        *optional("usage_period_end last_refresh_timestamp", Timestamp),
        Column("model_version", Text, filled=True),  # a file without it has that of its folder's name
        *optional("location region_code product_code", Text),
        # deliveries before June 2025 have no location-based total, before October 2025 no scopes; no export gains columns later
        *optional(_VALUES, Number, below=1e12),
        *optional(_UNITS, Text),
        *optional("line_number", BigInt),  # of a report or an answer, whose rows are of several months
        *optional(
            "period_start period_end", Timestamp
        ),  # of a row that is of several months: the first, and the one after the last
    ),
    remedy_page="docs/sources/aws_carbon.md",
    measures=dict.fromkeys(_VALUES, 9),  # tonnes
)

_OTHER_NAMES = {
    "usage_period_start": ("usage_period_start_date",),
    "usage_period_end": ("usage_period_end_date",),
    "model_version": ("carbon_model_version",),
}


def _month_and_version(match: re.Match[str]) -> str | None:
    month, version = match["month"], match["version"]
    return f"{month}@{version}" if is_month(month) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", version) else None


_PARTITION = r"/(?:carbon_)?model_version=(?P<version>[^/]+)/usage_period=(?P<month>[^/]+)/(?:(?P<execution>[^/]+)/)?"
LAYOUTS = (
    Layout(
        re.compile(rf"metadata{_PARTITION}[^/]*Manifest\.json", re.I),
        re.compile(rf"data{_PARTITION}[^/]+\.(?:parquet|csv|gz)", re.I),
        _month_and_version,
        (".parquet", ".csv.gz", ".csv"),
    ),
)


def find_deliveries(store: ObjectStore) -> Iterator[Delivery | Refusal]:
    """Yield the deliveries of an export, the months of reports and of answers, by partition, oldest first."""
    found = [*find_export_deliveries(store, KIND, LAYOUTS), *find_reports(store, KIND)]
    found += find_answers(store, KIND, has_others=bool(found))
    yield from sorted(found, key=lambda one: (one.partition, one.published_at or datetime.min.replace(tzinfo=UTC)))


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects; write a typed copy of a CSV, or of a Parquet file with other names, into `folder`.

    Rows without a payer get the only payer that the delivery names; where it names several, it is refused.
    """
    if is_answer(delivery.objects[0].key):
        return convert_answer(delivery, files, folder, store_uri)
    if is_report(delivery.objects[0].key):
        return convert_report(delivery, files, folder, store_uri, SCHEMA)
    # an object without bytes is a month without data, which still has its file
    objects = [(info.key, files[info.key], f"{store_uri}/{info.key}") for info in delivery.objects if info.size]
    payers = partial(payers_in, column=_PAYER, in_csv=lambda csv, header: (_PAYER,))
    return merged(with_only_payer(objects, partial(_convert_object, delivery.partition, folder), payers, _PAYER))


def _convert_object(partition: str, folder: Path, one: Object, payer: str | None) -> Converted:
    month, _, version = partition.partition("@")

    def constants(sources: Sources) -> dict[str, str]:
        return ({} if "model_version" in sources else {"model_version": version}) | ({_PAYER: payer} if payer else {})

    return convert_object(SCHEMA, one, folder, _sources, constants, _check_names, partial(_check_rows, month, version))


def _sources(names: Sequence[str]) -> dict[str, str]:
    """Which column of a file gives which declared one; the declared name itself comes first."""
    given = {declared: [n for n in (declared, *_OTHER_NAMES.get(declared, ())) if n in names] for declared in SCHEMA.names}
    return {declared: spellings[0] for declared, spellings in given.items() if spellings}


def _check_names(names: Sequence[str], uri: str, key: str) -> tuple[str, ...]:
    unknown = SCHEMA.check_names(names, uri, key)
    if not any(value in names for value in _VALUES):
        raise ExportSchemaError(
            f"{uri} has none of the columns {', '.join(_VALUES)}.",
            place=Place(key, column_name=", ".join(_VALUES[:2])),
            remedy=f"Add one of them to the export. See {SCHEMA.remedy_page}.",
        )
    return unknown


def _check_rows(month: str, version: str, path: Path, key: str, uri: str) -> None:
    """Refuse rows of another month or model version than their folder's, and any unit but the one we convert from."""
    file = open_parquet(path, key, uri)
    units = [name for name in _UNITS if name in file.schema_arrow.names]
    times = [name for name in ("usage_period_end", "last_refresh_timestamp") if name in file.schema_arrow.names]
    for rows, batch in read_rows(file, ["usage_period_start", "model_version", *units, *times], Rows(key, uri)):
        check_month("usage_period_start", batch.column("usage_period_start"), month, rows)
        for name in times:
            check_years(name, batch.column(name), rows)
        # a folder may write v3.0.0 where the column has 3.0.0
        given = pc.utf8_ltrim(pc.utf8_lower(batch.column("model_version").cast("string")), "v")
        right = pc.equal(given, version.lower().lstrip("v"))
        rows.check("model_version", batch.column("model_version"), right, f"where {version} is expected", "contradicts_partition")
        for name in units:
            unit = batch.column(name).cast("string")
            right = pc.or_(pc.equal(unit, UNIT), pc.equal(unit, ""))
            rows.check(name, unit, right, f"where {UNIT} is expected", "wrong_unit")
