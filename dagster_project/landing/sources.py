"""The object store of a configured source, and which days of a table or of a server of metrics a look asks for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from pathlib import Path

from connectors.registry import connector_for
from connectors.stores import Budget, ObjectStore, Question, StoreOptions
from connectors.stores.opening import API, open_store
from dagster_project.base import clock
from dagster_project.base.months import BILL_CLOSES_AFTER, CARBON_EXPECTED_AFTER, first_day, month_end, months_back
from dagster_project.landing.records import partition_day, partition_month
from dagster_project.settings import SourceSettings

PROMETHEUS = ("prom", "prom+http", "prom+google", "prom+aws")
KEPT_DAYS = 14  # Prometheus keeps 15 days unless it is told otherwise, CloudWatch 15 of a minute's points
YEAR = 12  # months that an API is asked for, unless `months` says otherwise: Cost Explorer has thirteen
ARRIVAL = timedelta(hours=1)  # until what was observed on a day can be asked for


def is_table(source: SourceSettings) -> bool:
    """Whether a source is read from a table of BigQuery."""
    return source.location.startswith("bq://")


def is_priced(source: SourceSettings) -> bool:
    """Whether what is read of a source is billed by the byte: a table, and files that an engine reads where they lie."""
    return is_table(source) or source.engine is not None


def is_prometheus(source: SourceSettings) -> bool:
    """Whether a source is asked of a server of metrics."""
    return source.location.partition("://")[0] in PROMETHEUS


def is_api(source: SourceSettings) -> bool:
    """Whether a source is asked of its provider's own API."""
    return source.location == API


def labels_of(run_tag_keys: Iterable[str]) -> list[str]:
    """Every label of Google's that carries a run, as configured, in lower case and with hyphens, of a machine or of a pod."""
    spelled = [name for key in run_tag_keys for name in (key, key.lower(), key.lower().replace("_", "-"))]
    return sorted({*spelled, *(f"k8s-label/{name}" for name in spelled)})


def is_queried(source: SourceSettings) -> bool:
    """Whether each look at a source is a query, which is made once a day; a folder or bucket is only listed."""
    is_of_spark = source.location.startswith("iceberg://")  # which is started for a look
    return is_table(source) or is_prometheus(source) or is_api(source) or is_of_spark


@dataclass(frozen=True, slots=True)
class Span:
    """The days whose partitions a look asks for: from `first` to before `end`. A folder is always looked at whole."""

    first: date | None = None
    end: date | None = None
    asked_at: datetime | None = None  # of an API: since when the months in it are asked again

    def covers(self, partition: str) -> bool:
        """Whether a look at these days lists a partition if it is there."""
        month, day = partition_month(partition), partition_day(partition)
        day = day or (first_day(month) if month else None)
        if day is None:
            return True
        first = self.first.replace(day=1) if self.first and month else self.first
        return not (first and day < first) and not (self.end and day >= self.end)


def span_of(source: SourceSettings, *, is_loaded: bool, month: str | None = None) -> Span:
    """The days to ask a table for: those of `months`, and of these the look-back once the whole was loaded; or one month.

    A backfill of carbon may rewrite any month, and its table is small: a look-back holds there only where the source says one.
    Of a server of metrics the days that are over, as far as such servers keep them.
    """
    if is_prometheus(source):
        return _days_over(source)
    if is_api(source):
        return _months_over(source, month)
    if not is_table(source):
        return Span()
    if month:
        return Span(first_day(month), month_end(month).date())
    # carbon is rewritten, whatever its age; bills and price lists grow by the day
    bounds, end, is_bill, is_appended = [], None, source.facts.fact == "bill", source.facts.fact != "carbon"
    if wanted := _first_wanted(source):
        bounds.append(wanted)
    if source.months and not is_bill:
        start, dots, last = source.months.partition("..")
        if last or not dots:
            end = month_end(last or start).date()
    if is_loaded and (is_appended or "look_back_days" in source.model_fields_set):
        bounds.append(clock.now().date() - timedelta(days=source.look_back_days))
    return Span(max(bounds, default=None), end)


def _first_wanted(source: SourceSettings) -> date | None:
    """The first day that can have rows of `months`; use is billed late, not early: `SourceSettings.reads_day`."""
    if not source.months:
        return None
    return first_day(source.months.partition("..")[0]) - timedelta(days=source.facts.fact == "bill")


def _months_over(source: SourceSettings, month: str | None) -> Span:
    """The months of which an API has the last word: closed bills, which are asked for once, and emissions that are published.

    AWS restates those until the middle of the next year, and whole years with a new model: they are asked for again each month,
    on the day on which the last one is there, and so is the water of a year. A month that is landed again is asked for now.
    """
    now, is_restated = clock.now(), source.facts.api != "ce"
    if month:
        return Span(first_day(month), month_end(month).date(), now)
    ready = CARBON_EXPECTED_AFTER if is_restated else BILL_CLOSES_AFTER
    end = (now - ready).date().replace(day=1)
    first = first_day(months_back(f"{end:%Y-%m}", YEAR)[0])
    if source.months:
        start, dots, last = source.months.partition("..")
        first = first_day(start)
        end = min(end, month_end(last or start).date()) if last or not dots else end
    asked_at = month_end(months_back(f"{(now - ready).date():%Y-%m}", 1)[0]) + ready if is_restated else None
    return Span(first, max(first, end), asked_at)


def _days_over(source: SourceSettings) -> Span:
    """The days of the look-back, those of `months` among them, that are over and have come in."""
    end = (clock.now() - ARRIVAL).date()
    first = end - timedelta(days=source.look_back_days if "look_back_days" in source.model_fields_set else KEPT_DAYS)
    if source.months:
        start, dots, last = source.months.partition("..")
        first = max(first, first_day(start))
        end = min(end, month_end(last or start).date()) if last or not dots else end
    return Span(first, max(first, end))


def open_source(
    base: Path,
    source: SourceSettings,
    span: Span | None = None,
    *,
    is_free: bool = False,
    changed_since: datetime | None = None,
    budget: Budget | None = None,
    run_tag_keys: Sequence[str] = (),
) -> ObjectStore:
    """Nothing is read yet; a relative location is meant from `base`. Without a span a table is asked for its look-back.

    With `is_free` a table is asked only for what is not billed; else its queries keep within the budget. `changed_since`: the
    last look at it, since when days before the look-back may have been written. `run_tag_keys` are those of the configuration:
    where a bill is grouped elsewhere, rows with one of them travel as they are.
    """
    span = span or span_of(source, is_loaded=True)
    shared = {field.name for field in fields(StoreOptions)} & SourceSettings.model_fields.keys()  # such as role_arn
    table, groups = None, None
    questions: tuple[Question, ...] = ()
    if is_table(source):
        from connectors.gcp.tables import READINGS, grouped_bill

        table = grouped_bill(labels_of(run_tag_keys)) if source.engine else READINGS.get(source.kind)
    if source.engine and not is_table(source):
        from connectors.aws.grouped_bill import grouped_bill as grouped_files

        groups = grouped_files(source.engine, run_tag_keys)
    if is_prometheus(source):
        questions = getattr(connector_for(source.kind), "QUESTIONS", ())
    options = StoreOptions(
        source=source.name,
        table=table,
        groups=groups,
        questions=questions,
        first_day=span.first,
        end_day=span.end,
        oldest_day=_first_wanted(source),
        changed_since=changed_since,
        budget=budget,
        is_free=is_free,
        api=source.facts.api,
        asked_at=span.asked_at,
        **{name: getattr(source, name) for name in shared},
    )
    return open_store(source.location, base=base, options=options)
