"""Of which accounts and accelerator types run records name a resource in a month: elsewhere nobody could know what was idle."""

from . import google_ladder, ladder
from .accelerators import place_of
from .google_lines import GoogleLine
from .ladder import is_held_in_its_month
from .lines import Line
from .records import Runs


def note_recorded(lines: list[Line], google_lines: list[GoogleLine], runs: Runs, tag_keys: list[str]) -> None:
    """By a machine, pool, reservation or cluster that a run holds in the month, or by a job or workload. A tag is no record."""
    workloads, own = google_ladder.workloads_of(google_lines), ladder.workloads_of(lines)
    for line in lines:
        if _counts(line):
            is_job = ladder.claim(line, runs, tag_keys, own).rule in ("managed_job", "split_allocation")
            if is_job or is_held_in_its_month(line, [line.resource_id, *line.of_cluster], runs):
                runs.recorded.add(place_of(line))
    for line in google_lines:
        if _counts(line):
            rule = google_ladder.claim(line, runs, tag_keys, workloads).rule
            names = {*line.held_names, *google_ladder.jobs_of(line)}
            if rule in ("managed_job", "split_allocation") or is_held_in_its_month(line, names, runs):
                runs.recorded.add(place_of(line))


def _counts(line: Line | GoogleLine) -> bool:
    return line.is_usage and not line.is_unused and line.component == "accelerator"
