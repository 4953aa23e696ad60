"""`trainledger accept`: a person decides that a delivery counts which was held back.

That is one unlike the delivery it would replace, or of another export of the same payer. The decision is a record in the landing
beside the delivery, so that every later build, an earlier view and a copy of the landing elect alike. Nothing is built here.
"""

import getpass
from collections.abc import Callable

from dagster_project.base import clock
from dagster_project.base.failures import UsageError
from dagster_project.base.locking import writer_lock
from dagster_project.election.election import elect
from dagster_project.landing.records import Acceptance, Generation
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home

HELD = ("unlike_its_predecessor", "two_exports")


def accept(
    settings: Settings, source: str, partition: str, export: str | None, by: str | None, wait: float, say: Callable[[str], None]
) -> Acceptance:
    """Record that the newest held delivery of a partition counts. UsageError where none is held, or those of several exports."""
    home = Home.of(settings)
    settings.source(source)
    with writer_lock(home.root, "trainledger accept", wait, say):
        held = _held(home, source)
        found = [one for one in held if one.partition == partition and export in (None, one.export)]
        if len({one.export for one in found}) != 1:
            there = ", ".join(sorted({f"{one.partition} of export '{one.export}'" for one in held})) or "nothing"
            what = f"{source} {partition} names {'no' if not found else 'more than one'} delivery that is held back"
            remedy = f"Held back of this source: {there}. Give its partition, and `--export NAME` where several have it."
            raise UsageError(what, where="trainledger accept", remedy=remedy)
        newest = max(found, key=lambda one: one.order)
        acceptance = Acceptance(
            source=source,
            partition=partition,
            generation=newest.name,
            content_hash=newest.content_hash,
            export=newest.export,
            accepted_at=clock.now(),
            accepted_by=by or getpass.getuser(),
        )
        home.landing.store.put_record(acceptance)
    say(f"Accepted {newest.path} of {newest.published_at:%Y-%m-%d %H:%M} UTC. The next `trainledger refresh` counts it.")
    return acceptance


def _held(home: Home, source: str) -> list[Generation]:
    """The deliveries of a source that do not count until they are accepted."""
    refusals = elect([home.settings.source(source)], home.landing).refusals
    identities = {(one.partition, one.identity) for one in refusals if one.refusals[0].reason in HELD}
    return [one for one in home.landing.read(source).generations if (one.partition, one.identity) in identities]
