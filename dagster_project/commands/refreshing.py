"""`trainledger refresh`: lock, plan, and only if there is something to do the Dagster job, in this process.

A refresh that finds nothing new imports neither Dagster nor dbt nor DuckDB and writes nothing. Exit codes: 1 before 3
before 0.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dagster_project.failures import GateError
from dagster_project.locking import writer_lock
from dagster_project.settings import Settings
from dagster_project.warehouse import building
from dagster_project.warehouse.building import Site
from dagster_project.warehouse.line import Line

if TYPE_CHECKING:
    from dagster_project.landing.planning import Plan
    from dagster_project.landing.records import RefusalRecord

Say = Callable[[str], None]


def refresh(settings: Settings, *, only: str | None, full: bool, wait: float, say: Say, is_debug: bool = False) -> int:
    """Land what is new, build, gate, publish. Returns 0, or 3 when a source is unreadable or its newest delivery quarantined."""
    line, site = Line(settings), Site.of_home(settings.home)
    plan = line.plan(only)  # without the lock: a look changes nothing, not even a lock file
    problems = [f"{missing.source}: {missing.message} {missing.remedy}" for missing in plan.unreadable]
    if not full and plan.is_empty and building.is_current(line, site, line.elect()):
        say("Nothing is new and nothing changed: the publication stands.")
    else:
        with writer_lock(settings.home, "trainledger refresh", wait, say):
            _say_plan(plan, say)
            problems += _run_job(settings, only, full, wait, is_debug)
            _say_publication(site, say)
    problems += [_refusal_text(record) for record in line.elect().refusals]
    for problem in dict.fromkeys(problems):
        say(f"Unreadable or quarantined: {problem}")
    return 3 if problems else 0


def _say_plan(plan: Plan, say: Say) -> None:
    counts = Counter(source.name for source, _ in plan.new)
    news = ", ".join(f"{name} {count}" for name, count in counts.items())
    say(f"New deliveries: {news or 'none'}. Landing and building ...")


def _say_publication(site: Site, say: Say) -> None:
    publication = site.publication()
    if publication:
        rows = publication["rows"]
        say(f"Published build {publication['build_id']}: {sum(rows.values())} rows in {len(rows)} tables.")
        if held := rows.get("fct_quarantine"):
            say(f'Held back or kept with a doubt: {held}. Ask `trainledger sql "from fct_quarantine"` what and why.')


def _run_job(settings: Settings, only: str | None, full: bool, wait: float, is_debug: bool) -> list[str]:
    """Run the job `refresh` against the instance the UI shows; returns what could not be landed, in words.

    A refused build is told by its gates and their first failing rows, not by a stack of steps.
    """
    from dagster_project.assets.instance import prepare_instance
    from dagster_project.warehouse.modelling import environment

    site = Site.of_home(settings.home)
    prepare_instance(settings.home)
    os.environ.update(environment(site.build_file, site.target))
    import dagster as dg

    from dagster_project.assets.graph import build_definitions
    from dagster_project.assets.landing import CHECK
    from dagster_project.kinds import built_kinds

    job = build_definitions(settings, wait).resolve_job_def("refresh")
    config: dict[str, object] = {
        "loggers": {"console": {"config": {"log_level": "DEBUG" if is_debug else "CRITICAL"}}},
        "ops": {
            "raw": {"config": {"full": full}},
            **{f"landing__{kind}": {"config": {"only": only or ""}} for kind in built_kinds()},
        },
    }
    try:
        with contextlib.nullcontext() if is_debug else _quiet(), dg.DagsterInstance.get() as instance:
            result = job.execute_in_process(instance=instance, run_config=config)
    except GateError:
        build = building.current(site)
        if build is not None:
            building.require_publishable(site, build)
        raise
    return [
        problem
        for check in result.get_asset_check_evaluations()
        if check.check_name == CHECK and not check.passed
        for problem in check.metadata["problems"].value
    ]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep dbt's log off standard output; Dagster still captures it for the run's page, from the same file descriptor."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _refusal_text(record: RefusalRecord) -> str:
    first = record.refusals[0]
    return f"{record.source} {record.partition}: {first.message} {first.remedy}"
