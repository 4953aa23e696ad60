"""Verdicts on deliveries as gates of a build: read from the shelf with what a build elects, nothing is judged here.

A rule that a delivery does not meet is a warning, as a dbt test of severity warn is: recorded and shown, not expected. That every
elected bill and carbon delivery was judged is expected of each build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dagster_project.landing.judging.rules import EVERY_ONE_JUDGED, RULES, lacks_verdict
from dagster_project.warehouse.gates import GateResult
from dagster_project.warehouse.nodes import rows_as_text

if TYPE_CHECKING:
    from dagster_project.election.election import Election


def delivery_gates(election: Election) -> list[GateResult]:
    """One gate for each rule, with the deliveries that do not meet it, and one for the judging itself."""
    judged = [(one.generation, one.contents.verdict) for one in election.members if one.contents.verdict]
    missing = [one.generation for one in election.members if lacks_verdict(one.source, one.contents)]
    found = [GateResult(EVERY_ONE_JUDGED, not missing, len(missing), ", ".join(one.path for one in missing[:3]) or None)]
    for rule in RULES:
        rows = [
            {"source_name": generation.source, "partition": generation.partition, "found": verdict.failed[rule.name]}
            for generation, verdict in judged
            if rule.name in verdict.failed
        ]
        found.append(GateResult(rule.gate, not rows, len(rows), f"warning: {rows_as_text(rows)}" if rows else None))
    return found
