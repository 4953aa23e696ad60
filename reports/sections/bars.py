"""Which rows become which bars, as far as several sections do it alike: colours, legend, stacks, waterfalls.

How a bar is drawn is page/charts.py.
"""

from decimal import Decimal

from reports.page.charts import Bar, Segment
from reports.page.numbers import EN_DASH
from reports.publication import Row

FAMILIES = ("trainium", "inferentia", "tpu", "gpu", "none")
ROWS_PER_PANEL = 12


def family_class(family: object) -> str:
    return f"fam-{family}" if family in FAMILIES else "fam-none"


def platform_legend(families: list[str], with_rest: bool = False) -> tuple[tuple[str, str], ...]:
    names = sorted(set(families), key=lambda name: FAMILIES.index(name) if name in FAMILIES else len(FAMILIES))
    return (
        *((family_class(name), "no accelerator" if name == "none" else name) for name in names),
        *((("rest", "no run"),) if with_rest else ()),
    )


def stacked(rows: list[Row], label: str, part: str, amount: str) -> list[Bar]:
    """One bar per label, a piece per part, in the order the rows come."""
    bars: dict[str, list[Segment]] = {}
    for row in rows:
        name = EN_DASH if row[label] is None else str(row[label])
        css = "rest" if row[part] == "no run" else family_class(row[part])
        bars.setdefault(name, []).append(Segment(row[amount], css, str(row[part])))
    return [Bar(name, tuple(pieces), sum((piece.amount for piece in pieces), Decimal(0))) for name, pieces in bars.items()]


def steps(rows: list[Row], amount: str) -> list[Bar]:
    """A waterfall: each part begins where the one before ended; the provider's own total begins at zero."""
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


def cloud_class(provider: object) -> str:
    return "cloud-google" if provider == "Google Cloud" else "cloud-aws"
