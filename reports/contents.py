"""The order of a quarterly report: sections, their tables, and for what later issues add, the reason why nothing is shown yet."""

from reports.model import Section, Table, answer
from reports.page import dots
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import bars as section_charts
from reports.sections import bills, compared, costs, emissions, energy, modelled, quality, reference, side_by_side, status, totals


def _side_by_side(publication: Publication, quarter: Quarter) -> Section:
    """Section 2. With one platform or none it says why it is empty."""
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
        "figures "
        "that are not assumed, and residual shares that differ less than the effect; this publication has no table of verdicts. "
        "Compared are whole runs with all their attempts, effective cost without idle share, energy at the boundary each row "
        "names.",
        tables=(per_run, per_tokens, pairs, compared_table, answer(publication, compared.residual_shares(quarter))),
        charts={per_run.id: dots.ratio_chart(pairs.rows, per_run.rows)},
    )


def _went(publication: Publication, quarter: Quarter) -> Section:
    groups = (("accelerator_type", "Accelerator"), ("team", "Team"), ("model_name", "Model"))
    names = {"accelerator_type": "accelerator", "team": "team", "model_name": "model"}
    specs = [
        *(costs.grouped_costs(quarter, f"cost_by_{names[key]}", f"Cost by {label.lower()}", key, label) for key, label in groups),
        costs.monthly_costs(quarter),
        energy.by_accelerator(quarter),
        *(
            energy.grouped_energy(quarter, f"energy_by_{names[key]}", f"Facility energy by {label.lower()}", key, label)
            for key, label in groups[1:]
        ),
        energy.by_month(quarter),
        energy.by_basis(quarter),
        costs.largest_runs(quarter),
        costs.work_without_result(quarter),
        energy.by_outcome(quarter),
        bills.cost_waterfall(quarter),
        costs.attribution(quarter),
        bills.prepaid(quarter),
    ]
    tables = tuple(answer(publication, spec) for spec in specs)
    by_id = {table.id: table for table in tables}
    return Section(
        "where_it_went",
        "Where it went",
        lead="Cost of training runs as far as bills have landed, strict: what a run used, without a share of idle capacity. "
        "Effective cost spreads commitments over the hours they serve; billed cost ties to the invoice. Currencies are never "
        "added. Energy is modelled bottom-up; bars of modelled figures are hatched, their lines run from low to high bound.",
        tables=tables,
        charts={**section_charts.cost_charts(by_id), **section_charts.energy_charts(by_id)},
    )


def _emissions(publication: Publication, quarter: Quarter) -> Section:
    specs = (
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
    tables = tuple(answer(publication, spec) for spec in specs)
    by_id = {table.id: table for table in tables}
    return Section(
        "emissions",
        "Emissions",
        lead="Reported by the provider and allocated to runs by list-price weight inside each cell of account, service, region "
        "and month. Location-based and market-based are two answers and are never added. The modelled view stands beside the "
        "book, hatched, and is never part of it.",
        tables=tables,
        charts={
            **section_charts.emission_charts(by_id),
            **section_charts.modelled_charts(by_id["modelled_beside_provider"]),
        },
    )


def _quality(publication: Publication, quarter: Quarter) -> Section:
    specs = (
        quality.matrix(quarter),
        status.presence_table(quarter),
        status.row_status_table(quarter),
        emissions.conservation(quarter),
        quality.gates(quarter),
        quality.conflicts(quarter),
        quality.quarantine(quarter),
    )
    return Section("quality", "Quality", tables=tuple(answer(publication, spec) for spec in specs))


def _note(publication: Publication, title: str, table: str) -> tuple[str, str]:
    """A heading whose table a later issue builds, and why nothing stands below it."""
    if publication.missing(table):
        return title, f"Nothing is shown: the published file has no {table}."
    return title, f"{table} is published, but this version of the report does not show it."


def _later(publication: Publication, id: str, title: str, table: str) -> Section:
    return Section(id, title, absent=_note(publication, title, table)[1])


def sections(publication: Publication, quarter: Quarter) -> list[Section]:
    """Everything below the cover strip, in reading order."""
    return [
        Section(
            "glance",
            "At a glance",
            tables=(
                answer(publication, totals.totals_table(quarter)),
                answer(publication, totals.by_currency(quarter)),
            ),
        ),
        _side_by_side(publication, quarter),
        _went(publication, quarter),
        _emissions(publication, quarter),
        _later(publication, "datapoints", "Disclosure datapoints", "marts.rpt_quarterly_disclosure"),
        _quality(publication, quarter),
        _later(publication, "restatements", "Restatements", "marts.fct_restatements"),
        Section(
            "methods",
            "Methods and factors",
            tables=tuple(
                answer(publication, spec(quarter))
                for spec in (modelled.factors, energy.pue, reference.catalogue, reference.prices, reference.regions)
            ),
        ),
        Section(
            "evidence",
            "Evidence",
            tables=tuple(answer(publication, spec(quarter)) for spec in (reference.build, reference.inputs)),
        ),
    ]


def vintage(publication: Publication, quarter: Quarter) -> Table:
    """The table of the cover strip."""
    return answer(publication, quality.vintage(quarter))
