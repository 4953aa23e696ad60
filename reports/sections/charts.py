"""The charts: which rows of a table become which bars and dots. How they are drawn is page/charts.py and page/dots.py."""

from collections.abc import Iterable
from decimal import Decimal

from reports.model import Table
from reports.page.charts import Bar, Chart, Line, Segment, chart
from reports.page.dots import LEGEND, Axis, dot_line
from reports.page.numbers import EN_DASH
from reports.publication import Row
from reports.quarter import short_month_name
from reports.sections.costs import GROUPS
from reports.sections.sql import PERIODS, WAYS

Legend = tuple[tuple[str, str], ...]
Charts = dict[str, tuple[Chart, ...]]  # by the table they are drawn above
FAMILIES = ("trainium", "inferentia", "tpu", "gpu", "none")
ROWS_PER_PANEL = 12
# finished work in full colour, lost work outlined, what no run carries in grey: also in black and white
OUTCOMES = {"succeeded": "done", "running": "done", **dict.fromkeys(("failed", "interrupted", "stopped", "unknown"), "lost")}


def _family(family: object) -> str:
    return f"fam-{family}" if family in FAMILIES else "fam-none"


def _cloud(provider: object) -> str:
    return "cloud-google" if provider == "Google Cloud" else "cloud-aws"


def _legend(families: Iterable[str]) -> Legend:
    names = sorted(set(families), key=lambda name: FAMILIES.index(name) if name in FAMILIES else len(FAMILIES))
    return tuple((_family(name), "no accelerator" if name == "none" else name) for name in names)


def _stacked(rows: list[Row], label: str, part: str) -> list[Bar]:
    """Effective cost, one bar per label, a piece per part, in the order the rows come."""
    bars: dict[str, list[Segment]] = {}
    for row in rows:
        name = EN_DASH if row[label] is None else str(row[label])
        css = "rest" if row[part] == "no run" else _family(row[part])
        bars.setdefault(name, []).append(Segment(row["effective_cost"], css, str(row[part])))
    return [Bar(name, tuple(pieces), sum((piece.amount for piece in pieces), Decimal(0))) for name, pieces in bars.items()]


def _steps(rows: Iterable[Row], amount: str) -> list[Bar]:
    """A waterfall: each part begins where the one before ended; the provider's own total begins at zero."""
    bars, position = [], Decimal(0)
    for row in rows:
        value, part, is_total = row[amount], str(row["part"]), row["is_total"]
        if value is None:
            bars.append(Bar(part, (), None))
            continue
        family = part.removeprefix("Runs on ")
        css = "total" if is_total else _family(family) if family != part else "rest"
        label = part.replace("Runs on none", "Runs, no accelerator")
        bars.append(Bar(label, (Segment(value, css, part),), value, Decimal(0) if is_total else position))
        position += Decimal(0) if is_total else value
    return bars


def _of(table: Table, currency: str) -> list[Row]:
    return [row for row in table.rows if row["billing_currency"] == currency and not row.get("is_total")]


def _by_group(tables: dict[str, Table], currency: str) -> Chart:
    """By accelerator, team and model on one scale."""
    rows = {name: _of(tables[f"cost_by_{name}"], currency) for name, _, _ in GROUPS}
    panels = [(f"by {name}", _stacked(rows[name], group, "accelerator_family")[:ROWS_PER_PANEL]) for name, group, _ in GROUPS]
    legend = _legend(row["accelerator_family"] for name in rows for row in rows[name])
    return chart(f"cost-{currency}", "Effective cost of training runs", panels, currency, legend)


def _by_month(tables: dict[str, Table], currency: str) -> Chart:
    rows = [{**row, "month": short_month_name(row["usage_month"])} for row in _of(tables["cost_by_month"], currency)]
    legend = (*_legend(row["part"] for row in rows if row["part"] != "no run"), ("rest", "no run"))
    return chart(f"month-{currency}", "Effective cost by month", [("", _stacked(rows, "month", "part"))], currency, legend, 2)


def _by_outcome(tables: dict[str, Table], currency: str) -> Chart:
    costs = [(str(row["outcome"]), row["effective_cost"]) for row in _of(tables["work_by_outcome"], currency)]
    bars = [Bar(outcome, (Segment(cost, OUTCOMES.get(outcome, "rest"), outcome),), cost) for outcome, cost in costs]
    return chart(f"outcome-{currency}", "How the work ended, effective cost", [("", bars)], currency, columns=2)


def _to_the_bill(tables: dict[str, Table], currency: str) -> Chart:
    rows = [row for row in tables["cost_waterfall"].rows if row["billing_currency"] == currency]
    panels = [(name, _steps(rows, f"{name}_cost_quarter")) for name in ("billed", "effective")]
    return chart(f"bill-{currency}", "From training runs to the bill", panels, currency, columns=2)


def _lost(tables: dict[str, Table], currency: str) -> Chart:
    """Idle, failed and interrupted, each a bar of its own."""
    costs = [(str(row["cause"]), row["effective_cost"]) for row in _of(tables["lost_work_by_cause"], currency)]
    bars = [Bar(cause, (Segment(cost, "rest" if cause == "idle" else "lost", cause),), cost) for cause, cost in costs]
    return chart(
        f"lost-{currency}", "Idle machines, failed and interrupted work, effective cost", [("", bars)], currency, columns=2
    )


DRAWN = {
    "lost_work_by_cause": _lost,
    "cost_by_accelerator": _by_group,
    "cost_by_month": _by_month,
    "work_by_outcome": _by_outcome,
    "cost_waterfall": _to_the_bill,
}


def cost_and_energy_charts(tables: dict[str, Table]) -> Charts:
    """The charts of where it went: of cost, one set per currency, and of energy."""
    groups = {f"cost_by_{name}" for name, _, _ in GROUPS}
    costs: Charts = {}
    for id, draw in DRAWN.items():
        if id in tables and (draw is not _by_group or groups <= tables.keys()):
            costs[id] = tuple(
                draw(tables, currency) for currency in sorted({str(row["billing_currency"]) for row in tables[id].rows})
            )
    needed = {f"energy_by_{name}" for name in ("accelerator", "team", "model", "month", "outcome")}
    return {**costs, **(_energy_charts(tables) if needed <= tables.keys() else {})}


def _energy_bars(rows: Iterable[Row], label: str) -> list[Bar]:
    """One bar per row, hatched, as every energy is modelled; a name on two platforms is followed by its platform."""
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
        css = _family(row["accelerator_family"]) if "accelerator_family" in row else OUTCOMES.get(name, "rest")
        bars.append(Bar(name, (Segment(value, css, "modelled", True),), value, bounds=None if low is None else (low, high)))
    return bars


def _energy_charts(tables: dict[str, Table]) -> Charts:
    """By accelerator, team and model on one scale, by month, and by outcome."""
    panels, families = [], []
    for name, group, _ in GROUPS:
        rows = [row for row in tables[f"energy_by_{name}"].rows if not row.get("is_total")][:ROWS_PER_PANEL]
        families += [row["accelerator_family"] for row in rows if row["facility_energy_kwh"] is not None]
        panels.append((f"by {name}", _energy_bars(rows, group)))
    if not families:
        return {}
    months = [
        {**row, "label": f"{short_month_name(row['usage_month'])}, {row['accelerator_family']}"}
        for row in tables["energy_by_month"].rows
        if not row["is_total"]
    ]
    by_month = [("", _energy_bars(months, "label"))]
    by_outcome = [("", _energy_bars(tables["energy_by_outcome"].rows, "outcome"))]
    legend = tuple((f"{css} modelled", name) for css, name in _legend(families))
    ended = "How the work ended, modelled facility energy"
    return {
        "energy_by_accelerator": (chart("energy", "Modelled facility energy of training runs", panels, "kWh", legend),),
        "energy_by_month": (chart("energy-month", "Modelled facility energy by month", by_month, "kWh", columns=2),),
        "energy_by_outcome": (chart("energy-outcome", ended, by_outcome, "kWh", columns=2),),
    }


def emission_charts(tables: dict[str, Table]) -> Charts:
    """Those of emissions: the waterfall of the quarter or of its complete months, the months, the model beside the provider."""
    charts: Charts = {}
    if not {"emissions_waterfall", "emissions_by_month"} <= tables.keys():
        return charts
    rows, months = tables["emissions_waterfall"].rows, tables["emissions_by_month"].rows
    labels = {column.key: column.label for column in tables["emissions_waterfall"].spec.columns if column.kind == "mass"}
    known = {key for key in labels if rows and all(row[key] is not None for row in rows)}
    shown = [key for key in known if key.endswith("_quarter")] or known
    keys = [(f"{way}_based_kgco2e_{period}", f"{way.title()}-based") for period, _ in PERIODS for way in WAYS]
    panels = [(f"{words}, {labels[key]}", _steps(rows, key)) for key, words in keys if key in shown]
    if panels:
        title = "From training runs to the provider's total"
        charts["emissions_waterfall"] = (chart("waterfall", title, panels, "kgCO2e", columns=2),)
    if months:
        clouds = dict.fromkeys(str(row["provider_name"]) for row in months)
        panels = [(f"{way.title()}-based", [_month(row, way, len(clouds) > 1) for row in months]) for way in WAYS]
        legend = (*((_cloud(cloud), f"allocated to runs, {cloud}") for cloud in clouds), ("rest", "no run"))
        charts["emissions_by_month"] = (chart("carbon-month", "Provider emissions by month", panels, "kgCO2e", legend, 2),)
    beside = tables.get("modelled_beside_provider")
    return {**charts, **(_modelled_charts(beside) if beside else {})}


def _month(row: Row, way: str, with_provider: bool) -> Bar:
    run, rest = row[f"run_{way}_based_kgco2e"], row[f"rest_{way}_based_kgco2e"]
    label = short_month_name(row["usage_month"]) + (f", {str(row['provider_name']).split()[0]}" if with_provider else "")
    runs = Segment(run, _cloud(row["provider_name"]), "allocated to runs")
    segments = () if run is None else (runs, Segment(rest, "rest", "no run"))
    return Bar(label, segments, row[f"all_{way}_based_kgco2e"])


def _modelled_charts(table: Table) -> Charts:
    """Two bars per region: what the provider gives the runs, solid, and what the model gives them, hatched."""
    bars, clouds = [], {}
    for row in table.rows:
        if row["provider_kgco2e"] is None:
            continue
        css = _cloud(row["provider_name"])
        clouds[css] = row["provider_name"]
        # a region has a pair of bars for each version of the provider's model
        several = sum(row["region_id"] == other["region_id"] for other in table.rows) > 1
        region = f"{row['region_id']}, {row['provider_model_version']}" if several else str(row["region_id"])
        for name, label, is_modelled in (("provider", region, False), ("modelled", "modelled", True)):
            amount = row[f"{name}_kgco2e"]
            bars.append(Bar(label, (Segment(amount, css, f"{region}, {name}", is_modelled),), amount))
    if not bars:
        return {}
    legend = tuple(
        (f"{css}{' modelled' if is_modelled else ''}", f"{cloud}, {words}")
        for css, cloud in clouds.items()
        for is_modelled, words in ((False, "provider-allocated"), (True, "modelled"))
    )
    title = "Location-based emissions of the runs on accelerators"
    return {table.id: (chart("modelled", title, [("", bars)], "kgCO2e", legend, 2),)}


def ratio_chart(pairs: tuple[Row, ...], rated: tuple[Row, ...]) -> tuple[Chart, ...]:
    """A panel per workload with pairs: a line per figure, with its interval where there is one."""
    ends = ("ratio_low", "ratio_high", "ratio_corner_low", "ratio_corner_high")
    axis = Axis([*(pair["ratio"] for pair in pairs), *(row[end] for row in rated for end in ends if row[end] is not None)])
    panels = []
    for n, workload in enumerate(dict.fromkeys(str(pair["workload_key"]) for pair in pairs)):
        own = [pair for pair in pairs if pair["workload_key"] == workload]
        beside = {row["measure"]: row for row in rated if row["workload_key"] == workload}
        figures = dict.fromkeys(str(pair["measure"]) for pair in own)
        lines = tuple(
            _ratio_line(position, measure, [pair for pair in own if pair["measure"] == measure], beside.get(measure), axis)
            for position, measure in enumerate(figures)
        )
        count = len({pair["pair_key"] for pair in own})
        numbers = "; ".join(f"{line.label}: {line.number or 'each pair in the table'}" for line in lines)
        panels.append(
            axis.panel(
                f"dots-{n}",
                f"TPU ÷ Trainium: {workload}, {count} matched pair{'s' if count > 1 else ''} in four quarters",
                f"Log axis, 1 is no difference. Ratios with their intervals: {numbers}. The numbers are in the tables.",
                lines,
            )
        )
    return (Chart("TPU ÷ Trainium", tuple(panels), LEGEND, 2, "dots"),) if panels else ()


def _ratio_line(position: int, measure: str, pairs: list[Row], rated: Row | None, axis: Axis) -> Line:
    is_modelled = any(pair["ratio_corner_low"] is not None for pair in pairs)
    label = measure.removesuffix(" per 1M useful tokens").removesuffix(" to target").removesuffix(",")
    return dot_line(position, label, is_modelled, pairs, rated, axis)
