"""The chart of section 2: which pairs and medians become which dots. How they are drawn is page/dots.py."""

from reports.page.charts import Chart
from reports.page.dots import LEGEND, Axis, dot_line
from reports.publication import Row
from reports.sections.side_by_side import COMPARED


def ratio_chart(pairs: tuple[Row, ...], medians: tuple[Row, ...]) -> tuple[Chart, ...]:
    """A panel per workload with pairs; the first row, useful tokens, shows how well the pairs are matched."""
    workloads = sorted({str(pair["workload_key"]) for pair in pairs})
    values = [value for pair in pairs for key, value in pair.items() if key.endswith("_ratio") and value is not None]
    bounds = [row[end] for row in medians for end in ("ratio_low", "ratio_high") if row[end] is not None]
    axis, panels = Axis([*values, *bounds]), []
    for n, workload in enumerate(workloads):
        own = [pair for pair in pairs if pair["workload_key"] == workload]
        rated = [row for row in medians if row["workload_key"] == workload and row["pair_count"]]
        # in two currencies a measure has two medians: then none is drawn
        by_measure = {row["measure"]: row for row in rated if sum(row["measure"] == other["measure"] for other in rated) == 1}
        present = [m for m in COMPARED if any(pair[f"{m.key}_ratio"] is not None for pair in own)]
        lines = tuple(
            dot_line(position, m.short, m.key, m.is_modelled, own, by_measure.get(m.words), axis)
            for position, m in enumerate(present)
        )
        count = f"{len(own)} matched pair{'s' if len(own) > 1 else ''}"
        numbers = "; ".join(f"{line.label}: {line.number or 'each pair in the table'}" for line in lines)
        panels.append(
            axis.panel(
                f"dots-{n}",
                f"TPU ÷ Trainium, per run: {workload}, {count}",
                f"Log axis, 1 is no difference. Median ratios: {numbers}. Descriptive; the numbers are in the tables.",
                lines,
            )
        )
    return (Chart("TPU ÷ Trainium, per run", tuple(panels), LEGEND, 2, "dots"),) if panels else ()
