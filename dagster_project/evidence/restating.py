"""`trainledger restatements`: figures of issued reports against what is known of them today, by cause.

The causes are substituted one after the other:

    as issued --code--> bill --> run_record --> late_log --> provider_model_version --> factor_or_seed --> as published today

Only the installed code can run, so its step is the first: the issued deliveries and seeds with today's code. Then the deliveries
of each kind of source become today's, last seeds and the organisation's own figures; that is what is published today. Each step
begins where the one before ended, so the steps add up (ADR 0047).

A step is built only where it can differ: months that are made of the same inputs as in a state that is known have its figures.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from dagster_project.base import durable
from dagster_project.base.failures import GateError, UsageError
from dagster_project.base.locking import writer_lock
from dagster_project.election.election import Election, elect
from dagster_project.election.units import SHARED, fingerprints
from dagster_project.election.winners import View
from dagster_project.evidence import chain
from dagster_project.evidence.issuing import current_publication
from dagster_project.evidence.layout import ISSUE
from dagster_project.evidence.manifest import manifest_differences, read_json
from dagster_project.evidence.pack import named_in
from dagster_project.evidence.rebuilding import build_tables, other_seeds, view_of
from dagster_project.landing.restated import Restated, record
from dagster_project.publishing.reporting import policy_of
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from reports.code import code_digest
from reports.publication import Publication, open_folder, open_publication
from reports.quarter import Quarter
from reports.sections.restatements import CAUSES, decision

Values = dict[str, Decimal | None]  # of each figure
Say = Callable[[str], None]
STEPS = {"bill": "bill", "run_record": "runs", "late_log": "telemetry", "provider_model_version": "carbon"}  # cause -> fact
LAST = "factor_or_seed"
HEADLINES, DATAPOINTS = "rpt_quarterly_figures", "rpt_quarterly_disclosure"
ID_AND_VALUE = {  # as report.json names figures: in several currencies each names its own
    HEADLINES: """select 'glance/' || figure_id || case
        when count(*) over (partition by figure_id) > 1 then ',' || split_part(unit, '/', 1) else '' end as id, value
    from marts.rpt_quarterly_figures where quarter = '{}' order by figure_id, unit""",
    DATAPOINTS: """select 'datapoints/' || framework || ',' || datapoint_id || '/value' as id, value
    from marts.rpt_quarterly_disclosure where quarter = '{}' order by framework, datapoint_id""",
}


def values_of(publication: Publication, quarter: Quarter, absent: Collection[str] = ()) -> Values:
    """The headline figures and disclosure datapoints of a quarter, without `absent` tables, by the ids of report.json."""
    values: Values = {}
    for table, sql in ID_AND_VALUE.items():
        rows = [] if table in absent else publication.rows_if_there(sql.format(quarter.name))
        values |= {f"{quarter.name}/{row['id']}": row["value"] for row in rows}
    return values


def table_of(figure: str) -> str:
    """The report table that a figure is of."""
    return DATAPOINTS if "/datapoints/" in figure else HEADLINES


def tell_restatements(
    settings: Settings, quarter: str | None, wait: float, tell: Say, say: Say, listener: Listener, *, as_json: bool
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
            remedy = "Issue one with `trainledger report quarterly --issue`."
            raise UsageError(f"no report of {quarter} was issued", remedy=remedy)
        compared = [_restate(home, line, say, listener) for line in in_force]
        found = [step for steps, _ in compared for step in steps]
        if found:
            record(home.root, found)
    if as_json:
        tell(json.dumps([one._asdict() for one in found], indent=2))
    elif not in_force:
        say("No report was issued yet.")
    else:
        for text in _words(found, policy_of(settings.reporting).restatement_threshold):
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
        was, now = steps["code"].before, steps[LAST].after
        if was == now:
            continue
        moved = [f"{CAUSES[cause]} {step.delta or 'unknown'}" for cause, step in steps.items() if step.before != step.after]
        verdict = decision(None if was is None else Decimal(was), None if now is None else Decimal(now), threshold)
        lines.append(f"{report_id} {figure}: was {was or 'unknown'}, is {now or 'unknown'} ({verdict}): {', '.join(moved)}")
    reports = len({report_id for report_id, _ in figures})
    return [*lines, f"{len(lines)} of {len(figures)} figures of {reports} issued reports are known otherwise now."]


def _restate(home: Home, line: chain.Line, say: Say, listener: Listener) -> tuple[list[Restated], dict[str, str]]:
    """The steps of every figure of one issued report, and the tables that are absent somewhere, each with why.

    Of an absent table no figure is compared. The caller holds the writer lock of the home.
    """
    pack = home.root / "reports" / chain.FOLDER / line["report_id"]
    if differences := list(manifest_differences(pack)):
        raise GateError(f"{line['report_id']} is not as it was issued: {differences[0]}", where=str(pack))
    issued, quarter = read_json(pack / ISSUE), Quarter.parse(line["quarter"])
    publication = current_publication(home.site)
    with open_publication(home.site.published_file) as opened:
        today, named_today = values_of(opened, quarter), named_in(opened)
        started = opened.rows("select started_at from ops.builds")[0]["started_at"]
    with open_folder(pack / "data") as opened:
        named, of_pack = named_in(opened), values_of(opened, quarter)
    changed = other_seeds(pack / "data" / "seeds", home.root)
    root = home.root / "asof" / f"restated-{line['report_id']}"
    shutil.rmtree(root, ignore_errors=True)  # what a killed command left
    between = home.at(Site(root, root / "dbt", home.site.memory_limit))
    steps = _Steps(between, quarter, changed, say, listener, absent=dict(publication.get("absent", {})))
    steps.known[steps.months_of(issued["build"]["units"])] = of_pack
    if not changed:
        steps.known[steps.months_of(publication["units"])] = today
    at = started.replace(tzinfo=UTC)
    facts = {source.name: source.facts.fact for source in home.sources}
    try:
        states = {"code": steps.values(view_of(issued, named))}
        for cause, fact in STEPS.items():
            kept = [name for name in named if facts.get(name[0]) != fact]
            named = frozenset([*kept, *(name for name in named_today if facts.get(name[0]) == fact)])
            states[cause] = steps.values(View(as_of=at, named=named))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    absent = {name: why for name, why in steps.absent.items() if name in (HEADLINES, DATAPOINTS)}
    # as they were printed: headline figures from report.json, datapoints from the pack's table
    figures = {one["id"]: one["value"] for one in read_json(pack / "report" / "report.json")["figures"]}
    printed = {name: None if value is None else Decimal(value) for name, value in figures.items()}
    printed |= {name: value for name, value in of_pack.items() if table_of(name) == DATAPOINTS}
    compared = {name: value for name, value in printed.items() if table_of(name) not in absent}
    return _chained(line["report_id"], compared, {**states, LAST: today}), absent


def _chained(report_id: str, issued: Values, states: Mapping[str, Values]) -> list[Restated]:
    """A step per figure and cause, each from the value before. A figure that was not printed is not restated."""
    rows = []
    for name, value in issued.items():
        known = [value, *(values.get(name) for values in states.values())]
        rows += [Restated.step(report_id, name, cause, *step) for cause, step in zip(states, pairwise(known), strict=True)]
    return rows


@dataclass(slots=True)
class _Steps:
    """States of one comparison: known ones are asked, others are built."""

    home: Home  # at the site where steps are built, each on what the one before left
    quarter: Quarter
    seeds: dict[str, Path]  # those of the pack that differ
    say: Say
    listener: Listener
    last: dict[str, str] | None = None  # units of the step that the site holds
    absent: dict[str, str] = field(default_factory=dict)  # report tables that the publication or a step has not, and why
    known: dict[str, Values] = field(default_factory=dict)  # of states with these seeds, by what their months are made of

    def months_of(self, units: Mapping[str, str]) -> str:
        """Fingerprints of the months up to the quarter's end, as JSON: no later one is read by a figure of the quarter."""
        end = f"{self.quarter.end:%Y-%m}"
        return json.dumps({name: units[name] for name in sorted(units) if name != SHARED and name.rpartition("/")[2] < end})

    def values(self, view: View) -> Values:
        """The figures of the deliveries of a view, with the pack's seeds."""
        election = elect(self.home.sources, self.home.landing, view)
        units = fingerprints(self.home.rules, election)
        months = self.months_of(units)
        if months not in self.known:
            self.known[months] = self._kept(months, election)
        return self.known[months]

    def _kept(self, months: str, election: Election) -> Values:
        """The figures of a build, kept in the cache of the home: the next comparison need not build it again."""
        seeds = {name: durable.sha256_of(file) for name, file in sorted(self.seeds.items())}
        key = json.dumps([json.loads(months), seeds, self.quarter.name, code_digest()])
        kept = self.home.settings.cache / "restated" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
        if not kept.exists():
            self.say(f"Building a step of {self.quarter.name} below {self.home.site.root}; the publication is not touched.")
            self.last, absent = build_tables(self.home, election, self.seeds, self.listener, self.last)
            with open_publication(self.home.site.build_file) as opened:
                values = values_of(opened, self.quarter, absent)
            if absent:  # nothing is kept of it: it may be built the next time
                self.absent |= absent
                return values
            kept.parent.mkdir(parents=True, exist_ok=True)
            durable.write_json(kept, {name: None if value is None else f"{value:f}" for name, value in values.items()})
        return {name: None if text is None else Decimal(text) for name, text in json.loads(kept.read_bytes()).items()}
