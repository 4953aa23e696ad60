"""The cost charts of section 3: which rows of its tables become which bars."""

from reports.model import Table
from reports.page.charts import Bar, Chart, Segment, chart
from reports.publication import Row
from reports.quarter import short_month_name
from reports.sections.bars import ROWS_PER_PANEL, outcome_class, platform_legend, stacked, steps
from reports.sections.costs import GROUPS


def _of(table: Table, currency: str, with_totals: bool = False) -> list[Row]:
    return [row for row in table.rows if row["billing_currency"] == currency and (with_totals or not row.get("is_total"))]


def _by_group(tables: dict[str, Table], currency: str) -> Chart:
    """By accelerator, team and model on one scale."""
    rows = {name: _of(tables[f"cost_by_{name}"], currency) for name, _, _ in GROUPS}
    panels = [
        (f"by {name}", stacked(rows[name], label, "accelerator_family", "effective_cost")[:ROWS_PER_PANEL])
        for name, label, _ in GROUPS
    ]
    legend = platform_legend([row["accelerator_family"] for name, _, _ in GROUPS for row in rows[name]])
    return chart(f"cost-{currency}", "Effective cost of training runs", panels, currency, legend)


def _by_month(tables: dict[str, Table], currency: str) -> Chart:
    rows = [{**row, "month_name": short_month_name(row["usage_month"])} for row in _of(tables["cost_by_month"], currency)]
    legend = platform_legend([row["part"] for row in rows if row["part"] != "no run"], with_rest=True)
    bars = stacked(rows, "month_name", "part", "effective_cost")
    return chart(f"month-{currency}", "Effective cost by month", [("", bars)], currency, legend, 2)


def _by_outcome(tables: dict[str, Table], currency: str) -> Chart:
    bars = []
    for row in _of(tables["work_by_outcome"], currency):
        outcome, cost = str(row["outcome"]), row["effective_cost"]
        bars.append(Bar(outcome, (Segment(cost, outcome_class(outcome), outcome),), cost))
    return chart(f"outcome-{currency}", "How the work ended, effective cost", [("", bars)], currency, columns=2)


def _to_the_bill(tables: dict[str, Table], currency: str) -> Chart:
    rows = _of(tables["cost_waterfall"], currency, with_totals=True)
    panels = [(name, steps(rows, f"{name}_cost_quarter")) for name in ("billed", "effective")]
    return chart(f"bill-{currency}", "From training runs to the bill", panels, currency, columns=2)


DRAWN = {
    "cost_by_accelerator": _by_group,
    "cost_by_month": _by_month,
    "work_by_outcome": _by_outcome,
    "cost_waterfall": _to_the_bill,
}


def cost_charts(tables: dict[str, Table]) -> dict[str, tuple[Chart, ...]]:
    """The charts of section 3 by the table they are drawn above, one set per currency."""
    currencies = {id: sorted({str(row["billing_currency"]) for row in tables[id].rows}) for id in DRAWN}
    return {id: tuple(draw(tables, currency) for currency in currencies[id]) for id, draw in DRAWN.items()}
