"""The first page in sentences: what it cost, what it used, which emissions we disclose, how sure, what changed.

Each sentence is a template filled from headline figures; each number in it is one of theirs, with its id. Read aloud, the page
takes a minute. What is unknown is reported, with the reason that the figure's row gives.
"""

from decimal import Decimal

from reports.model import Figure, Number, Sentence, Table
from reports.page.numbers import EN_DASH, THIN_SPACE, amount, grouped, interval
from reports.publication import Row
from reports.quarter import Quarter, listed
from reports.sections.headlines import name_of

Parts = list[str | Number]
SCOPES = ("provider_scope_2_location_based", "provider_scope_2_market_based")
TOTALS = ("provider_total_location_based", "provider_total_market_based")
CHANGED = {
    "effective_cost": "the cost of training runs",
    "facility_energy": "their energy",
    "provider_scope_2_location_based": "their location-based Scope 2",
    "provider_scope_2_market_based": "their market-based Scope 2",
}


def _number(figure: Figure, part: str = "value") -> Number:
    """A number of a figure: its value with bounds where it is modelled, or another of its parts."""
    known, value = figure.known, getattr(figure, part) if part != "known" else None
    id = figure.id if part == "value" else f"{figure.id}/{part}"
    if part == "known" and known:
        return Number(id, interval(*known, figure.unit))
    ends = {"value": (figure.low, figure.high), "prior": (figure.prior_low, figure.prior_high)}.get(part, (None, None))
    low, high = ends
    if low is not None and high is not None and value:
        return Number(id, interval(value, low, high, figure.unit))
    if figure.unit == "runs" and value is not None:
        return Number(id, f"{grouped(value, 0)} training run{'' if value == 1 else 's'}")
    return Number(id, EN_DASH if value is None else amount(value, figure.unit))


def _cell(table: Table | None, row: Row, column: str, unit: str) -> Number:
    """A number of a table's row."""
    value = row[column]
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    return Number(f"{table.row_id(row)}/{column}" if table else "", EN_DASH if exact is None else amount(exact, unit))


def _joined(several: list[Parts]) -> Parts:
    """a, b and c, of parts that hold numbers."""
    joined: Parts = []
    for n, parts in enumerate(several):
        joined += [*(["" if n == 0 else " and " if n == len(several) - 1 else ", "]), *parts]
    return joined


class Page:
    """The headline figures of a quarter by name; each method is one statement, or none where it states nothing."""

    def __init__(self, quarter: Quarter, figures: list[Figure], coverage: Table | None, lost: Table | None) -> None:
        self.quarter, self.coverage, self.lost = quarter, coverage, lost
        self.of: dict[str, list[Figure]] = {}
        for figure in figures:
            self.of.setdefault(name_of(figure), []).append(figure)

    def known(self, name: str) -> list[Figure]:
        return [figure for figure in self.of.get(name, ()) if figure.value is not None]

    def reason(self, name: str) -> str:
        return next((figure.absent for figure in self.of.get(name, ()) if figure.absent), "nothing is published of it")

    def one(self, name: str) -> Figure | None:
        return next(iter(self.known(name)), None)

    @property
    def has_runs(self) -> bool:
        runs = self.one("run_count")
        return runs is not None and bool(runs.value)

    def cost(self) -> Parts:
        """41 training runs cost 242 000 USD, of 332 000 USD for all that was billed (effective cost)."""
        costs = self.known("effective_cost")
        if not costs:
            return ["The cost of training runs is not stated: ", self.reason("effective_cost"), "."]
        bills: list[Parts] = [[_number(cost, "whole")] for cost in costs]
        if not self.has_runs:
            return [f"No training run cost anything in {self.quarter.name}; all that was billed is ", *_joined(bills), "."]
        runs = self.one("run_count")
        amounts: list[Parts] = [[_number(cost), " of ", _number(cost, "whole")] for cost in costs]
        counted: Parts = [_number(runs)] if runs else ["Training runs"]
        return [*counted, " cost ", *_joined(amounts), " for all that was billed (effective cost)."]

    def idle(self) -> Parts:
        """Idle machines and unused commitments, which no run carries, cost 14 600 USD; failed attempts 3 200 USD."""
        idle = [figure for figure in self.known("idle_cost") if figure.value]
        parts: Parts = []
        if idle:
            parts = [
                "Idle machines and unused commitments, which no run carries, cost ",
                *_joined([[_number(one)] for one in idle]),
            ]
        rows = [row for row in self.lost.rows if row["cause"] != "idle" and row["effective_cost"]] if self.lost else []
        lost: list[Parts] = [
            [f"{row['cause']} attempts ", _cell(self.lost, row, "effective_cost", str(row["billing_currency"]))] for row in rows
        ]
        if lost:
            beginning = "; of the cost of runs, " if parts else "Of the cost of runs, "
            parts += [beginning, *_joined(lost), " are of work that was lost"]
        return [*parts, "."] if parts else []

    def energy(self) -> Parts:
        """The runs used 56.1 (41.5-101) MWh at the facility, modelled, and held chips for 181 000 h."""
        if not self.has_runs:
            return []
        energy = next(iter(self.of.get("facility_energy", ())), None)
        if energy is None or energy.value is None:
            parts: Parts = ["The energy of the runs is not stated: ", self.reason("facility_energy")]
            if energy and energy.known:
                parts += ["; ", energy.known_label, " it was ", _number(energy, "known")]
            return [*parts, "."]
        hours = self.one("reserved_chip_hours")
        held: Parts = [" and held chips for ", _number(hours)] if hours else []
        return ["The runs used ", _number(energy), " at the facility, modelled,", *(held or [" in all"]), "."]

    def emissions(self) -> Parts:
        """Which masses we disclose, by both methods, or why none."""
        if not self.has_runs:
            return []
        scopes = [self.one(name) for name in SCOPES]
        totals = [self.one(name) for name in TOTALS]
        if None in scopes:
            return [f"No emissions of {self.quarter.name} are disclosed yet: ", self.reason(SCOPES[0]), "."]
        location, market = (_number(scope) for scope in scopes if scope)
        parts: Parts = ["We disclose in our Scope 3, category 1 the provider's Scope 2 allocated to these runs: "]
        parts += [location, " location-based and ", market, " market-based"]
        if None not in totals:
            location, market = (_number(total) for total in totals if total)
            parts += ["; with the provider's Scope 1 and 3 it is ", location, " and ", market]
        return [*parts, "."]

    def modelled(self) -> Parts:
        """Our own model, beside the provider's figures and in none of them."""
        model = self.one("modelled_location_based")
        if model is None or not self.has_runs:
            return []
        return ["Our own model of this electricity gives ", _number(model), " location-based; it is in none of these figures."]

    def sureness(self) -> Parts:
        """How much of the accelerator cost has an energy and an emission figure, and what bounds are."""
        shares: list[Parts] = [
            [_number(one), *([f" ({one.unit.partition('/')[0]})"] if len(self.known("accelerator_cost_coverage")) > 1 else [])]
            for one in self.known("accelerator_cost_coverage")
        ]
        if not shares:
            return []
        last = " Bounds in brackets are plausible limits of the model, not a confidence interval." if self.has_runs else ""
        of_accelerators = " of the cost of accelerators carries both an energy and an emission figure"
        return [*_joined(shares), of_accelerators, *self._whole_bill(), f".{last}"]

    def _whole_bill(self) -> Parts:
        """; of the whole bill 71.2 % carries energy and 84.0 % emissions."""
        totals = [row for row in self.coverage.rows if row["is_total"] and row["effective_cost"]] if self.coverage else []
        parts: list[Parts] = [
            [
                f"of the whole bill in {row['billing_currency']} " if len(totals) > 1 else "of the whole bill ",
                _cell(self.coverage, row, "energy_coverage_ratio", "1"),
                " carries energy and ",
                _cell(self.coverage, row, "carbon_coverage_ratio", "1"),
                " emissions",
            ]
            for row in totals
        ]
        return ["; ", *_joined(parts)] if parts else []

    def changes(self) -> Parts:
        """Against 2026Q2 the cost fell by 7.7 %; what is not compared, with its reason."""
        last = self.quarter.previous.name
        shown: list[Parts] = []
        reasons: dict[str, list[str]] = {}
        for name, words in CHANGED.items():
            for figure in self.of.get(name, ()):
                if figure.change_ratio is not None:
                    shown.append(_change(figure, words))
                elif figure.change_reason:
                    reasons.setdefault(figure.change_reason, []).append(words)
        if not shown and list(reasons) == ["nothing of that quarter is published"]:
            return [f"Nothing is compared with {last}: nothing of that quarter is published."]
        parts: Parts = [f"Against {last} ", *_joined(shown), "."] if shown else []
        for reason, names in reasons.items():
            words = listed(list(dict.fromkeys(names)))
            parts.append(f"{' ' if parts else ''}No change is shown for {words}: {reason}.")
        return parts


def _change(figure: Figure, words: str) -> Parts:
    """their energy fell by 2.2 %, from 56.1 MWh; or rose, or stayed as it was."""
    ratio = figure.change_ratio or Decimal(0)
    currency = f" in {figure.unit}" if "," in figure.id else ""
    prior = Number(f"{figure.id}/prior", EN_DASH if figure.prior is None else amount(figure.prior, figure.unit))
    percent = grouped(abs(ratio) * 100, 1)
    if percent in ("0.0", "0"):
        return [f"{words}{currency} stayed at ", prior]
    went = "rose" if ratio > 0 else "fell"
    return [f"{words}{currency} {went} by ", Number(f"{figure.id}/change_ratio", f"{percent}{THIN_SPACE}%"), " from ", prior]


def sentences(
    quarter: Quarter, figures: list[Figure], coverage: Table | None = None, lost: Table | None = None
) -> tuple[Sentence, ...]:
    """The page, in the order in which a board asks."""
    page = Page(quarter, figures, coverage, lost)
    statements = {
        "cost": page.cost(),
        "energy": page.energy(),
        "idle": page.idle(),
        "emissions": page.emissions(),
        "modelled": page.modelled(),
        "sureness": page.sureness(),
        "changes": page.changes(),
    }
    return tuple(Sentence(id, tuple(part for part in parts if part != "")) for id, parts in statements.items() if parts)
