"""CodeCarbon's emissions.csv, matched by name: what a machine used in a run, as its counters and models saw it.

CodeCarbon appends: its later rows repeat a run with all that it used since its start, and a file that an older version began can
hold rows of another width. Such a file is refused: a value under another name is worse than none. Two rows of one run are
readings of one counter, which SQL subtracts. GPUs are all it sees of accelerators: without one it saw processor and memory only.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from urllib.parse import unquote

from connectors.errors import ExportContentError, Place, shorten
from connectors.formats.text_lines import TextFile
from connectors.power.readings import NODE, Owner, Reading, document_hash_of, watts_of
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, is_recorded
from connectors.times import zone_named

METER, HOST_ONLY = "codecarbon", "processor and memory"
_NEEDED = ("timestamp", "duration", "energy_consumed")
_NUMBERS = (
    *("duration", "emissions", "emissions_rate", "cpu_power", "gpu_power", "ram_power", "cpu_energy", "gpu_energy", "ram_energy"),
    *("energy_consumed", "water_consumed", "cpu_count", "gpu_count", "longitude", "latitude", "ram_total_size", "pue", "wue"),
    *("cpu_utilization_percent", "gpu_utilization_percent", "ram_utilization_percent", "ram_used_gb"),
)
_FORMS = {  # what a value can look like; a slipped one does not
    "timestamp": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?([+-]\d\d:\d\d|Z)?",
    "country_name": r"\D+",
    "country_iso_code": r"[A-Za-z]{2,3}",
    "tracking_mode": "machine|process",
    "on_cloud": "[YN]",
    "codecarbon_version": r"\d+\.\d+.*",
    **dict.fromkeys(_NUMBERS, r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?|nan|inf"),
}
_FORM_OF = {name: re.compile(form, re.ASCII) for name, form in _FORMS.items()}
_REMEDY = (
    "Split the file where its columns change, each part under its own header: CodeCarbon appends rows of a new version below an"
    " old header. See docs/sources/power_meters.md."
)


def is_codecarbon(header: Sequence[str]) -> bool:
    """Whether a header is that of an emissions.csv."""
    return {"duration", "energy_consumed", "timestamp"} <= set(header) or "codecarbon_version" in header


def zone_of(uri: str, key: str) -> tzinfo | None:
    """The zone in the key or the location, `tz=Europe%2FParis/` or `tz=+02:00/`; without one times are read as UTC."""
    named = next((unquote(part[3:]) for part in reversed(uri.split("/")) if part.startswith("tz=")), None)
    try:
        return None if named is None else zone_named(named)
    except ValueError as error:
        raise ExportContentError(
            f"{uri}: tz={shorten(named or '')} is no time zone.",
            place=Place(key, column_name="tz", value=named),
            reason="unknown_zone",
            remedy="Name the zone of the machine's clock as tz=Europe%2FParis or as tz=+02:00.",
        ) from error


def remarks_on(file: TextFile) -> Iterator[ExportContentError]:
    """The remark on a file whose times have no zone: it is taken, as if its machine kept UTC."""
    if zone_of(file.uri, file.key):
        return
    yield ExportContentError(
        f"{file.uri}: times of CodeCarbon have no zone; they were read as UTC.",
        place=Place(file.key, column_name="timestamp"),
        reason="time_without_zone",
        remedy="Put the file into a folder that names the zone of the machine's clock, tz=Europe%2FParis or tz=UTC.",
    )


def codecarbon_readings(file: TextFile, facts: KeyFacts, problems: Problems) -> Iterator[Reading]:
    """The rows of a file; one whose columns slipped is refused whole."""
    zone = zone_of(file.uri, file.key) or UTC
    for number, row in list(_rows_of(file)):
        with problems.left_out(number):
            yield _reading(row, number, facts, zone)


def _rows_of(file: TextFile) -> Iterator[tuple[int, dict[str, str]]]:
    """The data rows by their columns' names, checked; numbers count from 1 behind the header."""
    with file.read_as_csv():
        text = file.content().decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    header = lines[0] if lines else []
    file.check_header(header, [name for name in _NEEDED if name not in header], _REMEDY)
    for number, values in enumerate(lines[1:], start=1):
        if not any(values):
            continue
        if len(values) != len(header):
            raise _slipped(file, number, None, f"{len(values)} values", f"under {len(header)} names")
        row = dict(zip(header, (value.strip() for value in values), strict=True))
        for name, value in row.items():
            form = _FORM_OF.get(name)
            if value and form and not form.fullmatch(value):
                raise _slipped(file, number, name, value, f"which no {name} is")
        yield number, row


def _slipped(file: TextFile, number: int, column: str | None, value: str, what: str) -> ExportContentError:
    return ExportContentError(
        f"{file.uri}, row {number}: {f'{column} is ' if column else ''}{shorten(value)}, {what}: its columns have slipped.",
        place=Place(file.key, row_number=number, column_name=column, value=value),
        reason="slipped_columns",
        remedy=_REMEDY,
    )


def _reading(row: dict[str, str], number: int, facts: KeyFacts, zone: tzinfo) -> Reading:
    end, seconds = _time_of(row["timestamp"], zone), _number(row, "duration")
    if end is None or not is_recorded(end):
        raise SampleError("bad_time", "timestamp", "Correct the timestamp of this row.")
    if seconds is None or seconds <= 0:
        raise SampleError("no_duration", "duration", "A row without a duration covers no time; take it out.")
    if seconds >= end / 1_000_000 or not is_recorded(start := end - round(seconds * 1_000_000)):
        raise SampleError("bad_time", "duration", "Correct the duration of this row: no machine ran before it was built.")
    identity = row.get("run_id") or None
    if not (facts.run or facts.host or identity):
        raise SampleError("missing_run", "run_id", "Put the file into a folder run=<id> or host=<machine>.")
    energy = _number(row, "energy_consumed")
    if energy is not None and energy < 0:
        raise SampleError("wrong_power", "energy_consumed", "Energy is never below 0; take the row out.")
    joules = None if energy is None else energy * 3_600_000
    # what it does not see it writes as 0 or leaves out: a Trainium or TPU node has no gpu_energy
    component = None if _number(row, "gpu_energy") else HOST_ONLY
    watts = None if joules is None else watts_of(joules / seconds, "energy_consumed")
    run = facts.run or (None if facts.host else identity)
    series = identity or ""
    digest = document_hash_of(METER, run, facts.host, series, end, row["duration"], row["energy_consumed"])
    version = row.get("codecarbon_version") or None
    place = (digest, number, *Owner(facts.host, run), None, start, end, METER)
    return Reading(*place, watts, boundary=NODE, component=component, sdk_version=version, series=series, counter_j=joules)


def _time_of(text: str, zone: tzinfo) -> int | None:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return (aware.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def _number(row: dict[str, str], name: str) -> float | None:
    """A number; None where there is none. A file that pandas wrote has nan."""
    text = row.get(name) or ""
    value = float(text) if text else math.nan
    return value if math.isfinite(value) else None
