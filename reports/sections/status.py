"""The stamp of a report: draft while a month lacks its bill or its carbon, else preliminary.

Issuing is somebody's act, never this code's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from reports.door import Row
from reports.errors import QuarterError
from reports.pages import answer, is_there, rows
from reports.publication import Publication
from reports.quarter import Quarter, listed, month_name


@dataclass(frozen=True)
class Status:
    """The stamp and the sentences that give its reasons, worst first; last, what will be missing soon."""

    name: str
    reasons: tuple[str, ...]
    is_final: bool = False  # no row of the quarter may still change


QUARTERS = "quarters_with_data"
NOT_ISSUED = "Every figure is final; the report has not been issued."


def _expiring(publication: Publication, quarter: Quarter) -> tuple[str, ...]:
    """Factors of the quarter's newest month that are too old, or own ones that end, before the next quarter is over."""
    return tuple(
        f"The emission factor of {row['regions']} is too old on {row['valid_to']} (its data are {row['factor_age_years']} years"
        " old): it counts on, with its age, until there is a newer one."
        if not row["is_own"]
        else f"The own emission factor of {row['regions']} ends on {row['valid_to']}: months from then on have none of that set."
        for row in rows(publication, "expiring_factors", quarter.arguments)
    )


def _lacks(payers: Iterable[Row], flag: str, what: str) -> list[str]:
    """One sentence per payer that lacks something, its months named."""
    lacking: dict[str, list[str]] = {}
    for row in payers:
        if not row[flag]:
            name = f" {row['payer_account_name']}," if row["payer_account_name"] else ""
            payer = f"{row['provider_name']} payer {row['payer_account_id']}{',' if name else ''}{name}"
            if row["source_name"]:
                payer = f"source {row['source_name']}, which has delivered nothing so far,"
            lacking.setdefault(payer, []).append(month_name(row["usage_month"]))
    return [f"No {what} of {payer} for {listed(months)}." for payer, months in lacking.items()]


def require_data(publication: Publication, quarter: Quarter) -> None:
    """A quarter without data has no report: not a draft full of nothing."""
    quarters = [str(row["quarter"]) for row in rows(publication, QUARTERS, {})]
    if quarter.name not in quarters and is_there(publication, QUARTERS):
        there = f"there are data of {listed(quarters)}" if quarters else "there are none of any quarter"
        raise QuarterError(f"Nothing is published of {quarter.name}: {there}.")


def decide(publication: Publication, quarter: Quarter) -> Status:
    """The stamp and why. The counts are SQL; only their wording is made here."""
    payers, counts = (answer(publication, quarter, id) for id in ("presence", "row_status"))
    if payers.absent or counts.absent:
        return Status("draft", ("Which months are complete is not known: an older version published these data. Refresh once.",))
    expiring = _expiring(publication, quarter)
    gaps = _lacks(payers.rows, "has_bill", "bill") + _lacks(payers.rows, "has_carbon", "carbon publication")
    open_rows = []
    for book, words in (("cost", "Cost"), ("emissions", "Emission")):
        months = [month_name(row["usage_month"]) for row in counts.rows if row["book"] == book and row["preliminary_rows"]]
        if months:
            open_rows.append(f"{words} rows of {listed(months)} are preliminary.")
    if gaps:
        return Status("draft", (*gaps, *open_rows, *expiring))
    reasons = tuple(open_rows) or (NOT_ISSUED,)
    return Status("preliminary", (*reasons, *expiring), is_final=not open_rows)


def as_issued(status: Status) -> Status:
    """The stamp of a report that two people answer for; a draft stays one, whoever signs it."""
    if status.name == "draft":
        return status
    reasons = tuple(reason for reason in status.reasons if reason != NOT_ISSUED)
    return replace(status, name="issued" if status.is_final else "issued_preliminary", reasons=reasons)
