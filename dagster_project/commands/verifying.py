"""`trainledger verify --landing`: every landed object against the sha256 that was taken when it was fetched. Changes nothing."""

import json
from collections.abc import Callable
from dataclasses import asdict

from dagster_project.failures import UsageError
from dagster_project.landing.land import Landing
from dagster_project.landing.opening import open_landing
from dagster_project.landing.verifying import Difference, landed_differences
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener


def require_a_subject(landing: bool) -> None:
    """A command that was told nothing must not look as if it had found all well."""
    if not landing:
        raise UsageError("verify was not told what to verify", remedy="Give --landing.")


def verify_landing(
    settings: Settings, tell: Callable[[str], None], *, as_json: bool = False, listener: Listener = no_listener
) -> int:
    """Tell every object that differs, and how many do not. Returns 0, or 1 when one differs."""
    landing = open_landing(settings)
    generations = [one for source in settings.sources for one in landing.store.read(source.name).generations]
    objects = [landed for generation in generations for landed in generation.objects]
    differing: list[Difference] = []
    for number, found in enumerate(landed_differences(landing.store, generations), start=1):
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
