"""What a refresh will leave null or without a run, and why: in the words of the published tables, each with its remedy.

Null figures are those of `run_month_summary` and `run_summary`, reasons of cost those of `fct_residual_costs`. Of a month nothing
is stated unless all was read that decides it: a bill that was not read would look like one that is not published.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from dagster_project.base.kinds import Fact
from dagster_project.base.months import CARBON_EXPECTED_AFTER, month_end
from dagster_project.doctor.checks import KEPT, REMEDIES, Check, answered, counted, some
from dagster_project.doctor.ledger import Ledger
from dagster_project.doctor.reading import Reading

_NOT_DUE = "emissions: a month is not published"
# inputs that are compared, price what was not bought on demand, or are of water, whose own table has the reasons
_DECIDE_NO_NULL = ("gcp_prices", "provider_totals", "aws_water")
_NEEDS: dict[str, tuple[Fact, ...]] = {  # what decides a figure, beside bills, records and own figures
    "energy": ("telemetry",),
    "modelled emissions": ("telemetry",),
    "emissions": ("carbon",),
}


def ask_unknowns(ledger: Ledger, readings: Sequence[Reading], now: datetime) -> Iterator[Check]:
    """One answer per provider and reason, and one with the months of which none is given."""
    left_out: set[str] = set()

    def is_known(figure: str, provider: str, month: str) -> bool:
        facts = ("bill", "runs", "inputs", *_NEEDS.get(figure, ()))
        deciding = [one for one in readings if one.source.facts.fact in facts and one.source.kind not in _DECIDE_NO_NULL]
        asked = [(one, one.source.facts.provider_name) for one in deciding]
        is_whole = all(one.is_whole(month) for one, of in asked if not provider or of in (provider, None))
        left_out.update([] if is_whole else [f"{figure} of {provider or 'runs'} {f'in {month}' if month else 'across months'}"])
        return is_whole

    nulls = [row for row in ledger.rows("unknown_figures") if is_known(row[1].partition(":")[0], row[0], row[2])]
    for (provider, reason), rows in groupby(nulls, key=lambda row: row[:2]):
        yield _null(provider, reason, [row[2:] for row in rows], now)
    residuals = [row for row in ledger.rows("residuals") if is_known("cost", row[0], row[3])]
    for (provider, reason, currency), rows in groupby(residuals, key=lambda row: row[:3]):
        yield _residual(provider, reason, currency, [row[3:] for row in rows])
    for provider, rows in groupby(ledger.rows("energy_of_runs"), key=lambda row: row[0]):
        if months := [row[1:] for row in rows if is_known("energy", provider, row[1])]:
            yield _energy(provider, months)
    if left_out:
        message = f"not stated, as not all was read that decides it: {some(sorted(left_out, reverse=True))}"
        yield answered("null figures", "unknown_figures", message, facts={"left_out": sorted(left_out)})


def _energy(provider: str, months: list[tuple[str, int, list[str]]]) -> Check:
    """Runs with energy by month, and those of which it rests on time alone: no null, but wide bounds."""
    alone = sorted({run for *_, runs in months for run in runs})
    where = some([f"{len(runs):,} of {counted(number, 'run')} of {month}" for month, number, runs in months])
    message = f"by time alone, with wide bounds: {where}" + (f"; {some(alone)}" if alone else "")
    facts = [{"month": month, "runs": number, "by_time_alone": runs[:KEPT]} for month, number, runs in months]
    remedy = "Collect samples on all machines of these runs." if alone else ""
    return answered(f"energy of {provider}", "energy", message, remedy, {"provider_name": provider, "months": facts})


def _null(provider: str, reason: str, months: list[tuple[str, int]], now: datetime) -> Check:
    """Runs of which a figure will be null."""
    where = some([counted(runs, "run") + (f" of {month}" if month else "") for month, runs in months])
    is_due = reason != _NOT_DUE or any(not month or month_end(month) + CARBON_EXPECTED_AFTER <= now for month, _ in months)
    facts: dict[str, Any] = {"provider_name": provider or None, "reason": reason}
    facts["months"] = [{"month": month or None, "runs": runs} for month, runs in months]
    message = f"{reason}; {where}{'' if is_due else '; not due yet'}"
    remedy = REMEDIES["unknown_figures"].get(reason, "") if is_due else ""
    return answered(f"null for {provider or 'runs'}", "unknown_figures", message, remedy, facts)


def _residual(provider: str, reason: str, currency: str, months: list[tuple[str, Any, Any]]) -> Check:
    """Cost of accelerators that no run will carry, as a refresh amortises it."""
    total, untyped = sum(row[1] for row in months), sum(row[2] for row in months)
    message = f"{reason}: {total:,.2f} {currency} of accelerators ({some([f'{month} {cost:,.2f}' for month, cost, _ in months])})"
    if untyped:
        message += f"; {untyped:,.2f} of it names no type of accelerator"
    facts: dict[str, Any] = {"provider_name": provider, "reason": reason, "currency": currency}
    facts["months"] = [{"month": month, "effective_cost": str(cost), "without_type": str(none)} for month, cost, none in months]
    return answered(f"no run for {provider}", "residuals", message, REMEDIES["residuals"].get(reason, ""), facts)
