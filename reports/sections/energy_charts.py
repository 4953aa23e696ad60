"""The energy charts of section 3: every bar is modelled, so hatched, with a line from its low to its high bound."""

from reports.model import Table
from reports.page.charts import Bar, Chart, Segment, chart
from reports.page.numbers import EN_DASH
from reports.publication import Row
from reports.quarter import short_month_name
from reports.sections.bars import ROWS_PER_PANEL, family_class, outcome_class, platform_legend
from reports.sections.costs import GROUPS


def _energy_bars(rows: list[Row], label: str) -> list[Bar]:
    """One bar per row of a table, hatched; without a figure an en dash. A name on two platforms is followed by its platform."""
    bars, names = [], [row[label] for row in rows]
    for row in rows:
        name = EN_DASH if row[label] is None else str(row[label])
        if names.count(row[label]) > 1:
            name = f"{name}, {row['accelerator_family']}"
        value = row["facility_energy_kwh"]
        if value is None and row.get("unknown_run_months") == 0:
            continue  # known by a tag only: nothing to model
        if value is None:
            bars.append(Bar(name, (), None))
            continue
        low, high = row["facility_energy_kwh_low"], row["facility_energy_kwh_high"]
        css = family_class(row["accelerator_family"]) if "accelerator_family" in row else outcome_class(name)
        bars.append(Bar(name, (Segment(value, css, "modelled", True),), value, bounds=None if low is None else (low, high)))
    return bars


def energy_charts(tables: dict[str, Table]) -> dict[str, tuple[Chart, ...]]:
    """The energy charts of section 3: by accelerator, team and model on one scale, and by month."""
    panels, families = [], []
    for name, label, _ in GROUPS:
        rows = [row for row in tables[f"energy_by_{name}"].rows if not row.get("is_total")][:ROWS_PER_PANEL]
        families += [row["accelerator_family"] for row in rows if row["facility_energy_kwh"] is not None]
        panels.append((f"by {name}", _energy_bars(rows, label)))
    if not families:
        return {}
    months = [
        {**row, "label": f"{short_month_name(row['usage_month'])}, {row['accelerator_family']}"}
        for row in tables["energy_by_month"].rows
        if not row["is_total"]
    ]
    outcomes = list(tables["energy_by_outcome"].rows)
    legend = tuple((f"{css} modelled", name) for css, name in platform_legend(families))

    def drawn(id: str, title: str, rows: list[Row], label: str) -> tuple[Chart, ...]:
        return (chart(id, title, [("", _energy_bars(rows, label))], "kWh", columns=2),)

    return {
        "energy_by_accelerator": (chart("energy", "Modelled facility energy of training runs", panels, "kWh", legend),),
        "energy_by_month": drawn("energy-month", "Modelled facility energy by month", months, "label"),
        "energy_by_outcome": drawn("energy-outcome", "How the work ended, modelled facility energy", outcomes, "outcome"),
    }
