"""Section 1: the five figures, each with its whole, its change against the last quarter, or the reason why there is none."""

from dataclasses import replace

from reports.model import Figure
from reports.publication import Publication, Row
from reports.quarter import Quarter
from reports.sections.headline_sql import COVERAGE, EFFECTIVE_COST, ENERGY, mass
from reports.sections.sql import WAYS

# The figures before they are asked for, with the marks of `Quarter.fill`. No `unit`: each row of the answer is a currency.
FIGURES = (
    Figure(
        id="effective_cost",
        label="Effective cost of training runs",
        unit="",
        sql=EFFECTIVE_COST,
        whole_label="all that was billed, effective",
        absent="a bill of $quarter is missing",
        method="Net amortised cost of training runs (strict, without idle share), added over runs and months of the quarter, "
        "per currency.",
    ),
    Figure(
        id="facility_energy",
        label="Facility energy of training runs on record",
        unit="kWh",
        sql=ENERGY,
        whole_label="with the idle reserve beside the runs",
        absent="no run has an energy row in $quarter",
        method="Modelled bottom-up, strict: chips by telemetry or time, host, network and storage, times PUE; added over "
        "runs and months. Low and high are plausible bounds that err together.",
    ),
    *(
        Figure(
            id=f"provider_scope_2_{way}_based",
            label=f"Provider Scope 2, {way}-based, allocated to training runs",
            unit="kgCO2e",
            sql=mass(f"provider_scope_2_{way}_based_kgco2e"),
            whole_label="reported by the provider for all usage",
            absent="a carbon month of $quarter is not published",
            method="Provider mass of the elected model version, allocated to runs by list-price weight in each provider cell; "
            "runs added over the quarter.",
        )
        for way in WAYS
    ),
    Figure(
        id="accelerator_cost_coverage",
        label="Share of accelerator cost that carries an energy and an emission figure",
        unit="1",
        sql=COVERAGE,
        whole_label="attributed to training runs",
        absent="no accelerator cost in $quarter, or a bill is missing",
        method="Effective cost of accelerators in run-months whose energy and provider emissions are known, over that of all "
        "accelerators (runs and residuals), per currency.",
    ),
)


def _of(figure: Figure, row: Row, several: bool) -> Figure:
    """The figure of one row; with several currencies each names its own."""
    currency, is_known = str(row["unit"]), row["value"] is not None
    return replace(
        figure,
        id=f"{figure.id}/{currency}" if several else figure.id,
        label=f"{figure.label}, {currency}" if several and figure.unit else figure.label,
        unit=figure.unit or currency,
        value=row["value"],
        whole=row["whole"],
        low=row.get("low"),
        high=row.get("high"),
        change_ratio=row["change_ratio"],
        change_reason=row["change_reason"] or "",
        absent="" if is_known else row.get("absent") or figure.absent,
        known=(row["known"], row["known_low"], row["known_high"]) if not is_known and row.get("known") else None,
        known_label="" if is_known else row.get("known_label") or "",
        remark=row.get("remark") or "",
    )


def glance_figures(publication: Publication, quarter: Quarter) -> list[Figure]:
    """The five headline figures in the order of the page; in several currencies, one each."""
    figures = []
    for marked in FIGURES:
        figure = replace(marked, sql=quarter.fill(marked.sql), absent=quarter.fill(marked.absent))
        missing = publication.missing(figure.sql)
        rows = [] if missing else publication.rows(figure.sql)
        if not rows:
            reason = missing or (figure.absent if figure.unit == "kWh" else f"no cost in {quarter.name}")
            figures.append(replace(figure, whole_label="", change_reason=reason, absent=reason))
        figures += [_of(figure, row, len(rows) > 1) for row in rows]
    return figures
