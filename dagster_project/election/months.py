"""Which months there are, and what is known of each payer's month: the only place where the clock becomes yes or no.

A flag shows what was landed and whether a provider may still change it. What follows from it for a figure is decided in SQL.
"""

from collections.abc import Collection
from dataclasses import dataclass

from dagster_project.base.months import bill_closed_from, carbon_final_from
from dagster_project.election.election import Election
from dagster_project.election.winners import Elected


@dataclass(frozen=True, slots=True)
class PayerMonth:
    """One row of raw.months: the flags of a payer's month that depend on the clock or on other files."""

    provider_name: str
    payer_account_id: str
    usage_month: str
    is_bill_landed: bool
    is_bill_closed: bool
    is_carbon_published: bool
    is_carbon_final: bool


def providers(election: Election) -> list[str]:
    """Providers with a bill, carbon file or telemetry; AWS when there are only run records."""
    return sorted({member.provider_name for member in election.members if member.provider_name}) or ["AWS"]


def unit_months(election: Election) -> list[str]:
    """Every month that a bill line, a carbon file, a run's window or a sample lies in."""
    months: set[str] = set()
    for member in election.members:
        controls = member.contents.controls
        months.update(controls.run_months, controls.sample_months, (month for _, month in member.book))
        if member.fact in ("bill", "carbon") and member.generation.month:
            months.update({member.generation.month}, (total.usage_month for total in controls.months))
    return sorted(months)


def payer_months(election: Election) -> list[PayerMonth]:
    """The rows of raw.months. A month without any payer is under '', so that runs have it.

    A payer's months begin with the first it has anything of: one who came in May cannot be missing in April.
    """
    rows, months = [], unit_months(election)
    for provider in providers(election):
        mine = [member for member in election.members if member.provider_name == provider]
        bills = {place for member in mine if member.fact == "bill" for place in member.book}
        invoiced = _invoiced(mine)
        carbon = {
            (payer, m.generation.month or ""): m.generation.published_at
            for m in mine
            if m.fact == "carbon"
            for payer in m.version_payers
        }
        since: dict[str, str] = {}
        for payer, month in (*bills, *carbon):
            since[payer] = min(since.get(payer, month), month)
        for month in months:
            for payer in sorted(payer for payer, first in since.items() if first <= month) or [""]:
                place = (payer, month)
                closed = bill_closed_from(month, invoiced.get(place, month))
                final = place in carbon and election.at >= carbon_final_from(provider, month, carbon[place])
                rows.append(PayerMonth(provider, *place, place in bills, election.at >= closed, place in carbon, final))
    return rows


def final_months(election: Election) -> set[str]:
    """Months of which every payer's bill and carbon is there and is not changed by its provider any more."""
    totals = (total for member in election.of_fact("bill") for total in member.totals)
    is_final = {total.usage_month: False for total in totals if total.uninvoiced_lines}
    for one in payer_months(election):
        flags = (one.is_bill_landed, one.is_bill_closed, one.is_carbon_published, one.is_carbon_final)
        is_final[one.usage_month] = is_final.get(one.usage_month, True) and all(flags)
    return {month for month, final in is_final.items() if final}


def _invoiced(members: list[Elected]) -> dict[tuple[str, str], str]:
    """The latest month whose invoice has rows of a payer's month, where bills name invoices: it must be over as well."""
    latest: dict[tuple[str, str], str] = {}
    for total in (total for member in members for total in member.totals if total.invoice_month):
        place = (total.payer_account_id, total.usage_month)
        latest[place] = max(latest.get(place, ""), total.invoice_month or "")
    return latest


def is_read_by(member: Elected, months: set[str], days: Collection[str] | None = None) -> bool:
    """Whether some of these months can be made of a member's rows: never too narrow, for what it leaves out is not looked at.

    `days` are those of the months of which samples are read, where a kind is built by day; None are all.
    Rows of a capacity block are kept by their month (int_aws_block_lines), so another month's bill is not read again for them.
    """
    controls = member.contents.controls
    if days is not None and controls.reached_days:
        return not set(days).isdisjoint(controls.reached_days)
    touched = {*controls.run_months, *controls.reached_months, *(total.usage_month for total in controls.months)}
    touched |= {member.generation.month} if member.generation.month else set()
    since = controls.open_run_month
    return not touched or not touched.isdisjoint(months) or bool(since and since <= max(months, default=""))
