"""`trainledger verify`: an issued report against its evidence, or every landed object against its sha256. Changes nothing."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from dagster_project.base.failures import UsageError
from dagster_project.landing.land import Landing
from dagster_project.landing.verifying import Difference
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home

NOT_COMPARED = 3


def require_a_subject(path: Path | None, landing: bool, from_landing: str | None, *, is_signature_asked: bool = False) -> None:
    """A command without a task must not look as if it had found all well; nor one with two."""
    if (path is None) == (not landing):
        what = "verify needs something to verify" if path is None else "verify takes one thing to verify"
        raise UsageError(what, remedy="Give the folder or zip of an issued report, or --landing.")
    if is_signature_asked and path is None:
        raise UsageError("a landing has no signature", remedy="--trusted-key and --require-signature are for an issued report.")
    if from_landing and path is None:
        raise UsageError("--from-landing rebuilds the tables of an issued report", remedy="Give its folder or zip too.")


def verify_report(
    path: Path,
    from_landing: str | None,
    tell: Callable[[str], None],
    *,
    trusted_key: Path | None = None,
    is_signature_required: bool = False,
    as_json: bool = False,
    listener: Listener = no_listener,
) -> int:
    """Tell every difference, what cannot be compared here, and how much was compared. Returns the exit code: 0, 1 or 3."""
    from dagster_project.evidence import signing
    from dagster_project.evidence.checking import Demands, json_of, opened_pack, verify_pack
    from dagster_project.evidence.rebuilding import landing_differences

    demands = Demands(is_signature_required, signing.trusted_key(trusted_key) if trusted_key else None)

    with opened_pack(path) as (folder, differences):
        listener("verify", 0, 1, path.name)
        found = verify_pack(path, folder, differences, demands)
        listener("verify", 1, 1, path.name)
        if from_landing and not found.differences:
            differing, left_out, tables = landing_differences(folder, found.issued, from_landing, listener)
            found.differences += differing
            found.remarks += left_out
            found.is_partial = bool(left_out)
            found.counts["rebuilt"] = tables
    if as_json:
        tell(json_of(found))
        return found.exit_code
    for text in found.differences:
        tell(f"differs: {text}")
    for text in found.remarks:
        tell(text)
    if found.exit_code == NOT_COMPARED and not found.is_partial:
        tell("Nothing could be compared: the report has no figure with SQL.")
    elif not found.differences:
        counts = {"figures": 0, "rendered": 0} | found.counts
        rebuilt = f"; {counts['rebuilt']} tables rebuilt from the landing" if "rebuilt" in counts else ""
        report = (
            f"{found.issued['report_id']} is{', as far as it could be compared,' if found.is_partial else ''} as it was issued"
        )
        tell(
            f"{report}: {counts['files']} files, {counts['figures']} figures from their SQL,"
            f" {counts['rendered']} files rendered again{rebuilt}."
        )
    return found.exit_code


def verify_landing(
    settings: Settings, tell: Callable[[str], None], *, as_json: bool = False, listener: Listener = no_listener
) -> int:
    """Tell every object that differs, and how many do not. Returns 0, or 1 when one differs."""
    home = Home.of(settings)
    landing = home.landing
    generations = [one for source in home.sources for one in landing.store.read(source.name).generations]
    objects = [landed for generation in generations for landed in generation.objects]
    differing: list[Difference] = []
    for number, found in enumerate(landing.differences(generations), start=1):
        if found and (found.found or _is_kept(found, landing)):  # `prune` may be at work
            differing.append(found)
            if not as_json:
                tell(f"differs: {found}")
        listener("verify", number, len(objects), objects[number - 1].key)
    code, size = int(bool(differing)), sum(landed.size for landed in objects)
    if as_json:
        counts = {"objects": len(objects), "bytes": size}
        tell(json.dumps({"exit_code": code, **counts, "differences": [asdict(one) for one in differing]}, indent=2))
    else:
        same = len(objects) - len(differing)
        tell(f"{same} of {len(objects)} landed objects have the bytes that were landed ({size} bytes).")
    return code


def _is_kept(gone: Difference, landing: Landing) -> bool:
    """Whether the generation of an object that is gone still counts as landed."""
    return any(one.path == gone.generation for one in landing.read(gone.source, gone.partition).generations)
