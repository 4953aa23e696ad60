"""What is new: one listing per source against what the landing already knows. Reads no data object and opens no Parquet.

Runs in every refresh, so it must stay cheap: it imports neither Dagster nor dbt nor DuckDB nor polars nor pyarrow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connectors.deliveries import Delivery, Refusal
from connectors.errors import ConnectorError
from connectors.registry import connector_for
from connectors.stores import ObjectStore, StoreOptions
from connectors.stores.opening import open_store
from dagster_project.generations import RefusalRecord, partition_day, partition_month
from dagster_project.settings import Settings, SourceSettings

if TYPE_CHECKING:
    from dagster_project.landing import Landing


@dataclass(frozen=True)
class Unreadable:
    """A source that could not be listed; what it delivered before stays in force."""

    source: str
    message: str
    remedy: str


@dataclass
class Plan:
    """What a refresh has to do before it builds."""

    new: list[tuple[SourceSettings, Delivery]] = field(default_factory=list)
    refused: list[tuple[SourceSettings, Refusal]] = field(default_factory=list)  # not recorded yet
    withdrawn: list[RefusalRecord] = field(default_factory=list)  # recorded, and no longer at their source
    unreadable: list[Unreadable] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write. Sources that cannot be read do not count: they change nothing."""
        return not (self.new or self.refused or self.withdrawn)


def make_plan(settings: Settings, landing: Landing, only: str | None = None) -> Plan:
    """List the sources, all or one, and keep what the landing does not know."""
    plan = Plan()
    for source in [settings.source(only)] if only else settings.sources:
        try:
            found = list(connector_for(source.kind).find_deliveries(open_source(settings, source)))
        except ConnectorError as error:
            plan.unreadable.append(Unreadable(source.name, error.message, error.remedy))
            continue
        _add_source(plan, landing, source, [item for item in found if _is_wanted(source, item)])
    return plan


def open_source(settings: Settings, source: SourceSettings) -> ObjectStore:
    """The object store of a source."""
    options = StoreOptions(
        role_arn=source.role_arn,
        external_id=source.external_id,
        endpoint_url=source.endpoint_url,
        requester_pays=source.requester_pays,
    )
    return open_store(source.location, base=settings.base, options=options)


def _is_wanted(source: SourceSettings, item: Delivery | Refusal) -> bool:
    month, day = partition_month(item.partition), partition_day(item.partition)
    if day is not None:
        return source.facts.fact != "bill" or source.reads_day(day)
    return month is None or source.reads_month(month)


def _add_source(plan: Plan, landing: Landing, source: SourceSettings, found: list[Delivery | Refusal]) -> None:
    landed = landing.read(source.name)
    known = landing.seen(source.name) | {generation.identity for generation in landed.generations}
    known |= {tombstone.generation.identity for tombstone in landed.tombstones}
    standing = [record for record in landed.refusals if record.withdrawn_at is None]
    # what older code refused is tried again
    known |= {record.identity for record in standing if record.connector_version == landing.connector_version}
    news = [item for item in found if item.identity not in known]
    deliveries = [item for item in news if isinstance(item, Delivery)]
    plan.new += [(source, item) for item in sorted(deliveries, key=lambda item: (item.partition, item.published_at))]
    plan.refused += [(source, item) for item in news if isinstance(item, Refusal)]
    listed = {item.identity for item in found}
    plan.withdrawn += [record for record in standing if record.identity not in listed]
