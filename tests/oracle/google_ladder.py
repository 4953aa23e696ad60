"""Whose a row of Google's bill is: Vertex AI job, label, resource x time; and the one reason of what is left."""

import re
from collections.abc import Iterator

from .google_lines import GoogleLine
from .ladder import WHOLE, Claim, Part, billed_time, in_its_month, is_held_in_its_month, share_out
from .overlap import occupation, weights
from .records import Runs, Window
from .splitting import RESIDUAL

_CUSTOM_JOB = re.compile(r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+")


def jobs_of(line: GoogleLine) -> list[str]:
    return [found[0] for name in (line.global_name, line.resource_name) if (found := _CUSTOM_JOB.search(name))]


def _job_run(line: GoogleLine, runs: Runs) -> str | None:
    return next((runs.run_of_job[job] for job in jobs_of(line) if job in runs.run_of_job), None)


def label_of(line: GoogleLine, tag_keys: list[str]) -> str:
    """Labels are lower-case and cannot be told from their keys with dashes, so both spellings count."""
    for key in tag_keys:
        for spelling in (key, key.lower(), key.replace("_", "-"), key.lower().replace("_", "-")):
            if value := line.labels.get(spelling):
                return value
    return ""


def _labelled_run(line: GoogleLine, runs: Runs, tag_keys: list[str]) -> str | None:
    label = label_of(line, tag_keys)
    return runs.of_tag(label) if label else None


def _holders(line: GoogleLine, runs: Runs) -> list[Window]:
    held = {window for name in line.machines for window in runs.windows.get(name, ())}
    return [window for window in held if window.start < in_its_month(line) and window.end > line.start]


def claim(line: GoogleLine, runs: Runs, tag_keys: list[str]) -> Claim:
    nobody = Claim(None, [(RESIDUAL, WHOLE)], residual_reason(line, runs))
    if not line.is_usage or line.is_unused:
        return nobody
    holders = _holders(line, runs)
    for rule, run in (("managed_job", _job_run(line, runs)), ("tag", _labelled_run(line, runs, tag_keys))):
        if run is None:
            continue
        if run in runs.ambiguous:
            return Claim(None, [(RESIDUAL, WHOLE)], "unattributed")
        if rule == "tag" and any(window.run != run for window in holders):
            break  # others held it at that time, so time decides
        return Claim(rule, [(run, WHOLE)], None)
    if not holders:
        return nobody
    sizes = runs.sizes.get(line.usage_month, {})
    shares = occupation(holders, line.start, in_its_month(line), line.instance_type, sizes)
    return Claim("resource_time", weights(shares, billed_time(line)), nobody.reason)


def residual_reason(line: GoogleLine, runs: Runs) -> str:
    if line.cost_type == "tax":
        return "tax"
    if line.is_support:
        return "support"
    if line.cost_type == "rounding_error":
        return "rounding"
    if line.component == "credit":
        return "credit"
    if line.is_fee:
        return "unused_commitment"
    if not line.is_usage:
        return "provider_adjustment"
    if line.is_unused:
        return "unused_commitment"
    if line.component == "accelerator" and is_held_in_its_month(line, line.machines, runs):
        return "idle"
    if not line.sub_account_id:
        return "no_project"
    return "unlogged" if line.component == "accelerator" else "non_accelerator"


def parts_of(line: GoogleLine, runs: Runs, tag_keys: list[str]) -> Iterator[Part]:
    yield from share_out(line, claim(line, runs, tag_keys), runs)
