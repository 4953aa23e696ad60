"""Which files of an export folder count: the newest complete delivery of each period, found from the manifests.

Knows the local folder layouts of CUR 2.0, legacy CUR and the carbon export. Reads no data row.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from .numerals import OracleError
from .rows import rows_of

_CARBON_VERSION = re.compile(r"^(?:carbon_)?model_version=(.+)$")
_LEGACY_PERIOD = re.compile(r"^(\d{4})(\d{2})\d{2}-\d{8}$")
_EXECUTION_TIME = re.compile(r"^(\d{4})-?(\d{2})-?(\d{2})T(\d{2}):?(\d{2}):?(\d{2})(?:\.(\d+))?Z")


@dataclass(frozen=True)
class Delivery:
    source_name: str
    partition: str
    published_at: datetime
    files: tuple[tuple[str, Path], ...]  # key below the location, file


def moment(text: str) -> datetime:
    """A UTC time with or without zone."""
    parsed = datetime.fromisoformat(text.strip())
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def modified_at(path: Path) -> datetime:
    seconds, rest = divmod(path.stat().st_mtime_ns, 1_000_000_000)
    return datetime.fromtimestamp(seconds, tz=UTC).replace(microsecond=rest // 1000)


def _published_at(manifest: Path, folder_name: str) -> datetime:
    match = _EXECUTION_TIME.match(folder_name)
    if match:
        year, month, day, hour, minute, second, fraction = match.groups()
        microsecond = int(((fraction or "") + "000000")[:6])
        return datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), microsecond, tzinfo=UTC)
    return modified_at(manifest)


def _listed_files(location: Path, manifest: Path) -> tuple[tuple[str, Path], ...]:
    document = json.loads(manifest.read_text(encoding="utf-8"))
    listed = next((document[name] for name in ("dataFiles", "reportKeys") if name in document), None)
    if listed is None:
        raise OracleError(f"{manifest} lists no files")
    found = []
    for entry in listed:
        name = entry if isinstance(entry, str) else entry["key"]
        name = "/" + re.sub(r"^s3://[^/]*/", "", name).lstrip("/")
        marker = f"/{location.name}/"
        # an export may be named like a folder above or below it, so every reading is tried, the shortest path first
        starts = [match.start() for match in re.finditer(f"(?={re.escape(marker)})", name)]
        readings = [name[start + len(marker) :] for start in starts]
        key = next((reading for reading in [*reversed(readings), name[1:]] if (location / reading).is_file()), None)
        if key is None or ".." in Path(key).parts:
            raise OracleError(f"{manifest} names {entry}, which is not below {location}")
        found.append((key, location / key))
    return tuple(found)


def _deliveries_of_period(source_name: str, partition: str, location: Path, folder: Path) -> Iterator[Delivery]:
    """All executions where they have folders of their own, else the one the folder's manifest has."""
    executions = sorted(folder.glob("*/*Manifest.json"))
    for manifest in executions or sorted(folder.glob("*Manifest.json")):
        name = manifest.parent.name if executions else ""
        yield Delivery(source_name, partition, _published_at(manifest, name), _listed_files(location, manifest))


def bill_deliveries(source_name: str, location: Path) -> Iterator[Delivery]:
    for folder in sorted((location / "metadata").glob("BILLING_PERIOD=*")):
        yield from _deliveries_of_period(source_name, folder.name.removeprefix("BILLING_PERIOD="), location, folder)
    for folder in sorted(path for path in location.iterdir() if path.is_dir()):
        if match := _LEGACY_PERIOD.match(folder.name):
            yield from _deliveries_of_period(source_name, f"{match[1]}-{match[2]}", location, folder)


def carbon_deliveries(source_name: str, location: Path) -> Iterator[Delivery]:
    for folder in sorted((location / "metadata").glob("*model_version=*/usage_period=*")):
        version = _CARBON_VERSION.match(folder.parent.name)
        if version is None:
            raise OracleError(f"{folder} names no model version")
        partition = f"{folder.name.removeprefix('usage_period=')}@{version[1]}"
        yield from _deliveries_of_period(source_name, partition, location, folder)


def console_deliveries(source_name: str, location: Path) -> Iterator[Delivery]:
    """A month and model version of a report of the console, for the account of its folder."""
    yield from _report_deliveries(source_name, location, ("usage_month",))


def period_deliveries(source_name: str, location: Path) -> Iterator[Delivery]:
    """A quarter or a year of such a report that was written 21 days after its end or later, by its months."""
    for delivery in _report_deliveries(source_name, location, ("usage_quarter", "usage_year")):
        text, _, rest = delivery.partition.partition("@")
        months = months_named(text)
        after = (months[-1] + timedelta(days=31)).replace(day=1)
        if delivery.published_at >= datetime(after.year, after.month, after.day, tzinfo=UTC) + timedelta(days=21):
            yield replace(delivery, partition=f"{months[0]:%Y-%m}..{months[-1]:%Y-%m}@{rest}")


def answer_deliveries(source_name: str, location: Path) -> Iterator[Delivery]:
    """A month of a saved answer of AWS Sustainability, for the account of its folder."""
    for path in sorted(location.glob("**/payer=*/**/*.json")):
        accounts = [part.partition("=")[2] for part in path.parts if part.startswith(("payer=", "account="))]
        times = [result["TimePeriod"] for result in json.loads(path.read_text(encoding="utf-8"))["Results"]]
        key = path.relative_to(location).as_posix()
        for month in sorted({time["Start"][:7] for time in times if is_one_month(time)}):
            yield Delivery(source_name, f"{month}~{accounts[-1]}", modified_at(path), ((key, path),))


def is_one_month(time: dict) -> bool:
    start, end = (moment(time[name]) for name in ("Start", "End"))
    return (start + timedelta(days=31)).replace(day=1) == end


def months_named(text: str) -> list[date]:
    """The months of a calendar quarter or a year, however it is written."""
    year = int(next(iter(re.findall(r"\d{4}", text))))
    quarter = re.search(r"[Qq](\d)", text)
    first, count = (3 * int(quarter[1]) - 2, 3) if quarter else (1, 12)
    return [date(year, month, 1) for month in range(first, first + count)]


def _report_deliveries(source_name: str, location: Path, times: tuple[str, ...]) -> Iterator[Delivery]:
    for path in sorted(location.glob("**/*.csv*")):
        accounts = [
            part.partition("=")[2] for part in path.relative_to(location).parts if part.startswith(("payer=", "account="))
        ]
        if not accounts:
            continue
        rows = list(rows_of(path, {"usage_month", "usage_quarter", "usage_year", "model_version"}))
        time = next(iter([name for name in ("usage_month", "usage_quarter", "usage_year") if rows and name in rows[0]]), None)
        if time in times:
            for text, version in sorted({(row[time], row["model_version"]) for row in rows}):
                key = path.relative_to(location).as_posix()
                yield Delivery(source_name, f"{text}@{version}~{accounts[-1]}", modified_at(path), ((key, path),))


def elect(deliveries: Iterator[Delivery], as_published: datetime | None = None) -> list[Delivery]:
    """The newest delivery of each source and partition that was published by then."""
    newest: dict[tuple[str, str], Delivery] = {}
    for delivery in deliveries:
        key = (delivery.source_name, delivery.partition)
        if as_published is not None and delivery.published_at > as_published:
            continue
        if key not in newest or delivery.published_at > newest[key].published_at:
            newest[key] = delivery
    return [newest[key] for key in sorted(newest)]
