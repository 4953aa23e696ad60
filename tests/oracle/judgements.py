"""What the ledger writes beside its amounts: how strong the evidence is, how complete, how final, and which version counts.

The rules of docs/methodology/cost.md (the evidence ladder), emissions.md and contract.md a second time. Amounts are worked out in
costs.py and emissions.py. Statuses need a clock; without one they are left out.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from .carbon import CarbonCells
from .emissions import Emissions, bill_cell
from .exports import Delivery
from .final_bills import Closed
from .ladder import Part
from .months import month_after
from .records import microseconds
from .splitting import RESIDUAL

HOUR = 3_600_000_000
WHOLE_ROW_RULES = {"managed_job", "split_allocation", "tag"}
WEAKEST_FIRST = ("low", "medium", "high")
STAYS = timedelta(days=21)  # Google has no true-up: what was published three weeks ago is final
Payer = tuple[str, str]  # provider, payer account
Place = tuple[str, str, date]  # provider, payer account, month
RunMonth = tuple[str, date, str]  # run, month, provider


def confidence_of(part: Part) -> str:
    """A whole row by its job, its workload or its tag is certain; a share by time is as good as the row is short."""
    if part.rule in WHOLE_ROW_RULES:
        return "high"
    return "low" if part.rule == "cluster_key" or part.line.end - part.line.start > HOUR else "medium"


def nine_decimals(value: float) -> float:
    """As SQL rounds a ratio: in doubles, half up."""
    return math.floor(value * 1e9 + 0.5) / 1e9


@dataclass
class Listed:
    """Usage with and without a list price: amounts without their sign, and rows."""

    effective: int = 0
    listed: int = 0
    rows: int = 0
    listed_rows: int = 0

    def add(self, part: Part) -> None:
        if part.line.is_usage and part.component != "credit":
            is_listed = part.list_cost is not None
            self.effective += abs(part.effective)
            self.listed += abs(part.effective) if is_listed else 0
            self.rows += 1
            self.listed_rows += is_listed

    @property
    def ratio(self) -> float:
        """Nothing is missing where nothing was used; usage that cost nothing counts by its rows."""
        if not self.rows:
            return 1.0
        over, under = (self.listed, self.effective) if self.effective else (self.listed_rows, self.rows)
        return nine_decimals(over / under)


@dataclass
class Calendar:
    """Which months of which payers are billed, closed and published; from when a payer's months count."""

    billed: set[Place] = field(default_factory=set)
    closed: Closed = field(default_factory=set)
    published: dict[Place, datetime] = field(default_factory=dict)  # carbon
    now: datetime | None = None

    def payers(self, provider: str, month: date) -> list[Payer]:
        """Those of whom something of this month or an earlier one is there: who came in May is not missing in April."""
        places = self.billed | self.published.keys()
        return sorted({place[:2] for place in places if place[0] == provider and place[2] <= month})

    def is_carbon_final(self, place: Place) -> bool:
        """AWS restates a year until 30 June of the next one."""
        if place not in self.published or self.now is None:
            return False
        if place[0] == "Google Cloud":
            return self.now >= self.published[place] + STAYS
        return microseconds(self.now) >= month_after(date(place[2].year + 1, 6, 1))


def published_carbon(deliveries: Iterable[Delivery], cells: CarbonCells) -> dict[Place, datetime]:
    """When each payer's month of carbon was published: by the delivery of the elected version."""
    times: dict[tuple[str, str], datetime] = {
        (one.source_name, one.partition.split("~")[0]): one.published_at for one in deliveries
    }
    found: dict[Place, datetime] = {}
    for cell in cells.masses.keys() | cells.quarantined.keys():
        source_name, provider, payer, *_, month, version = cell
        if cells.elected[provider, payer, month] == version:
            partitions = (f"{month:%Y-%m}@{version}", f"{month:%Y-%m-%d}", f"{month:%Y%m%d}", f"{month:%Y-%m}")
            at = next((times[source_name, name] for name in partitions if (source_name, name) in times), None)
            if at is not None:
                found[provider, payer, month] = at
    return found


@dataclass
class Judgements:
    """What every table of runs asks: the payers that billed a run-month, its evidence, its list prices."""

    calendar: Calendar
    payers: dict[RunMonth, set[str]] = field(default_factory=lambda: defaultdict(set))
    confidence: dict[tuple, str] = field(default_factory=dict)  # by key of fct_training_run_costs
    listed: dict[tuple, Listed] = field(default_factory=lambda: defaultdict(Listed))
    weighted: dict[tuple, list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )  # bill cell: rows, with own weight

    @classmethod
    def of(cls, parts: Iterable[Part], calendar: Calendar) -> "Judgements":
        judged = cls(calendar)
        for part in parts:
            line = part.line
            if line.is_usage and part.component != "credit":
                cell = judged.weighted[bill_cell(line)]
                cell[0] += 1
                cell[1] += line.list_cost is not None or getattr(line, "is_block_hour", False)
            if part.run == RESIDUAL:
                continue
            key = part.run, line.usage_month, line.currency, part.component, part.rule
            judged.payers[part.run, line.usage_month, line.provider_name].add(line.payer_account_id)
            found = judged.confidence.get(key, "high")
            judged.confidence[key] = min(found, confidence_of(part), key=WEAKEST_FIRST.index)
            judged.listed[key].add(part)
        return judged

    def places(self, place: RunMonth) -> list[Place]:
        """The payers' months that a run-month rests on; of one that no bill has, all of its provider's."""
        _, month, provider = place
        if payers := self.payers.get(place):
            return [(provider, payer, month) for payer in payers]
        return [(*payer, month) for payer in self.calendar.payers(provider, month)]

    def cost_status(self, run: str, month: date, providers: Iterable[str]) -> str:
        """Final when every bill that the run is on is closed; a run-month on no bill has no cell, or waits for the bill."""
        providers = sorted(providers)
        billed = [provider for provider in providers if self.payers.get((run, month, provider))]
        places = [place for provider in billed or providers for place in self.places((run, month, provider))]
        if billed:
            return "final" if all(place in self.calendar.closed for place in places) else "preliminary"
        return "no_cell" if places and all(place in self.calendar.billed for place in places) else "not_published"


def complete_costs(rows: dict[tuple, dict], judged: Judgements, run_months: Iterable[RunMonth]) -> None:
    """The columns of fct_training_run_costs that are no amounts."""
    providers: Mapping[tuple, set[str]] = defaultdict(set)
    for run, month, provider in run_months:
        providers[run, month].add(provider)
    for key, row in rows.items():
        is_billed = key in judged.confidence
        row["attribution_confidence"] = judged.confidence.get(key, "low")
        row["list_cost_coverage_ratio"] = judged.listed[key].ratio if is_billed else 0.0
        if judged.calendar.now is not None:
            row["status"] = judged.cost_status(*key[:2], providers[key[:2]])


def complete_emissions(rows: dict[tuple, dict], judged: Judgements, emissions: Emissions, cells: CarbonCells) -> None:
    """The columns of fct_training_run_emissions that are no masses."""
    versions: Mapping[tuple, set[str]] = defaultdict(set)
    products: Mapping[tuple, set[str]] = defaultdict(set)
    for run, *cell in emissions.runs:
        if cells.is_elected(tuple(cell)):
            versions[run, cell[6], cell[1]].add(cell[7])
            products[run, cell[6], cell[1]].add("Other" if tuple(cell) in cells.of_periods else cell[4])
    for place, row in rows.items():
        places = judged.places(place)
        is_published = bool(places) and all(one in judged.calendar.published for one in places)
        is_one = is_published and len(versions[place]) == 1
        row["provider_model_version"] = min(versions[place]) if is_one else None
        row |= {"reporter_scope": 3, "reporter_scope_3_category": 1}
        row["allocation_confidence"] = "medium" if products[place] and "Other" not in products[place] else "low"
        if judged.calendar.now is not None:
            is_final = all(judged.calendar.is_carbon_final(one) for one in places)
            known = "final" if is_final else "preliminary"
            row["status"] = "not_published" if not is_published else known if versions[place] else "no_cell"


def complete_versions(rows: dict[tuple, dict], emissions: Emissions, cells: CarbonCells) -> None:
    """Whether a version of a run-month is the book's, in each of its cells."""
    for run, *cell in emissions.runs:
        row = rows[run, cell[6], cell[1], cell[7]]
        row["is_elected"] = row.get("is_elected", True) and cells.is_elected(tuple(cell))


def complete_reconciliation(rows: dict[tuple, dict], judged: Judgements, cells: CarbonCells) -> None:
    """Which rows are the book's, how two sides compare, and of carbon cells the share of usage rows with a weight of their own.

    Only rows of conservation are the book's: the others compare money or mass that is in it already.
    """
    for key, row in rows.items():
        *place, _, unit, version, method, source_name = key
        row["is_elected"] = method == "conservation" and (unit != "kgCO2e" or cells.is_elected((source_name, *place, version)))
        row.setdefault("ratio", None)
        if method == "modelled_vs_provider" and row["modelled_total"] is not None and row["runs_total"]:
            row["ratio"] = nine_decimals(float(row["modelled_total"]) / float(row["runs_total"]))
        if method == "cross_check" and unit == "kgCO2e" and row["provider_total"] and row["difference"] is not None:
            row["ratio"] = nine_decimals(float(row["provider_total"] - row["difference"]) / float(row["provider_total"]))
        row["weight_coverage_ratio"] = None
        if method == "conservation" and unit == "kgCO2e" and (found := judged.weighted.get(tuple(place))):
            row["weight_coverage_ratio"] = nine_decimals(found[1] / found[0])
