"""The order of a quarterly report: which sections there are, and what is in each.

A table that the publication does not have is left out, and so is a chapter without anything to show; a new chapter is one line.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from reports.issue import Issue, Policy
from reports.model import Figure, Section, Table
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import Quarter
from reports.sections import (
    datapoints,
    evidence,
    glance,
    quality,
    restatements,
    verdicts,
)
from reports.sections.charts import GROUPS, Charts, cost_and_energy_charts, emission_charts

Tables = dict[str, Table]

WENT: tuple[str, ...] = (
    *(f"cost_by_{name}" for name, *_ in GROUPS),
    "cost_by_month",
    *("energy_by_accelerator", "energy_by_team", "energy_by_model", "energy_by_month", "energy_by_basis"),
    "largest_runs",
    *("lost_work_by_cause", "lost_work_by_team", "lost_work_by_week", "work_by_outcome"),
    "energy_by_outcome",
    *("cost_waterfall", "cost_by_evidence", "prepaid"),
)
QUALITY = (
    *("sources_by_month", "grouped_deliveries", "presence", "row_status", "conservation"),
    "calibrated_watts",
    *("gates", "conflicts", "quarantine"),
)


def sections(
    publication: Publication,
    quarter: Quarter,
    figures: list[Figure],
    policy: Policy | None = None,
    issue: Issue | None = None,
) -> list[Section]:
    """Everything below the cover strip, in reading order, with reference codes: T3.2 is a table of section 3, A2 an appendix."""

    def chapter(id: str, title: str, *specs: str, lead: str = "", charts: Callable[[Tables], Charts] | None = None) -> Section:
        tables = answered(publication, quarter, *specs)
        return Section(id, title, lead, tuple(tables.values()), charts(tables) if charts else {})

    in_order = (
        glance.section(publication, quarter, figures),
        verdicts.section(publication, quarter),
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
            *("emissions_waterfall", "emissions_by_month", "emissions_by_region", "emissions_by_team", "residual_reasons"),
            *("modelled_beside_provider", "modelled_ratio_by_month", "modelled_by_region", "modelled_vs_provider"),
            lead="Reported by the provider and allocated to runs by list-price weight inside each cell of account, service, "
            "region and month. Location-based and market-based are two answers and are never added. The modelled view is "
            "shown beside the book, hatched, and is never part of it.",
            charts=emission_charts,
        ),
        datapoints.section(publication, quarter),
        _led_by_gates(chapter("quality", "Quality", *QUALITY)),
        restatements.section(publication, quarter, policy, issue),
        chapter(
            "methods",
            "Methods and factors",
            *("factors", "pue", "catalogue", "prices", "regions"),
        ),
        evidence.section(publication, quarter, issue),
    )
    return list(_coded(one for one in in_order if one.tables or one.absent or one.sentences or one.lead))


def _led_by_gates(section: Section) -> Section:
    """The checks in one line, what failed named in it, and which sources are groups; then what arrived, what disagrees."""
    by_id = {table.id: table for table in section.tables}
    lines = [
        quality.gates_line(by_id["gates"]) if "gates" in by_id else "",
        quality.groups_line(by_id.get("grouped_deliveries")),
    ]
    return replace(section, lead=" ".join(filter(None, lines)))


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
