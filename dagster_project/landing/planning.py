"""What is new: one listing per source against what the landing already knows. Reads no data object and opens no Parquet.

Runs in every refresh, so it must stay cheap: it imports neither Dagster nor dbt nor DuckDB nor polars nor pyarrow.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import cast

from msgspec import structs

from connectors.deliveries import Delivery, Refusal
from connectors.errors import ConnectorError
from connectors.layouts.accounting import Counts, look
from connectors.registry import connector_for
from connectors.stores import PricedStore
from connectors.stores.google_locations import other_days
from dagster_project.landing.deriving.contents import JUDGED, row_refusal
from dagster_project.landing.fetching import batches
from dagster_project.landing.judging.judge import Candidate, judge
from dagster_project.landing.land import Landed, Landing
from dagster_project.landing.records import RefusalRecord, RowRefusal, calendar_month, partition_day, partition_month
from dagster_project.landing.sources import Span, is_priced, is_queried, is_table, open_source, span_of
from dagster_project.landing.store import SourceLanding
from dagster_project.landing.surprises import surprise_of
from dagster_project.settings import SourceSettings


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be read or was not taken, with its remedy; what was delivered before stays in force."""

    source: str
    partition: str  # '' where the whole source could not be listed
    message: str
    remedy: str = ""
    reason: str = ""  # its word on the page of errors

    def __str__(self) -> str:
        return f"{self.source} {self.partition}".rstrip() + f": {self.text}"

    @property
    def text(self) -> str:
        """What is wrong and what to do."""
        return f"{self.message} {self.remedy}".rstrip()

    @property
    def of_source(self) -> str:
        """In words, where the source is known."""
        return f"{self.partition}: {self.text}" if self.partition else self.text


def problem_of(source: str, partition: str, reason: ConnectorError | RowRefusal) -> Problem:
    """A problem for the reason that a connector gave."""
    return Problem(source, partition, reason.message, reason.remedy, reason.reason)


def refusal_problems(records: Iterable[RefusalRecord]) -> list[Problem]:
    """Each delivery that was refused, by the first thing that is wrong with it."""
    return [problem_of(record.source, record.partition, record.refusals[0]) for record in records]


@dataclass
class Plan:
    """What a refresh has to do before it builds."""

    new: list[tuple[SourceSettings, Delivery]] = field(default_factory=list)
    refused: list[tuple[SourceSettings, Refusal]] = field(default_factory=list)  # not recorded yet
    withdrawn: list[RefusalRecord] = field(default_factory=list)  # recorded, and no longer at their source
    unreadable: list[Problem] = field(default_factory=list)
    counts: dict[str, Counts] = field(default_factory=dict)  # of the objects of each source, where they are news
    landed: dict[str, SourceLanding] = field(default_factory=dict)  # the records it was made by; what lands later is not there
    whole: list[SourceSettings] = field(default_factory=list)  # tables that were asked for all their days
    asked: dict[str, tuple[Span, bool]] = field(default_factory=dict)  # tables: for which days, and whether for all that changed
    is_recounted: bool = False  # counts that were known changed; lost ones are no reason to write

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write. Sources that cannot be read do not count: they change nothing."""
        return not (self.new or self.refused or self.withdrawn or self.is_recounted)


def make_plan(
    sources: Iterable[SourceSettings], base: Path, landing: Landing, *, month: str | None = None, full: bool = False
) -> Plan:
    """List the sources and keep what the landing does not know. Relative locations are meant from `base`.

    With `month` ('2026-04') that month is landed again: its deliveries are planned whether known or not, and no others. With
    `full` a table is asked for all its days.
    """
    plan = Plan()
    for source in sources:
        try:
            connector = connector_for(source.kind)
            layouts = getattr(connector, "LAYOUTS", ())  # only exports that have manifests
            is_whole = not month and (full or landing.listed.is_due_whole(source))
            span = span_of(source, is_loaded=not is_whole, month=month)
            before = landing.listed.asked(source.name) if is_table(source) and not month else None
            changed_since, keys = before.at if before else None, landing.run_tag_keys
            store = open_source(base, source, span, changed_since=changed_since, budget=landing.budget, run_tag_keys=keys)
            found, counts = look(source.kind, connector.find_deliveries, layouts, store)
        except BaseException as error:
            plan.unreadable.append(problem_of(source.name, "", surprise_of(error, source.name, None)))
            continue
        landed = landing.read(source.name)
        if clash := _other_days(source, found, landed):
            plan.unreadable.append(problem_of(source.name, "", clash))
            continue
        plan.landed[source.name] = landed
        if not (is_queried(source) and month) and counts != (known := landing.listed.counts(source.name)):
            plan.counts[source.name] = counts
            plan.is_recounted |= known is not None and not is_queried(source)  # it is asked for other days every day
        if is_table(source) and is_whole:
            plan.whole.append(source)
        if is_table(source) and not month:
            plan.asked[source.name] = span, is_whole or cast(PricedStore, store).is_complete
        _add(plan, landing, source, [item for item in found if is_wanted(source, item)], span, month)
    _keep_within_budget(plan, landing)
    return plan


def _keep_within_budget(plan: Plan, landing: Landing) -> None:
    """Price the rows of tables before any is read, and leave to later refreshes what one may not read.

    Tables with little to read come first, so that the first load of one does not keep the day of another waiting.
    """
    wanted: dict[str, list[Delivery]] = {}
    for source, delivery in plan.new:
        if is_priced(source):
            wanted.setdefault(source.name, []).append(delivery)
    sources, left, priced = {source.name: source for source, _ in plan.new}, set[str](), []
    for name, deliveries in wanted.items():
        try:
            store = cast(PricedStore, landing.store_of(sources[name]))
            priced.append((name, store.price([info for one in deliveries for info in one.objects])))
        except BaseException as error:
            plan.unreadable.append(problem_of(name, "", surprise_of(error, name, None)))
            left |= {one.identity for one in deliveries}
    for name, reads in sorted(priced, key=lambda one: sum(read.bytes for read in one[1])):
        for read in reads:
            try:
                landing.budget.take(read.bytes, f"{name}, {len(read.infos)} partitions from {read.infos[0].key} on")
            except ConnectorError as error:
                keys = {info.key for info in read.infos}
                late = [one for one in wanted[name] if keys & {info.key for info in one.objects}]
                plan.unreadable.append(problem_of(name, late[0].partition, error))
                left |= {one.identity for one in late}
    plan.new = [(source, one) for source, one in plan.new if one.identity not in left]


def _other_days(source: SourceSettings, found: list[Delivery | Refusal], landed: SourceLanding) -> ConnectorError | None:
    """Why a Google bill may not go on with what was landed; None where it may."""
    if (source.facts.fact, source.facts.provider_name) != ("bill", "Google Cloud"):
        return None
    listed = {info.key for item in found if isinstance(item, Delivery) for info in item.objects}
    kept = {one.key for generation in landed.generations for one in generation.objects}
    return other_days(source.location, source.name, listed, kept)


def unreadable_problems(plan: Plan, landed: Iterable[Landed]) -> list[Problem]:
    """What could not be listed or read; the next refresh tries again."""
    return [*plan.unreadable, *(problem_of(one.source, one.partition, one.error) for one in landed if one.error)]


def land_all(landing: Landing, plan: Plan, on_landed: Callable[[Landed], None] | None = None) -> list[Landed]:
    """Land a plan: deliveries oldest first, then new refusals, then the withdrawal of refusals whose object is gone.

    Bills and carbon are judged at the end, together.
    """
    landing.recover()
    results = []
    for landed in chain(
        *(landing.land_together(source, deliveries) for source, deliveries in batches(plan.new)),
        (landing.refuse(source, refusal, [row_refusal(refusal)]) for source, refusal in plan.refused),
    ):
        results.append(landed)
        if on_landed:
            on_landed(landed)
    for record in plan.withdrawn:
        landing.withdraw(record)
    for name, counts in plan.counts.items():
        landing.listed.keep_counts(name, counts)
    keep_looks(landing, plan, results)
    return _judged(landing, plan, results)


def keep_looks(landing: Landing, plan: Plan, results: Iterable[Landed] = ()) -> None:
    """Keep for which days tables were asked, of each of which nothing was left behind: the next look asks what changed since."""
    unreadable = {problem.source for problem in unreadable_problems(plan, results)}
    for source in plan.whole:
        if source.name not in unreadable:
            landing.listed.mark_loaded(source)
    for name, (span, is_complete) in plan.asked.items():
        if name not in unreadable:
            landing.listed.keep_asked(name, span.first, is_complete=is_complete)


def _judged(landing: Landing, plan: Plan, results: list[Landed]) -> list[Landed]:
    """The results with the verdicts on what was landed. Of its export, what is behind one that came late is judged again."""
    sources = {source.name: source for source, _ in plan.new}
    candidates: dict[str, Candidate] = {}
    for one in results:
        if one.generation and one.contents and (source := sources[one.source]).facts.fact in JUDGED:
            mine = one.generation
            for generation in landing.read(source.name, mine.partition).generations:
                if generation.export == mine.export and generation.order >= mine.order:
                    contents = structs.replace(landing.contents(source, generation), verdict=None)
                    candidates[generation.path] = Candidate(source, generation, contents)
    judged = judge(landing, candidates.values())
    return [
        replace(one, contents=judged.get(one.generation.path, one.contents)) if one.generation and one.contents else one
        for one in results
    ]


def is_wanted(source: SourceSettings, item: Delivery | Refusal) -> bool:
    """Whether `months` of the configuration lets a partition in."""
    month, day = partition_month(item.partition), partition_day(item.partition)
    if day is not None:
        return source.facts.fact != "bill" or source.reads_day(day)
    return month is None or source.reads_month(month)


def _add(
    plan: Plan, landing: Landing, source: SourceSettings, found: list[Delivery | Refusal], span: Span, month: str | None
) -> None:
    landed = plan.landed[source.name]
    known = landing.listed.same(source.name) | {generation.identity for generation in landed.generations}
    known |= {tombstone.generation.identity for tombstone in landed.tombstones}
    refused = [record for record in landed.refusals if record.withdrawn_at is None and span.covers(record.partition)]
    # what other code refused is tried again
    versions = {record.identity: landing.version_of_refusal(source.kind, record.refusals) for record in refused}
    known |= {record.identity for record in refused if record.connector_version == versions[record.identity]}
    if month:
        known, found = set(), [item for item in found if calendar_month(item.partition) == month]
        refused = [record for record in refused if calendar_month(record.partition) == month]
    listed = {item.identity: item for item in found}
    news = [item for identity, item in listed.items() if identity not in known]
    deliveries = [item for item in news if isinstance(item, Delivery)]
    plan.new += [(source, item) for item in sorted(deliveries, key=lambda item: (item.partition, item.published_at))]
    plan.refused += [(source, item) for item in news if isinstance(item, Refusal)]
    plan.withdrawn += [record for record in refused if record.identity not in listed]
