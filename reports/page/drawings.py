"""A drawing of the page as an SVG by itself, in the colours of print: report.css with its variables filled in."""

import re
from collections.abc import Callable, Set
from functools import cache
from pathlib import Path
from typing import Any

from reports.page.charts import fitted
from reports.page.tree import Element

TEMPLATES = Path(__file__).resolve().parent / "templates"
# a mark of the legend: the same classes as in the drawing, drawn as what they stand for there
SHAPES = {
    "round": '<circle class="dot{hollow}" cx="5" cy="5" r="3.6"/>',
    "stroke": '<line class="median" x1="5" x2="5" y1="0" y2="10"/>',
    "span": '<line class="bounds" x1="0" x2="10" y1="5" y2="5"/>',
}
HATCH = (
    '<defs><pattern id="h" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="hatch" x="0" y="0" width="2.4" height="5"/></pattern></defs>'
)


@cache
def style() -> str:
    """The rules of the page for drawings, without what they do on a screen of some size or in the dark."""
    sheet = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    ours, _, printed = sheet.partition("@media print")
    colours = dict(re.findall(r"(--\w+): ([^;]+);", printed))
    rules = re.findall(r"^([^@{}\n]+\{[^{}]*(?:fill|stroke)[^{}]*\})", ours, re.MULTILINE)
    return re.sub(r"var\((--\w+)\)", lambda name: colours[name[1]], "\n".join(rule for rule in rules if rule[0] in ".s"))


def _document(attributes: str, inside: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}><style>{style()}</style>{inside}</svg>'


def alone(svg: Element) -> str:
    """The drawing without its words; its own description is its alternative text, other titles are what a pointer shows."""
    box, width, height = (svg.attributes[name] for name in ("viewbox", "width", "height"))
    inside = "".join(child.markup() for child in svg.elements if child.tag not in ("title", "desc", "text"))
    return _document(f'viewBox="{box}" width="{width}" height="{height}"', inside)


def _fitting(text: str, write: Callable[[str], str]) -> str:
    """A name that grew, as it has code points, is cut to its room again."""
    written = write(text)
    return written if written == text else fitted(written)


def labels(svg: Element, write: Callable[[str], str]) -> list[dict[str, Any]]:
    """The words of a drawing and where they stand: typst sets them, as it shapes every script and shows a reader each letter."""
    return [
        {
            "x": float(text.attributes["x"]),
            "y": float(text.attributes["y"]),
            "anchor": text.attributes.get("text-anchor", "start"),
            "is_bold": "total" in text.classes,
            "is_quiet": not text.classes & {"label", "total"},
            "text": _fitting("".join(child for child in text.children if isinstance(child, str)), write),
        }
        for text in svg.all("text")
    ]


def key(classes: Set[str]) -> str:
    """The mark in a legend for a class of bars or dots."""
    shape = next((SHAPES[name] for name in SHAPES if name in classes), "")
    if shape:
        inside = shape.format(hollow=" modelled" if "hollow" in classes else "")
    else:
        colour = " ".join(sorted(classes - {"modelled"}))
        inside = f'<rect class="bar {colour}" x="0.5" y="0.5" width="9" height="9"/>'
        if "modelled" in classes:
            inside = f'{HATCH}{inside}<rect x="0.5" y="0.5" width="9" height="9" fill="url(#h)"/>'
    return _document('viewBox="0 0 10 10" width="10" height="10"', inside)
