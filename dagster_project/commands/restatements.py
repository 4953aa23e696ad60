"""`trainledger restatements`: the reports that are in force, compared with today's publication, recorded and reported."""

import json
from collections.abc import Callable
from decimal import Decimal

from dagster_project.base.failures import UsageError
from dagster_project.base.locking import writer_lock
from dagster_project.evidence import chain
from dagster_project.evidence.restating import restate
from dagster_project.landing.restated import Restated, record
from dagster_project.publishing.reporting import policy_of
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home
from reports.quarter import Quarter
from reports.sections.restatements import CAUSES, decision

Say = Callable[[str], None]


def tell_restatements(
    settings: Settings,
    quarter: str | None,
    wait: float,
    tell: Say,
    say: Say,
    *,
    as_json: bool = False,
    listener: Listener = no_listener,
) -> int:
    """Compare every report that no later one takes the place of, or that of one quarter; record what was found, and tell it.

    Returns the exit code: 1 where a report table is absent, whose figures are not compared.
    """
    home = Home.of(settings)
    reports = home.root / "reports"
    if quarter:
        Quarter.parse(quarter)
    with writer_lock(home.root, "trainledger restatements", wait, say):
        lines = chain.lines_of(reports)
        quarters = [quarter] if quarter else sorted({line["quarter"] for line in lines})
        in_force = [line for name in quarters if (line := chain.last_of(lines, name))]
        if quarter and not in_force:
            raise UsageError(
                f"no report of {quarter} was issued", remedy="Issue one with `trainledger report quarterly --issue`."
            )
        compared = [restate(home, line, say, listener) for line in in_force]
        found = [step for steps, _ in compared for step in steps]
        if found:
            record(home.root, found)
    threshold = policy_of(settings.reporting).restatement_threshold
    if as_json:
        tell(json.dumps([one._asdict() for one in found], indent=2))
    elif not in_force:
        say("No report was issued yet.")
    else:
        for text in _words(found, threshold):
            tell(text)
        say("Recorded; the next `trainledger refresh` publishes it as fct_restatements.")
    absent = {name: why for _, lacking in compared for name, why in lacking.items()}
    for name, why in absent.items():
        say(f"Figures of {name} are not compared, the others are: {why}")
    return int(bool(absent))


def _words(found: list[Restated], threshold: Decimal) -> list[str]:
    """A line per figure that is known otherwise now: was, is, what the policy states, and each cause that moved it."""
    figures: dict[tuple[str, str], dict[str, Restated]] = {}
    for one in found:
        figures.setdefault((one.report_id, one.datapoint_id), {})[one.cause] = one
    lines = []
    for (report_id, figure), steps in figures.items():
        was, now = steps["code"].before, steps["factor_or_seed"].after
        if was == now:
            continue
        moved = [f"{CAUSES[cause]} {step.delta or 'unknown'}" for cause, step in steps.items() if step.before != step.after]
        verdict = decision(None if was is None else Decimal(was), None if now is None else Decimal(now), threshold)
        lines.append(f"{report_id} {figure}: was {was or 'unknown'}, is {now or 'unknown'} ({verdict}): {', '.join(moved)}")
    reports = len({report_id for report_id, _ in figures})
    return [*lines, f"{len(lines)} of {len(figures)} figures of {reports} issued reports are known otherwise now."]
