"""Build units and their fingerprints: what a provider's month is made of, hashed, so that unchanged months are not built again.

A fingerprint takes row digests, not bytes: equal rows in other files rebuild nothing. It takes everything a month's numbers
can depend on, also from other months (capacity blocks, run records), and no clock value but the flags of the month.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from dagster_project import __version__
from dagster_project.election import Elected, Election
from dagster_project.run_ids import ambiguous_run_ids, linked, normalised_run_id
from dagster_project.settings import Settings

SHARED = "~shared"
DBT_PROJECT = Path(__file__).resolve().parent.parent / "dbt"
NOT_CODE = {"target", "logs", "dbt_packages", "dbt_internal_packages", "__pycache__"}
BILL_CLOSES_AFTER = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class PayerMonth:
    """One row of raw.months: the flags of a payer's month that depend on the clock or on other files."""

    provider_name: str
    payer_account_id: str
    usage_month: str
    is_bill_landed: bool
    is_bill_closed: bool
    is_carbon_published: bool
    is_carbon_final: bool


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
    }
    flags = payer_months(election)
    resources = {month: _claimable(election, month) for month in unit_months(election)}
    units = {}
    for provider in providers(election):
        for month in unit_months(election):
            reads = {
                "bills": [_digest_of(m) for m in election.of_fact("bill") if m.provider_name == provider and _bills(m, month)],
                "commitments": _commitments(election, provider, month),
                "carbon": [
                    _digest_of(m)
                    for m in election.of_fact("carbon")
                    if m.provider_name == provider and m.generation.month == month
                ],
                "runs": [[_digest_of(m) for m in group] for group in runs if _touches(group, month, resources[month])],
                "flags": [asdict(flag) for flag in flags if flag.provider_name == provider and flag.usage_month == month],
            }
            units[f"{provider}/{month}"] = _hash({**base, **reads})
    shared = {
        "runs": [_digest_of(member) for member in election.of_fact("runs")],
        "refusals": sorted([r.source, r.partition, r.identity] for r in election.refusals),
        "row_refusals": sorted([m.generation.source, m.generation.partition, m.generation.content_hash]
                               for m in election.members if m.generation.refusals),
    }  # fmt: skip
    units[SHARED] = _hash({**base, **shared})
    return units


def overall_fingerprint(units: dict[str, str]) -> str:
    """One sha256 over all units."""
    return _hash(units)


def months_to_build(units: dict[str, str], publication: dict[str, Any] | None) -> list[date]:
    """Months whose fingerprint is not the published one, also those that are no longer there; all without a publication."""
    published = (publication or {}).get("units") or {}
    changed = {name for name in units.keys() | published.keys() if units.get(name) != published.get(name)}
    return sorted({date.fromisoformat(f"{name.rpartition('/')[2]}-01") for name in changed if name != SHARED})


def providers(election: Election) -> list[str]:
    """Providers with a bill or carbon file; AWS when there are only run records."""
    return sorted({member.provider_name for member in election.members if member.provider_name}) or ["AWS"]


def unit_months(election: Election) -> list[str]:
    """Every month that a bill line, a carbon file or a run's window lies in."""
    months: set[str] = set()
    for member in election.members:
        months |= {total.usage_month for total in member.generation.controls.months}
        months |= set(member.generation.controls.run_months)
        if member.fact in ("bill", "carbon") and member.generation.month:
            months.add(member.generation.month)
    return sorted(months)


def payer_months(election: Election) -> list[PayerMonth]:
    """The rows of raw.months."""
    rows = []
    for provider in sorted({member.provider_name for member in election.members if member.provider_name}):
        mine = [member for member in election.members if member.provider_name == provider]
        bills = {(payer, m.generation.month) for m in mine if m.fact == "bill" for payer in m.book_payers}
        carbon = {(payer, m.generation.month) for m in mine if m.fact == "carbon" for payer in m.version_payers}
        for payer in sorted({payer for member in mine for payer in member.payers}):
            for month in unit_months(election):
                published = (payer, month) in carbon
                rows.append(
                    PayerMonth(
                        provider, payer, month, (payer, month) in bills, election.at >= month_end(month) + BILL_CLOSES_AFTER,
                        published, published and election.at >= carbon_true_up(month),
                    )
                )  # fmt: skip
    return rows


def month_end(month: str) -> datetime:
    """The instant at which a month is over."""
    year, number = int(month[:4]), int(month[5:7])
    return datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)


def carbon_true_up(month: str) -> datetime:
    """When AWS no longer restates a month: its yearly true-up is over on 30 June of the next year."""
    return datetime(int(month[:4]) + 1, 7, 1, tzinfo=UTC)


@cache
def code_version() -> str:
    """A hash of everything that makes numbers: the dbt project with its seeds, and the modules that create what it reads."""
    here = Path(__file__).resolve().parent
    modules = [here / name for name in ("controls.py", "election.py", "exact_sql.py", "raw.py", "typed_select.py", "units.py")]
    project = [path for path in DBT_PROJECT.rglob("*") if path.suffix in {".sql", ".yml", ".csv"} and not _is_made(path)]
    digest = hashlib.sha256(__version__.encode())
    for path in [*modules, *sorted(project)]:
        digest.update(path.relative_to(here.parent).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _is_made(path: Path) -> bool:
    parts = path.relative_to(DBT_PROJECT).parts
    return any(part in NOT_CODE or part.startswith(".") for part in parts)


def _digest_of(member: Elected) -> list[Any]:
    generation = member.generation
    flags = [sorted(member.book_payers), sorted(member.version_payers)]
    return [generation.source, generation.partition, generation.row_digest, *flags]


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
