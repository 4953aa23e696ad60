"""Readings of PDUs and BMCs: CSV and JSON lines with our own columns, and Redfish's answers as a collector wraps them.

A row is a point of one meter: watts at that time, or joules or kWh that it has counted so far, which SQL subtracts over all
files. An outlet or a sensor is a part of its machine, and parts add up. What is no figure is unknown; 0 is 0.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from connectors.errors import ExportContentError, Place
from connectors.formats.text_lines import Stream, TextFile
from connectors.layouts.single_files import packed
from connectors.power import redfish
from connectors.power.readings import NODE, Owner, Reading, document_hash_of, watts_of
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, decode_json, documents_of, is_recorded, micros_or_none

LINES = packed(".jsonl", ".ndjson")
CSV = (".csv", ".csv.gz")
_METERS = ("pdu", "bmc")
_JOULES = {"joules": 1.0, "kwh": 3_600_000.0}
_NOTHING = {"", "n/a", "na", "null", "none", "nan", "-", "unavailable", "error"}
_REMEDY = "Write time, host and one of watts, joules and kwh; see docs/sources/power_meters.md."
Row = dict[str, Any]
_DECODER = msgspec.json.Decoder()


def readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The rows of a CSV, of JSON lines, or of the one document that a file is."""
    rows = _csv_rows if file.key.lower().endswith(CSV) else _json_rows
    for number, row in rows(file, problems):
        with problems.left_out(number):
            yield _reading(row, number, facts)


def _csv_rows(file: TextFile, problems: Problems) -> Iterator[tuple[int, Row]]:
    """The rows of a CSV; names in any case and order, further columns are passed over."""
    lines = (text for _, text in file.lines())
    with file.read_as_csv():
        rows = csv.reader(io.TextIOWrapper(io.BufferedReader(Stream(lines)), encoding="utf-8-sig", newline=""), strict=True)
        header = [name.strip().lower() for name in next(rows, [])]
        missing = [] if "time" in header else ["time"]
        if not {"watts", *_JOULES} & set(header):
            missing.append("watts")
        file.check_header(header, missing, _REMEDY)
        problems.pass_by(*header)
        for number, values in enumerate(rows, start=1):
            if len(values) != len(header):
                raise ExportContentError(
                    f"{file.uri}, row {number}: {len(values)} values under {len(header)} names.",
                    place=Place(file.key, row_number=number),
                    reason="slipped_columns",
                    remedy="Write the file again: every row needs a value or nothing for each name of its header.",
                )
            yield number, dict(zip(header, values, strict=True))


def _json_rows(file: TextFile, problems: Problems) -> Iterator[tuple[int, Row]]:
    for number, text in documents_of(file, LINES):
        with problems.left_out(number):
            found = decode_json(_DECODER, text, _REMEDY, broken="Deliver whole lines of JSON.")
            for document in found if isinstance(found, list) else [found]:
                with problems.left_out(number):
                    if not isinstance(document, dict):
                        raise SampleError("wrong_type", None, _REMEDY)
                    yield from ((number, row) for row in _rows_of(document))


def _rows_of(document: Row) -> Iterator[Row]:
    """The rows of a document: its own, or those of Redfish's answer."""
    if redfish.is_redfish(document):
        yield from redfish.rows_of(document)
        return
    row = {str(name).lower(): value for name, value in document.items()}
    if not {"watts", *_JOULES} & row.keys():
        raise SampleError("missing_value", "watts", _REMEDY)
    yield row


def _reading(row: Row, number: int, facts: KeyFacts) -> Reading:
    host, run = _text(row, "host") or facts.host, _text(row, "run") or facts.run
    if not (host or run):
        raise SampleError("missing_host", "host", "Name the machine in the row, or in the key as host=<machine>.")
    end = facts.started_at if row.get("time") in (None, "") else _time(row, "time")
    start = None if row.get("start") in (None, "") else _time(row, "start")
    if end is None:
        raise SampleError("missing_time", "time", "Write a UTC time in each row, such as 2026-04-01T12:00:00Z.")
    if start is not None and start >= end:
        raise SampleError("ends_before_start", "start", "Write the start of an interval before its time.")
    meter = (_text(row, "meter") or "pdu").lower()
    if meter not in _METERS:
        raise SampleError("wrong_value", "meter", f"Name the meter {' or '.join(_METERS)}.")
    watts = watts_of(_figure(row, "watts"), "watts")
    counter = next((value * _JOULES[name] for name in _JOULES if (value := _figure(row, name)) is not None), None)
    if counter is not None and counter < 0:
        raise SampleError("wrong_power", "joules", "A counter of energy is never below 0.")
    part = _text(row, "outlet") or _text(row, "sensor")
    digest = document_hash_of(meter, run, host, part, start, end, watts, counter)
    place = (digest, number, *Owner(host, run), None, start, end, meter)
    return Reading(*place, watts, boundary=NODE, component=part, series=part or "", counter_j=counter)


def _time(row: Row, name: str) -> int | None:
    """A time with its zone, or seconds or milliseconds since 1970; None for a mark of no time."""
    value = row[name]
    remedy = "Write times as 2026-04-01T12:00:00Z, or as seconds or milliseconds since 1970."
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        return micros_or_none(value.strip(), name, remedy)
    try:
        seconds = float(value)
        micros = round(seconds * (1_000_000 if seconds < 1e11 else 1000))
    except (TypeError, ValueError, OverflowError) as error:
        raise SampleError("bad_time", name, remedy) from error
    if isinstance(value, bool) or not is_recorded(micros):
        raise SampleError("bad_time", name, remedy)
    return micros


def _figure(row: Row, name: str) -> float | None:
    """A number; None for a word for nothing, SampleError for any other text."""
    value = row.get(name)
    if value is None or (isinstance(value, str) and value.strip().lower() in _NOTHING):
        return None
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise SampleError("wrong_type", name, "Write figures as numbers, without a unit; nothing where there is none.")
    return found


def _text(row: Row, name: str) -> str | None:
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # outlets are numbered
    if value is not None and not isinstance(value, str):
        raise SampleError("wrong_type", name, "Write names as text.")
    return (value or "").strip() or None
