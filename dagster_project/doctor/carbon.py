"""Will runs get their carbon? The months and payers of a provider's carbon beside those of its bills."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from dagster_project.base.months import CARBON_EXPECTED_AFTER, month_end
from dagster_project.doctor.checks import KEPT, Check, answered, counted, some
from dagster_project.doctor.ledger import Ledger, kind_of
from dagster_project.doctor.reading import Reading


def ask_carbon(ledger: Ledger, bills: Sequence[Reading], carbon: Sequence[Reading], now: datetime) -> Iterator[Check]:
    """One answer per provider that bills."""
    for provider in sorted({bill.source.facts.provider_name or "" for bill in bills}):
        # late rows of Google's lie in partitions of a month in which nothing was used yet
        last = max(ledger.month(bill) for bill in bills if bill.source.facts.provider_name == provider)
        billed = [month for month in _months(bills, provider) if month <= last]
        sources = [one for one in carbon if one.source.facts.provider_name == provider]
        if not sources:
            kind = kind_of("carbon", provider)
            message = "no source of it: what the provider says of emissions will be not_published"
            facts = {"provider_name": provider, "bill_months": billed, "carbon_months": []}
            yield Check(f"carbon of {provider}", "warning", message, f"Add one of kind {kind}.", False, "carbon", facts)
            continue
        yield _compared(ledger, provider, billed, _months(carbon, provider), now)


def _months(readings: Sequence[Reading], provider: str) -> list[str]:
    return sorted({month for one in readings if one.source.facts.provider_name == provider for month in one.months})


def _compared(ledger: Ledger, provider: str, billed: list[str], known: list[str], now: datetime) -> Check:
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
