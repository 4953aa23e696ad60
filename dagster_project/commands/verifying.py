"""`trainledger verify`: an issued report against its evidence, or every landed object against its sha256. Changes nothing."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.base.failures import UsageError
from dagster_project.landing.land import Landing
from dagster_project.landing.verifying import Difference
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home

if TYPE_CHECKING:
    from dagster_project.evidence.checking import Findings

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


def tell_findings(found: "Findings", tell: Callable[[str], None], *, as_json: bool = False) -> int:
    """Tell every difference, what cannot be compared here, and how much was compared. Returns the exit code: 0, 1 or 3."""
    code, report_id = found.exit_code, found.issued.get("report_id")
    if as_json:
        differing = {"differences": found.differences, "remarks": found.remarks}
        tell(json.dumps({"exit_code": code, "report_id": report_id, **found.counts, **differing}, indent=2))
        return code
    for text in found.differences:
        tell(f"differs: {text}")
    for text in found.remarks:
        tell(text)
    if code == NOT_COMPARED and not found.is_partial:
        tell("Nothing could be compared: the report has no figure with SQL.")
    elif not found.differences:
        counts = {"figures": 0, "rendered": 0} | found.counts
        rebuilt = f"; {counts['rebuilt']} tables rebuilt from the landing" if "rebuilt" in counts else ""
        report = f"{report_id} is{', as far as it could be compared,' if found.is_partial else ''} as it was issued"
        files, figures, rendered = (counts[name] for name in ("files", "figures", "rendered"))
        tell(f"{report}: {files} files, {figures} figures from their SQL, {rendered} files rendered again{rebuilt}.")
    return code


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
