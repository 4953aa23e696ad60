"""The order of a quarterly report: sections, their tables, and for what later issues add, the reason why nothing is shown yet."""

from reports import costs, emissions, glance, quality, reference, section_charts, status
from reports.model import Column, Section, Table, TableSpec, answer
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sql import within


def platforms(quarter: Quarter) -> TableSpec:
    """Which platforms have runs in the quarter: two of them make section 2."""
    return TableSpec(
        id="platforms",
        title="Platforms with runs in the quarter",
        sql=f"""select runs.accelerator_family, count(distinct runs.training_run_id) as run_count
from marts.fct_training_run_costs as costs
inner join marts.dim_training_runs as runs using (training_run_id)
where {within(quarter, "costs.usage_month")}
group by runs.accelerator_family
order by runs.accelerator_family""",
        columns=(Column("accelerator_family", "Platform"), Column("run_count", "Runs", "count")),
        key=("accelerator_family",),
        needs=("marts.fct_training_run_costs", "marts.dim_training_runs"),
        method="Runs with a cost row in the quarter.",
        empty="No run has a cost in this quarter.",
    )


def _side_by_side(publication: Publication, quarter: Quarter) -> Section:
    """Section 2. Its tables come with the second cloud; until both platforms have runs it says why it is empty."""
    table = answer(publication, platforms(quarter))
    families = {str(row["accelerator_family"]) for row in table.rows}
    if {"trainium", "tpu"} <= families:
        absent = "Both platforms have runs, but no table of this publication compares them yet."
    else:
        there = " and ".join(sorted(families - {"none"})) or "none"
        absent = (
            "Nothing is compared: it takes runs on Trainium and on TPU, "
            f"and the accelerators of this quarter's runs are: {there}."
        )
    return Section("side_by_side", "Trainium and TPU side by side", absent=absent)


def _went(publication: Publication, quarter: Quarter) -> Section:
    by = [
        costs.grouped_costs(quarter, "cost_by_accelerator", "Cost by accelerator type", "accelerator_type", "Accelerator"),
        costs.grouped_costs(quarter, "cost_by_team", "Cost by team", "team", "Team"),
        costs.grouped_costs(quarter, "cost_by_model", "Cost by model", "model_name", "Model"),
    ]
    specs = [
        *by,
        costs.monthly_costs(quarter),
        costs.largest_runs(quarter),
        costs.work_without_result(quarter),
        costs.cost_waterfall(quarter),
        costs.attribution(quarter),
        costs.prepaid(quarter),
    ]
    tables = tuple(answer(publication, spec) for spec in specs)
    return Section(
        "where_it_went",
        "Where it went",
        lead="Cost of training runs as far as bills have landed, strict: what a run used, without a share of idle capacity. "
        "Effective cost spreads commitments over the hours they serve; billed cost ties to the invoice. Currencies are never "
        "added.",
        tables=tables,
        charts=section_charts.cost_charts({table.id: table for table in tables}),
        notes=(_note(publication, "Energy by platform, team, model and month", "marts.fct_training_run_energy"),),
    )


def _emissions(publication: Publication, quarter: Quarter) -> Section:
    specs = (
        emissions.waterfall(quarter),
        emissions.by_month(quarter),
        emissions.by_region(quarter),
        emissions.by_team(quarter),
        emissions.residual_reasons(quarter),
    )
    tables = tuple(answer(publication, spec) for spec in specs)
    return Section(
        "emissions",
        "Emissions",
        lead="Reported by the provider and allocated to runs by list-price weight inside each cell of account, service, region "
        "and month. Location-based and market-based are two answers and are never added.",
        tables=tables,
        charts=section_charts.emission_charts({table.id: table for table in tables}),
        notes=(_note(publication, "Provider-allocated beside modelled", "marts.fct_training_run_emissions_modelled"),),
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
        Section("glance", "At a glance", tables=(answer(publication, glance.totals_table(quarter)),)),
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
                for spec in (reference.catalogue, reference.prices, reference.regions, reference.factors)
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
