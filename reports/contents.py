"""The order of a quarterly report: which sections there are, and what is in each.

A chapter is a function of a publication, a quarter and its headline figures. A table that the publication does not have is left
out, and so is a chapter without anything to show.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from reports.issue import Issue, Policy
from reports.model import Figure, Section, Table, TableSpec, answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import (
    calibration,
    costs,
    datapoints,
    emissions,
    energy,
    evidence,
    glance,
    lost_work,
    modelled,
    quality,
    reference,
    restatements,
    status,
    verdicts,
)
from reports.sections.charts import Charts, cost_and_energy_charts, emission_charts

Chapter = Callable[[Publication, Quarter, list[Figure]], Section]

WENT = (
    *(costs.grouped_costs(*group) for group in costs.GROUPS),
    costs.MONTHLY_COSTS,
    energy.BY_ACCELERATOR,
    *(energy.grouped_energy(*group) for group in costs.GROUPS[1:]),
    energy.BY_MONTH,
    energy.BY_BASIS,
    costs.LARGEST_RUNS,
    lost_work.LOST_WORK_BY_CAUSE,
    lost_work.LOST_WORK_BY_TEAM,
    lost_work.LOST_WORK_BY_WEEK,
    costs.WORK_WITHOUT_RESULT,
    energy.BY_OUTCOME,
    costs.COST_WATERFALL,
    costs.ATTRIBUTION,
    costs.PREPAID,
)


def chapter(
    id: str, title: str, *specs: TableSpec, lead: str = "", charts: Callable[[dict[str, Table]], Charts] | None = None
) -> Chapter:
    """A chapter of tables with the charts drawn of them."""

    def section(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
        tables = answered(publication, quarter, *specs)
        return Section(id, title, lead, tuple(tables.values()), charts(tables) if charts else {})

    return section


def _side_by_side(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
    return verdicts.section(publication, quarter)


def _quality(publication: Publication, quarter: Quarter, figures: list[Figure]) -> Section:
    """The checks in one line, what failed named in it; then what arrived, what is quarantined, what disagrees."""
    made = chapter(
        "quality",
        "Quality",
        *(quality.MATRIX, status.PRESENCE_OF_PAYERS, status.ROW_STATUS, quality.CONSERVATION),
        calibration.WATTS,
        *(quality.GATES, quality.CONFLICTS, quality.QUARANTINE),
    )(publication, quarter, figures)
    gates = next((table for table in made.tables if table.id == quality.GATES.id), None)
    return replace(made, lead=quality.gates_line(gates) if gates else "")


def chapters(policy: Policy | None, issue: Issue | None) -> tuple[Chapter, ...]:
    """In reading order; a new chapter is one line."""
    return (
        glance.section,
        _side_by_side,
        chapter(
            "where_it_went",
            "Where it went",
            *WENT,
            lead="Cost of training runs as far as bills have landed, strict: what a run used, without a share of idle capacity. "
            "Effective cost spreads commitments over the hours they serve; billed cost ties to the invoice. Currencies are never "
            "added. Energy is modelled bottom-up; bars of modelled figures are hatched, their lines run from low to high bound.",
            charts=cost_and_energy_charts,
        ),
        chapter(
            "emissions",
            "Emissions",
            *(emissions.WATERFALL, emissions.BY_MONTH, emissions.BY_REGION, emissions.BY_TEAM),
            *(emissions.RESIDUAL_REASONS, modelled.BESIDE_PROVIDER, modelled.RATIO_HISTORY, modelled.BY_REGION, modelled.CELLS),
            lead="Reported by the provider and allocated to runs by list-price weight inside each cell of account, service, "
            "region and month. Location-based and market-based are two answers and are never added. The modelled view is "
            "shown beside the book, hatched, and is never part of it.",
            charts=emission_charts,
        ),
        datapoints.section,
        _quality,
        lambda publication, quarter, figures: restatements.section(publication, quarter, policy, issue),
        chapter(
            "methods",
            "Methods and factors",
            *(modelled.FACTORS, energy.PUE, reference.CATALOGUE, reference.PRICES, reference.REGIONS),
        ),
        lambda publication, quarter, figures: evidence.section(publication, quarter, issue),
    )


def _has_something(section: Section) -> bool:
    return bool(section.tables or section.absent or section.sentences or section.lead)


def sections(
    publication: Publication,
    quarter: Quarter,
    figures: list[Figure],
    policy: Policy | None = None,
    issue: Issue | None = None,
) -> list[Section]:
    """Everything below the cover strip, in reading order, with reference codes: T3.2 is a table of section 3, A2 an appendix."""
    shown = [made for chapter in chapters(policy, issue) if _has_something(made := chapter(publication, quarter, figures))]
    return list(_coded(shown))


def _coded(sections: Iterable[Section]) -> Iterable[Section]:
    appendices = 0
    for n, section in enumerate(sections, 1):
        tables, in_text = [], 0
        for table in section.tables:
            if table.spec.is_data_only:
                code = ""
            elif table.is_long:
                appendices += 1
                code = f"A{appendices}"
            else:
                in_text += 1
                code = f"T{n}.{in_text}"
            tables.append(replace(table, code=code))
        yield replace(section, tables=tuple(tables))
