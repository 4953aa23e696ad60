"""A drawing of the page as an SVG by itself, in the colours of print: report.css with its variables filled in."""

import re
from collections.abc import Callable, Set
from functools import cache
from pathlib import Path

from reports.page.tree import Element

TEMPLATES = Path(__file__).resolve().parent / "templates"
FONT = "'Noto Sans', sans-serif"
SMALLER = "svg { font-size: 10px; } svg .tick, svg .side { font-size: 9.5px; }"  # the fonts of paper are wider than a browser's
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
    rules = re.findall(r"^([^@{}\n]+\{[^{}]*(?:fill|stroke|font-weight|text-anchor)[^{}]*\})", ours, re.MULTILINE)
    return re.sub(r"var\((--\w+)\)", lambda name: colours[name[1]], "\n".join(rule for rule in rules if rule[0] in ".s"))


def _written(element: Element, write: Callable[[str], str]) -> Element:
    children = [write(child) if isinstance(child, str) else _written(child, write) for child in element.children]
    return Element(element.tag, element.attributes, children)


def _document(attributes: str, inside: str) -> str:
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" {attributes}>'
    return f"{opening}<style>{style()}{SMALLER}</style>{inside}</svg>"


def alone(svg: Element, write: Callable[[str], str]) -> str:
    """The drawing with its names in letters that the fonts have."""
    box, width, height = (svg.attributes[name] for name in ("viewbox", "width", "height"))
    # titles are what a pointer shows on a screen; the drawing's own description is its alternative text
    inside = "".join(_written(child, write).markup() for child in svg.elements if child.tag not in ("title", "desc"))
    return _document(f'viewBox="{box}" width="{width}" height="{height}"', inside)


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
