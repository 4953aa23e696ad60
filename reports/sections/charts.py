"""The charts: which rows of a table become which bars and dots. How they are drawn is page/charts.py and page/dots.py."""

from collections.abc import Iterable
from decimal import Decimal

from reports.door import Row
from reports.model import Table
from reports.page.charts import Bar, Chart, Segment, bar, chart
from reports.page.dots import LEGEND, Axis
from reports.page.names import RUNS_ON, platform
from reports.page.numbers import EN_DASH
from reports.quarter import short_month_name

PERIODS, WAYS = ("month_1", "month_2", "month_3", "quarter"), ("location", "market")
Legend = tuple[tuple[str, str], ...]
Charts = dict[str, tuple[Chart, ...]]  # by the table they are drawn above
GROUPS = (("accelerator", "accelerator_type", "Accelerator"), ("team", "team", "Team"), ("model", "model_name", "Model"))
FAMILIES = ("trainium", "inferentia", "tpu", "gpu", "none")
ROWS_PER_PANEL = 12
# finished work in full colour, lost work outlined, what no run carries in grey: also in black and white
OUTCOMES = {"succeeded": "done", "running": "done", **dict.fromkeys(("failed", "interrupted", "stopped", "unknown"), "lost")}
# tables with a bar per row: what the row is called there, the chart's id and title
BY_CAUSE = {
    "lost_work_by_cause": ("cause", "lost", "Idle machines, failed and interrupted work, effective cost"),
    "work_by_outcome": ("outcome", "outcome", "How the work ended, effective cost"),
}


def _family(family: object) -> str:
    return f"fam-{family}" if family in FAMILIES else "fam-none"


def _cloud(provider: object) -> str:
    return "cloud-google" if provider == "Google Cloud" else "cloud-aws"


def _legend(families: Iterable[str]) -> Legend:
    names = sorted(set(families), key=lambda name: FAMILIES.index(name) if name in FAMILIES else len(FAMILIES))
    return tuple((_family(name), "no accelerator" if name == "none" else platform(name)) for name in names)


def _rows(table: Table) -> list[Row]:
    return [row for row in table.rows if not row.get("is_total")]


def _named(value: object) -> str:
    return EN_DASH if value is None else str(value)


def _stacked(rows: list[Row], label: str, part: str, total: str) -> list[Bar]:
    """Effective cost, one bar per label, a piece per part, in the order the rows come."""
    bars: dict[str, list[Segment]] = {}
    totals = {_named(row[label]): row[total] for row in rows}
    for row in rows:
        css = "rest" if row[part] == "no run" else _family(row[part])
        pieces = bars.setdefault(_named(row[label]), [])
        if row["effective_cost"] is not None:
            pieces.append(Segment(row["effective_cost"], css, platform(str(row[part]))))
    return [Bar(name, tuple(pieces), totals[name]) for name, pieces in bars.items()]


def _steps(rows: Iterable[Row], amount: str) -> list[Bar]:
    """A waterfall: each part begins where the one before ended; the provider's own total begins at zero."""
    bars, position = [], Decimal(0)
    for row in rows:
        value, part, is_total = row[amount], str(row["part"]), row["is_total"]
        family = part.removeprefix(RUNS_ON)
        css = "total" if is_total else _family(family) if family != part else "rest"
        label = platform(part.replace("Runs on none", "Runs, no accelerator"))
        bars.append(bar(label, value, css, platform(part), start=Decimal(0) if is_total else position))
        position += Decimal(0) if is_total or value is None else value
    return bars


def _cost_chart(id: str, tables: dict[str, Table], currency: str) -> Chart:
    """The chart above a table of cost: by accelerator, team and model on one scale; by month; the waterfall; or a bar per row."""
    rows = [row for row in tables[id].rows if row["billing_currency"] == currency]
    own = [row for row in _rows(tables[id]) if row["billing_currency"] == currency]
    if id in BY_CAUSE:
        label, slug, title = BY_CAUSE[id]
        bars = [bar(str(row[label]), row["effective_cost"], OUTCOMES.get(row[label], "rest")) for row in own]
        return chart(f"{slug}-{currency}", title, [("", bars)], currency)
    if id == "cost_waterfall":
        steps = [(name, _steps(rows, f"{name}_cost_quarter")) for name in ("billed", "effective")]
        return chart(f"bill-{currency}", "From training runs to the bill", steps, currency)
    if id == "cost_by_month":
        months = [{**row, "month": short_month_name(row["usage_month"])} for row in own]
        legend = (*_legend(row["part"] for row in own if row["part"] != "no run"), ("rest", "no run"))
        bars = _stacked(months, "month", "part", "month_effective_cost")
        return chart(f"month-{currency}", "Effective cost by month", [("", bars)], currency, legend)
    panels, families = [], []
    for name, group, _ in GROUPS:
        found = [row for row in _rows(tables[f"cost_by_{name}"]) if row["billing_currency"] == currency]
        families += [row["accelerator_family"] for row in found]
        bars = _stacked(found, group, "accelerator_family", "all_platforms_effective_cost")
        panels.append((f"by {name}", bars[:ROWS_PER_PANEL]))
    return chart(f"cost-{currency}", "Effective cost of training runs", panels, currency, _legend(families), 3)


def cost_and_energy_charts(tables: dict[str, Table]) -> Charts:
    """The charts of where it went: of cost, one set per currency, and of energy."""
    charts: Charts = {}
    for id in (*BY_CAUSE, "cost_by_accelerator", "cost_by_month", "cost_waterfall"):
        if id in tables:
            currencies = sorted({str(row["billing_currency"]) for row in tables[id].rows})
            charts[id] = tuple(_cost_chart(id, tables, currency) for currency in currencies)
    return {**charts, **(_energy_charts(tables) if "energy_by_accelerator" in tables else {})}


def _energy_bars(rows: list[Row], label: str) -> list[Bar]:
    """One bar per row, hatched, as every energy is modelled; a name on two platforms is followed by its platform."""
    bars, names = [], [row[label] for row in rows]
    for row in rows:
        value, low, high = (row[f"facility_energy_kwh{end}"] for end in ("", "_low", "_high"))
        if value is None and row.get("unknown_run_months") == 0:
            continue  # no chips held: nothing to model
        name = _named(row[label]) + (f", {platform(row['accelerator_family'])}" if names.count(row[label]) > 1 else "")
        css = _family(row["accelerator_family"]) if "accelerator_family" in row else OUTCOMES.get(name, "rest")
        bounds = None if low is None else (low, high)
        bars.append(bar(name, value, css, "modelled", is_modelled=True, bounds=bounds))
    return bars


def _energy_charts(tables: dict[str, Table]) -> Charts:
    """By accelerator, team and model on one scale, by month, and by outcome."""
    panels, families = [], []
    for name, group, _ in GROUPS:
        rows = _rows(tables[f"energy_by_{name}"])[:ROWS_PER_PANEL]
        families += [row["accelerator_family"] for row in rows if row["facility_energy_kwh"] is not None]
        panels.append((f"by {name}", _energy_bars(rows, group)))
    if not families:
        return {}
    months = [
        {**row, "label": f"{short_month_name(row['usage_month'])}, {platform(row['accelerator_family'])}"}
        for row in _rows(tables["energy_by_month"])
    ]
    outcomes = _energy_bars(_rows(tables["energy_by_outcome"]), "outcome")
    legend = tuple((f"{css} modelled", name) for css, name in _legend(families))
    of_runs, of_months = "Modelled facility energy of training runs", "Modelled facility energy by month"
    of_outcomes = "How the work ended, modelled facility energy"
    return {
        "energy_by_accelerator": (chart("energy", of_runs, panels, "kWh", legend, 3),),
        "energy_by_month": (chart("energy-month", of_months, [("", _energy_bars(months, "label"))], "kWh"),),
        "energy_by_outcome": (chart("energy-outcome", of_outcomes, [("", outcomes)], "kWh"),),
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
    keys = [(f"{way}_based_kgco2e_{period}", f"{way.title()}-based") for period in PERIODS for way in WAYS]
    panels = [(f"{words}, {labels[key]}", _steps(rows, key)) for key, words in keys if key in shown]
    if panels:
        charts["emissions_waterfall"] = (chart("waterfall", "From training runs to the provider's total", panels, "kgCO2e"),)
    if months:
        clouds = dict.fromkeys(str(row["provider_name"]) for row in months)
        panels = [(f"{way.title()}-based", [_month(row, way, len(clouds) > 1) for row in months]) for way in WAYS]
        legend = (*((_cloud(cloud), f"allocated to runs, {cloud}") for cloud in clouds), ("rest", "no run"))
        charts["emissions_by_month"] = (chart("carbon-month", "Provider emissions by month", panels, "kgCO2e", legend),)
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
    known = [row for row in table.rows if row["provider_kgco2e"] is not None]
    if not known:
        return {}
    bars, regions = [], [row["region_id"] for row in table.rows]
    for row in known:
        css = _cloud(row["provider_name"])
        # a region has a pair of bars for each version of the provider's model
        version = f", {row['provider_model_version']}" if regions.count(row["region_id"]) > 1 else ""
        region = f"{row['region_id']}{version}"
        bars.append(bar(region, row["provider_kgco2e"], css, f"{region}, provider"))
        bars.append(bar("modelled", row["modelled_kgco2e"], css, f"{region}, modelled", is_modelled=True))
    legend = tuple(
        (f"{css}{drawn}", f"{cloud}, {words}")
        for css, cloud in {_cloud(row["provider_name"]): row["provider_name"] for row in known}.items()
        for drawn, words in (("", "provider-allocated"), (" modelled", "modelled"))
    )
    return {
        table.id: (chart("modelled", "Location-based emissions of the runs on accelerators", [("", bars)], "kgCO2e", legend),)
    }


def ratio_chart(pairs: tuple[Row, ...], rated: tuple[Row, ...], span: str = " in four quarters") -> tuple[Chart, ...]:
    """A panel per workload with pairs: a line per figure, with its interval where there is one."""
    ends = ("ratio_low", "ratio_high", "ratio_corner_low", "ratio_corner_high")
    axis = Axis([*(pair["ratio"] for pair in pairs), *(row[end] for row in rated for end in ends if row[end] is not None)])
    panels = []
    for n, workload in enumerate(dict.fromkeys(str(pair["workload_key"]) for pair in pairs)):
        own = [pair for pair in pairs if pair["workload_key"] == workload]
        beside = {row["measure"]: row for row in rated if row["workload_key"] == workload}
        lines = tuple(
            axis.line(position, measure, [pair for pair in own if pair["measure"] == measure], beside.get(measure))
            for position, measure in enumerate(dict.fromkeys(str(pair["measure"]) for pair in own))
        )
        count = own[0]["workload_pair_count"]
        title = f"TPU ÷ Trainium: {workload}, {count} matched pair{'s' if count > 1 else ''}{span}"
        panels.append(axis.panel(f"dots-{n}", title, lines))
    return (Chart("TPU ÷ Trainium", tuple(panels), LEGEND, 2, "dots"),) if panels else ()
