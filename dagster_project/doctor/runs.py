"""Will runs get their cost and energy? Records beside the bills of their time, samples beside the records of theirs."""

from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import Any

from dagster_project.base.dbt_project import project_folder
from dagster_project.base.months import first_day, month_end
from dagster_project.doctor.checks import KEPT, Check, Outcome, counted, percent, share, some
from dagster_project.doctor.evidence import Evidence, kind_of
from dagster_project.doctor.reading import Reading

_STRANGE = "run keys without a record"
_IN_SCOPE = """
    SELECT DISTINCT run_id, recorded_id, name FROM machines
    WHERE coalesce(provider_name, $provider) = $provider AND from_at < $last AND to_at > $first
"""


def ask_records(evidence: Evidence, bills: Sequence[Reading], records: Sequence[Reading]) -> Iterator[Check]:
    """For each provider, whether the runs of the newest billed month are found in its bills."""
    if not records:
        remedy = "Write a run record per job and add them as a source; `trainledger init` shows how."
        yield Check("records", "warning", "no source of run records: only tags give a run its cost", remedy, False, "records")
        return
    is_part = any(not one.is_whole for one in (*bills, *records))
    for provider in sorted({bill.source.facts.provider_name or "" for bill in bills}):
        months = sorted({evidence.month(bill) for bill in bills if bill.source.facts.provider_name == provider})
        yield _records_of(evidence, provider, months[-1], " (only a part was read)" if is_part else "")


def _records_of(evidence: Evidence, provider: str, month: str, note: str) -> Check:
    """Runs that hold machines in a month of the bills, as long as that is billed, and whether the bills know the machines."""
    first = datetime.combine(first_day(month), time())
    (last,) = evidence.row("SELECT max(to_at) FROM usage_lines WHERE provider_name = $provider", provider=provider)
    last = max(first, min(last or first, month_end(month).replace(tzinfo=None)))
    sql = f"""
        WITH held AS ({_IN_SCOPE}),
        lines AS (SELECT DISTINCT run_id, name FROM held_lines),
        billed AS (SELECT run_id, name, true AS is_billed FROM lines WHERE name IS NOT NULL),
        named AS (SELECT run_id, true AS is_named FROM lines WHERE name IS NULL)
        SELECT
            min(held.recorded_id), coalesce(bool_or(is_named), false) OR bool_and(is_billed IS NOT NULL),
            list(held.name ORDER BY held.name) FILTER (is_billed IS NULL)
        FROM held LEFT JOIN billed USING (run_id, name) LEFT JOIN named USING (run_id)
        GROUP BY run_id ORDER BY run_id
    """
    rows = evidence.rows(sql, provider=provider, first=first, last=last)
    rest = [(run, machines or []) for run, is_met, machines in rows if not is_met]
    facts = {
        "provider_name": provider,
        "month": month,
        "records": len(rows),
        "matched": len(rows) - len(rest),
        "unmatched": [{"training_run_id": run, "machines": machines[:KEPT]} for run, machines in rest[:KEPT]],
    }
    about = f"records of {provider}"
    if not rows:
        message = f"none holds a machine in {month}{note}"
        remedy = "Write a run record per job, with the resource ids of the bill; without them only tags give a run its cost."
        return Check(about, "warning", message, remedy, True, "records", facts)
    message = f"{len(rows) - len(rest):,} of {counted(len(rows), 'run')} of {month} have billed machines{note}"
    if not rest:
        return Check(about, "ok", message, "", True, "records", facts)
    names = some([f"{run} ({some(machines)})" for run, machines in rest])
    remedy = "Write resource_id as the bill has it (AWS: i-...; Google Cloud: resource.name), or add the bill of that account."
    return Check(about, "warning", f"{message}; not: {names}", remedy, True, "records", facts)


def ask_telemetry(evidence: Evidence, telemetry: Sequence[Reading], bills: Sequence[Reading]) -> Iterator[Check]:
    """For each source of samples whether they meet runs, and for each provider with accelerators whether there is one."""
    for source in telemetry:
        yield from _samples_of(evidence, source)
    providers = {one.source.facts.provider_name for one in telemetry}
    billed = {provider for (provider,) in evidence.rows("SELECT DISTINCT provider_name FROM accelerator_lines")}
    for provider in sorted(billed - providers):
        message = f"no source of telemetry for {provider}: energy will rest on time alone, with wide bounds"
        remedy = f"Add one of kind {kind_of('telemetry', provider)}."
        yield Check("telemetry", "warning", message, remedy, False, "telemetry", {"provider_name": provider})


def _samples_of(evidence: Evidence, telemetry: Reading) -> Iterator[Check]:
    """Samples that meet a run, by its key or by the machine that it held then; and runs of that time that have none."""
    name, provider = telemetry.source.name, telemetry.source.facts.provider_name
    sql = """
        WITH seen AS (
            SELECT host, run_key, from_at, to_at, count(*) AS sample_count FROM samples WHERE source_name = $source GROUP BY ALL
        ),
        run_keys AS (SELECT run_key(name) AS run_key, min(run_id) AS keyed_run_id FROM run_names GROUP BY ALL),
        keyed AS (SELECT row_number() OVER () AS id, * FROM seen LEFT JOIN run_keys USING (run_key)),
        meeting AS (
            SELECT id, run_id FROM keyed INNER JOIN machines ON machines.name = host
                AND machines.from_at <= keyed.to_at AND machines.to_at >= keyed.from_at
            WHERE keyed_run_id IS NULL
            UNION ALL
            SELECT id, run_id FROM keyed INNER JOIN machines ON machines.run_id = keyed_run_id
                AND machines.from_at <= keyed.to_at AND machines.to_at >= keyed.from_at
        ),
        met AS (SELECT id, list_distinct(list(run_id)) AS runs FROM meeting GROUP BY id)
        SELECT
            host, run_key, keyed_run_id IS NOT NULL, sum(sample_count),
            coalesce(sum(sample_count) FILTER (runs IS NOT NULL), 0), min(from_at), max(to_at),
            list_distinct(flatten(list(runs)))
        FROM keyed LEFT JOIN met USING (id)
        GROUP BY ALL ORDER BY 4 DESC, 1, 2
    """
    rows = evidence.rows(sql, source=name)
    if not rows:
        yield Check(f"telemetry of {name}", "warning", f"no sample in what was read of {telemetry.newest}", "", True, "telemetry")
        return
    samples = sum(row[3] for row in rows)
    matched = sum(row[4] for row in rows)
    rest = [(host, key, _reason(key, is_known), total - met) for host, key, is_known, total, met, *_ in rows if total != met]
    first, last = min(row[5] for row in rows), max(row[6] for row in rows)
    facts = {
        "source": name,
        "first_day": f"{first:%Y-%m-%d}",
        "last_day": f"{last:%Y-%m-%d}",
        "samples": int(samples),
        "matched": int(matched),
        "share": share(matched, samples),
        "unmatched": [
            {"host": host, "run_key": key, "reason": reason, "samples": int(count)} for host, key, reason, count in rest[:KEPT]
        ],
    }
    part = "" if telemetry.is_whole else " (only a part was read)"
    seen = f"{counted(int(samples), 'sample')} from {first:%Y-%m-%d} to {last:%Y-%m-%d}"
    message = f"{percent(share(matched, samples))} of {seen} meet a run{part}"
    outcome: Outcome = "warning" if rest else "ok"
    for why in dict.fromkeys(reason for *_, reason, _ in rest):
        message += f"; {why}: {some([host if why != _STRANGE else key for host, key, reason, _ in rest if reason == why])}"
    remedy = "Write a record that holds these machines at that time, or correct run= and host= in the keys." if rest else ""
    yield Check(f"telemetry of {name}", outcome, message, remedy, True, "telemetry", facts)
    if provider:  # GPUs and meters are of either provider, and meters of a few machines only
        yield _runs_with_samples(evidence, telemetry, provider, (first, last), {run for row in rows for run in row[7] or ()})


def _reason(key: str | None, is_known: bool) -> str:
    if is_known:
        return "outside the time of their run"
    return _STRANGE if key else "hosts that no record holds then"


def _runs_with_samples(
    evidence: Evidence, telemetry: Reading, provider: str, window: tuple[Any, Any], sampled: set[str]
) -> Check:
    held = evidence.rows(
        f"SELECT run_id, min(recorded_id) FROM ({_IN_SCOPE}) GROUP BY 1 ORDER BY 1",
        provider=provider,
        first=window[0],
        last=window[1],
    )
    rest = [name for run, name in held if run not in sampled]
    facts = {
        "source": telemetry.source.name,
        "runs": len(held),
        "with_samples": len(held) - len(rest),
        "without": rest[:KEPT],
    }
    message = f"{len(held) - len(rest):,} of {counted(len(held), 'run')} that held machines meanwhile have samples"
    about = f"energy by {telemetry.source.name}"
    if not held:
        remedy = "Write a run record per job, with the times at which it held its machines."
        return Check(about, "warning", "no record holds a machine at the time of the samples", remedy, True, "energy", facts)
    if not rest:
        return Check(about, "ok", message, "", True, "energy", facts)
    remedy = "Their energy will rest on time alone. Collect samples on all of a run's machines."
    return Check(about, "warning", f"{message}; not: {some(rest)}", remedy, True, "energy", facts)


def ask_types(evidence: Evidence) -> Iterator[Check]:
    """Whether the catalogue knows the accelerators that records name: energy of others is unknown."""
    seed = project_folder() / "seeds" / "accelerator_types.csv"
    sql = """
        SELECT accelerator_type, count(DISTINCT run_id), known.accelerator_type IS NOT NULL
        FROM machines
        LEFT JOIN read_csv($seed, all_varchar = true) AS known USING (accelerator_type)
        GROUP BY ALL ORDER BY 2 DESC, 1
    """
    rows = evidence.rows(sql, seed=str(seed))
    if not rows:
        return
    unnamed = sum(runs for type_, runs, _ in rows if type_ is None)
    unknown = [type_ for type_, _, is_known in rows if type_ is not None and not is_known]
    known = [type_ for type_, _, is_known in rows if is_known]
    facts = {"known": known, "unknown": unknown[:KEPT], "runs_without_type": unnamed}
    if not unknown and not unnamed:
        yield Check("accelerator types", "ok", f"the catalogue knows {some(known)}", "", True, "accelerator_types", facts)
        return
    findings = [f"not in the catalogue: {some(unknown)}"] if unknown else []
    findings += [f"{counted(unnamed, 'run')} name no type"] if unnamed else []
    remedy = "Write accelerator_type as the page of run records has it; without a type that is known energy stays null."
    yield Check("accelerator types", "warning", "; ".join(findings), remedy, True, "accelerator_types", facts)
