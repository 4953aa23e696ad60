"""Build units and their fingerprints: what a provider's month is made of, hashed, so that unchanged months are not built again.

What a unit depends on is declared in one place, DEPENDENCIES: one entry per kind of input, with the months that a row of it can
change. A fingerprint may be coarser than that and never finer; tests/line change a row of every source and compare with a full
build. It takes row digests, not bytes, so equal rows in other files rebuild nothing, and no clock value. Whether a month's bill
and carbon are final has a fingerprint of its own: when only the time has passed, there is next to nothing to build.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from typing import Any

from dagster_project.base.code import code_version
from dagster_project.base.months import first_day, months_back, months_between
from dagster_project.election.election import Election
from dagster_project.election.months import PayerMonth, payer_months, providers, unit_months
from dagster_project.election.run_ids import ambiguous_run_ids, linked, normalised_run_id, second_months, spelled
from dagster_project.election.winners import Elected
from dagster_project.landing.deriving.contents import CLUSTERS, PLANS
from dagster_project.settings import Rules

SHARED = "~shared"
STATUS = "~status"
CALIBRATED_BY = 12  # months before a month whose measured windows count for it: int_power_calibrations states the same


class Inputs:
    """What one election offers to all units, laid out once."""

    def __init__(self, election: Election) -> None:
        self.election, self.months = election, unit_months(election)
        # month -> managed jobs and workloads on its bills, which run records name as aliases
        self.billed_jobs: defaultdict[str, set[str]] = defaultdict(set)
        # provider, capacity block -> the months of the bills that have rows of it
        self.block_months: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for member in election.of_fact("bill"):
            controls = member.contents.controls
            for one in controls.commitments:
                months = (total.usage_month for total in controls.months)
                self.block_months[member.provider_name or "", one.commitment_id].update(months)
            for month, jobs in controls.managed_jobs.items():
                self.billed_jobs[month].update(jobs)
        self.flags: defaultdict[tuple[str, str], list[PayerMonth]] = defaultdict(list)
        for flag in payer_months(election):
            self.flags[flag.provider_name, flag.usage_month].append(flag)
        self.run_groups = _run_groups(election)  # run records that can merge into one run
        # what shows, beside their rows, which hours plans of SageMaker paid for and that they are over
        arns = (member for member in election.of_fact("runs") if any(PLANS in a for a in member.contents.controls.run_aliases))
        ends = [[one.payer_account_id, one.usage_month] for flags in self.flags.values() for one in flags if one.is_bill_landed]
        self.plans = [[_digest_of(member) for member in arns], sorted(ends)]
        # what a cluster of HyperPod is called: a report of any month may have its name, and its bill has the ARN
        self.clusters = [
            _digest_of(one) for one in election.of_fact("runs") if any(CLUSTERS in name for name in one.contents.controls.run_ids)
        ]
        inputs = election.of_fact("inputs")
        named = {normalised_run_id(name) for member in inputs for name in member.contents.controls.figure_runs}
        # those of them that figures of the organisation's own name
        self.named_groups = [group for group in self.run_groups if not named.isdisjoint(_names(group))]
        # month -> names of runs under which samples reach it
        self.sample_keys: defaultdict[str, set[str]] = defaultdict(set)
        # month that telemetry with watts of chips reaches -> what its windows are made of, once it is asked
        self.metered: dict[str, str] = {}
        # provider -> quarters and years that carbon is of; provider, month -> what it gives the other months of one
        self.periods: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for member in election.of_fact("carbon"):
            if period := member.generation.period:
                self.periods[member.provider_name or ""].add(period)
        self.given: dict[tuple[str, str], str] = {}
        for member in election.of_fact("telemetry"):
            controls = member.contents.controls
            names = {normalised_run_id(name) for name in controls.sample_runs}
            for month in controls.reached_months:
                self.sample_keys[month] |= names
            if member.source.facts.meters_chips:
                self.metered |= dict.fromkeys(controls.reached_months, "")


def _bills(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A bill belongs to the months its rows are used in."""
    return [
        _digest_of(member)
        for member in inputs.election.of_fact("bill")
        if member.provider_name == provider and any(total.usage_month == month for total in member.contents.controls.months)
    ]


def _places(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """While a month has no bill, machines are where the bill of the month before has them."""
    return [] if _bills(inputs, provider, month) else _bills(inputs, provider, months_back(month, 1)[0])


def _commitments(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A capacity block belongs to every month whose bills have rows of it: its fee is spread over its hours of all months.

    What of it stays prepaid rolls on into months that do not have any; fct_prepaid is made of all months each time. Which hours a
    plan of SageMaker paid for its rows or run records show, and what of it was not used the first bill after its end.
    """
    blocks = sorted(
        [commitment.commitment_id, *_place(member), commitment.digest, sorted(member.book_payers)]
        for member in inputs.election.of_fact("bill")
        if member.provider_name == provider
        for commitment in member.contents.controls.commitments
        if month in inputs.block_months[provider, commitment.commitment_id]
    )
    return [*blocks, *inputs.plans] if month in inputs.block_months[provider, PLANS] else blocks


def _carbon(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A carbon file belongs to the month it is of."""
    members = inputs.election.of_fact("carbon")
    return [_digest_of(member) for member in members if member.provider_name == provider and member.generation.month == month]


def _periods(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Carbon of a quarter or a year is divided among its months by what was billed in each, and compared with carbon of all."""
    months, waiting = {month}, [month]
    while waiting:  # a year and a fiscal quarter may have months in common
        one = waiting.pop()
        more = {
            other for first, last in inputs.periods[provider] if first <= one <= last for other in months_between(first, last)
        }
        waiting += more - months
        months |= more
    for one in months:
        if len(months) > 1 and (provider, one) not in inputs.given:
            given = (_bills, _places, _commitments, _carbon, _runs, _figures, _flags)
            inputs.given[provider, one] = _hash([read(inputs, provider, one) for read in given])
    return [[one, inputs.given[provider, one]] for one in sorted(months - {month})]


def _runs(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Run records belong to the months they touch in time, and to those that bill a job or a workload under a name they give.

    An end that no record states is decided inside each month: after the month in which such a holding begins, only samples under
    a name of its run show that it still went on. Records that can merge go together: which fields win depends on all of them.
    What clusters are called belongs to every month that has records.
    """
    jobs, keys = inputs.billed_jobs[month], inputs.sample_keys[month]
    touching = [[_digest_of(member) for member in group] for group in inputs.run_groups if _touches(group, month, jobs, keys)]
    return [*touching, inputs.clusters] if touching and inputs.clusters else touching


def _samples(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Telemetry belongs to the months it lies in or can reach."""
    members = inputs.election.of_fact("telemetry")
    return [_digest_of(member) for member in members if month in member.contents.controls.reached_months]


def _calibration(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Metered watts of a month belong to it and to the twelve after it, with all telemetry and the run records of that month.

    A record states of which type and with which software the metered chips ran, other telemetry how much they were used.
    """
    earlier = [one for one in months_back(month, CALIBRATED_BY) if one in inputs.metered]
    for one in earlier:  # the same for thirteen months and each provider
        inputs.metered[one] = inputs.metered[one] or _hash([_samples(inputs, provider, one), _runs(inputs, provider, one)])
    return [[one, inputs.metered[one]] for one in earlier]


def _rates(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """An exchange rate belongs to the month in whose last eight days it lies; of two of a day the one published last counts."""
    return [
        [*_place(member), member.contents.controls.rate_months[month]]
        for member in _by_publication(inputs.election)
        if month in member.contents.controls.rate_months
    ]


def _totals(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """What a provider states that a month costs belongs to that month; of two statements the one published last counts."""
    return [
        [*_place(member), member.contents.controls.total_months[month]]
        for member in _by_publication(inputs.election)
        if month in member.contents.controls.total_months
    ]


def _figures(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A figure of the organisation's own belongs to the months from its first on, a reading of a meter to its month alone.

    Until when it is in force is no limit: of two files that state one figure the later counts, also where it ends earlier.
    """
    return [
        [*_place(member), figure.digest]
        for member in _by_publication(inputs.election)
        for figure in member.contents.controls.figures
        if (month == figure.first_month if figure.is_of_one_month else month >= figure.first_month)
    ]


def _flags(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Which payers a month has, and whose bill and carbon are there."""
    flags = inputs.flags[provider, month]
    return [[flag.payer_account_id, flag.is_bill_landed, flag.is_carbon_published] for flag in flags]


def _status(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Whether bill and carbon of a month may still change: the only way in which the clock reaches a table."""
    flags = inputs.flags[provider, month]
    return [[flag.payer_account_id, flag.is_bill_closed, flag.is_carbon_final] for flag in flags]


DEPENDENCIES: dict[str, Callable[[Inputs, str, str], list[Any]]] = {
    "bills": _bills,
    "places": _places,
    "commitments": _commitments,
    "carbon": _carbon,
    "periods": _periods,
    "runs": _runs,
    "samples": _samples,
    "calibration": _calibration,
    "rates": _rates,
    "totals": _totals,
    "figures": _figures,
    "flags": _flags,
}


def fingerprints(rules: Rules, election: Election) -> dict[str, str]:
    """One sha256 per unit ('AWS/2026-04'), one for its status ('~status/AWS/2026-04'), one for what every build reads."""
    inputs = Inputs(election)
    # what every month depends on: code, configuration, ambiguous run ids (a tag in any month may carry one), from when on a job's
    # number is no name, and which run a name means that a figure of the organisation's own gives
    two_clusters_from = second_months(member.contents.controls.run_clusters for member in election.of_fact("runs"))
    base = {
        "code": code_version(),
        "rules": asdict(rules),
        "ambiguous": _ambiguous(inputs.run_groups, bool(two_clusters_from)),
        "two_clusters_from": two_clusters_from,
        "named": [_digest_of(member) for group in inputs.named_groups for member in group],
    }
    units, names = {}, providers(election)
    for month in inputs.months:
        for provider in names:
            reads = {name: read(inputs, provider, month) for name, read in DEPENDENCIES.items()}
            units[f"{provider}/{month}"] = _hash({**base, **reads})
            units[f"{STATUS}/{provider}/{month}"] = _hash(_status(inputs, provider, month))
    units[SHARED] = _hash({**base, **_shared(election)})
    return units


def _shared(election: Election) -> dict[str, Any]:
    """What only the small tables read that every build writes again: run records, refusals, exchange rates, restatements."""
    return {
        "runs": [_digest_of(member) for member in election.of_fact("runs")],
        "inputs": [_digest_of(member) for member in _by_publication(election)],
        "registrations": [[*_place(m), m.generation.published_at.isoformat()] for m in election.members if m.is_registration],
        "refusals": sorted([r.source, r.partition, r.identity] for r in election.refusals),
        "row_refusals": sorted([*_place(m), m.generation.content_hash] for m in election.members if m.contents.refusals),
        "restated": [list(one) for one in election.restated],
    }


def overall_fingerprint(units: dict[str, str]) -> str:
    """One sha256 over all units."""
    return _hash(units)


def months_to_build(units: dict[str, str], published_units: dict[str, str]) -> list[date]:
    """Months whose fingerprint is not the published one, also those that are no longer there."""
    return _months_of({name for name in _changed(units, published_units) if not name.startswith((SHARED, STATUS))})


def turned_months(units: dict[str, str], published_units: dict[str, str]) -> list[date]:
    """Months of which the bill or the carbon turned final, or was final and is not any more, since the publication."""
    return _months_of({name for name in _changed(units, published_units) if name.startswith(STATUS)})


def _changed(units: dict[str, str], published_units: dict[str, str]) -> set[str]:
    return {name for name in units.keys() | published_units.keys() if units.get(name) != published_units.get(name)}


def _months_of(names: set[str]) -> list[date]:
    return sorted({first_day(name.rpartition("/")[2]) for name in names})


def _by_publication(election: Election) -> list[Elected]:
    """The user's tables in the order in which they were published: where two say the same thing, the later one counts."""
    return sorted(election.of_fact("inputs"), key=lambda member: (*member.generation.order, *_place(member)))


def _place(member: Elected) -> list[str]:
    return [member.generation.source, member.generation.partition]


def _digest_of(member: Elected) -> list[Any]:
    """The rows of a generation, as the present connector reads them, and which of them count."""
    book: list[Any] = []
    if member.book:
        book = sorted(member.book_payers) if member.generation.month else sorted(list(pair) for pair in member.book)
    contents = member.contents
    kept = ["raw"] if member.generation.raw else []  # no figure rests on it, and what is published of a delivery states it
    return [*_place(member), contents.row_digest, contents.connector_version, book, sorted(member.version_payers), *kept]


def _run_groups(election: Election) -> list[list[Elected]]:
    """Run records that can merge into one run: by recorded or normalised id, or by alias, directly or through others."""
    members = election.of_fact("runs")
    names = []
    for controls in (member.contents.controls for member in members):
        names.append({*spelled((*controls.run_ids, *controls.run_aliases)), *map(normalised_run_id, controls.run_ids)})
    groups: dict[int, list[Elected]] = {}
    for member, number in zip(members, linked(names), strict=True):
        groups.setdefault(number, []).append(member)
    return list(groups.values())


def _ambiguous(groups: list[list[Elected]], are_numbers_unclear: bool) -> list[Any]:
    """Ambiguous ids with all records that can make or mend the ambiguity."""
    found = []
    for group in groups:
        controls = [member.contents.controls for member in group]
        numbers = {run for one in controls for run in one.run_ids if run in one.run_aliases and "/" not in run}
        ids = ambiguous_run_ids(run for one in controls for run in one.run_ids)
        if ids or (numbers and are_numbers_unclear):
            found.append([ids, [_digest_of(member) for member in group]])
    return found


def _names(group: list[Elected]) -> set[str]:
    """The names under which telemetry and figures may mean a run of the group, normalised as SQL does it."""
    controls = [member.contents.controls for member in group]
    return {normalised_run_id(name) for found in controls for name in spelled((*found.run_ids, *found.run_aliases))}


def _touches(group: list[Elected], month: str, jobs: set[str], keys: set[str]) -> bool:
    """Whether a record of the group does: by time, or because the month bills what is an alias of it."""
    is_open = False
    for member in group:
        controls = member.contents.controls
        # a bill has the name of a workload alone, which an alias may give with its namespace and its cluster
        is_billed = (alias in jobs or alias.rpartition("/")[2] in jobs for alias in controls.run_aliases)
        if month in controls.run_months or any(is_billed):
            return True
        if controls.open_run_month is not None and month >= controls.open_run_month:
            # the end may stand in another row of the record: a node's with its attempt
            if month <= (controls.last_run_month or ""):
                return True
            is_open = True
    return is_open and not keys.isdisjoint(_names(group))


def _hash(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
