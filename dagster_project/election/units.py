"""Build units and their fingerprints: what a provider's month is made of, hashed, so that unchanged months are not built again.

What a unit depends on is declared in one place, DEPENDENCIES: one entry per kind of input, with the months that a row of it can
change. A fingerprint may be coarser than that and never finer; tests/line change a row of every source and compare with a full
build. It takes row digests, not bytes, so equal rows in other files rebuild nothing, and no clock value but the flags of the
month.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Self

from dagster_project.code import code_version
from dagster_project.election.election import Election
from dagster_project.election.months import PayerMonth, payer_months, providers, unit_months
from dagster_project.election.run_ids import ambiguous_run_ids, linked, normalised_run_id
from dagster_project.election.winners import Elected
from dagster_project.kinds import Kind
from dagster_project.months import first_day
from dagster_project.settings import Rules

SHARED = "~shared"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What one election offers to all units, laid out once."""

    election: Election
    months: list[str]
    run_groups: list[list[Elected]]  # run records that can merge into one run
    billed_jobs: dict[str, set[str]]  # month -> managed jobs on its bills, which run records name as aliases
    first_use: dict[tuple[str, str], str]  # provider, capacity block -> its first month
    flags: dict[tuple[str, str], list[PayerMonth]]

    @classmethod
    def of(cls, election: Election) -> Self:
        """Read an election once for all months."""
        groups = _run_groups(election)
        first: dict[tuple[str, str], str] = {}
        billed_jobs: dict[str, set[str]] = {}
        for member in election.of_fact("bill"):
            for commitment in member.contents.controls.commitments:
                key = (member.provider_name or "", commitment.commitment_id)
                first[key] = min(first.get(key, commitment.first_month), commitment.first_month)
            for month, jobs in member.contents.controls.managed_jobs.items():
                billed_jobs.setdefault(month, set()).update(jobs)
        flags: dict[tuple[str, str], list[PayerMonth]] = {}
        for flag in payer_months(election):
            flags.setdefault((flag.provider_name, flag.usage_month), []).append(flag)
        return cls(election, unit_months(election), groups, billed_jobs, first, flags)


def _bills(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A bill belongs to the months its rows are used in."""
    return [
        _digest_of(member)
        for member in inputs.election.of_fact("bill")
        if member.provider_name == provider and any(total.usage_month == month for total in member.contents.controls.months)
    ]


def _commitments(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A capacity block belongs to every month from its first on: its fee is spread over its hours, the prepaid rest rolls on."""
    return sorted(
        [commitment.commitment_id, *_place(member), commitment.digest, sorted(member.book_payers)]
        for member in inputs.election.of_fact("bill")
        if member.provider_name == provider
        for commitment in member.contents.controls.commitments
        if inputs.first_use[provider, commitment.commitment_id] <= month
    )


def _carbon(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """A carbon file belongs to the month it is of."""
    members = inputs.election.of_fact("carbon")
    return [_digest_of(member) for member in members if member.provider_name == provider and member.generation.month == month]


def _runs(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Run records belong to the months they touch in time, and to those that bill a managed job under a name they give.

    Records that can merge go together: which fields win depends on all of them.
    """
    jobs = inputs.billed_jobs.get(month, set())
    return [[_digest_of(member) for member in group] for group in inputs.run_groups if _touches(group, month, jobs)]


def _samples(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Telemetry belongs to the months it lies in or can reach."""
    members = inputs.election.of_fact("telemetry")
    return [_digest_of(member) for member in members if month in member.contents.controls.reached_months]


def _rates(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """An exchange rate belongs to the month in whose last eight days it lies; of two of a day the one published last counts."""
    return [
        [*_place(member), member.contents.controls.rate_months[month]]
        for member in _by_publication(inputs.election)
        if month in member.contents.controls.rate_months
    ]


def _flags(inputs: Inputs, provider: str, month: str) -> list[Any]:
    """Whether a month is billed, closed, published and final: the only way in which the clock reaches a figure."""
    return [asdict(flag) for flag in inputs.flags.get((provider, month), [])]


DEPENDENCIES: dict[str, Callable[[Inputs, str, str], list[Any]]] = {
    "bills": _bills,
    "commitments": _commitments,
    "carbon": _carbon,
    "runs": _runs,
    "samples": _samples,
    "rates": _rates,
    "flags": _flags,
}


def fingerprints(rules: Rules, election: Election) -> dict[str, str]:
    """One sha256 per unit ('AWS/2026-04'), and one for what every build reads ('~shared')."""
    inputs = Inputs.of(election)
    # what every month depends on: code, configuration, ambiguous run ids (a tag in any month may carry one), the user's tables
    base = {
        "code": code_version(),
        "rules": asdict(rules),
        "ambiguous": _ambiguous(inputs.run_groups),
        "inputs": [_digest_of(m) for m in _by_publication(election) if m.generation.kind != Kind.FX_RATES],
    }
    units = {}
    for month in inputs.months:
        for provider in providers(election):
            reads = {name: read(inputs, provider, month) for name, read in DEPENDENCIES.items()}
            units[f"{provider}/{month}"] = _hash({**base, **reads})
    units[SHARED] = _hash({**base, **_shared(election)})
    return units


def _shared(election: Election) -> dict[str, Any]:
    """What only the small tables read that every build writes again: run records, refusals, exchange rates."""
    return {
        "runs": [_digest_of(member) for member in election.of_fact("runs")],
        "inputs": [_digest_of(member) for member in _by_publication(election)],
        "refusals": sorted([r.source, r.partition, r.identity] for r in election.refusals),
        "row_refusals": sorted([*_place(m), m.generation.content_hash] for m in election.members if m.contents.refusals),
    }


def overall_fingerprint(units: dict[str, str]) -> str:
    """One sha256 over all units."""
    return _hash(units)


def months_to_build(units: dict[str, str], published_units: dict[str, str]) -> list[date]:
    """Months whose fingerprint is not the published one, also those that are no longer there."""
    changed = {name for name in units.keys() | published_units.keys() if units.get(name) != published_units.get(name)}
    return sorted({first_day(name.rpartition("/")[2]) for name in changed if name != SHARED})


def _by_publication(election: Election) -> list[Elected]:
    """The user's tables in the order in which they were published: where two say the same thing, the later one counts."""
    return sorted(election.of_fact("inputs"), key=lambda member: (*member.generation.order, *_place(member)))


def _place(member: Elected) -> list[str]:
    return [member.generation.source, member.generation.partition]


def _digest_of(member: Elected) -> list[Any]:
    """The rows of a generation, as the present connector reads them, and which of them count."""
    book: list[Any] = sorted(member.book_payers) if member.generation.month else sorted(list(pair) for pair in member.book)
    contents = member.contents
    return [*_place(member), contents.row_digest, contents.connector_version, book, sorted(member.version_payers)]


def _run_groups(election: Election) -> list[list[Elected]]:
    """Run records that can merge into one run: by recorded or normalised id, or by alias, directly or through others."""
    members = election.of_fact("runs")
    names = []
    for member in members:
        controls = member.contents.controls
        names.append({*controls.run_ids, *map(normalised_run_id, controls.run_ids), *controls.run_aliases})
    groups: dict[int, list[Elected]] = {}
    for member, number in zip(members, linked(names), strict=True):
        groups.setdefault(number, []).append(member)
    return list(groups.values())


def _ambiguous(groups: list[list[Elected]]) -> list[Any]:
    """Ambiguous ids with all records that can make or mend the ambiguity."""
    found = []
    for group in groups:
        ids = ambiguous_run_ids(run for member in group for run in member.contents.controls.run_ids)
        if ids:
            found.append([ids, [_digest_of(member) for member in group]])
    return found


def _touches(group: list[Elected], month: str, jobs: set[str]) -> bool:
    """Whether a record of the group does: by time, or because the month bills a managed job that is an alias of it."""
    for member in group:
        controls = member.contents.controls
        if month in controls.run_months or (controls.open_run_month is not None and month >= controls.open_run_month):
            return True
        if not jobs.isdisjoint(controls.run_aliases):
            return True
    return False


def _hash(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
