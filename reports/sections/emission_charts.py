"""The charts of section 4: the provider's masses, location-based and market-based apart, and the model beside the provider."""

from reports.model import Table
from reports.page.charts import Bar, Chart, Segment, chart
from reports.publication import Row
from reports.quarter import short_month_name
from reports.sections.bars import cloud_class, steps


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
    return {**charts, **_modelled_charts(tables["modelled_beside_provider"])}


def _month(row: Row, way: str, with_provider: bool) -> Bar:
    run, rest = row[f"run_{way}_based_kgco2e"], row[f"rest_{way}_based_kgco2e"]
    label = short_month_name(row["usage_month"]) + (f", {str(row['provider_name']).split()[0]}" if with_provider else "")
    runs = Segment(run, cloud_class(row["provider_name"]), "allocated to runs")
    segments = () if run is None else (runs, Segment(rest, "rest", "no run"))
    return Bar(label, segments, row[f"all_{way}_based_kgco2e"])


def _modelled_charts(table: Table) -> dict[str, tuple[Chart, ...]]:
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
