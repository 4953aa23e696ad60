"""`trainledger verify`: an issued report against its evidence, or every landed object against its sha256. Changes nothing."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from dagster_project.base.failures import UsageError
from dagster_project.evidence import chained
from dagster_project.evidence.countersigning import allowed_signers
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.manifest import ROLES
from dagster_project.evidence.signatures import Trust
from dagster_project.evidence.signing import trusted_key
from dagster_project.evidence.stamps import trusted_authorities
from dagster_project.landing.kept import doubts
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation
from dagster_project.landing.verifying import Difference
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home


def require_a_subject(path: Path | None, landing: bool, from_landing: str | None, *, is_signature_asked: bool = False) -> None:
    """A command without a task must not look as if it had found all well; nor one with two."""
    if (path is None) == (not landing):
        what = "verify needs something to verify" if path is None else "verify takes one thing to verify"
        raise UsageError(what, remedy="Give the folder or zip of an issued report, or --landing.")
    if is_signature_asked and path is None:
        raise UsageError("a landing has no signature", remedy="Options on signatures are for an issued report.")
    if from_landing and path is None:
        raise UsageError("--from-landing rebuilds the tables of an issued report", remedy="Give its folder or zip too.")


def trust_of(
    settings: Settings | None,
    trusted_keys: list[Path] | None,
    roles: list[str] | None,
    authorities: list[Path] | None,
    *,
    is_signature_required: bool,
) -> Trust:
    """Whom the options and the configuration name, as far as there are any."""
    if wrong := next((role for role in roles or () if role not in ROLES), None):
        raise UsageError(f"a report is not signed as {wrong!r}", remedy=f"--signed-as takes {' or '.join(ROLES)}.")
    return Trust(
        tuple(map(trusted_key, trusted_keys or ())),
        allowed_signers(settings),
        is_signature_required,
        frozenset(roles or ()),
        trusted_authorities(authorities or []),
    )


def verify_report(path: Path, trust: Trust, from_landing: str | None, listener: Listener = no_listener) -> Findings:
    """An issued report against its evidence; where a landing is named, its tables against what that gives too."""
    from dagster_project.evidence.checking import verify_pack

    def rebuild(folder: Path, issued: dict[str, Any]) -> tuple[list[str], list[str], int]:
        from dagster_project.evidence.rebuilding import landing_differences

        listener("verify", 1, 1, path.name)
        return landing_differences(folder, issued, from_landing or "", listener)

    listener("verify", 0, 1, path.name)
    found = verify_pack(path, trust, rebuild if from_landing else None)
    listener("verify", 1, 1, path.name)
    return found


def verify_landing(
    settings: Settings, tell: Callable[[str], None], *, as_json: bool = False, listener: Listener = no_listener
) -> int:
    """Tell every object that differs, every issued report that the chain misses, and how many objects do not differ.

    Returns 0, or 1 when one differs or is missed.
    """
    home = Home.of(settings)
    landing = home.landing
    generations = [one for source in home.sources for one in landing.store.read(source.name).generations]
    objects = [landed for generation in generations for landed in generation.objects]
    differing, others = list[Difference](), set[str]()
    for number, found in enumerate(landing.differences(generations), start=1):
        if found:
            others.add(found.generation)
        if found and (found.found or _is_kept(found, landing)):  # `prune` may be at work
            differing.append(found)
            if not as_json:
                tell(f"differs: {found}")
        listener("verify", number, len(objects), objects[number - 1].key)
    answers = [generation for generation in generations if generation.query]
    doubted = [doubt for one in answers if one.path not in others for doubt in doubts(landing.store, one)]
    missing = list(chained.landing_differences(home.root / "reports", landing.store.issued()))
    code, size = int(bool(differing or doubted or missing)), sum(landed.size for landed in objects)
    if as_json:
        counts: dict[str, Any] = {"objects": len(objects), "bytes": size}
        counts |= {"groups": Counter(one.source for one in answers)} if answers else {}
        counts |= {"raw": Counter(one.source for one in answers if one.raw)} if any(one.raw for one in answers) else {}
        found_differences: dict[str, Any] = {"differences": [asdict(one) for one in differing], "reports": missing}
        found_differences |= {"groups_that_differ": [asdict(one) for one in doubted]} if doubted else {}
        tell(json.dumps({"exit_code": code, **counts, **found_differences}, indent=2))
    else:
        for text in (*map(str, doubted), *missing):
            tell(f"differs: {text}")
        same = len(objects) - len(differing)
        tell(f"{same} of {len(objects)} landed objects have the bytes that were landed ({size} bytes).")
        for line in _of_answers(answers, {one.generation for one in doubted}):
            tell(line)
    return code


def _of_answers(answers: Iterable[Generation], doubted: Collection[str]) -> Iterator[str]:
    """A line for each source whose deliveries are groups, and of how many the rows are kept and give these."""
    for name, its in groupby(sorted(answers, key=lambda one: one.source), lambda one: one.source):
        deliveries = list(its)
        kept = [one for one in deliveries if one.raw]
        text = f"{name}: {len(deliveries)} deliveries are groups, not the provider's rows"
        text += "; query.json beside each has the statement"
        if kept:
            same = sum(one.path not in doubted for one in kept)
            text += f". The provider's rows are kept beside {len(kept)} of them, and {same} of these give the same groups here"
        yield f"{text}."


def _is_kept(gone: Difference, landing: Landing) -> bool:
    """Whether the generation of an object that is gone still counts as landed."""
    return any(one.path == gone.generation for one in landing.read(gone.source, gone.partition).generations)
