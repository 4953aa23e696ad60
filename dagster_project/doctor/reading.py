"""What a source has: its location listed, its newest two months landed in a temporary home, as a refresh would land them.

Bounded: of large months some files are read, and what was read is reported. What the rows show of runs is asked elsewhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from connectors.deliveries import Delivery, Refusal
from connectors.errors import ConnectorError
from connectors.layouts.accounting import Counts, look, nothing_there
from connectors.layouts.shards import orphan_shards
from connectors.registry import connector_for
from connectors.stores import ObjectStore
from connectors.telemetry.samples import facts_of
from dagster_project.base.clock import now
from dagster_project.base.failures import meant
from dagster_project.doctor.checks import KEPT, Check, Outcome, counted, size, some
from dagster_project.doctor.google import check_newest, check_table
from dagster_project.landing.fetching import batches
from dagster_project.landing.land import Landed, Landing
from dagster_project.landing.partial_months import REASON, REMEDY, in_words, partial_months
from dagster_project.landing.planning import is_wanted
from dagster_project.landing.records import RowRefusal, calendar_month, export_of
from dagster_project.landing.sources import is_table, open_source, span_of
from dagster_project.landing.surprises import surprise_of
from dagster_project.landing.whole import is_loaded
from dagster_project.settings import SourceSettings
from dagster_project.warehouse.home import Home

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = 2
# read of a fact in all; on two cores it is about what 20 CPU seconds take to land and to build
BYTES = {"bill": 40_000_000, "telemetry": 15_000_000, "runs": 5_000_000, "carbon": 10_000_000, "inputs": 1_000_000}
FILES = 2000  # of a source
PAGE = 1000  # keys of one answer of S3
ORPHANS = "orphan_shards"
REFUSALS = 3  # of one source; `refresh` shows all


@dataclass(slots=True)
class Reading:
    """One source as far as it was read."""

    source: SourceSettings
    months: list[str] = field(default_factory=list)  # of all its deliveries; none where files are known by no month
    newest: str = ""
    limit: int = 0  # bytes
    columns: set[str] = field(default_factory=set)  # those that any file that was read has
    rows: int = 0
    objects_read: int = 0
    objects_there: int = 0
    bytes_read: int = 0
    bytes_there: int = 0
    unknown_columns: set[str] = field(default_factory=set)

    @property
    def is_whole(self) -> bool:
        """Whether all of the newest two months was read."""
        return self.objects_read == self.objects_there


def readings_of(sources: Sequence[SourceSettings]) -> list[Reading]:
    """Nothing read yet; sources of one fact share the bytes that may be read of it."""
    facts = [source.facts.fact for source in sources]
    return [Reading(source, limit=BYTES[fact] // facts.count(fact)) for source, fact in zip(sources, facts, strict=True)]


def read_source(home: Home, reading: Reading, landing: Landing) -> Iterator[Check]:
    """Yield what is to be known of a source of the home, land what may be read of it elsewhere, and fill `reading`."""
    source, base = reading.source, home.settings.base
    try:
        # the days that the next refresh will ask for: all of them until the source was loaded whole
        span = span_of(source, is_loaded=is_loaded(home.landing, source))
        store = open_source(base, source, span, is_free=True)
        if is_table(source):
            checks = list(check_table(source, store))
            yield from checks
            if any(check.outcome == "problem" or check.facts.get("reason") == "rows_are_billed" for check in checks):
                return
        connector = connector_for(source.kind)
        found, counts = look(source.kind, connector.find_deliveries, getattr(connector, "LAYOUTS", ()), store)
        found = [item for item in found if is_wanted(source, item)]
        deliveries = [item for item in found if isinstance(item, Delivery)]
        yield from _refusals(source, [item for item in found if isinstance(item, Refusal)], is_all=not deliveries)
        if not deliveries:
            if not found:
                yield _nothing(base, source, store, counts)
            return
        wanted = _newest(source, deliveries, reading)
        yield from _half_exported(source, deliveries)
        yield from _several_exports(source, deliveries)
        yield from _orphans(source, store, deliveries)
        if is_table(source):
            check = check_newest(source, store, wanted[0])
            yield check
            if check.outcome != "problem":
                yield from _read(landing, wanted, reading, wanted[:1])
        else:
            yield from _read(landing, wanted, reading, wanted)
    except BaseException as error:  # whatever is wrong with one source, the others are looked at
        surprise = surprise_of(error, source.name, None, landing.store.staging)
        yield Check(source.name, "problem", surprise.message, surprise.remedy, True, "source", {"reason": surprise.reason})


def _refusals(source: SourceSettings, refusals: Sequence[Refusal], *, is_all: bool) -> Iterator[Check]:
    for refusal in refusals[:REFUSALS]:
        yield _finding(source, "problem" if is_all else "warning", refusal)
    if len(refusals) > REFUSALS:
        message = f"{counted(len(refusals) - REFUSALS, 'more object')} refused"
        yield Check(source.name, "warning", message, "`trainledger refresh` names them all.", True, "refusal")


def _nothing(base: Path, source: SourceSettings, store: ObjectStore, counts: Counts) -> Check:
    """Why there is neither a delivery nor a refusal, and which prefix is meant."""
    what, remedy = nothing_there(store.uri, counts) or (
        f"{store.uri}: nothing of the configured months ({source.months})",
        "Correct `months`, or wait for the provider.",
    )
    what += _meant(base, source)
    return Check(source.name, "problem", what, remedy, True, "source", {"listed": counts.listed, "bystanders": counts.bystanders})


def _meant(base: Path, source: SourceSettings) -> str:
    """The prefix beside an empty one whose name is nearest to it, by one page of a listing."""
    above, _, name = source.location.rstrip("/").rpartition("/")
    if not source.location.startswith("s3://") or above == "s3:/":
        return ""
    try:
        store = open_source(base, source.model_copy(update={"location": above}))
        names = {info.key.partition("/")[0] for info in islice(store.list_objects(), PAGE) if "/" in info.key}
    except ConnectorError:  # these credentials may see the prefix alone
        return ""
    return meant(name, names - {name})


def _half_exported(source: SourceSettings, deliveries: list[Delivery]) -> Iterator[Check]:
    exported = {one.partition: one.published_at for one in sorted(deliveries, key=lambda one: one.published_at)}
    months = partial_months(source, exported, now())
    if months:
        facts = {"reason": REASON, "months": [month.facts() for month in months[:KEPT]]}
        yield Check(source.name, "warning", f"half exported: {in_words(months)}", REMEDY, True, REASON, facts)


def _several_exports(source: SourceSettings, deliveries: list[Delivery]) -> Iterator[Check]:
    """Exports that lie in one location: whose payers they are of is in their rows."""
    exports = sorted({_export(one) for one in deliveries})
    if len(exports) > 1:
        what = f"{len(exports)} exports lie in this location: {', '.join(exports)}"
        remedy = "Where they are of one payer, one of them counts: name it with `book:`. Where they are not, both do."
        yield Check(source.name, "warning", what, remedy, True, "two_exports", {"exports": exports})


def _export(delivery: Delivery) -> str:
    return export_of(delivery.manifest.key if delivery.manifest else "")


def _orphans(source: SourceSettings, store: ObjectStore, deliveries: list[Delivery]) -> Iterator[Check]:
    """Files that one EXPORT DATA cannot have written, in any partition: the listing shows."""
    if source.facts.provider_name != "Google Cloud" or source.facts.fact not in BYTES:
        return
    latest = {one.partition: one for one in sorted(deliveries, key=lambda one: one.published_at)}
    found = [refusal for one in latest.values() for refusal in orphan_shards(one, store.uri)]
    for refusal in found[:REFUSALS]:
        yield _finding(source, "warning", refusal)
    if len(found) > REFUSALS:
        message = f"{counted(len(found) - REFUSALS, 'more partition')} with files that are not of one export"
        yield Check(source.name, "warning", message, found[0].remedy, True, "refusal", {"reason": ORPHANS})


def _newest(source: SourceSettings, deliveries: list[Delivery], reading: Reading) -> list[Delivery]:
    """The deliveries of the newest two months, the newest one of each partition; of files without months all, newest first."""
    latest = {(one.partition, _export(one)): one for one in sorted(deliveries, key=lambda one: one.published_at)}
    if source.facts.fact in ("runs", "inputs"):
        return sorted(latest.values(), key=lambda one: one.published_at, reverse=True)
    months = {place: _month_of(delivery) for place, delivery in latest.items()}
    reading.months = sorted(set(months.values()))
    reading.newest = reading.months[-1]
    first = reading.months[-MONTHS:][0]
    return [delivery for place, delivery in sorted(latest.items(), reverse=True) if months[place] >= first]


def _month_of(delivery: Delivery) -> str:
    """The month of a partition; of a file that of its name, else that of its time."""
    if month := calendar_month(delivery.partition):
        return month
    started = facts_of(delivery.objects[0].key).started_at
    at = delivery.published_at if started is None else _EPOCH + timedelta(microseconds=started)
    return f"{at:%Y-%m}"


def _read(landing: Landing, deliveries: Sequence[Delivery], reading: Reading, allowed: Iterable[Delivery]) -> Iterator[Check]:
    """Land those of the deliveries that may be read, as far as there is room for them."""
    source = reading.source
    reading.objects_there = sum(len(delivery.objects) for delivery in deliveries)
    reading.bytes_there = sum(info.size for delivery in deliveries for info in delivery.objects)
    found = []
    for _, together in batches((source, delivery) for delivery in _bounded(allowed, reading)):
        for landed in landing.land_together(source, together):
            found += _findings(landed, reading)
    yield from found[:REFUSALS]
    if len(found) > REFUSALS:
        message = f"{counted(len(found) - REFUSALS, 'more finding')} in what was read"
        yield Check(source.name, "warning", message, "`trainledger refresh` names them all.", True, "refusal")
    yield _summary(reading)


def _bounded(deliveries: Iterable[Delivery], reading: Reading) -> Iterator[Delivery]:
    """The deliveries with as many of their objects as may be read."""
    for delivery in deliveries:
        objects = []
        for info in delivery.objects:
            if reading.bytes_read + info.size <= reading.limit and reading.objects_read < FILES:
                objects.append(info)
                reading.bytes_read += info.size
                reading.objects_read += 1
        if objects:
            yield replace(delivery, objects=tuple(objects))


def _findings(landed: Landed, reading: Reading) -> list[Check]:
    """Note what was landed, and return what is wrong with it: of a delivery that is taken these are remarks."""
    if landed.error:
        return [_finding(reading.source, "problem", landed.error)]
    if landed.refusal:
        return [_finding(reading.source, "problem", refusal) for refusal in landed.refusal.refusals]
    if landed.contents is None:
        return []
    reading.rows += landed.contents.rows
    reading.unknown_columns.update(landed.contents.unknown_columns)
    reading.columns.update(name for part in landed.contents.parts for name in part.columns)
    # a part of the files was read: `_orphans` knows all
    return [_finding(reading.source, "warning", one) for one in landed.contents.refusals if one.reason != ORPHANS]


def _finding(source: SourceSettings, outcome: Outcome, of: ConnectorError | RowRefusal | Refusal) -> Check:
    facts = {"reason": of.reason, "source_object": of.source_object}
    return Check(source.name, outcome, of.message, of.remedy, True, "refusal", facts)


def _summary(reading: Reading) -> Check:
    """One line: what is there, and what of it was read."""
    source, newest = reading.source, reading.newest
    there = (
        f"{counted(len(reading.months), 'month')}, the newest is {newest}" if newest else counted(reading.objects_there, "file")
    )
    what = "partition" if is_table(source) else "file"
    read = f"read {reading.objects_read:,} of {counted(reading.objects_there, what)}"
    if not reading.is_whole and what == "file":  # how large the partitions of a table are is not listed
        read += f" ({size(reading.bytes_read)} of {size(reading.bytes_there)})"
    unknown = sorted(reading.unknown_columns)
    named = f", {counted(len(unknown), 'unknown column')} ({some(unknown)})" if unknown else ""
    facts = {
        "kind": str(source.kind),
        "months": reading.months,
        "newest_month": newest or None,
        "objects": reading.objects_there,
        "objects_read": reading.objects_read,
        "bytes": reading.bytes_there,
        "bytes_read": reading.bytes_read,
        "rows_read": reading.rows,
        "unknown_columns": unknown,
    }
    if not reading.objects_read:
        message = f"{source.kind}, {there}; its {what}s are too large to be read only to look at them"
        return Check(source.name, "warning", message, "`trainledger refresh` reads them.", True, "source", facts)
    return Check(
        source.name, "ok", f"{source.kind}, {there}; {read}, {counted(reading.rows, 'row')}{named}", "", True, "source", facts
    )
