"""`trainledger run ID`: what one run cost, how that is known, from what, and what would make it better.

The figures are those of the published file, by reports/runs/, as on the ledger's page. Only here is the clock: a run that goes
on has an estimate until now.
"""

import json
from collections.abc import Callable
from pathlib import Path

from dagster_project.base import clock
from dagster_project.base.failures import UsageError
from dagster_project.election.run_ids import normalised_run_id
from reports.publication import Publication, open_publication
from reports.runs.account import accounts, jsonable
from reports.runs.estimate import estimate
from reports.runs.finding import nearest, runs_named
from reports.runs.text import account_text


def show_run(published: Path, name: str, tell: Callable[[str], None], *, as_json: bool) -> None:
    """Print the account of the run that a name means, or raise UsageError with the ids that are most like it."""
    if not published.exists():
        raise UsageError("nothing is published yet", where=str(published), remedy="Run `trainledger refresh` first.")
    with open_publication(published) as publication:
        [account] = accounts(publication, [find_run(publication, name)])
        estimated = estimate(publication, account, clock.now())
        if as_json:
            tell(json.dumps(jsonable({**account, "estimate": estimated}), indent=1, ensure_ascii=False))
        else:
            tell(account_text(account, estimated))


def find_run(publication: Publication, name: str) -> str:
    """The id of the one run that a name means."""
    found = runs_named(publication, name, normalised_run_id(name))
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name} is a name of {len(found)} runs: {', '.join(found[:5])}", remedy="Give the id of one of them.")
    near = nearest(publication, name)
    remedy = f"The nearest ids: {', '.join(near)}." if near else "The ledger has no run yet."
    raise UsageError(f"no run is named {name}", remedy=remedy)
