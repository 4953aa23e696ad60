"""From a trainledger.yaml to the tables of the contract: reads the exports, applies the rules, returns rows by contract key.

Every table is a dictionary from key to a dictionary of amounts, Decimals with the published scale; unknown is None.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime
from itertools import chain
from pathlib import Path

import yaml

from . import aws_focus, google_ladder, google_lines
from . import costs as cost_tables
from . import emissions as emission_tables
from .aws_pods import divide_among_pods
from .blocks import prepare_blocks, unknown_blocks
from .calibration import calibrated_watts
from .capacities import read_capacities
from .carbon import answer_rows, aws_rows, beside, console_rows, gather
from .carbon_periods import check_rows, divide_among_months, period_rows
from .cross_checks import cross_check_rows
from .doubts import Judge, plausible_readings, plausible_samples
from .energy import hold_energy, run_rows, unknown_months
from .exports import (
    Delivery,
    answer_deliveries,
    bill_deliveries,
    carbon_deliveries,
    console_deliveries,
    elect,
    moment,
    period_deliveries,
)
from .final_bills import closed_months, cut
from .google_carbon import carbon_projects, google_rows
from .google_commitments import amortise
from .google_exports import nested_rows, partition_deliveries
from .google_focus import as_detailed
from .google_prices import PriceLists
from .holdings import holds_of
from .hyperpod import meet, read_names
from .invoices import invoice_rows
from .judgements import (
    Calendar,
    Judgements,
    complete_costs,
    complete_emissions,
    complete_reconciliation,
    complete_versions,
    published_carbon,
)
from .ladder import parts_of
from .lines import COLUMNS, Line, line_of
from .machines import tell_machines_apart
from .metrics import read_metrics
from .modelled import modelled_rows, reconciliation_rows
from .months import by_month
from .net_discounts import count_discounts_once
from .neuron import read_neuron
from .numerals import OracleError
from .observed import Telemetry, observe
from .on_demand import price, read_prices
from .open_ends import billed_times, decide_open_ends
from .own_figures import read_own_figures
from .payers import refuse_hours_of_two
from .places import Places
from .power import (
    cut_at_readings,
    node_power,
    numbered_by_slice,
    read_at_nodes,
    read_driver,
    read_meters,
    read_nvidia_smi,
    read_profiles,
)
from .prepaid import aws_flows, prepaid_rows
from .projects import Projects
from .provider_totals import read_totals, total_rows
from .rates import read_rates
from .recorded import note_recorded
from .records import STILL_HELD, Runs, read_records
from .resolving import resolve
from .rows import rows_of
from .shared_machines import leave_inner_runs_their_chips
from .shared_meters import divide
from .sizes import sizes_of
from .tagged import months_of_pods_alone, tag_holds, tag_windows, tagged_lines
from .tpu import read_tpu
from .water import Withdrawals, read_water, water_rows
from .zero_prices import doubt_zeros, read_grants

Tables = dict[str, dict[tuple, dict]]
RunMonth = tuple[str, date, str]  # run, month, provider


def _read_lines(deliveries: list[Delivery]) -> Iterator[Line]:
    for delivery in deliveries:
        for key, path in delivery.files:
            for number, row in enumerate(rows_of(path, COLUMNS), start=1):
                yield line_of(delivery.source_name, key, number, row)


def _read_aws_focus_lines(deliveries: list[Delivery]) -> Iterator[Line]:
    for delivery in deliveries:
        for key, path in delivery.files:
            for number, row in enumerate(rows_of(path, aws_focus.COLUMNS), start=1):
                yield line_of(delivery.source_name, key, number, aws_focus.as_cur(row))


def _read_google_lines(deliveries: list[Delivery]) -> Iterator[google_lines.GoogleLine]:
    for delivery in deliveries:
        for key, path in delivery.files:
            for number, row in enumerate(nested_rows(path, google_lines.COLUMNS), start=1):
                yield google_lines.line_of(delivery.source_name, key, number, row)


def _read_focus_lines(deliveries: list[Delivery]) -> Iterator[google_lines.GoogleLine]:
    for delivery in deliveries:
        for key, path in delivery.files:
            for number, row in enumerate(nested_rows(path), start=1):
                yield google_lines.line_of(delivery.source_name, key, number, as_detailed(row))


def _run_months(runs: Runs, billed: set[RunMonth]) -> set[RunMonth]:
    """Run-months with billed rows or with chips held, also where it is unknown until when."""
    months = set(billed)
    for window in (*chain.from_iterable(runs.windows.values()), *runs.unknown):
        if window.run not in runs.ambiguous:
            end = window.start + 1 if window.end == STILL_HELD else window.end
            provider = runs.provider_of.get(window.run, "AWS")
            months |= {(window.run, month, provider) for month, _, _ in by_month(window.start, end)}
    return months


def _is_book(source: dict) -> bool:
    """A pro forma bill is never paid."""
    return source.get("book", True) and not source.get("is_pro_forma", False)


class Oracle:
    """One reading of the exports and the tables that follow from it; without a clock no bill is final."""

    def __init__(self, config: Path, as_published: datetime | None = None, now: str | None = None) -> None:
        settings = yaml.safe_load(config.read_text(encoding="utf-8"))
        if settings.get("carbon_weights", "list_cost") != "list_cost":
            raise OracleError("the oracle knows list-cost weights only")
        self._base = config.parent
        self._sources = settings["sources"]
        self._as_published = as_published
        self.reporting_currency = settings.get("organisation", {}).get("reporting_currency", "USD")
        self.rates = read_rates(self._locations("fx_rates"), as_published)
        self.tag_keys = settings.get("run_tag_keys", ["training_run_id"])
        self.meters = settings.get("meters", {})
        self.lines = list(_read_lines(self._elected("aws_cur", bill_deliveries)))
        self.lines += _read_aws_focus_lines(self._elected("aws_focus", bill_deliveries))
        refuse_hours_of_two(self.lines)
        count_discounts_once(self.lines)
        # beside the book, which the configuration states
        self.other_aws_lines = list(_read_aws_focus_lines(self._elected("aws_focus", bill_deliveries, is_book=False)))
        self.google_lines = list(_read_google_lines(self._elected("gcp_billing", partition_deliveries)))
        self.google_lines += _read_focus_lines(self._elected("gcp_focus", partition_deliveries))
        self.other_lines = list(_read_focus_lines(self._elected("gcp_focus", partition_deliveries, is_book=False)))
        google_carbon = self._elected("gcp_carbon", partition_deliveries)
        projects = Projects(
            chain(
                ((line.usage_month, line.place[1], line.place[0]) for line in self.google_lines), carbon_projects(google_carbon)
            )
        )
        google_lines.name_projects([*self.google_lines, *self.other_lines], projects)
        locations = self._locations("training_runs")
        self.runs = resolve([record for location in locations for record in read_records(location, as_published)])
        neuron = chain.from_iterable(read_neuron(place, as_published) for place in self._locations("neuron_monitor"))
        tpu = chain.from_iterable(read_tpu(place, as_published) for place in self._locations("tpu_monitoring"))
        neuron, tpu = list(neuron), list(tpu)
        driver = chain.from_iterable(read_driver(place, as_published) for place in self._locations("neuron_power"))
        gpus = chain.from_iterable(read_nvidia_smi(place, as_published) for place in self._locations("gpu_monitoring"))
        profiles = chain.from_iterable(read_profiles(place, as_published) for place in self._locations("xprof"))
        asked, read = read_metrics(self._locations("prometheus"), settings.get("hosts", {}), as_published)
        judge = Judge(self.runs, self.meters)
        samples = [*neuron, *tpu, *driver, *gpus, *asked, *numbered_by_slice(profiles, tpu)]
        samples = list(plausible_samples(samples, judge))
        meters = chain.from_iterable(read_meters(place, as_published) for place in self._locations("power_meters"))
        at_machines = list(plausible_readings(chain(meters, read), samples, judge))
        calibrated = calibrated_watts(samples, self.runs)
        tell_machines_apart(self.google_lines, self.runs)
        meet(self.lines, self.runs, read_names(locations, as_published))
        lines = [*self.lines, *self.google_lines]
        times, closed = billed_times(lines), closed_months(lines, moment(now)) if now else set()
        decide_open_ends(self.runs, samples, times)
        self.runs.sizes = sizes_of(self.google_lines, self.lines, self.runs)
        leave_inner_runs_their_chips(self.runs)
        capacities = read_capacities(self._locations("user_inputs"), as_published)
        self.unknown_blocks = unknown_blocks(prepare_blocks(self.lines, self.runs.plans_of_job, capacities), self.lines)
        self.flows = aws_flows(self.lines) | amortise(self.google_lines, self.tag_keys)
        self.price_lists = PriceLists(self._elected("gcp_prices", partition_deliveries))
        price(lines, [*read_prices(self._locations("user_inputs"), as_published), *self.price_lists.on_demand()])
        doubt_zeros(lines, read_grants(self._locations("user_inputs"), as_published))
        divided = divide_among_pods(self.lines, self.runs, self.tag_keys)
        note_recorded(divided, self.google_lines, self.runs, self.tag_keys)
        self.parts = list(parts_of(divided, self.runs, self.tag_keys))
        self.parts += google_ladder.parts_of(self.google_lines, self.runs, self.tag_keys)
        carbon_rows = google_rows(google_carbon, projects)
        aws_carbon = self._elected("aws_carbon", carbon_deliveries)
        exported = list(aws_rows(aws_carbon))
        reported = self._elected("aws_carbon", console_deliveries)
        answered = self._elected("aws_carbon", answer_deliveries)
        reports = list(beside(exported, [*console_rows(reported), *answer_rows(answered)]))
        billed = {(line.payer_account_id, line.usage_month) for line in self.lines}
        of_periods = period_rows(self._elected("aws_carbon", period_deliveries))
        of_months = divide_among_months(of_periods, [*exported, *reports], billed, emission_tables.weigh(self.parts))
        self.compared = [*of_months.compared, *period_rows(self._elected("aws_carbon", period_deliveries, is_book=False))]
        self.carbon = gather(chain(exported, reports, of_months.rows, carbon_rows))
        self.carbon.of_periods = {row.cell for row in of_months.rows}
        published = published_carbon([*aws_carbon, *reported, *answered, *google_carbon], self.carbon)
        published |= {("AWS", *place): at for place, at in of_months.published.items()}
        self.water = read_water(self._locations("aws_water"), as_published)
        self.calendar = Calendar(
            billed={(line.provider_name, line.payer_account_id, line.usage_month) for line in lines},
            closed=closed,
            published=published,
            now=moment(now) if now else None,
        )
        self.stated_totals = [
            one
            for source in self._sources
            if source["kind"] == "provider_totals"
            for one in read_totals(source["name"], self._base / source["location"], as_published)
        ]
        by_tag = tagged_lines(self.parts, self.runs)
        tagged = list(tag_windows(by_tag))
        self.unknown_chips = {(window.run, month) for month, window in tagged if window.chips is None}
        self.unknown_chips |= months_of_pods_alone(self.parts, self.runs)
        telemetry = Telemetry(samples, self.runs.beside(window for _, window in tagged))
        holds = list(chain(holds_of(self.runs), tag_holds(tagged)))
        at_nodes = node_power(chain(at_machines, divide(self.meters, at_machines, samples, holds)))
        holds = list(cut(cut_at_readings(holds, at_nodes), times, closed))
        places = Places(self.lines, self.google_lines, self.parts, self.runs, telemetry)
        places.bill_tagged(by_tag)
        self.own = read_own_figures(self._locations("user_inputs"), self.runs, as_published)
        nodes = read_at_nodes(holds, at_nodes)
        self.energy = hold_energy(observe(holds, telemetry), self.runs, places, self.own, nodes, calibrated)

    def _locations(self, kind: str) -> list[Path]:
        return [self._base / source["location"] for source in self._sources if source["kind"] == kind]

    def _elected(self, kind: str, find: Callable[[str, Path], Iterator[Delivery]], is_book: bool = True) -> list[Delivery]:
        sources = [source for source in self._sources if source["kind"] == kind and _is_book(source) is is_book]
        found = (delivery for source in sources for delivery in find(source["name"], self._base / source["location"]))
        return elect(found, self._as_published)

    def tables(self) -> Tables:
        lines = [*self.lines, *self.google_lines]
        rounding = cost_tables.rounding_of_savings_plans(self.lines)
        costs = cost_tables.gather(self.parts, rounding)
        weights = emission_tables.weigh(self.parts)
        emissions = emission_tables.allocate(self.carbon, weights)
        billed_months = {(key[0], key[7], key[2]) for key in costs.runs}
        run_months = _run_months(self.runs, billed_months)
        month_keys = {key[:2] for key in run_months}
        reconciled = cost_tables.conservation_rows(lines, rounding, costs)
        reconciled |= emission_tables.conservation_rows(emissions, self.carbon)
        reconciled |= cross_check_rows(self.google_lines, self.other_lines)
        reconciled |= cross_check_rows(self.lines, self.other_aws_lines)
        reconciled |= reconciliation_rows(self.energy, emissions, self.carbon, self.parts, self.own)
        reconciled |= invoice_rows(self.google_lines)
        reconciled |= total_rows(self.stated_totals, lines, rounding, self.calendar.closed)
        reconciled |= check_rows(self.compared, self.carbon)
        judged = Judgements.of(self.parts, self.calendar)
        run_costs = cost_tables.run_rows(costs, run_months, self.reporting_currency, self.rates)
        complete_costs(run_costs, judged, run_months)
        book = emission_tables.book_rows(emissions, self.carbon, run_months)
        complete_emissions(book, judged, emissions, self.carbon)
        final = {(run, month) for (run, month, _), row in book.items() if row.get("status") == "final"}
        withdrawals = Withdrawals(self.water, emissions, self.carbon)
        water = water_rows(self.energy, withdrawals, run_months, self.calendar.now is not None, final)
        versions = emission_tables.version_rows(emissions)
        complete_versions(versions, emissions, self.carbon)
        complete_reconciliation(reconciled, judged, self.carbon)
        return {
            "fct_run_cell_costs": cost_tables.run_cell_rows(costs),
            "fct_residual_costs": cost_tables.residual_rows(costs),
            "fct_training_run_costs": run_costs,
            "fct_prepaid": prepaid_rows(self.flows, self.unknown_blocks),
            "fct_run_cell_emissions": emission_tables.run_cell_rows(emissions, self.carbon),
            "fct_residual_emissions": emission_tables.residual_rows(emissions, self.carbon),
            "fct_training_run_emissions": book,
            "fct_training_run_emissions_versions": versions,
            "fct_training_run_energy": run_rows(self.energy, month_keys, unknown_months(self.runs), self.unknown_chips),
            "fct_training_run_water": water,
            "fct_training_run_emissions_modelled": modelled_rows(self.energy, month_keys, self.own),
            "fct_reconciliation": reconciled,
        }
