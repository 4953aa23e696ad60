"""What a source has: its location listed, its deliveries landed in a temporary home, as a refresh would land them.

Bounded: the newest months are read first, and those that do not fit are named. What the rows show of runs is asked elsewhere.
"""

from collections import Counter
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
from dagster_project.doctor.apis import to_ask
from dagster_project.doctor.checks import KEPT, Check, Outcome, counted, size, some
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.fetching import batches
from dagster_project.landing.land import Landing
from dagster_project.landing.partial_months import REASON, REMEDY, in_words, partial_months
from dagster_project.landing.planning import is_wanted
from dagster_project.landing.records import RowRefusal, calendar_month, export_of
from dagster_project.landing.sources import is_api, is_queried, is_table, open_source, span_of
from dagster_project.landing.surprises import surprise_of
from dagster_project.settings import SourceSettings
from dagster_project.warehouse.home import Home

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# read of a fact in all; on two cores it is about what 20 CPU seconds take to land and to build
BYTES = {"bill": 40_000_000, "telemetry": 15_000_000, "runs": 5_000_000, "carbon": 10_000_000, "inputs": 1_000_000}
LISTS = 20_000_000  # of price lists, which are inputs: of each day some megabytes
FILES = 2000  # of a source
PRICES = "gcp_prices"
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
    there: Counter[str] = field(default_factory=Counter)  # objects by month, of files that are known by no month under ''
    read: Counter[str] = field(default_factory=Counter)
    bytes_read: int = 0
    bytes_there: int = 0
    unknown_columns: set[str] = field(default_factory=set)

    @property
    def lacking(self) -> list[str]:
        """Months of which not all was read; of a partition of a table some rows are."""
        is_sampled = is_queried(self.source) and not is_api(self.source)
        return [month for month, number in sorted(self.there.items()) if self.read[month] < number or is_sampled]

    def is_whole(self, month: str = "") -> bool:
        """Whether all was read that may hold rows of a month: late rows lie in the files of later ones."""
        return all("" < one < month for one in self.lacking)


def readings_of(sources: Sequence[SourceSettings]) -> list[Reading]:
    """Nothing read yet; sources of one fact share the bytes that may be read of it."""
    facts = [PRICES if source.kind == PRICES else source.facts.fact for source in sources]
    bytes_of = {**BYTES, PRICES: LISTS}
    return [Reading(source, limit=bytes_of[fact] // facts.count(fact)) for source, fact in zip(sources, facts, strict=True)]


def read_source(home: Home, reading: Reading, landing: Landing) -> Iterator[Check]:
    """Yield what is to be known of a source of the home, land what may be read of it elsewhere, and fill `reading`."""
    source, base = reading.source, home.settings.base
    try:
        # the days that the next refresh will ask for: all of them until the source was loaded whole
        span = span_of(source, is_loaded=not home.landing.listed.is_due_whole(source))
        store = open_source(base, source, span, is_free=True, run_tag_keys=home.settings.run_tag_keys)
        if is_table(source):
            from dagster_project.doctor import google  # its clients take a while to load

            checks = list(google.check_table(source, store))
            yield from checks
            if any(check.outcome == "problem" or check.facts.get("reason") == "rows_are_billed" for check in checks):
                return
        connector = connector_for(source.kind)
        found, counts = look(source.kind, connector.find_deliveries, getattr(connector, "LAYOUTS", ()), store)
        found = [item for item in found if is_wanted(source, item)]
        deliveries = sorted((item for item in found if isinstance(item, Delivery)), key=lambda one: one.published_at)
        yield from _first_of(source, [one for one in found if isinstance(one, Refusal)], "warning" if deliveries else "problem")
        if not deliveries:
            if is_api(source) and not found:
                message = "no month that AWS has the last word of lies in `months`; nothing is asked yet"
                yield Check(f"price of {source.name}", "ok", message, "", True, "price", {"source": source.name, "months": []})
            elif not found:
                yield _nothing(base, source, store, counts)
            return
        wanted = _newest_first(source, deliveries, reading)
        yield from _listed(source, store, deliveries)
        allowed: Iterable[Delivery] = wanted[:1] if is_queried(source) else wanted
        if is_api(source):
            check, allowed = to_ask(source, home.landing, wanted)
            yield check
        if is_table(source):
            yield (check := google.check_newest(source, store, wanted[0]))
            if check.outcome == "problem":
                return
        if source.engine and not is_table(source):  # what is landed is read; the rest is asked for by a refresh alone
            from dagster_project.doctor.engines import check_engine

            yield from check_engine(source, store, wanted)
            landed = {generation.identity for generation in home.landing.read(source.name).generations}
            allowed = [one for one in wanted if one.identity in landed]
        yield from _read(home.landing, landing, wanted, reading, allowed)
    except BaseException as error:  # whatever is wrong with one source, the others are looked at
        surprise = surprise_of(error, source.name, None, landing.store.staging)
        yield Check(source.name, "problem", surprise.message, surprise.remedy, True, "source", {"reason": surprise.reason})


def _first_of(
    source: SourceSettings, found: Sequence[ConnectorError | RowRefusal | Refusal], outcome: Outcome
) -> Iterator[Check]:
    """The first findings, and how many more there are."""
    for one in found[:REFUSALS]:
        facts = {"reason": one.reason, "source_object": one.source_object}
        yield Check(source.name, outcome, one.message, one.remedy, True, "refusal", facts)
    if len(found) > REFUSALS:
        message = counted(len(found) - REFUSALS, "more finding")
        yield Check(source.name, "warning", message, "`trainledger refresh` names them all.", True, "refusal")


def _nothing(base: Path, source: SourceSettings, store: ObjectStore, counts: Counts) -> Check:
    """Why there is neither a delivery nor a refusal, and which prefix is meant."""
    of_months = f"{store.uri}: nothing of the configured months ({source.months})", "Correct `months`, or wait for the provider."
    what, remedy = nothing_there(store.uri, counts) or of_months
    facts = {"listed": counts.listed, "bystanders": counts.bystanders}
    return Check(source.name, "problem", what + _meant(base, source), remedy, True, "source", facts)


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


def _listed(source: SourceSettings, store: ObjectStore, deliveries: list[Delivery]) -> Iterator[Check]:
    """What the listing of deliveries, oldest first, shows to be wrong with them."""
    latest = {one.partition: one for one in deliveries}
    if months := partial_months(source, {name: one.published_at for name, one in latest.items()}, now()):
        facts = {"reason": REASON, "months": [month.facts() for month in months[:KEPT]]}
        yield Check(source.name, "warning", f"half exported: {in_words(months)}", REMEDY, True, REASON, facts)
    exports = sorted({_export(one) for one in deliveries})
    if len(exports) > 1:  # whose payers they are of is in their rows
        what = f"{len(exports)} exports lie in this location: {', '.join(exports)}"
        remedy = "Where they are of one payer, one of them counts: name it with `book:`. Where they are not, both do."
        yield Check(source.name, "warning", what, remedy, True, "two_exports", {"exports": exports})
    if source.facts.provider_name == "Google Cloud":  # in any partition, files that one EXPORT DATA cannot have written
        orphans = [refusal for one in latest.values() for refusal in orphan_shards(one, store.uri)]
        yield from _first_of(source, orphans, "warning")


def _export(delivery: Delivery) -> str:
    return export_of(delivery.manifest.key if delivery.manifest else "")


def _newest_first(source: SourceSettings, deliveries: list[Delivery], reading: Reading) -> list[Delivery]:
    """The newest delivery of each partition, those of the newest months first; and by month how many objects there are."""
    latest = {(one.partition, _export(one)): one for one in deliveries}
    if source.facts.fact in ("runs", "inputs"):
        wanted = sorted(latest.values(), key=lambda one: one.published_at, reverse=True)
    else:
        wanted = sorted(latest.values(), key=lambda one: (_month_of(one), one.partition, _export(one)), reverse=True)
        reading.months = sorted({_month_of(one) for one in wanted})
        reading.newest = reading.months[-1]
    for delivery in wanted:
        reading.there[_place(reading, delivery)] += len(delivery.objects)
    return wanted


def _place(reading: Reading, delivery: Delivery) -> str:
    return _month_of(delivery) if reading.months else ""


def _month_of(delivery: Delivery) -> str:
    """The month of a partition; of a file that of its name, else that of its time."""
    if month := calendar_month(delivery.partition):
        return month
    started = facts_of(delivery.objects[0].key).started_at
    at = delivery.published_at if started is None else _EPOCH + timedelta(microseconds=started)
    return f"{at:%Y-%m}"


def _read(
    known: Landing, landing: Landing, deliveries: Sequence[Delivery], reading: Reading, allowed: Iterable[Delivery]
) -> Iterator[Check]:
    """Land those of the deliveries that may be read, as far as there is room for them; what is `known` is not read again."""
    source = reading.source
    reading.bytes_there = sum(info.size for delivery in deliveries for info in delivery.objects)
    bounded = [*_bounded(allowed, reading)]
    lent = dict(known.lend(source, bounded, landing))
    refused: list[ConnectorError | RowRefusal] = []
    remarks = [remark for contents in lent.values() for remark in _remarks(contents, reading)]
    for _, together in batches((source, delivery) for delivery in bounded if delivery.identity not in lent):
        for landed in landing.land_together(source, together):
            refused += [landed.error] if landed.error else landed.refusal.refusals if landed.refusal else []
            remarks += _remarks(landed.contents, reading) if landed.contents else []
    yield from _first_of(source, refused, "problem")
    yield from _first_of(source, remarks, "warning")
    yield _summary(reading)


def _bounded(deliveries: Iterable[Delivery], reading: Reading) -> Iterator[Delivery]:
    """The deliveries with as many of their objects as may be read; samples have no gap, or a run would seem to have none."""
    for delivery in deliveries:
        place, objects = _place(reading, delivery), []
        if reading.source.facts.fact == "telemetry" and reading.lacking[-1] > place:
            return
        for info in delivery.objects:
            if reading.bytes_read + info.size <= reading.limit and reading.read.total() < FILES:
                objects.append(info)
                reading.bytes_read += info.size
                reading.read[place] += 1
        if objects:
            yield replace(delivery, objects=tuple(objects))


def _remarks(contents: Contents, reading: Reading) -> list[RowRefusal]:
    """Note what was landed, and return the remarks on it."""
    reading.rows += contents.rows
    reading.unknown_columns.update(contents.unknown_columns)
    reading.columns.update(name for part in contents.parts for name in part.columns)
    return [one for one in contents.refusals if one.reason != ORPHANS]  # a part of the files was read: `_listed` knows all


def _summary(reading: Reading) -> Check:
    """One line: what is there, and what of it was read."""
    source, newest, there, read = reading.source, reading.newest, reading.there.total(), reading.read.total()
    what = "partition" if is_table(source) else "answer" if is_api(source) else "exporter day" if is_queried(source) else "file"
    unknown = sorted(reading.unknown_columns)
    unread = [month for month in reading.lacking if month and not reading.read[month]]
    in_part = [month for month in reading.lacking if reading.read[month]]
    facts = {
        "kind": str(source.kind),
        "months": reading.months,
        "newest_month": newest or None,
        "months_not_read": unread,
        "months_read_in_part": in_part,
        "objects": there,
        "objects_read": read,
        "bytes": reading.bytes_there,
        "bytes_read": reading.bytes_read,
        "rows_read": reading.rows,
        "unknown_columns": unknown,
    }
    message = f"{source.kind}, "
    message += f"{counted(len(reading.months), 'month')}, the newest is {newest}" if newest else counted(there, "file")
    if not read and is_api(source):
        return Check(source.name, "ok", f"{message}; none was landed yet", "", True, "source", facts)
    if not read:
        message += f"; its {what}s are too large to be read only to look at them"
        return Check(source.name, "warning", message, "`trainledger refresh` reads them.", True, "source", facts)
    message += f"; read {read:,} of {counted(there, what)}"
    if reading.lacking and what == "file":  # how large the partitions of a table are is not listed
        most = f"at most {size(reading.limit)} and {FILES:,} files"
        message += f" ({size(reading.bytes_read)} of {size(reading.bytes_there)}; {most})"
    message += f", {counted(reading.rows, 'row')}"
    message += f", {counted(len(unknown), 'unknown column')} ({some(unknown)})" if unknown else ""
    message += f"; in part: {', '.join(filter(None, in_part))}" if newest and in_part else ""
    message += f"; not read: {', '.join(unread)}" if unread else ""
    return Check(source.name, "ok", message, "", True, "source", facts)
