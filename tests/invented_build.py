"""The steps of a build that never ran, for tests of what the command line shows in Dagster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from dagster_project.assets.command_line import refresh_run
from dagster_project.base.failures import GateError
from dagster_project.election.election import elect
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import Problem, land_all, make_plan
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling, steps
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.nodes import NodeResult

MODEL, TEST = "fct_reconciliation", "assert_every_cell_adds_up"
ROWS = '[{"usage_month": "2026-04-01", "difference": "0.01"}]'
FAILURE = GateError(f"Build b is not published:\n  gate dbt.{TEST}: 2 failing, first: {ROWS}", remedy="Correct the cause.")
UNITS = {"AWS/2026-04": "fingerprint", "~shared": "another"}
BUILD = Build("b", "2026-06-20T00:00:00+00:00", "f", "code", UNITS, ["2026-04-01"], is_full=False)
RAW_SECONDS = 1.5


def steps_of(settings: Settings, failure: GateError | None = None) -> Iterator[steps.Step]:
    """A build of April: one model and its test, and a publication or the reason for none."""
    election = elect(settings.sources, open_landing(settings))
    yield steps.Elected(election)
    yield steps.Started(BUILD)
    yield steps.RawCreated(BUILD, election, RAW_SECONDS)
    ids = {node["name"]: unique_id for unique_id, node in modelling.project(settings.home)["nodes"].items()}
    yield steps.NodeEnded(BUILD, NodeResult(ids[MODEL], MODEL, "model", "success", 0.5, rows=7), 1, 2)
    status, rows = ("fail", ROWS) if failure else ("pass", None)
    yield steps.NodeEnded(BUILD, NodeResult(ids[TEST], TEST, "test", status, 0.1, failures=2, detail=rows), 2, 2)
    if failure:
        raise failure
    yield steps.Allowed(BUILD, 3)
    record = {"build_id": "b", "fingerprint": "f", "units": UNITS, "rows": {MODEL: 7}, "tables": {MODEL: "d" * 64}, "absent": {}}
    yield steps.Published(BUILD, record, 0.25)


def show(settings: Settings, happened: Iterable[steps.Step], problems: Iterable[Problem] = ()) -> list[str]:
    """Land what is new, and show that and the steps of a build as a run; what the person at the terminal reads."""
    printed: list[str] = []
    home = Home.of(settings)
    with refresh_run(home, time.time(), printed.append) as run:
        landed = land_all(home.landing, make_plan(home.sources, settings.base, home.landing))
        election = elect(home.sources, home.landing)
        run.show(steps.look_of(settings, home.sources, landed, list(problems), election))
        for step in happened:
            run.show(step)
    return printed
