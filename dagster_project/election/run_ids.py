"""How a run id is matched: one rule, in Python for what is decided before dbt runs. dbt's macro states the same."""

import re
from collections.abc import Iterable, Mapping, Sequence

LONGEST = 63  # what labels of the other provider allow


def normalised_run_id(text: str) -> str:
    """Lower-case, every other character than a-z, 0-9, '_' and '-' as '-', cut at 63."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:LONGEST]


def ambiguous_run_ids(recorded: Iterable[str]) -> list[str]:
    """Normalised ids that more than one recorded spelling has."""
    spellings: dict[str, set[str]] = {}
    for text in recorded:
        spellings.setdefault(normalised_run_id(text), set()).add(text)
    return sorted(name for name, found in spellings.items() if len(found) > 1)


def spelled(names: Iterable[str]) -> set[str]:
    """Names as written, and without what is before them: the number of a job while one cluster is known."""
    return {spelling for name in names for spelling in (name, name.rpartition("/")[2])}


def second_months(clusters: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """For each system of which two clusters are known the month from which on they are, by the first month of each."""
    found: dict[str, dict[str, str]] = {}
    for months in clusters:
        for cluster, month in months.items():
            of_system = found.setdefault(cluster.partition(" ")[0], {})
            of_system[cluster] = min(month, of_system.get(cluster, month))
    return {system: sorted(of_system.values())[1] for system, of_system in sorted(found.items()) if len(of_system) > 1}


def linked(names: Sequence[Iterable[str]]) -> list[int]:
    """Number records so that those which share a name, directly or through others, have the same number."""
    parent = list(range(len(names)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: dict[str, int] = {}
    for index, own in enumerate(names):
        for name in own:
            a, b = root(first.setdefault(name, index)), root(index)
            parent[max(a, b)] = min(a, b)
    return [root(index) for index in range(len(names))]
