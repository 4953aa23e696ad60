"""Results of a build that never ran, for tests of what the command line tells Dagster."""

from __future__ import annotations

from dagster_project.assets.story import tell_refresh
from dagster_project.election.election import elect
from dagster_project.failures import GateError
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import Problem, land_all, make_plan
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.building import Built
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.gates import GateResult
from dagster_project.warehouse.nodes import NodeResult

MODEL, TEST = "fct_reconciliation", "assert_every_cell_adds_up"
ROWS = '[{"usage_month": "2026-04-01", "difference": "0.01"}]'
FAILURE = GateError(f"Build b is not published:\n  gate dbt.{TEST}: 2 failing, first: {ROWS}", remedy="Correct the cause.")


def build_of(settings: Settings, failure: GateError | None = None) -> Built:
    """The results of a build of April: one model and its test, one expectation, and a publication or the reason for none."""
    nodes = modelling.project(settings.home)["nodes"]
    ids = {node["name"]: unique_id for unique_id, node in nodes.items()}
    units = {"AWS/2026-04": "fingerprint", "~shared": "another"}
    published = {"build_id": "b", "fingerprint": "f", "units": units, "rows": {MODEL: 7}, "tables": {MODEL: "d" * 64}}
    test = NodeResult(ids[TEST], TEST, "test", "fail" if failure else "pass", 0.1, failures=2, detail=ROWS if failure else None)
    return Built(
        Build("b", "2026-06-20T00:00:00+00:00", "f", "code", units, ["2026-04-01"], is_full=False),
        [NodeResult(ids[MODEL], MODEL, "model", "success", 0.5, rows=7), test],
        [GateResult("gx.publication.no_cost_is_null", True, 0)],
        None if failure else published,
        failure,
    )


def tell(settings: Settings, built: Built | None, problems: list[Problem] | None = None) -> list[str]:
    """Land what is new, and tell of it and of a build; what was said to the person."""
    said: list[str] = []
    landing = open_landing(settings)
    landed = land_all(landing, make_plan(settings.sources, settings.base, landing))
    election = elect(settings.sources, landing)
    tell_refresh(settings, landing, election, landed, problems or [], built, built and built.failure, said.append)
    return said
