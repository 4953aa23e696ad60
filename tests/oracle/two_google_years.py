"""Two years of a Google billing account, drawn from one seed, with the truth of each row kept beside it in whole millionths.

Four TPU generations, on demand and bought otherwise, commitments in Google's old model and in its new one, promotions, goodwill,
tax, rounding, hours that a record has, that are idle and that no record has, rows that come up to 60 days late, corrections on a
later invoice than the use they take back. What a total must be is added up here from what was drawn, not read from any row: a
second kind of truth beside the oracle, which reads the export.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from .google_builders import PROJECT, credits_of, labels_of, tpu_hour, tpu_run

FIRST, LAST = date(2024, 6, 1), date(2026, 5, 1)
LATE = date(2026, 6, 2), date(2026, 6, 16)  # days on which the late rows of April 2026 are delivered
NEW_MODEL_FROM = datetime(2025, 7, 16, tzinfo=UTC)  # in the middle of a month, which so has both models
GENERATIONS = {"v5e": "TpuV5e", "v5p": "TpuV5p", "v6e": "TpuV6e", "v7x": "TPU7x"}
MOVED = datetime(2025, 4, 1, tzinfo=UTC)  # the day on which the project went into another folder, with another owner
OF_RECORDS = "401000000007"  # the project of which a scheduler keeps records
UNSAID = date.min  # an invoice's month that follows from the day on which a row came
OTHERWISE = (
    "TpuV6e attached to Spot Preemptible VMs running in Columbus",
    "DWS Defined Duration V6e running in Columbus",
    "Reserved TpuV6e in Columbus in Calendar Mode",
)
MOVED_BY_FEES = ("no_record", "unused_commitment")  # of what no run has what a fee moves between
SPEND = "Commitment - dollar based v1: GCE for 1 year"
CORE = {"sku": {"id": "CORE", "description": "N2 Instance Core running in Columbus"}}
PRICES = {"COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE", "DISCOUNT", "FEE_UTILIZATION_OFFSET"}


@dataclass(frozen=True)
class Drawn:
    """A row of the export and what it is: when it came, was used and invoiced, what it costs, and whose it is."""

    came: date
    used: date  # first day of its month
    invoice: date | None
    billed: int  # millionths of a dollar, all credits taken off
    effective: int  # promotions not taken off
    run: str
    row: dict
    reason: str  # why it is no run's; '' of a run's
    is_amortised: bool  # the fee of a commitment whose usage does not carry its price: it moves to what it covers

    @property
    def delivered(self) -> date:
        """The day of its delivery: there is one a month, and one for each of the late days."""
        return self.came if self.came in LATE else self.came.replace(day=1)


def month_after(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def months() -> list[date]:
    found = [FIRST]
    while found[-1] < LAST:
        found.append(month_after(found[-1]))
    return found


def project_at(at: datetime, number: str = PROJECT) -> dict:
    """A project as it was then: its labels, and the folders above it."""
    folder, owner = ("2", "first") if at < MOVED else ("3", "second")
    above = [
        {"resource_name": f"folders/{folder}", "display_name": owner},
        {"resource_name": "organizations/1", "display_name": "o"},
    ]
    return {"number": number, "labels": labels_of(owner=owner), "ancestry_numbers": f"/1/{folder}/", "ancestors": above}


class Years:
    """Draws row by row; `rows` are all of them in the order of use."""

    def __init__(self, seed: int, currency: str = "USD", rate: float = 1.0) -> None:
        self.random, self.modes, self.nodes = random.Random(seed), random.Random(seed + 1), random.Random(seed + 2)
        self._held: list[tuple] = []
        self.money = {"currency": currency, "currency_conversion_rate": rate}
        self.rows: list[Drawn] = []
        for month in months():
            self._month(month)
        self._late_rows()

    @property
    def records(self) -> list[dict]:
        """The record of the run that no label names: when it held its node."""
        return [tpu_run("run-recorded", *self._held)]

    def add(
        self, at: datetime, cost: int, wording: str, came: date, *, credits: dict[str, int] | None = None, run: str = "",
        invoice: date | None = UNSAID, reason: str = "no_record", is_amortised: bool = False, is_tagged: bool = True,
        **columns: object,
    ) -> None:  # fmt: skip
        used, taken_off = at.date().replace(day=1), credits or {}
        if invoice is UNSAID:
            # an invoice closes some days after its month: what comes later is on that of the month it came in
            invoice = used if came <= month_after(used) + timedelta(days=4) else came.replace(day=1)
        columns = {"sku": {"id": wording[:16], "description": wording}, "project": project_at(at)} | columns
        columns |= {"price": {"effective_price": Decimal("1.200000001"), "unit": "hour"}} | self.money
        row = tpu_hour(at.replace(tzinfo=None).isoformat(), cost / 10**6, wording, **columns)
        row |= {"credits": credits_of(**{kind: amount / 10**6 for kind, amount in taken_off.items()})}
        row |= {"invoice": invoice and {"month": f"{invoice:%Y%m}"}, "resource": columns.get("resource")}
        row["labels"] = [*(columns.get("labels") or []), *(labels_of(training_run_id=run) if run and is_tagged else [])]
        effective = cost + sum(amount for kind, amount in taken_off.items() if kind in PRICES)
        billed = cost + sum(taken_off.values())
        reason = "" if run else reason
        self.rows.append(Drawn(came, used, invoice, billed, effective, run, row, reason, is_amortised))

    def _month(self, month: date) -> None:
        start = datetime(month.year, month.month, 1, tzinfo=UTC)
        for number, (generation, name) in enumerate(GENERATIONS.items()):
            at = start + timedelta(days=self.random.randrange(28), hours=self.random.randrange(24))
            self._hours(at, self._lag(at), generation, f"{name} running in Columbus", number)
        at = start + timedelta(days=self.random.randrange(28))
        self._spend(at)
        self._fees(at)
        self._otherwise_bought(at)
        self._without_labels(start)
        end = datetime.combine(month_after(month), datetime.min.time(), UTC) - timedelta(hours=1)
        for kind in ("tax", "rounding_error"):
            cost = self.random.randrange(1, 10**7) if kind == "tax" else self.random.randrange(-9, 10) * 10**3
            reason = "tax" if kind == "tax" else "rounding"
            self.add(end, cost, kind, end.date(), reason=reason, cost_type=kind, location=None, project=None, usage={})

    def _lag(self, at: datetime) -> date:
        """The day a row comes: most of them soon, some up to 60 days late. May's come in May, April's by the end of it."""
        late = self.random.choice([0, 0, 0, 1, 3, self.random.randrange(60), 60])
        return min(at.date() + timedelta(days=late), date(2026, 5, 31))

    def _hours(self, at: datetime, came: date, generation: str, wording: str, number: int) -> None:
        """An hour of a generation's chips, committed in the model of its time or not, now and then taken back and restated."""
        cost, run = self.random.randrange(10**6, 40 * 10**6), self.random.choice([f"run-{generation}", "run-shared", ""])
        credits: dict[str, int] = {}
        columns: dict = {}
        if self.random.random() < 0.5:
            if at < NEW_MODEL_FROM:
                credits["COMMITTED_USAGE_DISCOUNT"] = -self.random.randrange(1, cost)
            else:
                columns = {"subscription": {"instance_id": f"cud-{generation}"}, "consumption_model": {"description": "1 Year"}}
        if self.random.random() < 0.3:
            credits["PROMOTION"] = -self.random.randrange(1, cost // 2)
        if self.random.random() < 0.3:
            credits["DISCOUNT"] = -self.random.randrange(1, 10**5)
        self.add(at, cost, wording, came, credits=credits, run=run, **columns)
        if number == self.random.randrange(4):
            stated = {"cost_type": "adjustment", "adjustment_info": {"type": "USAGE_CORRECTION"}}
            later = min(came + timedelta(days=self.random.randrange(5, 60)), date(2026, 5, 31))
            back = {kind: -amount for kind, amount in credits.items()}
            invoice = later.replace(day=1)
            self.add(at, -cost, wording, later, credits=back, run=run, invoice=invoice, **columns, **stated)
            again = self.random.randrange(10**6, cost + 10**6)
            # the newest is on no invoice yet
            self.add(at, again, wording, later, run=run, invoice=invoice if invoice < LAST else None, **stated)

    def _spend(self, at: datetime) -> None:
        """An hour of cores under committed spend, and the fee for it: a credit in the old model, a row of its own in the new."""
        cost, saved = self.random.randrange(10**5, 10**6), self.random.randrange(1, 10**5)
        stated = {"labels": labels_of(**{"goog-originating-sku-id": "CORE"}), "subscription": {"instance_id": "spend"}}
        stated |= {"location": None, "usage": {}, "reason": "unused_commitment"}
        if at < NEW_MODEL_FROM:
            self.add(at, cost, SPEND, at.date(), is_amortised=True, **stated)
            off = {"COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE": -cost - saved}
            self.add(at, cost + saved, "", at.date(), credits=off, run="run-host", **CORE)
        else:
            used = self.random.randrange(cost)
            self.add(at, cost, SPEND, at.date(), credits={"FEE_UTILIZATION_OFFSET": -used}, **stated)
            covered = {"subscription": {"instance_id": "spend"}, "consumption_model": {"description": "1 Year"}}
            self.add(at, used, "", at.date(), run="run-host", **CORE, **covered)

    def _fees(self, at: datetime) -> None:
        """The fee of committed chips: spread over what it covers, or offset by what was used of it."""
        for generation in ("v6e", "v5p"):
            cost = self.random.randrange(10**6, 20 * 10**6)
            is_new = at >= NEW_MODEL_FROM
            off = {"FEE_UTILIZATION_OFFSET": -self.random.randrange(cost)} if is_new else {}
            stated = {"subscription": {"instance_id": f"cud-{generation}"} if is_new else None}
            wording = f"Commitment v1: {GENERATIONS[generation]} running in Columbus for 1 Year"
            reason = "unused_commitment"
            self.add(at, cost, wording, at.date(), credits=off, reason=reason, is_amortised=not is_new, **stated)

    def _otherwise_bought(self, at: datetime) -> None:
        """Spot, flex-start and a reservation of the calendar, and an hour of that which was not used."""
        for wording in OTHERWISE:
            self.add(at, self.modes.randrange(10**6, 10**7), wording, at.date(), run="run-v6e")
        unused = {"system_labels": labels_of(**{"compute.googleapis.com/is_unused_reservation": "true"})}
        cost = self.modes.randrange(10**6, 10**7)
        self.add(at, cost, OTHERWISE[-1], at.date(), reason="unused_commitment", **unused)

    def _without_labels(self, start: datetime) -> None:
        """An hour that a run held by its record, the next one of that node, one of a node that no record names; and no chips."""
        at = start + timedelta(days=self.nodes.randrange(27), hours=self.nodes.randrange(20))
        node = {"resource": {"name": "node-held", "global_name": "//tpu.googleapis.com/projects/7/locations/z/nodes/node-held"}}
        loose = {
            "resource": {"name": "node-loose", "global_name": "//tpu.googleapis.com/projects/7/locations/z/nodes/node-loose"}
        }
        self._held.append(("node-held", at.isoformat(), (at + timedelta(hours=1)).isoformat(), 4))
        goodwill = {"cost_type": "adjustment", "adjustment_info": {"type": "GOODWILL"}, "usage": {}}
        chips, disk = "TpuV6e running in Columbus", "Balanced PD Capacity in Columbus"
        hours = ((0, "", node, chips), (1, "idle", node, chips), (2, "unlogged", loose, chips), (3, "non_accelerator", {}, disk))
        for hour, reason, columns, wording in hours:
            run, off = "" if reason else "run-recorded", {"PROMOTION": -self.nodes.randrange(1, 10**6)}
            day, project = at + timedelta(hours=hour), project_at(at, OF_RECORDS)
            cost = self.nodes.randrange(10**6, 10**7)
            self.add(
                day, cost, wording, day.date(), run=run, reason=reason, credits=off, is_tagged=False, project=project, **columns
            )
        cost = self.nodes.randrange(10**5, 10**6)
        self.add(at, -cost, chips, at.date(), reason="credit", project=project_at(at, OF_RECORDS), **goodwill)
        self.add(at, cost, disk, at.date(), reason="no_project", project=None)

    def _late_rows(self) -> None:
        """Rows of April after the end of May: on May's invoice, which no row of May touches any more, and on that of June."""
        at = datetime(2026, 4, 20, 7, tzinfo=UTC)
        for day, invoices in zip(LATE, ((date(2026, 5, 1), date(2026, 6, 1)), (date(2026, 6, 1), None)), strict=True):
            for invoice in invoices:
                cost = self.random.randrange(10**6, 10**7)
                off = {"PROMOTION": -cost // 3}
                self.add(at, cost, "TpuV5e running in Columbus", day, credits=off, run="run-v5e", invoice=invoice)


def total(rows: Iterable[Drawn], by: Callable[[Drawn], object], amount: Callable[[Drawn], int]) -> dict:
    found: dict = defaultdict(int)
    for row in rows:
        found[by(row)] += amount(row)
    return dict(found)


def residuals(rows: Iterable[Drawn], measure: str) -> dict[tuple[date, str], int]:
    """What of each month is no run's, by reason; promotions have the reason of their row.

    Of effective cost only months without a fee that is amortised: what that leaves on which hour is a rule, which the oracle has.
    """
    found = list(rows)
    moved = {row.used for row in found if row.is_amortised and measure == "effective"}
    others = (row for row in found if not row.run and (row.used not in moved or row.reason not in MOVED_BY_FEES))
    return {
        key: amount
        for key, amount in total(others, lambda row: (row.used, row.reason), lambda row: getattr(row, measure)).items()
        if amount
    }
