"""`trainledger restatements`: what issued reports print against what is known of it today, by cause.

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
from collections.abc import Callable, Iterator, Mapping
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
from dagster_project.evidence.layout import ISSUE, REPORT
from dagster_project.evidence.manifest import manifest_differences, read_json
from dagster_project.evidence.pack import named_in
from dagster_project.evidence.printed import State, column_of, in_record, is_headline, of_publication, opened_build
from dagster_project.evidence.rebuilding import build_tables, other_seeds, view_of
from dagster_project.landing.restated import Restated, record
from dagster_project.publishing.reporting import policy_of
from dagster_project.publishing.tables import published_tables
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.building import Listener
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from reports.code import code_digest
from reports.issue import Policy
from reports.periods import span_of
from reports.publication import Page, open_folder, open_publication
from reports.quarter import FiscalYear, Quarter, is_year
from reports.sections.restatements import CAUSES, cause_line, decision

Say = Callable[[str], None]
STEPS = {"bill": "bill", "run_record": "runs", "late_log": "telemetry", "provider_model_version": "carbon"}  # cause -> fact
LAST = "factor_or_seed"
KEPT = "2"  # the layout of a kept state


@dataclass(slots=True)
class Compared:
    """What the comparison of one report came to."""

    report_id: str
    issued: State  # what it printed of what is compared
    units: dict[str, str]  # of headline figures
    steps: list[Restated] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)  # report tables whose numbers are not compared, and why
    gone: list[str] = field(default_factory=list)  # what this version does not print any more

    @property
    def ids(self) -> set[str]:
        """All numbers and texts that were compared."""
        return {*self.issued.numbers, *self.issued.texts}


def tell_restatements(
    settings: Settings, quarter: str | None, wait: float, tell: Say, say: Say, listener: Listener, *, as_json: bool
) -> int:
    """Compare every report that no later one takes the place of, or that of one quarter; record what was found, and tell it.

    Returns the exit code: 1 where a report table is absent, whose figures are not compared.
    """
    home = Home.of(settings)
    reports = home.root / "reports"
    if quarter and not is_year(quarter):
        Quarter.parse(quarter)
    with writer_lock(home.root, "trainledger restatements", wait, say):
        lines = chain.lines_of(reports)
        quarters = [quarter] if quarter else sorted({line["quarter"] for line in lines})
        in_force = [line for name in quarters if (line := chain.last_of(lines, name))]
        if quarter and not in_force:
            remedy = "Issue one with `trainledger report quarterly --issue`, or `yearly`."
            raise UsageError(f"no report of {quarter} was issued", remedy=remedy)
        compared = [_restate(home, line, say, listener) for line in in_force]
        found = [step for one in compared for step in one.steps]
        if compared:
            record(home.root, found, {one.report_id: one.ids for one in compared})
    if as_json:
        tell(json.dumps([one._asdict() for one in found], indent=2))
    elif not in_force:
        say("No report was issued yet.")
    else:
        for text in _words(compared, policy_of(settings)):
            tell(text)
        say("Recorded; the next `trainledger refresh` publishes it as fct_restatements and fct_restated_texts.")
    absent = {name: why for one in compared for name, why in one.absent.items()}
    for name, why in absent.items():
        say(f"Figures of {name} are not compared, the others are: {why}")
    if gone := sorted({name for one in compared for name in one.gone}):
        say(f"This version does not print them, so they are not compared: {', '.join(gone)}")
    return int(bool(absent))


def _words(compared: list[Compared], policy: Policy) -> list[str]:
    """A line per report and cause; then one per number and text that is known otherwise now; last how many there are."""
    causes, numbers, texts = list[str](), list[str](), list[str]()
    for report in compared:
        moved: dict[str, dict[str, Restated]] = {}
        for step in report.steps:
            moved.setdefault(step.datapoint_id, {})[step.cause] = step
        for cause in CAUSES:
            own = [steps[cause] for steps in moved.values() if steps[cause].before != steps[cause].after]
            if own:
                causes.append(f"{report.report_id}, {_line_of(cause, own, report, policy)}")
        for id, steps in moved.items():
            first, last = steps["code"], steps[LAST]
            by = [f"{CAUSES[cause]} {step.delta or 'unknown'}" for cause, step in steps.items() if step.before != step.after]
            if first.is_text and first.before != last.after:
                by = [text.removesuffix(" unknown") for text in by]
                texts.append(
                    f"{report.report_id} {id}: {first.before or 'nothing'} -> {last.after or 'nothing'}: {', '.join(by)}"
                )
            elif first.before != last.after:
                verdict = decision(
                    _exact(first.before), _exact(last.after), policy, {cause: _exact(step.delta) for cause, step in steps.items()}
                )
                was, now = first.before or "unknown", last.after or "unknown"
                numbers.append(f"{report.report_id} {id}: was {was}, is {now} ({verdict}): {', '.join(by)}")
    total, turned = sum(len(one.issued.numbers) for one in compared), sum(len(one.issued.texts) for one in compared)
    return [
        *causes,
        *numbers,
        *texts,
        f"{len(numbers)} of {total} figures of {len(compared)} issued reports are known otherwise now, "
        f"and {len(texts)} of {turned} texts.",
    ]


def _line_of(cause: str, steps: list[Restated], report: Compared, policy: Policy) -> str:
    """Provider model version (a change of method): location-based -0.18 t; 34 figures, 2 texts."""
    deltas = {step.datapoint_id.rpartition("/")[2]: step for step in steps if step.datapoint_id in report.units}
    main = {name: (Decimal(step.delta), report.units[step.datapoint_id]) for name, step in deltas.items() if step.delta}
    texts = sum(step.is_text for step in steps)
    return cause_line(cause, policy, main, len(steps) - texts, texts)


def _exact(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _restate(home: Home, line: chain.Line, say: Say, listener: Listener) -> Compared:
    """The steps of what one issued report printed. The caller holds the writer lock of the home."""
    pack = home.root / "reports" / chain.FOLDER / line["report_id"]
    if differences := list(manifest_differences(pack)):
        raise GateError(f"{line['report_id']} is not as it was issued: {differences[0]}", where=str(pack))
    issued, report = read_json(pack / ISSUE), read_json(pack / "report" / REPORT)
    publication = current_publication(home.site)
    with open_folder(pack / "data") as opened:
        quarter = span_of(opened, line["quarter"])  # as long as it was when the report was issued
    with open_publication(home.site.published_file) as opened:
        today, named_today, pages = of_publication(opened, quarter), named_in(opened), opened.pages
        started = opened.rows("select started_at from ops.builds")[0]["started_at"]
    changed = other_seeds(pack / "data" / "seeds", home.root)
    root = home.root / "asof" / f"restated-{line['report_id']}"
    shutil.rmtree(root, ignore_errors=True)  # what a killed command left
    between = home.at(Site(root, root / "dbt", home.site.memory_limit))
    steps = _Steps(between, quarter, changed, pages, say, listener, absent=dict(publication.get("absent", {})))
    with open_folder(pack / "data") as opened:
        named = named_in(opened)
        if report["report_code_sha256"] == code_digest():
            steps.known[steps.months_of(issued["build"]["units"])] = in_record(report)
        elif issued["build"]["code_version"] == publication["code_version"]:  # it prints otherwise of the same tables
            opened.pages = pages
            steps.known[steps.months_of(issued["build"]["units"])] = of_publication(opened, quarter)
    if not changed:
        steps.known[steps.months_of(publication["units"])] = today
    at = started.replace(tzinfo=UTC)
    facts = {source.name: source.facts.fact for source in home.sources}
    try:
        states = {"code": steps.state(view_of(issued, named))}
        for cause, fact in STEPS.items():
            kept = [name for name in named if facts.get(name[0]) != fact]
            named = frozenset([*kept, *(name for name in named_today if facts.get(name[0]) == fact)])
            states[cause] = steps.state(View(as_of=at, named=named))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    printed = in_record(report, steps.absent)
    for values in (printed.numbers, printed.texts):
        for id in [id for id in values if column_of(id) not in today.columns]:
            del values[id]  # another version printed it
    units = {figure["id"]: figure["unit"] for figure in report["figures"]}
    found = [*_chained(line["report_id"], printed, {**states, LAST: today})]
    gone = sorted(printed.columns - today.columns)
    return Compared(line["report_id"], printed, units, found, steps.absent, gone)


def _chained(report_id: str, issued: State, states: Mapping[str, State]) -> Iterator[Restated]:
    """A step per cause of each number and text, from the state before. What was not printed is not restated.

    Headline figures and datapoints have their steps always, others once one of them moved something.
    """
    for id, value in issued.numbers.items():
        known = [value, *(state.numbers.get(id) for state in states.values())]
        if is_headline(id) or any(one != value for one in known):
            yield from (Restated.step(report_id, id, cause, *step) for cause, step in zip(states, pairwise(known), strict=True))
    for id, text in issued.texts.items():
        texts = [text, *(state.texts.get(id) for state in states.values())]
        if any(one != text for one in texts):
            for cause, step in zip(states, pairwise(texts), strict=True):
                yield Restated(report_id, id, cause, *step, is_text=True)


@dataclass(slots=True)
class _Steps:
    """States of one comparison: known ones are asked, others are built."""

    home: Home  # at the site where steps are built, each on what the one before left
    quarter: Quarter | FiscalYear
    seeds: dict[str, Path]  # those of the pack that differ
    pages: Mapping[str, Page]  # of today's publication, which the installed code made
    say: Say
    listener: Listener
    last: dict[str, str] | None = None  # units of the step that the site holds
    absent: dict[str, str] = field(default_factory=dict)  # report tables that the publication or a step has not, and why
    known: dict[str, State] = field(default_factory=dict)  # of states with these seeds, by what their months are made of

    def months_of(self, units: Mapping[str, str]) -> str:
        """Fingerprints of the months up to the quarter's end, as JSON: no later one is read by a figure of the quarter."""
        end = f"{self.quarter.end:%Y-%m}"
        return json.dumps({name: units[name] for name in sorted(units) if name != SHARED and name.rpartition("/")[2] < end})

    def state(self, view: View) -> State:
        """What is printed of the deliveries of a view, with the pack's seeds."""
        election = elect(self.home.sources, self.home.landing, view)
        units = fingerprints(self.home.rules, election)
        months = self.months_of(units)
        if months not in self.known:
            self.known[months] = self._kept(months, election)
        return self.known[months]

    def _kept(self, months: str, election: Election) -> State:
        """The state of a build, kept in the cache of the home: the next comparison need not build it again."""
        seeds = {name: durable.sha256_of(file) for name, file in sorted(self.seeds.items())}
        key = json.dumps([KEPT, json.loads(months), seeds, self.quarter.name, code_digest()])
        kept = self.home.settings.cache / "restated" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
        if kept.exists():
            return State.of_json(kept.read_text())
        self.say(f"Building a step of {self.quarter.name} below {self.home.site.root}; the publication is not touched.")
        self.last, absent = build_tables(self.home, election, self.seeds, self.listener, self.last)
        project = modelling.project(self.home.root)
        tables = [table for table in published_tables(project) if table.name not in absent]
        with opened_build(self.home.site.build_file, tables, self.pages, self.home.site.memory_limit) as opened:
            state = of_publication(opened, self.quarter, absent)
        if absent:  # nothing is kept of it: it may be built the next time
            self.absent |= absent
            return state
        durable.put(kept, state.as_json().encode())
        return state
