"""`trainledger status`: sources by months from the landing; of the publication, which telemetry met a run, which SKUs nobody
knows and what runs out soon.

Reads no source, opens no Parquet, changes nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from connectors.layouts.accounting import Counts
from dagster_project.alerts.state import unsent
from dagster_project.base.months import (
    CARBON_EXPECTED_AFTER,
    bill_closed_from,
    carbon_final_from,
    month_end,
    months_back,
    months_between,
)
from dagster_project.commands.last_publication import (
    TelemetryMet,
    UnknownSku,
    contradictions,
    doubted_power,
    expiring_factors,
    telemetry_met,
    unknown_price_skus,
    unknown_tpu_skus,
)
from dagster_project.commands.pruning import bytes_of_history
from dagster_project.election.election import Election, elect
from dagster_project.election.winners import Elected
from dagster_project.landing.deriving.contents import BillMonth, Contents, version_order
from dagster_project.landing.land import Landing
from dagster_project.landing.lateness import Late, late_sources
from dagster_project.landing.listed import Asked
from dagster_project.landing.partial_months import REASON, REMEDY, in_words, partial_months
from dagster_project.landing.records import Generation, RefusalRecord, calendar_month
from dagster_project.landing.sources import is_table
from dagster_project.settings import Settings, SourceSettings
from dagster_project.warehouse.building import is_shared
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.upkeep import Holdings, holdings_of

EXPECTED = "expected to be missing: no refresh fails for it, and the next one states whether it is in again."


@dataclass(frozen=True)
class SourceMonth:
    """One cell of the table. A quarantined month keeps its last good generation; that is what the other fields show.

    Where several deliveries hold the month (days of a bill, files of telemetry), hash and version are the newest one's.
    """

    month: str
    state: str  # final, preliminary, not_published, missing, quarantined; landed where nobody promises more
    landed: int
    rows: int | None = None
    published_at: datetime | None = None
    landed_at: datetime | None = None
    content_hash: str | None = None
    model_version: str | None = None
    is_book: bool | None = None
    form: str | None = None  # of carbon, how fine it is: an export, a report of the console, an answer of the API


@dataclass(frozen=True)
class SourceStatus:
    """One source."""

    name: str
    kind: str
    location: str
    landed: int
    bytes: int
    elected: int
    months: list[SourceMonth]
    quarantined: list[dict[str, Any]]
    unknown_columns: list[str]
    objects: Counts | None = None  # what became of them at the last look
    asked: Asked | None = None  # the last look at a table


@dataclass(frozen=True)
class Status:
    """All sources at one instant."""

    at: datetime
    sources: list[SourceStatus]
    telemetry: TelemetryMet | None = None  # of the last publication
    warnings: list[str] = field(default_factory=list)  # what is missing, or will be soon, unless somebody acts
    unknown_tpu_skus: list[UnknownSku] = field(default_factory=list)  # of the last publication
    late: list[Late] = field(default_factory=list)
    home: Holdings | None = None  # in bytes
    contradictions: dict[str, int] = field(default_factory=dict)  # field -> rows of fct_run_conflicts of the last publication


def read_status(settings: Settings) -> Status:
    """Read the landing's records and lay them out by source and month."""
    home = Home.of(settings)
    election = elect(home.sources, home.landing, contents_of=home.landing.contents_to_show)
    sources = [_source_status(source, home.landing, election) for source in home.sources]
    published = home.site.published_file
    expected = [f"{name} is {EXPECTED}" for name in settings.expected_missing]
    doubts = [
        *_partial(home.sources, election),
        *_pro_forma(home.sources, election),
        *_undivided(election),
        *doubted_power(published),
        *unknown_price_skus(published),
        *expiring_factors(published, election.at),
    ]
    warnings = [*expected, *doubts, *_not_shared(home), *unsent(home.root)]
    history = bytes_of_history(home, warnings.append)
    awaited = [source for source in home.sources if source.name not in settings.expected_missing]
    late = late_sources(awaited, home.landing, election.at)
    skus = unknown_tpu_skus(published)
    held, differing = holdings_of(home, history), contradictions(published)
    return Status(election.at, sources, telemetry_met(published), warnings, skus, late, held, differing)


def _partial(sources: list[SourceSettings], election: Election) -> Iterator[str]:
    for source in sources:
        elected = [one.generation for one in election.members if one.generation.source == source.name]
        months = partial_months(source, {one.partition: one.published_at for one in elected}, election.at)
        if months:
            yield f"{source.name} is half exported ({REASON}): {in_words(months)}. {REMEDY}"


def _pro_forma(sources: list[SourceSettings], election: Election) -> Iterator[str]:
    """AWS numbers an invoice within days: a bill without any number two months after its end is probably pro forma."""
    last = months_back(f"{election.at:%Y-%m}", 3)[0]
    for source in sources:
        bills = [one for one in election.of_fact("bill") if one.generation.source == source.name]
        is_bare: dict[tuple[str, str], bool] = {}
        for total in (total for bill in bills for total in bill.totals):
            place = (total.payer_account_id, total.usage_month)
            is_bare[place] = is_bare.get(place, True) and 0 < total.uninvoiced_lines == total.line_count
        months = sorted({month for (_, month), bare in is_bare.items() if bare and month <= last})
        if months and source.book is not True:
            yield (
                f"{source.name} is probably pro forma: no row of a payer has an invoice number in {', '.join(months)}. Set "
                "`is_pro_forma: true` where this bill is never paid, `book: true` where it is the one that is paid"
            )


def _undivided(election: Election) -> Iterator[str]:
    """Carbon of a quarter or a year that counts in none of its months, though nothing finer does: a month has no bill."""
    billed = {place for bill in election.of_fact("bill") for place in bill.book}
    counted = {place for carbon in election.of_fact("carbon") for place in carbon.book}
    found: dict[tuple[str, str, str], set[str]] = {}
    for one in election.of_fact("carbon"):
        if (period := one.generation.period) and not one.book and one.source.book is not False:
            places = [(payer, month) for payer in one.payers for month in months_between(*period)]
            missing = {month for payer, month in places if (payer, month) not in billed}
            if missing and counted.isdisjoint(places):
                found.setdefault((one.source.name, *period), set()).update(missing)
    for (source, first, last), missing in sorted(found.items()):
        yield (
            f"{source}: the emissions of {first}..{last} count in no month, since {', '.join(sorted(missing))} has no bill that "
            "would divide them. Land the bill, or the carbon report by month"
        )


def _not_shared(home: Home) -> Iterator[str]:
    """Where `publish_to` has an older publication than this home, or none."""
    if not is_shared(home):
        yield (
            f"publish_to: {home.settings.publish_to} does not have the last publication. `trainledger refresh` brings it there, "
            "or names what the bucket refuses."
        )


def _source_status(source: SourceSettings, landing: Landing, election: Election) -> SourceStatus:
    generations = landing.read(source.name).generations
    members = [member for member in election.members if member.generation.source == source.name]
    refused = [record for record in election.refusals if record.source == source.name]
    landed = Counter(month for one in generations for month in _months_of(source, one, landing.contents_to_show(source, one)))
    months = _months(source, election, members, refused, landed) if source.facts.fact in ("bill", "carbon", "telemetry") else []
    return SourceStatus(
        name=source.name,
        kind=str(source.kind),
        location=source.location,
        landed=len(generations),
        bytes=sum(item.size for generation in generations for item in generation.objects),
        elected=len(members),
        months=months,
        quarantined=_quarantined(members, refused),
        unknown_columns=sorted({name for member in members for name in member.contents.unknown_columns}),
        objects=landing.listed.counts(source.name),
        asked=landing.listed.asked(source.name) if is_table(source) else None,
    )


def _months_of(source: SourceSettings, generation: Generation, contents: Contents) -> list[str]:
    """The months a delivery is shown under: that of its partition, else those of its rows."""
    if source.facts.fact == "telemetry":
        return contents.controls.sample_months
    if generation.month:
        return [generation.month]
    return sorted({total.usage_month for total in contents.controls.months if source.reads_month(total.usage_month)})


def _months(
    source: SourceSettings, election: Election, members: list[Elected], refused: list[RefusalRecord], landed: Counter[str]
) -> list[SourceMonth]:
    quarantined = {month for record in refused if (month := calendar_month(record.partition))}
    found: dict[str, list[Elected]] = {}
    books: set[str] = {month for member in members for _, month in member.book}
    for member in members:
        for month in _months_of(source, member.generation, member.contents):
            found.setdefault(month, []).append(member)
    if source.facts.fact == "telemetry":  # it is unknown when a run should have been seen
        return [_source_month(month, "landed", found[month], landed[month], None) for month in sorted(found)]
    known = sorted(found.keys() | quarantined)
    months = months_between(known[0], f"{election.at:%Y-%m}") if known else []
    shown = {month: found.get(month, []) for month in months if source.reads_month(month) or month in found}
    states = {month: _state(source, month, elected, election.at) for month, elected in shown.items()}
    states |= dict.fromkeys(quarantined & shown.keys(), "quarantined")
    return [_source_month(month, states[month], elected, landed[month], month in books) for month, elected in shown.items()]


def _best(members: list[Elected]) -> Elected | None:
    """The one of the month alone, not of a quarter or a year; with the highest model version; among equals the newest."""

    def place(member: Elected) -> tuple[Any, ...]:
        is_fine = member.generation.period is None
        return is_fine, version_order(member.contents.controls.model_version or ""), *member.generation.order

    return max(members, key=place, default=None)


def _totals(members: list[Elected], month: str) -> list[BillMonth]:
    return [total for one in members for total in one.contents.controls.months if total.usage_month == month]


def _source_month(month: str, state: str, members: list[Elected], landed: int, is_book: bool | None) -> SourceMonth:
    best = _best(members)
    if best is None:
        return SourceMonth(month, state, landed)
    of_month = [total.line_count for total in _totals(members, month)]
    summed = sum(of_month) if of_month else sum(one.contents.rows for one in members)
    return SourceMonth(
        month=month,
        state=state,
        landed=landed,
        rows=best.contents.rows if best.generation.month else summed,
        published_at=best.generation.published_at,
        landed_at=best.generation.landed_at,
        content_hash=best.generation.content_hash,
        model_version=best.contents.controls.model_version,
        is_book=is_book,
        form=_form_of(best.generation) if best.fact == "carbon" else None,
    )


def _form_of(one: Generation) -> str:
    """2026-04@v3.0.0 of an export, 2026-04@v3.0.0~<account> of a report, 2026-04@api~<account> of an answer; and its months."""
    form = "answer" if "@api~" in one.partition else "report" if "~" in one.partition else "export"
    return f"{form} of {'..'.join(one.period)}" if one.period else form


def _state(source: SourceSettings, month: str, members: list[Elected], at: datetime) -> str:
    is_bill, best = source.facts.fact == "bill", _best(members)
    if best is None:
        expected = month_end(month) if is_bill else month_end(month) + CARBON_EXPECTED_AFTER
        return "missing" if at >= expected else "not_published"
    if is_bill:
        totals = _totals(members, month)
        if any(total.uninvoiced_lines for total in totals):
            return "preliminary"  # as its costs are
        invoiced = max((total.invoice_month or month for total in totals), default=month)
        closes = bill_closed_from(month, invoiced)
    else:
        closes = carbon_final_from(source.facts.provider_name or "", month, best.generation.published_at)
    return "final" if at >= closes else "preliminary"


def _quarantined(members: list[Elected], refused: list[RefusalRecord]) -> list[dict[str, Any]]:
    deliveries = [(record.partition, refusal) for record in refused for refusal in record.refusals]
    records = [(member.generation.partition, refusal) for member in members for refusal in member.contents.refusals]
    return [{"partition": partition} | msgspec.structs.asdict(refusal) for partition, refusal in [*deliveries, *records]]


def json_text(status: Status) -> str:
    """The status for programs; times are ISO 8601 in UTC."""
    return msgspec.json.format(msgspec.json.encode(status), indent=2).decode()
