"""Will runs get their cost, energy and carbon? Records and carbon beside the bills of their time, samples beside the records."""

from collections.abc import Iterator, Sequence
from datetime import datetime, time

from dagster_project.base.months import CARBON_EXPECTED_AFTER, first_day, month_end
from dagster_project.doctor.checks import KEPT, Check, answered, counted, percent, share, some
from dagster_project.doctor.ledger import Ledger, kind_of
from dagster_project.doctor.reading import Reading

_STRANGE = "run keys without a record"
_REASONS = {  # of marts.fct_telemetry_matches, where samples meet no run
    "unknown_run_key": _STRANGE,
    "no_run": "hosts that no record holds then",
    "outside_run": "outside the machines and the time of their run",
}


def ask_records(ledger: Ledger, bills: Sequence[Reading], records: Sequence[Reading]) -> Iterator[Check]:
    """For each provider, whether the runs of the newest billed month are found in its bills."""
    if not records:
        remedy = "Write a run record per job and add them as a source; `trainledger init` shows how."
        yield Check("records", "warning", "no source of run records: only tags give a run its cost", remedy, False, "records")
        return
    for provider in sorted({bill.source.facts.provider_name or "" for bill in bills}):
        months = sorted({ledger.month(bill) for bill in bills if bill.source.facts.provider_name == provider})
        is_whole = all(one.is_whole(months[-1]) for one in (*bills, *records))
        yield _records_of(ledger, provider, months[-1], "" if is_whole else " (only a part was read)")


def _records_of(ledger: Ledger, provider: str, month: str, note: str) -> Check:
    """Runs that hold machines in a month of the bills, as long as that is billed, and whether the bills know the machines."""
    first = datetime.combine(first_day(month), time())
    (last,) = ledger.row("billed_until", provider=provider)
    last = max(first, min(last or first, month_end(month).replace(tzinfo=None)))
    rows = ledger.rows("runs_in_bills", provider=provider, first=first, last=last)
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
        return answered(about, "records", message, remedy, facts)
    message = f"{len(rows) - len(rest):,} of {counted(len(rows), 'run')} of {month} have billed machines{note}"
    message += f"; not: {some([f'{run} ({some(machines)})' for run, machines in rest])}" if rest else ""
    remedy = "Write resource_id as the bill has it (AWS: i-...; Google Cloud: resource.name), or add the bill of that account."
    return answered(about, "records", message, remedy if rest else "", facts)


def ask_telemetry(ledger: Ledger, telemetry: Sequence[Reading], bills: Sequence[Reading]) -> Iterator[Check]:
    """For each source of samples whether they meet runs, and for each provider with accelerators whether there is one."""
    for source in telemetry:
        yield from _samples_of(ledger, source)
    providers = {one.source.facts.provider_name for one in telemetry}
    billed = {provider for (provider,) in ledger.rows("providers_of_accelerators")}
    for provider in sorted(billed - providers):
        message = f"no source of telemetry for {provider}: energy will rest on time alone, with wide bounds"
        remedy = f"Add one of kind {kind_of('telemetry', provider)}."
        yield Check("telemetry", "warning", message, remedy, False, "telemetry", {"provider_name": provider})


def _samples_of(ledger: Ledger, telemetry: Reading) -> Iterator[Check]:
    """Samples that meet a run, by its key or by the machine that it held then; and runs of that time that have none."""
    name = telemetry.source.name
    rows = ledger.rows("samples", source=name)
    if not rows:
        yield Check(f"telemetry of {name}", "warning", f"no sample in what was read of {telemetry.newest}", "", True, "telemetry")
        return
    samples, matched = sum(row[3] for row in rows), sum(row[4] for row in rows)
    rest = [(host, key, _REASONS[reason], total - met) for host, key, reason, total, met in rows if total != met]
    sql = f"select min(sample_end), max(sample_end) from raw.{telemetry.source.kind} where _source_name = $source"
    [(first, last)] = ledger.ask(sql, source=name)
    facts = {
        "source": name,
        "first_day": f"{first:%Y-%m-%d}",
        "last_day": f"{last:%Y-%m-%d}",
        "samples": samples,
        "matched": matched,
        "share": share(matched, samples),
        "unmatched": [dict(zip(("host", "run_key", "reason", "samples"), row, strict=True)) for row in rest[:KEPT]],
    }
    part = "" if telemetry.is_whole() else " (only a part was read)"
    seen = f"{counted(samples, 'sample')} from {first:%Y-%m-%d} to {last:%Y-%m-%d}"
    message = f"{percent(share(matched, samples))} of {seen} meet a run{part}"
    for why in dict.fromkeys(reason for *_, reason, _ in rest):
        message += f"; {why}: {some([host if why != _STRANGE else key for host, key, reason, _ in rest if reason == why])}"
    remedy = "Write a record that holds these machines at that time, or correct run= and host= in the keys." if rest else ""
    yield answered(f"telemetry of {name}", "telemetry", message, remedy, facts)


def ask_types(ledger: Ledger) -> Iterator[Check]:
    """Whether the catalogue knows the accelerators that records name: energy of others is unknown."""
    rows = ledger.rows("accelerator_types")
    if not rows:
        return
    unnamed = sum(runs for type_, runs, _ in rows if type_ is None)
    unknown = [type_ for type_, _, is_known in rows if type_ is not None and not is_known]
    known = [type_ for type_, _, is_known in rows if is_known]
    facts = {"known": known, "unknown": unknown[:KEPT], "runs_without_type": unnamed}
    findings = [f"not in the catalogue: {some(unknown)}"] if unknown else []
    findings += [f"{counted(unnamed, 'run')} name no type"] if unnamed else []
    remedy = "Write accelerator_type as the page of run records has it; without a type that is known energy stays null."
    message = "; ".join(findings) or f"the catalogue knows {some(known)}"
    yield answered("accelerator types", "accelerator_types", message, remedy if findings else "", facts)


def ask_carbon(ledger: Ledger, bills: Sequence[Reading], carbon: Sequence[Reading], now: datetime) -> Iterator[Check]:
    """One answer per provider that bills."""
    for provider in sorted({bill.source.facts.provider_name or "" for bill in bills}):
        # late rows of Google's lie in partitions of a month in which nothing was used yet
        last = max(ledger.month(bill) for bill in bills if bill.source.facts.provider_name == provider)
        billed = [month for month in _months_of(bills, provider) if month <= last]
        sources = [one for one in carbon if one.source.facts.provider_name == provider]
        if not sources:
            kind = kind_of("carbon", provider)
            message = "no source of it: what the provider says of emissions will be not_published"
            facts = {"provider_name": provider, "bill_months": billed, "carbon_months": []}
            yield Check(f"carbon of {provider}", "warning", message, f"Add one of kind {kind}.", False, "carbon", facts)
            continue
        yield _carbon_of(ledger, provider, billed, _months_of(carbon, provider), now)


def _months_of(readings: Sequence[Reading], provider: str) -> list[str]:
    return sorted({month for one in readings if one.source.facts.provider_name == provider for month in one.months})


def _carbon_of(ledger: Ledger, provider: str, billed: list[str], known: list[str], now: datetime) -> Check:
    missing = [month for month in billed if month not in known]
    due = [month for month in missing if month_end(month) + CARBON_EXPECTED_AFTER <= now]
    later = [month for month in missing if month not in due]
    payers = ledger.rows("payers", provider=provider)
    is_known = any(has_carbon for *_, has_carbon in payers)
    strange = [payer for payer, is_billed, has_carbon in payers if is_known and is_billed and not has_carbon]
    facts = {
        "provider_name": provider,
        "bill_months": billed,
        "carbon_months": known,
        "missing": due,
        "not_yet_published": later,
        "payers_without_carbon": strange[:KEPT],
    }
    both = len(billed) - len(missing)
    message = f"{both:,} of {counted(len(billed), 'billed month')} have carbon"
    if later:
        message += f"; not due yet: {some(later)}"
    if due:
        message += f"; missing: {some(due)}"
    if strange:
        message += f"; billed payers without carbon: {some(strange)}"
    remedy = "Ask for a backfill of these months, or copy them." if due else ""
    if strange:
        remedy = f"{remedy} Add the carbon export of these payers.".strip()
    return answered(f"carbon of {provider}", "carbon", message, remedy, facts)
