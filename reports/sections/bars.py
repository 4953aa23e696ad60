"""Which charts a section has, and which rows become which bars. How a bar is drawn is charts.py's."""

from decimal import Decimal

from reports.model import Table
from reports.page.charts import Bar, Chart, Segment, chart
from reports.page.numbers import EN_DASH
from reports.publication import Row
from reports.quarter import short_month_name

FAMILIES = ("trainium", "inferentia", "tpu", "gpu", "none")
ROWS_PER_PANEL = 12


def family_class(family: object) -> str:
    return f"fam-{family}" if family in FAMILIES else "fam-none"


def _legend(families: list[object], rest: bool) -> tuple[tuple[str, str], ...]:
    names = sorted(
        {str(family) for family in families}, key=lambda name: FAMILIES.index(name) if name in FAMILIES else len(FAMILIES)
    )
    return (
        *((family_class(name), "no accelerator" if name == "none" else name) for name in names),
        *((("rest", "no run"),) if rest else ()),
    )


def _stacked(rows: list[Row], label: str, part: str, amount: str) -> list[Bar]:
    """One bar per label, a piece per part, in the order the rows come."""
    bars: dict[str, list[Segment]] = {}
    for row in rows:
        name = EN_DASH if row[label] is None else str(row[label])
        css = "rest" if row[part] == "no run" else family_class(row[part])
        bars.setdefault(name, []).append(Segment(row[amount], css, str(row[part])))
    return [Bar(name, tuple(pieces), sum((piece.amount for piece in pieces), Decimal(0))) for name, pieces in bars.items()]


def _currencies(rows: tuple[Row, ...]) -> list[str]:
    return sorted({str(row["billing_currency"]) for row in rows})


def _of(table: Table, currency: str) -> list[Row]:
    return [row for row in table.rows if row["billing_currency"] == currency and not row.get("is_total")]


def steps(rows: list[Row], amount: str) -> list[Bar]:
    """A waterfall: each part begins where the one before ended; the provider's own total stands on zero."""
    bars, position = [], Decimal(0)
    for row in rows:
        value, part = row[amount], str(row["part"])
        if value is None:
            bars.append(Bar(part, (), None))
            continue
        css = (
            "total" if row["is_total"] else family_class(part.removeprefix("Runs on ")) if part.startswith("Runs on ") else "rest"
        )
        start = Decimal(0) if row["is_total"] else position
        bars.append(Bar(part.replace("Runs on none", "Runs, no accelerator"), (Segment(value, css, part),), value, start))
        position += Decimal(0) if row["is_total"] else value
    return bars


def cost_charts(tables: dict[str, Table]) -> dict[str, tuple[Chart, ...]]:
    """The charts of section 3 by the table they stand above, one set per currency."""
    charts: dict[str, list[Chart]] = {}
    for currency in _currencies(tables["cost_by_accelerator"].rows):
        panels, families = [], []
        for id, label, name in (
            ("cost_by_accelerator", "accelerator_type", "accelerator"),
            ("cost_by_team", "team", "team"),
            ("cost_by_model", "model_name", "model"),
        ):
            rows = _of(tables[id], currency)
            families += [row["accelerator_family"] for row in rows]
            panels.append((f"by {name}", _stacked(rows, label, "accelerator_family", "effective_cost")[:ROWS_PER_PANEL]))
        title = "Effective cost of training runs"
        charts.setdefault("cost_by_accelerator", []).append(
            chart(f"cost-{currency}", title, panels, currency, _legend(families, False))
        )
    for currency in _currencies(tables["cost_by_month"].rows):
        rows = [{**row, "month_name": short_month_name(row["usage_month"])} for row in _of(tables["cost_by_month"], currency)]
        families = [row["part"] for row in rows if row["part"] != "no run"]
        bars = _stacked(rows, "month_name", "part", "effective_cost")
        title = "Effective cost by month"
        charts.setdefault("cost_by_month", []).append(
            chart(f"month-{currency}", title, [("", bars)], currency, _legend(families, True), 2)
        )
    for currency in _currencies(tables["work_by_outcome"].rows):
        outcomes = [_outcome(row) for row in _of(tables["work_by_outcome"], currency)]
        title = "How the work ended, effective cost"
        charts.setdefault("work_by_outcome", []).append(
            chart(f"outcome-{currency}", title, [("", outcomes)], currency, columns=2)
        )
    for currency in _currencies(tables["cost_waterfall"].rows):
        rows = [row for row in tables["cost_waterfall"].rows if row["billing_currency"] == currency]
        panels = [(name, steps(rows, f"{name}_cost_quarter")) for name in ("billed", "effective")]
        title = "From training runs to the bill"
        charts.setdefault("cost_waterfall", []).append(chart(f"bill-{currency}", title, panels, currency, columns=2))
    return {id: tuple(drawn) for id, drawn in charts.items()}


def outcome_class(outcome: str) -> str:
    """Finished work in full colour, lost work outlined, what no run carries in grey: also in black and white."""
    return {
        "succeeded": "done",
        "running": "done",
        "failed": "lost",
        "interrupted": "lost",
        "stopped": "lost",
        "unknown": "lost",
    }.get(outcome, "rest")


def _outcome(row: Row) -> Bar:
    outcome = str(row["outcome"])
    return Bar(outcome, (Segment(row["effective_cost"], outcome_class(outcome), outcome),), row["effective_cost"])


def emission_charts(tables: dict[str, Table]) -> dict[str, tuple[Chart, ...]]:
    """The charts of section 4: the waterfall of the quarter or of its complete months, and the months, each method on its own."""
    ways = (("location", "Location-based"), ("market", "Market-based"))
    table = tables["emissions_waterfall"]
    rows = list(table.rows)
    labels = {column.key: column.label for column in table.spec.columns if column.kind == "mass"}
    known = {key for key in labels if rows and all(row[key] is not None for row in rows)}
    shown = [key for key in known if key.endswith("_quarter")] or known
    periods = dict.fromkeys(key.partition("kgco2e_")[2] for key in labels)
    keys = [(f"{way}_based_kgco2e_{period}", words) for period in periods for way, words in ways]
    panels = [(f"{words}, {labels[key]}", steps(rows, key)) for key, words in keys if key in shown]
    charts: dict[str, tuple[Chart, ...]] = {}
    if panels:
        charts["emissions_waterfall"] = (
            chart("waterfall", "From training runs to the provider's total", panels, "kgCO2e", columns=2),
        )
    months = list(tables["emissions_by_month"].rows)
    if months:
        several = len({row["provider_name"] for row in months}) > 1
        panels = [(words, [_month(row, way, several) for row in months]) for way, words in ways]
        clouds = dict.fromkeys(str(row["provider_name"]) for row in months)
        legend = (*((cloud_class(cloud), f"allocated to runs, {cloud}") for cloud in clouds), ("rest", "no run"))
        charts["emissions_by_month"] = (chart("carbon-month", "Provider emissions by month", panels, "kgCO2e", legend, 2),)
    return charts


def _month(row: Row, way: str, with_provider: bool) -> Bar:
    run, rest = row[f"run_{way}_based_kgco2e"], row[f"rest_{way}_based_kgco2e"]
    label = short_month_name(row["usage_month"]) + (f", {str(row['provider_name']).split()[0]}" if with_provider else "")
    runs = Segment(run, cloud_class(row["provider_name"]), "allocated to runs")
    segments = () if run is None else (runs, Segment(rest, "rest", "no run"))
    return Bar(label, segments, row[f"all_{way}_based_kgco2e"])


def cloud_class(provider: object) -> str:
    return "cloud-google" if provider == "Google Cloud" else "cloud-aws"


def modelled_charts(table: Table) -> dict[str, tuple[Chart, ...]]:
    """Two bars per region: what the provider gives the runs, solid, and what the model gives them, hatched."""
    bars, clouds = [], {}
    for row in table.rows:
        if row["provider_kgco2e"] is None:
            continue
        css = cloud_class(row["provider_name"])
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


def _energy_bars(rows: list[Row], label: str) -> list[Bar]:
    """One bar per row of a table, hatched; without a figure an en dash. A name on two platforms says which."""
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
    charts, panels, families = {}, [], []
    for id, label, name in (
        ("energy_by_accelerator", "accelerator_type", "accelerator"),
        ("energy_by_team", "team", "team"),
        ("energy_by_model", "model_name", "model"),
    ):
        rows = [row for row in tables[id].rows if not row.get("is_total")][:ROWS_PER_PANEL]
        families += [row["accelerator_family"] for row in rows if row["facility_energy_kwh"] is not None]
        panels.append((f"by {name}", _energy_bars(rows, label)))
    legend = tuple((f"{css} modelled", name) for css, name in _legend(families, False))
    title = "Modelled facility energy of training runs"
    if families:
        charts["energy_by_accelerator"] = (chart("energy", title, panels, "kWh", legend),)
        rows = [
            {**row, "label": f"{short_month_name(row['usage_month'])}, {row['accelerator_family']}"}
            for row in tables["energy_by_month"].rows
            if not row["is_total"]
        ]
        month_title = "Modelled facility energy by month"
        charts["energy_by_month"] = (chart("energy-month", month_title, [("", _energy_bars(rows, "label"))], "kWh", (), 2),)
        outcomes = _energy_bars(list(tables["energy_by_outcome"].rows), "outcome")
        outcome_title = "How the work ended, modelled facility energy"
        charts["energy_by_outcome"] = (chart("energy-outcome", outcome_title, [("", outcomes)], "kWh", (), 2),)
    return charts
