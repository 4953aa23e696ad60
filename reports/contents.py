"""The order of a quarterly report: sections, their tables, and for what later issues add, the reason why nothing is shown yet."""

from reports.model import Section, Table, TableSpec, answer
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import (
    bills,
    compared,
    conservation,
    costs,
    emissions,
    energy,
    modelled,
    quality,
    reference,
    side_by_side,
    status,
    totals,
)
from reports.sections.cost_charts import cost_charts
from reports.sections.emission_charts import emission_charts, modelled_charts
from reports.sections.energy_charts import energy_charts
from reports.sections.ratios import ratio_chart


def _answers(publication: Publication, *specs: TableSpec) -> tuple[Table, ...]:
    return tuple(answer(publication, spec) for spec in specs)


def _side_by_side(publication: Publication, quarter: Quarter) -> Section:
    """Section 2. With one platform or none, the reason why it is empty."""
    compared_table = answer(publication, compared.what_was_compared(quarter))
    families = {str(row["accelerator_family"]) for row in compared_table.rows}
    title = "Trainium and TPU side by side"
    if compared_table.absent:
        return Section("side_by_side", title, absent=compared_table.absent)
    if not {"trainium", "tpu"} <= families:
        there = f"only on {families.pop()}" if families else "on neither"
        absent = f"Nothing is compared: it takes runs that ended on Trainium and on TPU, and in this quarter they ended {there}."
        return Section("side_by_side", title, tables=(compared_table,) if compared_table.rows else (), absent=absent)
    per_run, per_tokens = (answer(publication, side_by_side.medians(quarter, tokens)) for tokens in (False, True))
    pairs = answer(publication, side_by_side.pair_ratios(quarter))
    return Section(
        "side_by_side",
        title,
        lead="Descriptive: medians and matched pairs, no verdict. A verdict needs at least five pairs, an interval, power "
        "figures that are not assumed, and residual shares that differ less than the effect; this publication has no table of "
        "verdicts. Compared are whole runs with all their attempts, effective cost without idle share, energy at the boundary "
        "each row names.",
        tables=(per_run, per_tokens, pairs, compared_table, answer(publication, compared.residual_shares(quarter))),
        charts={per_run.id: ratio_chart(pairs.rows, per_run.rows)},
    )


def _went(publication: Publication, quarter: Quarter) -> Section:
    tables = _answers(
        publication,
        costs.grouped_costs(quarter, "cost_by_accelerator", "Cost by accelerator", "accelerator_type", "Accelerator"),
        costs.grouped_costs(quarter, "cost_by_team", "Cost by team", "team", "Team"),
        costs.grouped_costs(quarter, "cost_by_model", "Cost by model", "model_name", "Model"),
        costs.monthly_costs(quarter),
        energy.by_accelerator(quarter),
        energy.grouped_energy(quarter, "energy_by_team", "Facility energy by team", "team", "Team"),
        energy.grouped_energy(quarter, "energy_by_model", "Facility energy by model", "model_name", "Model"),
        energy.by_month(quarter),
        energy.by_basis(quarter),
        costs.largest_runs(quarter),
        costs.work_without_result(quarter),
        energy.by_outcome(quarter),
        bills.cost_waterfall(quarter),
        costs.attribution(quarter),
        bills.prepaid(quarter),
    )
    by_id = {table.id: table for table in tables}
    return Section(
        "where_it_went",
        "Where it went",
        lead="Cost of training runs as far as bills have landed, strict: what a run used, without a share of idle capacity. "
        "Effective cost spreads commitments over the hours they serve; billed cost ties to the invoice. Currencies are never "
        "added. Energy is modelled bottom-up; bars of modelled figures are hatched, their lines run from low to high bound.",
        tables=tables,
        charts={**cost_charts(by_id), **energy_charts(by_id)},
    )


def _emissions(publication: Publication, quarter: Quarter) -> Section:
    tables = _answers(
        publication,
        emissions.waterfall(quarter),
        emissions.by_month(quarter),
        emissions.by_region(quarter),
        emissions.by_team(quarter),
        emissions.residual_reasons(quarter),
        modelled.beside_provider(quarter),
        modelled.ratio_history(quarter),
        modelled.by_region(quarter),
        modelled.cells(quarter),
    )
    by_id = {table.id: table for table in tables}
    return Section(
        "emissions",
        "Emissions",
        lead="Reported by the provider and allocated to runs by list-price weight inside each cell of account, service, "
        "region and month. Location-based and market-based are two answers and are never added. The modelled view is "
        "shown beside the book, hatched, and is never part of it.",
        tables=tables,
        charts={**emission_charts(by_id), **modelled_charts(by_id["modelled_beside_provider"])},
    )


def _quality(publication: Publication, quarter: Quarter) -> Section:
    tables = _answers(
        publication,
        quality.matrix(quarter),
        status.presence_table(quarter),
        status.row_status_table(quarter),
        conservation.conservation(quarter),
        quality.gates(quarter),
        quality.conflicts(quarter),
        quality.quarantine(quarter),
    )
    return Section("quality", "Quality", tables=tables)


def _later(publication: Publication, id: str, title: str, table: str) -> Section:
    """A heading whose table a later version builds, and why nothing is below it."""
    missing = publication.missing(table)
    shown = (
        f"Nothing is shown: {missing}." if missing else f"{table} is published, but this version of the report does not show it."
    )
    return Section(id, title, absent=shown)


def sections(publication: Publication, quarter: Quarter) -> list[Section]:
    """Everything below the cover strip, in reading order."""
    glance = _answers(publication, totals.totals_table(quarter), totals.by_currency(quarter))
    methods = (modelled.factors, energy.pue, reference.catalogue, reference.prices, reference.regions)
    evidence = (reference.build, reference.inputs)
    return [
        Section("glance", "At a glance", tables=glance),
        _side_by_side(publication, quarter),
        _went(publication, quarter),
        _emissions(publication, quarter),
        _later(publication, "datapoints", "Disclosure datapoints", "marts.rpt_quarterly_disclosure"),
        _quality(publication, quarter),
        _later(publication, "restatements", "Restatements", "marts.fct_restatements"),
        Section("methods", "Methods and factors", tables=_answers(publication, *(spec(quarter) for spec in methods))),
        Section("evidence", "Evidence", tables=_answers(publication, *(spec(quarter) for spec in evidence))),
    ]


def vintage(publication: Publication, quarter: Quarter) -> Table:
    """The table of the cover strip."""
    return answer(publication, quality.vintage(quarter))
