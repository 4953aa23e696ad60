"""`trainledger refresh`: lock, plan, and only if there is something to do land, build, gate and publish, in this process.

A refresh that finds nothing new imports neither Dagster nor dbt nor DuckDB and writes nothing. What a refresh did is told to
the Dagster instance of the home at its end, in one go, so that the UI shows it. Exit codes: 1 before 3 before 0.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from dagster_project import modes
from dagster_project.election.election import Election, elect
from dagster_project.election.units import fingerprints
from dagster_project.failures import TrainledgerError
from dagster_project.landing.land import Landed, Landing, NotDerivedError
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import Plan, Problem, land_all, make_plan, refusal_problems, unreadable_problems
from dagster_project.locking import forget_dead_writer, writer_lock
from dagster_project.settings import Settings
from dagster_project.warehouse import builds, on_spark
from dagster_project.warehouse.building import Built, Listener, build_all, no_listener
from dagster_project.warehouse.site import Site

Say = Callable[[str], None]


@dataclass(slots=True)
class Refreshed:
    """What a refresh did: deliveries it looked at, the build if there was one, and what could not be taken."""

    landed: list[Landed] = field(default_factory=list)
    built: Built | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """3 when a source is unreadable or its newest delivery is quarantined; the others are published."""
        return 3 if self.problems else 0


def json_text(done: Refreshed, home: Path) -> str:
    """One document for programs, of the shape in docs/operations.md: the publication is the one that is there afterwards."""
    published = Site.of_home(home).publication() or {}
    document = {
        "exit_code": done.exit_code,
        "is_published": done.built is not None,
        "build_id": published.get("build_id"),
        "new_deliveries": dict(Counter(landed.source for landed in done.landed if landed.outcome == "landed")),
        "rows": published.get("rows", {}),
        "problems": [str(problem) for problem in done.problems],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def refresh(
    settings: Settings,
    *,
    only: str | None = None,
    full: bool = False,
    months: Collection[str] = (),
    wait: float = 0,
    say: Say,
    listener: Listener = no_listener,
) -> Refreshed:
    """Land what is new, build, gate, publish. `months` are built again whether they changed or not.

    Raises GateError when the build is not published; everything that was landed stays landed.
    """
    on_spark.require(settings.engine)  # before anything is landed for a build that cannot be
    landing, site = open_landing(settings), Site.of_home(settings.home, settings.memory_limit)
    sources = [settings.source(only)] if only else settings.sources
    plan = make_plan(sources, settings.base, landing, full=full)  # without the lock: a look changes nothing, not even a lock file
    done = Refreshed(problems=plan.unreadable)
    election = None if full or months or not plan.is_empty else _current_election(settings, landing, site, plan)
    if election is not None:
        _put_right(settings)
        say("Nothing is new and nothing changed: the publication is up to date.")
    else:
        with writer_lock(settings.home, "trainledger refresh", wait, say):
            counts = Counter(source.name for source, _ in plan.new)
            news = ", ".join(f"{name} {count}" for name, count in counts.items())
            say(f"New deliveries: {news or 'none'}. Landing and building ...")
            election = _land_and_build(settings, landing, site, plan, done, full, months, listener, say)
        _say_publication(done, site, say)
    done.problems = list(dict.fromkeys([*done.problems, *refusal_problems(election.refusals)]))
    for problem in done.problems:
        say(f"Unreadable or quarantined: {problem}")
    return done


def _put_right(settings: Settings) -> None:
    """The side file of a killed writer, and the modes of the home."""
    forget_dead_writer(settings.home)
    modes.keep(settings.home, settings.landing, settings.publish_mode)


def _current_election(settings: Settings, landing: Landing, site: Site, plan: Plan) -> Election | None:
    """The election that the publication is of, or None when there is something to build."""
    try:
        election = elect(settings.sources, landing, contents_of=landing.contents_on_shelf, landed=plan.landed)
    except NotDerivedError:
        return None
    return election if builds.is_current(site, fingerprints(settings.rules, election)) else None


def _land_and_build(
    settings: Settings,
    landing: Landing,
    site: Site,
    plan: Plan,
    done: Refreshed,
    full: bool,
    months: Collection[str],
    listener: Listener,
    say: Say,
) -> Election:
    from dagster_project.assets.story import tell_refresh  # here: a refresh without news imports no Dagster

    total = len(plan.new) + len(plan.refused)

    def on_landed(landed: Landed) -> None:
        done.landed.append(landed)
        listener("landing", len(done.landed), total, f"{landed.source} {landed.partition}")

    land_all(landing, plan, on_landed)
    done.problems = unreadable_problems(plan, done.landed)
    election = elect(settings.sources, landing)
    units = fingerprints(settings.rules, election)
    failure: TrainledgerError | None = None
    if full or months or not builds.is_current(site, units):
        build = builds.start(site, units, full=full, also=months, engine=settings.engine)
        try:
            done.built = build_all(site, build, settings, landing, election, listener)
            failure = done.built.failure
        except TrainledgerError as error:  # dbt did not work: the UI shows that too
            failure = error
    tell_refresh(settings, landing, election, done.landed, done.problems, done.built, failure, say)
    if failure:
        raise failure
    return election


def _say_publication(done: Refreshed, site: Site, say: Say) -> None:
    publication = site.publication()
    if publication is None:
        return
    rows = publication["rows"]
    verb = "Published build" if done.built else "Nothing changed; the publication is build"
    say(f"{verb} {publication['build_id']}: {sum(rows.values())} rows in {len(rows)} tables.")
    if held := rows.get("fct_quarantine"):
        say(f'Held back or kept with a doubt: {held}. Ask `trainledger sql "from fct_quarantine"` what and why.')
