"""Which records are one run, under which name, and what it held: the merging of records by equal ids and aliases."""

from . import jobs
from .records import UNCLEAR, Record, Runs, Window, normalised
from .shared_machines import recorded_once


def _groups(records: list[Record], numbers: jobs.Numbers) -> list[list[Record]]:
    """Records that are one run: joined by an equal id or an equal alias, directly or in a chain."""
    leader = list(range(len(records)))

    def find(place: int) -> int:
        while leader[place] != place:
            place = leader[place]
        return place

    seen: dict[tuple[str, str], int] = {}
    for place, record in enumerate(records):
        for name in [("", numbers.spelling(record)), *sorted(record.shared_names | numbers.aliases(record))]:
            if name in seen:
                leader[find(place)] = find(seen[name])
            else:
                seen[name] = place
    groups: dict[int, list[Record]] = {}
    for place, record in enumerate(records):
        groups.setdefault(find(place), []).append(record)
    return list(groups.values())


def resolve(records: list[Record]) -> Runs:
    numbers = jobs.Numbers(records)
    groups = _groups(records, numbers)
    owner: dict[str, str] = {}
    claims: dict[str, set[int]] = {}
    names = []
    for place, group in enumerate(groups):
        _, recorded_id = min((not record.is_own, numbers.spelling(record)) for record in group)
        names.append(normalised(recorded_id))
        for record in group:
            owner.setdefault(normalised(numbers.spelling(record)), names[-1])
            claims.setdefault(normalised(numbers.spelling(record)), set()).add(place)
    ambiguous = {run_id for run_id, places in claims.items() if len(places) > 1}
    ambiguous |= {normalised(record.recorded_id) for record in records if numbers.is_unclear(record)} | {UNCLEAR}
    runs = Runs(owner, ambiguous, {}, {})
    runs.recorded_aliases = {alias for record in records for alias in record.aliases}
    for name, group in zip(names, groups, strict=True):
        runs.ids[name] = runs.ids.get(name, False) or not all(map(numbers.is_numbered, group))
        for record in group if name not in ambiguous else ():
            own = {(normalised(record.recorded_id), False), (normalised(numbers.spelling(record)), False)}
            own |= {
                (normalised(jobs.number_of(alias)), not numbers.are_names(record))
                for system, alias in record.aliases
                if system == jobs.SLURM
            }
            for other, is_unclear in own - {(name, False)}:
                runs.other_names.setdefault(other, set()).add((name, is_unclear))
    for record in records:
        alike = [other for other in records if (other.is_own, other.recorded_id) == (record.is_own, record.recorded_id)]
        for system, job in record.aliases:
            if system == "sagemaker" and (plans := set().union(*(other.plans for other in alike))):
                runs.plans_of_job.setdefault(job, set()).update(plans)
    windows: dict[str, set[Window]] = {}
    parents: dict[str, str] = {}
    for name, group in zip(names, groups, strict=True):
        # nodes are one field of a run: the first system that names any speaks, a run.json before a scheduler
        speaks_itself = any(record.is_own and record.holdings for record in group)
        by_word = sorted(group, key=lambda record: (not record.is_own, record.recorded_id))
        if provider := next((record.provider_name for record in by_word if record.provider_name), None):
            runs.provider_of[name] = provider
        if parent := next((record.parent for record in by_word if record.parent), None):
            parents[name] = parent
        if software := next((record.sdk_version for record in by_word if record.sdk_version), None):
            runs.software[name] = software
        for field_name in ("model_name", "workload_key"):  # the workload takes the place of the model
            if stated := next((value for record in by_word if (value := getattr(record, field_name))), None):
                runs.workloads[name] = stated
        for record in group:
            for _, job in (alias for alias in record.aliases if alias[0] in ("sagemaker", "vertex")):
                runs.run_of_job[job] = name
            of_pods = {alias for alias in record.aliases if alias[0] in ("kubernetes_pod", "ecs_task")}
            for alias in (record.aliases - record.shared_names) | of_pods if name not in ambiguous else ():
                runs.runs_of_alias.setdefault(alias, set()).add(name)
            spans = [*record.attempts, *(held[1:3] for held in record.holdings)]
            runs.spans.setdefault(name, []).extend(spans)
            known = runs.times.get(name)
            for start, end in spans:
                known = (min(start, known[0]), max(end, known[1])) if known else (start, end)
            if known:
                runs.times[name] = known
        named = [record for record in group if record.is_own or not speaks_itself]
        for window in recorded_once(name, named):
            windows.setdefault(window.resource_id, set()).add(window)
    runs.parents = {name: runs.of_tag(parent) for name, parent in parents.items()}
    runs.windows = {
        resource_id: sorted(held, key=lambda window: (window.start, window.end, window.run, window.chips or -1))
        for resource_id, held in windows.items()
    }
    return runs
