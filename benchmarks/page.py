"""results/index.html: the table of goals and a plot of it. One file, nothing from another host, readable without scripts."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24}
table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #d8dee4;padding:.3rem .6rem;text-align:left;vertical-align:top}

td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.met{color:#1a6b33}.missed{color:#a32020}.none,.older td{color:#6a737d}
small{color:#57606a}
svg{width:100%;height:auto}
"""

WORDS = ("measure", "value", "unit", "floor", "ratio", "goal", "met", "peak MB", "measured")
FIGURES = ("value", "floor", "ratio", "goal", "peak MB")


def write_page(document: dict[str, Any], target: Path, tree: str) -> None:
    """The page; a measure of other code than that of `tree` is grey, in the table and in the plot."""
    heads = "".join(f'<th class="n">{word}</th>' if word in FIGURES else f"<th>{word}</th>" for word in WORDS)
    rows = "\n".join(_row(one, tree) for one in document["measures"])
    tools = ", ".join(
        f"{key.replace('_', ' ')}: {value}" for key, value in {**document["machine"], **document["versions"]}.items()
    )
    quick = "<p><strong>A quick run</strong>: smaller inputs than the goals are about.</p>" if document.get("is_quick") else ""
    target.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trainledger benchmarks</title><style>{STYLE}</style></head><body>
<h1>trainledger benchmarks</h1>
<p>CPU seconds are of the whole process tree. A ratio is our command's figure over its floor on the same file, in turns.
How to read and repeat them: benchmarks/README.md.</p>{quick}
<h2>Measured against goal</h2>
<p>One is the goal: bars to the left of the line meet it, on a logarithmic scale. What is grey
was measured with other code than that of this page (tree {tree}): it is a figure of its day.</p>
{plot(document["measures"], tree)}
<h2>All measures</h2>
<table><tr>{heads}</tr>
{rows}</table>
<p><small>{html.escape(tools)}</small></p>
</body></html>
"""
    )


def _is_older(one: dict[str, Any], tree: str) -> bool:
    return one.get("tree") != tree


def _row(one: dict[str, Any], tree: str) -> str:
    word, look = {True: ("yes", "met"), False: ("no", "missed"), None: ("not judged", "none")}[one["met"]]
    goal = "" if one["goal"] is None else f"{one['direction']} {one['goal']:g}"
    reason = f"<br><small>{html.escape(one['reason'])}</small>" if one.get("reason") else ""
    figures = "".join(f'<td class="n">{_figure(one[key])}</td>' for key in ("floor", "ratio"))
    title = f"{html.escape(one['title'])}<br><small>{one['name']}</small>{reason}"
    cells = (
        f'<td>{title}</td><td class="n">{_figure(one["value"])}</td><td>{html.escape(one["unit"])}</td>{figures}'
        f'<td class="n">{goal}</td><td class="{look}">{word}</td><td class="n">{_figure(one["peak_mb"])}</td>'
        f"<td>{_when(one)}</td>"
    )
    return f'<tr class="older">{cells}</tr>' if _is_older(one, tree) else f"<tr>{cells}</tr>"


def _when(one: dict[str, Any]) -> str:
    """Time, load and code of a measure; the oldest figures carry none."""
    load = "" if one.get("load_before") is None else f", load {one['load_before']:g}"
    return f"{one.get('measured_at') or 'not recorded'}{load}<br><small>{one.get('tree') or 'code not recorded'}</small>"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def of_goal(one: dict[str, Any]) -> float | None:
    """How many times the goal: at most 1 meets it, whichever way the goal points."""
    judged = one["value"] if one["ratio"] is None else one["ratio"]
    if judged is None or not one["goal"]:
        return None
    times = judged / one["goal"]
    return times if one["direction"] == "at most" else 1 / times if times else None


def plot(measures: list[dict[str, Any]], tree: str) -> str:
    """A bar for each measure with a goal and a figure, as SVG: drawn here, so the page needs no script and no other host."""
    from math import log10

    bars = [(one, times) for one in measures if (times := of_goal(one))]
    if not bars:
        return "<p>No measure with a goal was run.</p>"
    logs = [log10(max(times, 1e-3)) for _, times in bars]
    low, high = min(-1.0, *logs) - 0.3, max(1.0, *logs) + 0.3  # room for the figures beside the bars
    left, width, height = 330, 560, 24

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * width

    lines = []
    for number, ((one, times), value) in enumerate(zip(bars, logs, strict=True)):
        y, start, end = 10 + number * height, min(x(0), x(value)), max(x(0), x(value))
        colour = {True: "#2b8a4b", False: "#c0392b", None: "#8a929b"}[None if _is_older(one, tree) else one["met"]]
        lines.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{one["name"]}</text>')
        lines.append(f'<rect x="{start:.1f}" y="{y + 3}" width="{max(end - start, 1):.1f}" height="15" fill="{colour}"/>')
        beside, anchor = (end + 5, "start") if value >= 0 else (start - 5, "end")
        lines.append(f'<text x="{beside:.1f}" y="{y + 14}" text-anchor="{anchor}">{times:.3g}x</text>')
    bottom = 20 + len(bars) * height
    lines.append(f'<line x1="{x(0):.1f}" x2="{x(0):.1f}" y1="4" y2="{bottom - 4}" stroke="#1b1f24"/>')
    lines.append(f'<text x="{x(0):.1f}" y="{bottom + 8}" text-anchor="middle">goal</text>')
    return (
        f'<svg viewBox="0 0 960 {bottom + 16}" role="img" aria-label="measured over goal" font-size="12">{"".join(lines)}</svg>'
    )
