"""Which sources are late at an instant, and by how much: what a provider promises, against what was landed last.

A pure function of the landing's records, for `status`, for alerts, and in Dagster's words for its freshness policies
(assets/freshness.py). Whether a delivery is good is not asked here: a refused one is a finding of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from dagster_project.base.months import CARBON_EXPECTED_AFTER, month_end
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation
from dagster_project.settings import SourceSettings

Level = Literal["warn", "fail"]


@dataclass(frozen=True, slots=True)
class Lag:
    """How long to wait for the next delivery before it is worth a look, and before it is missing."""

    warn: timedelta
    fail: timedelta
    why: str


# a bill and all that is no bill or carbon: since the newest delivery
BILL = Lag(timedelta(hours=30), timedelta(hours=48), "both providers add to a bill every day")
TRAINING = Lag(
    timedelta(days=35),  # a team that trains once a month is never late
    timedelta(days=100),  # a whole quarter whose energy would rest on time alone
    "it comes when somebody trains, and a month and some days have passed without any",
)
# carbon: since the end of the month it is of
CARBON = {
    "AWS": Lag(timedelta(days=20), CARBON_EXPECTED_AFTER, "AWS publishes a month from the 15th to the 21st of the next"),
    "Google Cloud": Lag(timedelta(days=16), CARBON_EXPECTED_AFTER, "Google publishes a month on the 15th of the next"),
}


@dataclass(frozen=True, slots=True)
class Late:
    """A source whose next delivery should be there."""

    source: str
    level: Level
    missing: str  # the month of carbon that lacks, like 2026-09; '' where any delivery would do
    newest: datetime  # when its provider published what was landed last
    by: timedelta  # how long ago it should have been there
    why: str

    def __str__(self) -> str:
        what = f"{self.missing} of {self.source} is" if self.missing else f"{self.source} is"
        hours = int(self.by.total_seconds() // 3600)
        long = f"{hours // 24} days" if hours >= 48 else f"{hours} hours"
        return (
            f"{what} {long} late: its newest delivery is of {self.newest:%Y-%m-%d %H:%M} UTC, and {self.why}."
            " Look whether the provider still exports to its location."
        )


def lag_of(source: SourceSettings) -> Lag | None:
    """What a source's deliveries may take; None of own figures, which change when somebody edits them."""
    fact, provider = source.facts.fact, source.facts.provider_name or ""
    return {"bill": BILL, "carbon": CARBON.get(provider), "telemetry": TRAINING, "runs": TRAINING}.get(fact)


def lateness(source: SourceSettings, generations: Iterable[Generation], at: datetime) -> Late | None:
    """How late a source is at an instant; None where it is in time, where its `months` are over, or it never delivered."""
    known, lag = list(generations), lag_of(source)
    if not known or not lag:
        return None
    newest, missing = max(generation.published_at for generation in known), ""
    began = newest
    if source.facts.fact == "carbon":
        began = month_end(max(filter(None, (generation.month for generation in known)), default=f"{newest:%Y-%m}"))
        missing = f"{began:%Y-%m}"
        began = month_end(missing)
    if not source.reads_month(missing or f"{at:%Y-%m}"):
        return None
    waited = at - began
    level: Level | None = "fail" if waited >= lag.fail else "warn" if waited >= lag.warn else None
    return Late(source.name, level, missing, newest, waited - lag.warn, lag.why) if level else None


def late_sources(sources: Iterable[SourceSettings], landing: Landing, at: datetime) -> list[Late]:
    """The sources that are late at an instant, by what was landed; no source is asked."""
    found = (lateness(source, landing.read(source.name).generations, at) for source in sources)
    return [late for late in found if late]
