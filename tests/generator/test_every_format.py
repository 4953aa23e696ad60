"""Two years of payers on both clouds in every format: what is published is what was drawn, to the last digit.

A refresh of all months, and one after a late credit and a correction of a month half a year old. Each format of AWS comes with
one of Google's and with one form of AWS's carbon, so that all of them are read, and with reports of carbon by quarter.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import duckdb
import pytest

from tests.aws_apis import emissions
from tests.conftest import Command
from tests.connectors.focus import FOCUS, focus_of
from tests.connectors.gcp import write_lines, write_partition
from tests.generator import amazon
from tests.generator.amazon import ACCOUNT, DOLLARS, LAST, Amazon, Drawn
from tests.generator.written import FORMATS, has_arn_for_resource
from tests.oracle.builders import carbon, run
from tests.oracle.compare import differences
from tests.oracle.google_builders import BILLING_ACCOUNT, GoogleExports
from tests.oracle.oracle import Oracle
from tests.oracle.two_google_years import LAST as MAY
from tests.oracle.two_google_years import MOVED_BY_FEES, Years, month_after, residuals, total
from tests.oracle.two_google_years import Drawn as DrawnOfGoogle

pytestmark = [pytest.mark.slow, pytest.mark.in_turn]
SEED, NOW = 20260603, "2026-06-20T00:00:00Z"
EXECUTIONS = "2026-06-02T10:00:00.000Z-0a0a", "2026-06-18T10:00:00.000Z-0b0b"
JUNE = date(2026, 6, 1)
DOUBTS = {"FOCUS 1.0": {"zero_priced": 12 + 2}, "FOCUS 1.2": {"zero_priced": 2, "unknown_block": 1}}
OF_GOOGLE = ("Parquet", "JSON lines", "FOCUS")
CONSOLE = (
    "{time},service,region,total_lbm_emissions,total_mbm_emissions,total_scope_1_emissions_value,"
    "total_scope_2_lbm_emissions_value,total_scope_2_mbm_emissions_value,total_scope_3_lbm_emissions_value,"
    "total_scope_3_mbm_emissions_value,cfe_savings_value,model_version"
)


@dataclass
class World:
    """What was drawn, where it is written, and what a refresh left."""

    folder: Path
    format: str
    place: int
    plan: Amazon = field(init=False)
    google: list[DrawnOfGoogle] = field(init=False)
    google_records: list[dict] = field(init=False)
    config: Path = field(init=False)
    is_later: bool = False

    def __post_init__(self) -> None:
        years = Years(SEED, "EUR", 0.875)
        self.plan, self.google, self.google_records = Amazon(SEED), years.rows, years.records
        self.exports = GoogleExports(self.folder)
        self.tonnes = {month: f"{number + 1}.{number * 7919 % 10**6:06d}" for number, month in enumerate(amazon.months())}

    @property
    def drawn(self) -> list[Drawn]:
        """What was delivered until now, each row as what the format has shows it."""
        rows = [*amazon.delivered(self.plan.rows, self.is_later)]
        if self.is_focus:
            rows = [one for one in rows if not any(share.who == "~rounding" for share in one.shares)]
            if self.format == "FOCUS 1.0":
                rows = [amazon.without_reservations(one) for one in rows]
            rows = amazon.without_terms([in_focus(amazon.without_pods(one)) for one in rows])
        # of an hour that the bill has without its machine no record can be
        return [as_of(one, "~idle", "~no_record") if has_arn_for_resource(self.format, one) else one for one in rows]

    @property
    def of_google(self) -> list[DrawnOfGoogle]:
        return [row for row in self.google if self.is_later or row.delivered <= MAY]

    @property
    def of_google_form(self) -> str:
        return OF_GOOGLE[self.place % 3]

    @property
    def is_focus(self) -> bool:
        return self.format.startswith("FOCUS")

    @property
    def database(self) -> Path:
        return self.folder / "home/published/trainledger.duckdb"

    def rows(self, sql: str) -> list[tuple]:
        with duckdb.connect(str(self.database), read_only=True) as connection:
            return connection.execute(sql).fetchall()

    def write(self) -> Path:
        self._write_bills()
        self._write_google()
        self._write_carbon()
        self._write_totals()
        records = [run(name, *map(_node, held)) for name, held in self.plan.held.items()]
        for number, record in enumerate([*records, *self.google_records, *self.plan.jobs]):
            name = f"r-{number}.json" if "TrainingJobArn" in record else f"r-{number}.run.json"
            (self.exports._source("runs", "training_runs") / name).write_text(json.dumps(record), encoding="utf-8")
        return self.exports.config()

    def _write_bills(self) -> None:
        kind, write_month = FORMATS[self.format]
        of_now = sorted(amazon.delivered(self.plan.rows, self.is_later), key=lambda one: (one.payer.name, one.month))
        for (name, month), group in groupby(of_now, key=lambda one: (one.payer.name, one.month)):
            rows = [*group]
            if not self.is_later or any(one.delivered == amazon.LATER for one in rows):
                folder = self.exports._source(name, kind)
                write_month(folder, rows[0].payer, month, rows, EXECUTIONS[self.is_later])

    def _write_google(self) -> None:
        form = self.of_google_form
        location = self.exports._source("google", "gcp_focus" if form == "FOCUS" else "gcp_billing")
        for day, group in groupby(sorted(self.of_google, key=lambda one: one.delivered), key=lambda one: one.delivered):
            rows = [one.row for one in group]
            if form == "Parquet":
                self.exports.google_bill(rows, day=f"{day}", name="google")
            elif form == "FOCUS":
                write_partition(location, f"{day}", *(focus_of(row) for row in rows), schema=FOCUS)
            else:
                write_lines(location, f"{day}", *rows)

    @property
    def quarters(self) -> dict[str, Decimal]:
        """Tonnes of each quarter of which every month was drawn."""
        found: dict[str, list[Decimal]] = {}
        for month in amazon.months():
            found.setdefault(f"{month.year}-Q{(month.month + 2) // 3}", []).append(Decimal(self.tonnes[month]))
        return {quarter: sum(tonnes, Decimal(0)) for quarter, tonnes in found.items() if len(tonnes) == 3}

    def _write_carbon(self) -> None:
        """By month in one of three forms, and by quarter beside it."""
        months = amazon.months()
        self._write_report("quarters", "usage_quarter", self.quarters)
        if self.of_google_form == "JSON lines":
            location = self.exports._source("carbon", "aws_carbon") / f"payer={DOLLARS.id}"
            location.mkdir(parents=True, exist_ok=True)
            ohio = {"USAGE_ACCOUNT_ID": ACCOUNT, "REGION": "us-east-2"}
            results = [
                emissions(f"{month:%Y-%m}", f"{month_after(month):%Y-%m}", float(self.tonnes[month]), **ohio) for month in months
            ]
            (location / "answer.json").write_text(json.dumps({"Results": results}), encoding="utf-8")
            return
        if self.place % 2:
            self._write_report("carbon", "usage_month", {f"{month:%Y-%m}": self.tonnes[month] for month in months})
            return
        for month in months:
            start = {"usage_period_start": datetime(month.year, month.month, 1)}  # noqa: DTZ001 - a provider's naive time
            self.exports.carbon([carbon(float(self.tonnes[month]), **start)], period=f"{month:%Y-%m}")

    def _write_report(self, source: str, time: str, tonnes: Mapping[str, object]) -> None:
        """A report of the console of one account."""
        location = self.exports._source(source, "aws_carbon") / f"payer={DOLLARS.id}" / f"account={ACCOUNT}"
        location.mkdir(parents=True, exist_ok=True)
        rows = (f"{name},AmazonEC2,US East (Ohio),{total},0,0,0,0,0,0,0,v3.0.1" for name, total in tonnes.items())
        (location / "report.csv").write_text("\n".join([CONSOLE.format(time=time), *rows]) + "\n", encoding="utf-8")

    def _write_totals(self) -> None:
        """Every invoice, as somebody types it: of AWS by month of use, of Google by the month of the invoice."""
        path = self.exports._source("totals", "provider_totals") / "invoices.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["provider_name", "payer_account_id", "usage_month", "currency", "amount", "charge_type"])
            for (payer, month, currency), amount in amazon.invoices(amazon.delivered(self.plan.rows, self.is_later)).items():
                writer.writerow(["AWS", payer, month, currency, f"{Decimal(amount).scaleb(-12):f}", ""])
            for month, amount in total(self.of_google, lambda one: one.invoice, lambda one: one.billed).items():
                if month:
                    writer.writerow(["Google Cloud", BILLING_ACCOUNT, month, "EUR", f"{Decimal(amount).scaleb(-6):f}", ""])


def _node(held: tuple[str, datetime, datetime, int | None]) -> tuple[str, str, str, int | None]:
    resource, start, end, chips = held
    return resource, amazon.utc(start), amazon.utc(end), chips


def in_focus(one: Drawn) -> Drawn:
    """FOCUS has a list cost of every row: what is paid, where AWS knows no other. Hours of a fee that is known have none here."""
    paid = {share.who: share.billed for share in one.shares}
    listed = {who: paid[who] if cost is None else cost for who, cost in one.listed.items()}
    return one if one.bought_as and one.is_named and one.flows else replace(one, listed=listed)


def as_of(one: Drawn, before: str, who: str) -> Drawn:
    shares = tuple(replace(share, who=who) if share.who == before else share for share in one.shares)
    return replace(one, shares=shares, listed={who if key == before else key: cost for key, cost in one.listed.items()})


def picos(amount: Decimal) -> int:
    return int(amount.scaleb(12))


def compared(what: str, published: dict, truth: dict) -> list[str]:
    """A line for each key that has other figures than the plan."""
    keys = sorted({*published, *truth}, key=str)
    return [f"{what} {key}: {published.get(key)} for {truth.get(key)}" for key in keys if published.get(key) != truth.get(key)]


def costs_that_differ(world: World) -> list[str]:
    cell = "payer_account_id, sub_account_id, usage_month, billing_currency"
    found = world.rows(
        f"select {cell}, who, cost_component, sum(billed_cost), sum(effective_cost) from ("
        f"select {cell}, training_run_id as who, cost_component, billed_cost, effective_cost from marts.fct_run_cell_costs "
        f"union all select {cell}, '~' || reason, cost_component, billed_cost, effective_cost from marts.fct_residual_costs "
        ") where payer_account_id like '0000%' group by all"
    )
    published = {key: (picos(billed), picos(effective)) for *key, billed, effective in found for key in [tuple(key)]}
    published = {key: amounts for key, amounts in published.items() if any(amounts)}
    truth = amazon.costs(world.drawn)
    billed, effective = (
        compared(what, *({key: amounts[place] for key, amounts in of.items() if amounts[place]} for of in (published, truth)))
        for place, what in enumerate(("billed", "effective"))
    )
    return [*billed, *effective]


def runs_that_differ(world: World) -> list[str]:
    """What a run's month and component cost effectively: unknown where an hour has no price that anything explains."""
    found = world.rows(
        "select training_run_id, usage_month, billing_currency, cost_component, "
        "case when count(effective_cost) = count(*) then sum(effective_cost) end from marts.fct_training_run_costs "
        "where billing_currency <> 'EUR' group by all"
    )
    published = {tuple(key): None if cost is None else picos(cost) for *key, cost in found}
    truth: dict = {}
    for one in world.drawn:
        is_unpriced = bool(one.bought_as) and not one.flows and one.row["line_item_line_item_type"] == "Usage"
        for share in one.shares:
            if not share.who.startswith("~"):
                key = share.who, one.month, one.payer.currency, share.component
                before = truth.get(key, 0)
                truth[key] = None if is_unpriced or before is None else before + share.effective
    return compared("run", published, truth)


def chip_hours_that_differ(world: World) -> list[str]:
    """A job of SageMaker held 16 chips as long as it ran, whatever it was billed, and the machine that it kept is not its own."""
    found = world.rows("select training_run_id, reserved_chip_hours from marts.fct_training_run_energy")
    truth = {name: Decimal(16 * hours) for name, hours in world.plan.job_hours.items()}
    return compared("chip-hours", {name: hours for name, hours in found if name in truth}, truth)


def doubts_that_differ(world: World) -> list[str]:
    """Nothing of a CUR is doubted; of FOCUS hours at 0 that no row ties to what paid for them, and a block without an hour."""
    found = world.rows("select reason, count(*) from marts.fct_quarantine group by all")
    return compared("doubts", dict(found), DOUBTS.get(world.format, {}))


def list_costs_that_differ(world: World) -> list[str]:
    found = world.rows(
        "select training_run_id, usage_month, billing_currency, cost_component, "
        "case when count(list_cost) = count(*) then sum(list_cost) end from marts.fct_training_run_costs "
        "where billing_currency <> 'EUR' group by all"
    )
    published = {tuple(key): None if cost is None else picos(cost) for *key, cost in found}
    return compared("list", published, amazon.list_costs(world.drawn))


def balances_that_differ(world: World) -> list[str]:
    columns = "opening_cost, purchased_cost, refunded_cost, amortised_used_cost, amortised_unused_cost, closing_cost"
    found = world.rows(
        f"select payer_account_id, commitment_id, usage_month, {columns} from marts.fct_prepaid where provider_name = 'AWS'"
    )
    published = {(a, b, month): tuple(None if one is None else picos(one) for one in of) for a, b, month, *of in found}
    truth = amazon.prepaid(world.drawn)
    if world.is_focus:  # of a block without an hour nothing shows how much of it is used up
        used = {flow.commitment for one in world.drawn for flow in one.flows if flow.used or flow.unused}
        blocks = {flow.commitment for one in world.drawn if one.bought_as == "block" for flow in one.flows}
        truth = {key: (None, *of[1:5], None) if key[1] in blocks - used else of for key, of in truth.items()}
    return compared("prepaid", {key: of for key, of in published.items() if key in truth or any(of[1:5])}, truth)


def invoices_that_differ(world: World) -> list[str]:
    found = world.rows(
        "select payer_account_id, usage_month, unit_or_currency, provider_total, difference from marts.fct_reconciliation "
        "where source_name = 'totals'"
    )
    published = {(payer, month, currency): (stated, off) for payer, month, currency, stated, off in found}
    stated = amazon.invoices(amazon.delivered(world.plan.rows, world.is_later))
    billed = amazon.invoices(world.drawn)
    truth = {
        key: (Decimal(amount).scaleb(-12), Decimal(amount - billed[key]).scaleb(-12))
        for key, amount in stated.items()
        if key[1] < LAST or world.format == "FOCUS 1.0"  # which has no invoice numbers: two weeks after its end a month is closed
    }
    of_google = total(world.of_google, lambda one: one.invoice, lambda one: one.billed)
    for month, amount in of_google.items():
        invoices = {one.invoice for one in world.of_google if one.used == month}
        if month and None not in invoices and max(invoices, default=JUNE) < JUNE:  # else its month of use may still change
            truth[BILLING_ACCOUNT, month, "EUR"] = Decimal(amount).scaleb(-6), Decimal(0)
    return compared("invoice", published, truth)


def emissions_that_differ(world: World) -> list[str]:
    """What a run is given of its cell is its part by weight, at most a unit of the last digit off; together they are all."""
    kilograms = "sum(provider_total_location_based_kgco2e)"
    found = world.rows(
        f"select usage_month, training_run_id, {kilograms} from marts.fct_run_cell_emissions group by all union all "
        f"select usage_month, '~', {kilograms} from marts.fct_residual_emissions group by all"
    )
    published: dict[date, dict[str, Decimal]] = {}
    for month, who, mass in found:
        published.setdefault(month, {})[who] = mass
    wrong = []
    for month, parts in amazon.weights(world.drawn, ACCOUNT, "AmazonEC2").items():
        mass, whole = Fraction(world.tonnes[month]) * 1000, sum(parts.values())
        if (everything := sum(published.get(month, {}).values())) != mass:
            wrong.append(f"emissions {month}: {everything} of {float(mass)}")
        for who, weight in parts.items():
            if not who.startswith("~"):
                given = published.get(month, {}).get(who, Decimal(0))
                if abs(Fraction(given) - mass * weight / whole) > Fraction(1, 10**9):
                    wrong.append(f"emissions {month} {who}: {given} for {float(mass * weight / whole)}")
    return wrong


def quarters_that_differ(world: World) -> list[str]:
    """The report by quarter and the months of the book agree to the gram, in whichever form the months came."""
    found = world.rows(
        "select year(usage_month) || '-Q' || quarter(usage_month), provider_total, difference from marts.fct_reconciliation "
        "where source_name = 'quarters' and measure = 'provider_total_location_based_kgco2e'"
    )
    published = {quarter: amounts for quarter, *amounts in found}
    return compared("quarter", published, {quarter: [1000 * tonnes, Decimal(0)] for quarter, tonnes in world.quarters.items()})


def google_that_differs(world: World) -> list[str]:
    wrong = []
    both = f"(select * from {{}} where payer_account_id = '{BILLING_ACCOUNT}')"
    for measure in ("billed", "effective"):
        found = world.rows(
            f"select usage_month, sum({measure}_cost) from (select usage_month, {measure}_cost from "
            f"{both.format('marts.fct_run_cell_costs')} union all select usage_month, {measure}_cost from "
            f"{both.format('marts.fct_residual_costs')}) group by 1"
        )
        truth = total(world.of_google, lambda one: one.used, lambda one, name=measure: getattr(one, name))
        wrong += compared(f"Google {measure}", dict(found), {key: Decimal(cost).scaleb(-6) for key, cost in truth.items()})
        found = world.rows(
            f"select usage_month, reason, sum({measure}_cost) from {both.format('marts.fct_residual_costs')} group by 1, 2"
        )
        moved = {row.used for row in world.of_google if row.is_amortised and measure == "effective"}
        placed = {(month, why): cost for month, why, cost in found if cost and not (month in moved and why in MOVED_BY_FEES)}
        truth = residuals(world.of_google, measure)
        if world.of_google_form == "FOCUS":  # which states that a row is a correction, and not of which kind
            truth = {(month, "provider_adjustment" if why == "credit" else why): cost for (month, why), cost in truth.items()}
        reasons = {key: Decimal(cost).scaleb(-6) for key, cost in truth.items()}
        wrong += compared(f"Google {measure} of no run", placed, reasons)
    found = world.rows(f"select training_run_id, sum(billed_cost) from {both.format('marts.fct_run_cell_costs')} group by 1")
    truth = total(world.of_google, lambda one: one.run, lambda one: one.billed)
    del truth[""]
    return wrong + compared("Google run", dict(found), {key: Decimal(cost).scaleb(-6) for key, cost in truth.items()})


def oracle_that_differs(world: World) -> list[str]:
    return differences(world.database, Oracle(world.config, now=NOW).tables())


def refreshed(world: World, trainledger: Command) -> None:
    world.config = world.write()
    finished = trainledger("refresh", "--config", world.config, now=NOW)
    assert finished.returncode in (0, 3), finished.stdout[-3000:] + finished.stderr[-3000:]


def differing(world: World) -> list[str]:
    checks = (
        *(costs_that_differ, runs_that_differ, list_costs_that_differ, balances_that_differ, invoices_that_differ),
        *(emissions_that_differ, quarters_that_differ, google_that_differs, doubts_that_differ, chip_hours_that_differ),
    )
    return [line for check in checks for line in check(world)]


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_published_is_what_was_drawn(name: str, tmp_path: Path, trainledger: Command) -> None:
    world = World(tmp_path, name, [*FORMATS].index(name))
    for world.is_later in (False, True):
        refreshed(world, trainledger)
        wrong = [*differing(world), *oracle_that_differs(world)]
        assert not wrong, "\n".join([f"{len(wrong)} figures", *wrong[:60]])
