"""`trainledger refresh`: lock, plan, and only if there is something to do land, build, gate and publish, in this process.

A refresh that finds nothing new imports neither Dagster nor dbt nor DuckDB and writes nothing, unless other sources are missing
than in the last run. Any other is a run of the job `refresh` in Dagster's UI while it goes on. Exit codes: 1 before 3 before 0.
"""

import gc
import json
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from dagster_project.alerts.watched_run import Watched
from dagster_project.alerts.watching import watched
from dagster_project.base.failures import LockHeldError
from dagster_project.base.later import keep_pandas_for_later
from dagster_project.base.locking import forget_dead_writer, writer_lock
from dagster_project.commands.progress import draw
from dagster_project.election.election import Election
from dagster_project.landing.land import Landed, Landing
from dagster_project.landing.planning import Plan, Problem, keep_looks, land_all, make_plan, unreadable_problems
from dagster_project.settings import Settings, SourceSettings
from dagster_project.warehouse import builds, gates, on_spark, steps
from dagster_project.warehouse.building import UP_TO_DATE, Listener, is_shared, no_listener, refresh_steps
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.news import current_election
from dagster_project.warehouse.site import Site

Say = Callable[[str], None]


@dataclass(slots=True)
class Refreshed:
    """What a refresh did: deliveries it looked at, the build if there was one, and what could not be taken."""

    landed: list[Landed] = field(default_factory=list)
    build: builds.Build | None = None
    problems: list[Problem] = field(default_factory=list)  # each once, without sources that are expected to be missing
    expected: list[str] = field(default_factory=list)  # a line for each of those
    absent: dict[str, str] = field(default_factory=dict)  # report tables that the publication goes without, and why
    shared: steps.BroughtToBucket | None = None  # with `publish_to`, where something was to be brought

    @property
    def exit_code(self) -> int:
        """1 when a report table is not published, 3 when a source is unreadable, its newest delivery is quarantined, or the
        publication did not come to the bucket of `publish_to`.

        All else is published.
        """
        is_kept_back = self.shared is not None and self.shared.problem is not None
        return 1 if self.absent else 3 if self.problems or is_kept_back else 0


def json_text(done: Refreshed, home: Path) -> str:
    """One document for programs, of the shape in docs/operations.md: the publication is the one that is there afterwards."""
    published = Site.of_home(home).publication() or {}
    document = {
        "exit_code": done.exit_code,
        "is_published": done.build is not None,
        "build_id": published.get("build_id"),
        "new_deliveries": dict(Counter(landed.source for landed in done.landed if landed.outcome == "landed")),
        "rows": published.get("rows", {}),
        "problems": [str(problem) for problem in done.problems],
        "expected_missing": done.expected,
        "not_published": done.absent,
        "publish_to": done.shared._asdict() if done.shared else None,
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
    home = Home.of(settings)
    gc.disable()  # until Dagster is there: some hundred thousand objects that stay would be looked through again and again
    try:
        with watched(home, "refresh", say) as watch:
            sources = [settings.source(only)] if only else settings.sources
            return _Refresh(home, watch, sources, wait, say, listener, looks_at_all=not only).run(full, months)
    finally:
        gc.enable()


@dataclass(slots=True)
class _Refresh:
    """One refresh. It ends in one of two ways: nothing is new, or a build under the writer's lock."""

    home: Home
    watch: Watched
    sources: list[SourceSettings]
    wait: float
    say: Say
    listener: Listener
    looks_at_all: bool
    started: float = field(default_factory=time.time)
    done: Refreshed = field(default_factory=Refreshed)

    def run(self, full: bool, months: Collection[str]) -> Refreshed:
        home, done, say = self.home, self.done, self.say
        on_spark.require(home.settings.engine)  # before anything is landed for a build that cannot be
        # without the lock: a look changes nothing, not even a lock file
        plan = make_plan(self.sources, home.settings.base, home.landing, full=full)
        is_asked = full or bool(months) or not plan.is_empty or not is_shared(home)
        election = None if is_asked else current_election(home, plan)
        looked = self._build(plan, full, months) if election is None else self._keep(plan, election)
        done.absent = dict((home.site.publication() or {}).get("absent", {}))
        done.problems, done.expected = looked.missing
        if done.shared:
            say(str(done.shared))
        for line in gates.absent_lines(done.absent):
            say(line)
        for problem in done.problems:
            say(f"Unreadable or quarantined: {problem}")
        for line in done.expected:
            say(line)
        return done

    def _keep(self, plan: Plan, election: Election) -> steps.Looked:
        """Nothing is new: what a dead writer left is mended, and Dagster shows a source that is missing, or in again."""
        home = self.home
        forget_dead_writer(home.root)
        keep_looks(home.landing, plan)
        home.keep_modes()
        home.mend_publication()
        self.say(UP_TO_DATE)
        looked = self._look(plan.unreadable, election)
        if self.looks_at_all and not looked.missing.is_noted(home.settings.cache):
            self._show(looked)
        return looked

    def _show(self, looked: steps.Looked) -> None:
        """A run in Dagster's list though nothing is new, as its last run shows otherwise."""
        from dagster_project.assets.command_line import refresh_run

        home, say = self.home, self.say
        try:
            with writer_lock(home.root, "trainledger refresh", self.wait, say), refresh_run(home, self.started, say) as run:
                run.show(looked)
                looked.missing.note(home.settings.cache)
        except LockHeldError as held:
            say(f"The Dagster UI does not show this look. {held}")

    def _build(self, plan: Plan, full: bool, months: Collection[str]) -> steps.Looked:
        """Land what is new, then each step of the line, told to Dagster as it ends."""
        home, done, say = self.home, self.done, self.say
        from dagster_project.assets.command_line import refresh_run  # here: a refresh without news imports no Dagster

        with writer_lock(home.root, "trainledger refresh", self.wait, say):
            home.mend_publication()
            keep_pandas_for_later()
            counts = Counter(source.name for source, _ in plan.new)
            news = ", ".join(f"{name} {count}" for name, count in counts.items())
            say(f"New deliveries: {news or 'none'}. Landing and building ...")
            with refresh_run(home, self.started, say) as run:
                gc.freeze()
                gc.enable()
                unread = _land(home.landing, plan, done, self.listener)
                for step in refresh_steps(home, full=full, months=months):
                    if isinstance(step, steps.Elected):
                        looked = self._look(unread, step.election)
                        run.show(looked)
                    elif isinstance(step, steps.Started):
                        done.build = step.build
                    elif isinstance(step, steps.BroughtToBucket):
                        done.shared = step
                    elif isinstance(step, steps.Bundled):
                        say(str(step))
                    run.show(step)
                    draw(self.listener, step)
            if self.looks_at_all:
                looked.missing.note(home.settings.cache)
        _say_publication(done, home.site, say)
        return looked

    def _look(self, unread: list[Problem], election: Election) -> steps.Looked:
        looked = steps.look_of(self.home.settings, self.sources, self.done.landed, unread, election)
        self.watch.look((source.name for source in self.sources), looked.missing.problems)
        return looked


def _land(landing: Landing, plan: Plan, done: Refreshed, listener: Listener) -> list[Problem]:
    """Land a plan; returns what could not be read."""
    total = len(plan.new) + len(plan.refused)

    def on_landed(landed: Landed) -> None:
        done.landed.append(landed)
        listener("landing", len(done.landed), total, f"{landed.source} {landed.partition}")

    land_all(landing, plan, on_landed)
    return unreadable_problems(plan, done.landed)


def _say_publication(done: Refreshed, site: Site, say: Say) -> None:
    publication = site.publication()
    if publication is None:
        return
    rows = publication["rows"]
    verb = "Published build" if done.build else "Nothing changed; the publication is build"
    say(f"{verb} {publication['build_id']}: {sum(rows.values())} rows in {len(rows)} tables.")
    if held := rows.get("fct_quarantine"):
        say(f'Held back or kept with a doubt: {held}. Ask `trainledger sql "from fct_quarantine"` what and why.')
