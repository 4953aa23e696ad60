"""Build units and their fingerprints: what a provider's month is made of, hashed, so that unchanged months are not built again.

A fingerprint takes row digests, not bytes: equal rows in other files rebuild nothing. It takes everything a month's numbers
can depend on, also from other months (capacity blocks, run records), and no clock value but the flags of the month.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import date
from typing import Any

from dagster_project.code import code_version
from dagster_project.election.election import Elected, Election
from dagster_project.election.months import payer_months, providers, unit_months
from dagster_project.election.run_ids import ambiguous_run_ids, linked, normalised_run_id
from dagster_project.kinds import Kind
from dagster_project.settings import Settings

SHARED = "~shared"


def fingerprints(settings: Settings, election: Election) -> dict[str, str]:
    """One sha256 per unit ('AWS/2026-04'), and one for what every build reads ('~shared')."""
    runs = _run_groups(election)
    base = {
        "code": code_version(),
        "settings": {
            "run_tag_keys": settings.run_tag_keys,
            "carbon_weights": settings.carbon_weights,
            "reporting_currency": settings.organisation.reporting_currency,
            "books": {source.name: source.book for source in settings.sources},
        },
        "ambiguous": _ambiguous(runs),
        "inputs": [_digest_of(m) for m in election.of_fact("inputs") if m.generation.kind != Kind.FX_RATES],
    }
    months = unit_months(election)
    samples = _samples(election, runs, months)
    flags: dict[tuple[str, str], list[Any]] = {}
    for flag in payer_months(election):
        flags.setdefault((flag.provider_name, flag.usage_month), []).append(asdict(flag))
    units = {}
    for month in months:
        resources = _claimable(election, month)
        claimed = [[_run_digest(m) for m in group] for group in runs if _touches(group, month, resources)]
        for provider in providers(election):
            carbon = [m for m in election.of_fact("carbon") if m.provider_name == provider and m.generation.month == month]
            reads = {
                "bills": [_digest_of(m) for m in election.of_fact("bill") if m.provider_name == provider and _bills(m, month)],
                "commitments": _commitments(election, provider, month),
                "carbon": [_digest_of(member) for member in carbon],
                "runs": claimed,
                "samples": samples[month],
                "flags": flags.get((provider, month), []),
            }
            units[f"{provider}/{month}"] = _hash({**base, **reads})
    units[SHARED] = _hash({**base, **_shared(election)})
    return units


def _shared(election: Election) -> dict[str, Any]:
    """What only the small tables read that every build writes again: run records, refusals, exchange rates."""
    return {
        "runs": [_run_digest(member) for member in election.of_fact("runs")],
        "inputs": [_digest_of(member) for member in election.of_fact("inputs")],
        "refusals": sorted([r.source, r.partition, r.identity] for r in election.refusals),
        "row_refusals": sorted([m.generation.source, m.generation.partition, m.generation.content_hash]
                               for m in election.members if m.generation.refusals),
    }  # fmt: skip


def overall_fingerprint(units: dict[str, str]) -> str:
    """One sha256 over all units."""
    return _hash(units)


def months_to_build(units: dict[str, str], publication: dict[str, Any] | None) -> list[date]:
    """Months whose fingerprint is not the published one, also those that are no longer there; all without a publication."""
    published = (publication or {}).get("units") or {}
    changed = {name for name in units.keys() | published.keys() if units.get(name) != published.get(name)}
    return sorted({date.fromisoformat(f"{name.rpartition('/')[2]}-01") for name in changed if name != SHARED})


def _digest_of(member: Elected) -> list[Any]:
    generation = member.generation
    book = sorted(member.book_payers) if generation.month else sorted(map(list, member.book))
    return [generation.source, generation.partition, generation.row_digest, book, sorted(member.version_payers)]


def _run_digest(member: Elected) -> list[Any]:
    """A record with a node still held proves it until the record was written."""
    is_open = member.generation.controls.open_run_month is not None
    return [*_digest_of(member), *([member.generation.published_at.isoformat()] if is_open else [])]


def _bills(member: Elected, month: str) -> bool:
    return any(total.usage_month == month for total in member.generation.controls.months)


def _commitments(election: Election, provider: str, month: str) -> list[Any]:
    """The capacity blocks a month reads, from all bills: every block that began by then, as its prepaid rest rolls forward."""
    found = [
        (commitment, member)
        for member in election.of_fact("bill")
        if member.provider_name == provider
        for commitment in member.generation.controls.commitments
    ]
    first: dict[str, str] = {}
    for commitment, _ in found:
        name = commitment.commitment_id
        first[name] = min(first.get(name, commitment.first_month), commitment.first_month)
    return sorted(
        [
            commitment.commitment_id,
            member.generation.source,
            member.generation.partition,
            commitment.digest,
            sorted(member.book_payers),
        ]
        for commitment, member in found
        if first[commitment.commitment_id] <= month
    )


def _claimable(election: Election, month: str) -> set[str]:
    bills = election.of_fact("bill")
    return {resource for member in bills for resource in member.generation.controls.claimable_resources.get(month, [])}


def _run_groups(election: Election) -> list[list[Elected]]:
    """Run records that can merge into one run: by recorded or normalised id, or by alias, directly or through others."""
    members = election.of_fact("runs")
    names = []
    for member in members:
        recorded = member.generation.controls.run_ids
        names.append({*recorded, *map(normalised_run_id, recorded), *member.generation.controls.run_aliases})
    groups: dict[int, list[Elected]] = {}
    for member, number in zip(members, linked(names), strict=True):
        groups.setdefault(number, []).append(member)
    return list(groups.values())


def _samples(election: Election, groups: list[list[Elected]], months: list[str]) -> dict[str, list[Any]]:
    """The telemetry a month reads: what speaks of it, and, as it ends windows that no record ends, what names their runs."""
    found: dict[str, list[Any]] = {month: [] for month in months}
    open_from: dict[str, str] = {}
    for group in groups:
        begun = [m.generation.controls.open_run_month for m in group if m.generation.controls.open_run_month]
        for name in _names(group) if begun else ():
            open_from[name] = min(begun)
    for member in election.of_fact("telemetry"):
        controls, digest = member.generation.controls, _digest_of(member)
        touched = found.keys() & controls.reached_months
        begun = [open_from[run] for run in map(normalised_run_id, controls.sample_runs) if run in open_from]
        if begun:
            touched |= {month for month in months if month >= min(begun)}
        for month in touched:
            found[month].append(digest)
    return found


def _names(group: list[Elected]) -> set[str]:
    """Every name of a run as telemetry may write it."""
    controls = [member.generation.controls for member in group]
    return {normalised_run_id(name) for one in controls for name in (*one.run_ids, *one.run_aliases)}


def _ambiguous(groups: list[list[Elected]]) -> list[Any]:
    """Ambiguous ids with all records that can make or mend the ambiguity: a tag in any month may carry such an id."""
    found = []
    for group in groups:
        ids = ambiguous_run_ids(run for member in group for run in member.generation.controls.run_ids)
        if ids:
            found.append([ids, [_digest_of(member) for member in group]])
    return found


def _touches(group: list[Elected], month: str, resources: set[str]) -> bool:
    """Whether a record of the group does: by time, or because the month bills a resource, alias or job that it names."""
    for member in group:
        controls = member.generation.controls
        if month in controls.run_months or (controls.open_run_month is not None and month >= controls.open_run_month):
            return True
        if not resources.isdisjoint(controls.run_resources):
            return True
    return False


def _hash(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
