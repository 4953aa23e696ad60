"""What the landing may forget: superseded generations of a month while it was open. Everything else stays.

Month ends, finals, the latest of each partition and whatever an issued report cites stay. What goes leaves a tombstone with
its hashes, so that it is known and an election that needs it fails by name. Nothing goes without being told to.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from dagster_project.base import clock
from dagster_project.base.failures import SourceError
from dagster_project.base.months import BILL_CLOSES_AFTER, carbon_final_from, month_end, months_between
from dagster_project.landing.deriving.contents import PROFILE
from dagster_project.landing.judging.judge import likeness_of
from dagster_project.landing.judging.rules import unlike
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation, Tombstone, calendar_month
from dagster_project.settings import SourceSettings

HASH = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True)
class Removal:
    """One generation that goes, or would go."""

    generation: Generation
    superseded_at: datetime

    @property
    def size(self) -> int:
        """Bytes of its objects."""
        return sum(landed.size for landed in self.generation.objects)


def prune(sources: Iterable[SourceSettings], landing: Landing, issued: Path, *, yes: bool = False) -> list[Removal]:
    """Tell what retention removes; with `yes`, remove it. `issued` is the chain of issued reports. The caller holds the lock."""
    at, cited = clock.now(), cited_hashes(issued)
    removals: list[Removal] = []
    for source in sources:
        if source.facts.fact not in ("bill", "carbon"):
            continue  # run records and inputs are narrow, and each version is evidence
        landed = landing.read(source.name)
        accepted = {acceptance.content_hash for acceptance in landed.acceptances}
        partitions: dict[tuple[str, str], list[Generation]] = {}
        for generation in landed.generations:
            contents = landing.shelf.find_any(generation)
            # one that is refused or held back supersedes none: election goes back to the one before it, which then must stay
            is_held = contents is not None and unlike(contents) and generation.content_hash not in accepted
            if contents is None or (contents.is_taken and not is_held):
                partitions.setdefault((generation.partition, generation.export), []).append(generation)
        found = [removal for _, own in sorted(partitions.items()) for removal in _removable(source, own, at, cited)]
        removals += found
        if yes:
            for leftover in landed.leftovers:  # a removal that was cut short
                landing.remove(leftover)
            for removal in found:
                contents = landing.shelf.find_any(removal.generation)
                likeness = None
                # what 0.8 made of a delivery has no profile
                if contents and contents.is_taken and (landing.shelf.made(removal.generation, contents) / PROFILE).exists():
                    likeness = likeness_of(landing, removal.generation, contents)
                landing.forget(Tombstone(generation=removal.generation, removed_at=at, likeness=likeness))
    return removals


def _removable(source: SourceSettings, generations: list[Generation], at: datetime, cited: set[str]) -> Iterator[Removal]:
    """The generations of one partition that retention removes at an instant."""
    ordered = sorted(generations, key=lambda generation: generation.order)
    kept = _kept(source, ordered, at)
    for generation, successor in pairwise(ordered):
        superseded_at = max(generation.landed_at, successor.landed_at)
        is_old = at - superseded_at >= timedelta(days=source.retention.open_month_days)
        if is_old and generation.order not in kept and generation.content_hash not in cited:
            yield Removal(generation, superseded_at)


def _kept(source: SourceSettings, ordered: list[Generation], at: datetime) -> set[tuple[datetime, str]]:
    """Finals, and what counted at each month end, by what the provider had said and by what we knew."""
    month = calendar_month(ordered[0].partition)
    if month is None:
        return {generation.order for generation in ordered}
    final_from = [_final_from(source, month, generation) for generation in ordered]
    kept = {one.order for one, final in zip(ordered, final_from, strict=True) if one.published_at >= final}
    first = min(generation.published_at for generation in ordered)
    ends = {end for end in map(month_end, months_between(f"{first:%Y-%m}", f"{at:%Y-%m}")) if end <= at}
    for instant in ends.union(final_from):
        published = [one.order for one in ordered if one.published_at <= instant]
        known = [one.order for one in ordered if one.landed_at <= instant]
        kept.update(max(orders) for orders in (published, known) if orders)
    return kept


def _final_from(source: SourceSettings, month: str, generation: Generation) -> datetime:
    if source.facts.fact == "bill":
        return month_end(month) + BILL_CLOSES_AFTER
    return carbon_final_from(source.facts.provider_name or "", month, generation.published_at)


def cited_hashes(path: Path) -> set[str]:
    """Every sha256 that the chain of issued reports names."""
    if not path.exists():
        return set()
    cited: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            raise SourceError(
                f"line {number} of the chain of issued reports is not JSON, so what it cites is unknown and nothing is removed",
                where=str(path),
                remedy="Restore the file; `issued/` beside it holds the line of each report.",
            ) from None
        cited |= set(HASH.findall(json.dumps(entry)))
    return cited
