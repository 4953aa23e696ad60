"""The order of a quarterly report: sections, their tables, and for what later issues add, the reason why nothing is shown yet."""

from collections.abc import Callable

from reports.issue import Issue, Policy
from reports.model import Section, Table, TableSpec, answer
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import (
    compared,
    costs,
    currencies,
    datapoints,
    emissions,
    energy,
    evidence,
    modelled,
    quality,
    reference,
    restatements,
    status,
)
from reports.sections.charts import Charts, cost_and_energy_charts, emission_charts, ratio_chart
from reports.sections.side_by_side import PAIR_RATIOS, medians

WENT = (
    *(costs.grouped_costs(*group) for group in costs.GROUPS),
    costs.MONTHLY_COSTS,
    energy.BY_ACCELERATOR,
    *(energy.grouped_energy(*group) for group in costs.GROUPS[1:]),
    energy.BY_MONTH,
    energy.BY_BASIS,
    costs.LARGEST_RUNS,
    costs.WORK_WITHOUT_RESULT,
    energy.BY_OUTCOME,
    costs.COST_WATERFALL,
    costs.ATTRIBUTION,
    costs.PREPAID,
)


def _side_by_side(publication: Publication, quarter: Quarter) -> Section:
    """Section 2. With one platform or none, the reason why it is empty."""
    compared_table = answer(publication, quarter, compared.WHAT_WAS_COMPARED)
    families = {str(row["accelerator_family"]) for row in compared_table.rows}
    title = "Trainium and TPU side by side"
    if compared_table.absent:
        return Section("side_by_side", title, absent=compared_table.absent)
    if not {"trainium", "tpu"} <= families:
        there = f"only on {families.pop()}" if families else "on neither"
        absent = f"Nothing is compared: it takes runs that ended on Trainium and on TPU, and in this quarter they ended {there}."
        return Section("side_by_side", title, tables=(compared_table,) if compared_table.rows else (), absent=absent)
    shown = (medians(per_tokens=False), medians(per_tokens=True), PAIR_RATIOS, compared.RESIDUAL_SHARES)
    per_run, per_tokens, pairs, shares = (answer(publication, quarter, spec) for spec in shown)
    return Section(
        "side_by_side",
        title,
        lead="Descriptive: medians and matched pairs, no verdict. A verdict needs at least five pairs, an interval, power "
        "figures that are not assumed, and residual shares that differ less than the effect; this publication has no table of "
        "verdicts. Compared are whole runs with all their attempts, effective cost without idle share, energy at the boundary "
        "each row names.",
        tables=(per_run, per_tokens, pairs, compared_table, shares),
        charts={per_run.id: ratio_chart(pairs.rows, per_run.rows)},
    )


def sections(
    publication: Publication, quarter: Quarter, policy: Policy | None = None, issue: Issue | None = None
) -> list[Section]:
    """Everything below the cover strip, in reading order."""

    def section(
        id: str, title: str, *specs: TableSpec, lead: str = "", charts: Callable[[dict[str, Table]], Charts] | None = None
    ) -> Section:
        answers = (answer(publication, quarter, spec) for spec in specs)
        tables = {table.id: table for table in answers if table.rows or not table.spec.is_dropped_when_empty}
        return Section(id, title, lead, tuple(tables.values()), charts(tables) if charts else {})

    def later(id: str, title: str, table: str) -> Section:
        """A heading whose table a later version builds, and why nothing is below it."""
        missing = publication.missing(table)
        unknown = f"{table} is published, but this version of the report does not show it."
        return Section(id, title, absent=f"Nothing is shown: {missing}." if missing else unknown)

    return [
        section("glance", "At a glance", emissions.TOTALS_TWICE, currencies.BY_CURRENCY, currencies.IN_REPORTING_CURRENCY),
        _side_by_side(publication, quarter),
        section(
            "where_it_went",
            "Where it went",
            *WENT,
            lead="Cost of training runs as far as bills have landed, strict: what a run used, without a share of idle capacity. "
            "Effective cost spreads commitments over the hours they serve; billed cost ties to the invoice. Currencies are never "
            "added. Energy is modelled bottom-up; bars of modelled figures are hatched, their lines run from low to high bound.",
            charts=cost_and_energy_charts,
        ),
        section(
            "emissions",
            "Emissions",
            *(emissions.WATERFALL, emissions.BY_MONTH, emissions.BY_REGION, emissions.BY_TEAM),
            *(emissions.RESIDUAL_REASONS, modelled.BESIDE_PROVIDER, modelled.RATIO_HISTORY, modelled.BY_REGION, modelled.CELLS),
            lead="Reported by the provider and allocated to runs by list-price weight inside each cell of account, service, "
            "region and month. Location-based and market-based are two answers and are never added. The modelled view is "
            "shown beside the book, hatched, and is never part of it.",
            charts=emission_charts,
        ),
        datapoints.section(publication, quarter),
        section(
            "quality",
            "Quality",
            *(quality.MATRIX, status.PRESENCE_OF_PAYERS, status.ROW_STATUS, quality.CONSERVATION),
            *(quality.GATES, quality.CONFLICTS, quality.QUARANTINE),
        ),
        restatements.section(publication, quarter, policy, issue),
        section(
            "methods",
            "Methods and factors",
            *(modelled.FACTORS, energy.PUE, reference.CATALOGUE, reference.PRICES, reference.REGIONS),
        ),
        evidence.section(publication, quarter, issue),
    ]
