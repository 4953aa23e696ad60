"""`trainledger verify`: an issued report against its evidence, or every landed object against its sha256. Changes nothing."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dagster_project.base.failures import UsageError
from dagster_project.evidence.findings import Findings
from dagster_project.landing.land import Landing
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
        raise UsageError("a landing has no signature", remedy="--trusted-key and --require-signature are for an issued report.")
    if from_landing and path is None:
        raise UsageError("--from-landing rebuilds the tables of an issued report", remedy="Give its folder or zip too.")


def verify_report(
    path: Path, trusted_key: Path | None, is_signature_required: bool, from_landing: str | None, listener: Listener = no_listener
) -> Findings:
    """An issued report against its evidence; where a landing is named, its tables against what that gives too."""
    from dagster_project.evidence.checking import verify_pack

    def rebuild(folder: Path, issued: dict[str, Any]) -> tuple[list[str], list[str], int]:
        from dagster_project.evidence.rebuilding import landing_differences

        listener("verify", 1, 1, path.name)
        return landing_differences(folder, issued, from_landing or "", listener)

    listener("verify", 0, 1, path.name)
    found = verify_pack(path, trusted_key, is_signature_required, rebuild if from_landing else None)
    listener("verify", 1, 1, path.name)
    return found


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
