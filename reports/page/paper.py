"""What the HTML page states, as blocks for paper: the same headings, sentences, drawings and tables in the same order.

The page is the one place that knows what a report consists of; a new section, table or sentence there is on paper without a line
here. Left out is what only a screen has: the menu, the search, links to files, what unfolds a part. A drawing keeps its
description and names the table that has its numbers.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, cast

from reports.page.drawings import alone, key, labels
from reports.page.numbers import THIN_SPACE
from reports.page.tree import Element

Block = dict[str, Any]
Run = dict[str, str]

ONLY_ON_SCREEN = ("screen-only", "skip")
NEVER = frozenset({"nav", "footer", "summary", "script", "style", "title", "desc"})
INLINE = frozenset({"a", "b", "strong", "i", "em", "span", "sup", "sub", "code", "abbr", "small", "time", "br"})
STYLES = {"strong": "bold", "b": "bold", "em": "italic", "i": "italic", "code": "code", "sup": "sup", "sub": "sub"}
QUIET = frozenset({"code", "quarter", "unit", "tile-unit", "again", "number"})  # classes of what is printed smaller and lighter
CODE_POINTS = (
    "‹U+1F680› stands for a character that nobody sees, or that the fonts of this document do not have; names are whole in the "
    "data files."
)
BREAK = "\u200b"  # where a long id may be broken; names never hold one, as it is no visible character
NARROW_SPACE = "\u202f"  # as wide as the thin space, and no line ends in it


def _broken(word: str) -> str:
    """Places to break an id that would not fit its column: after its punctuation, else after every 14th letter."""
    if len(word) <= 16:
        return word
    parts = re.findall(r"[^-/._:@,=&]{0,14}[-/._:@,=&]?", word)
    return BREAK.join(part for part in parts if part)


def _clean(text: str, write: Callable[[str], str]) -> str:
    """White space as HTML reads it, then letters as the fonts have them."""
    words = re.split(r"[ \n\t]+", text.replace(THIN_SPACE, NARROW_SPACE))
    return " ".join(_broken(write(word)) for word in words)


def _leads_to_a_file(element: Element) -> bool:
    """CSV and SQL below a table: paper has the reference code instead. A link that is named by its file stays, as text."""
    target = element.attributes.get("href", "")
    return target.startswith("#sql-") or (target.endswith(".csv") and element.text() != target)


def _trimmed(runs: list[Run]) -> list[Run]:
    """Without the white space around a block, and without a second space where two runs meet."""
    kept: list[Run] = []
    for run in runs:
        is_after_space = not kept or kept[-1]["text"].endswith((" ", "\n"))
        text = run["text"].lstrip(" ") if is_after_space else run["text"]
        if text:
            kept.append({**run, "text": text})
    while kept and not (last := kept[-1]["text"].rstrip(" \n")):
        kept.pop()
    return [*kept[:-1], {**kept[-1], "text": last}] if kept else []


def _runs(value: Any) -> Iterator[Run]:
    """Every run of a block, however deep."""
    if isinstance(value, dict):
        if "text" in value and "style" in value:
            yield value
        for part in value.values():
            yield from _runs(part)
    elif isinstance(value, list):
        for part in value:
            yield from _runs(part)


def explained(blocks: list[Block]) -> list[Block]:
    """With a sentence on the cover for who meets a code point."""
    if "‹U+" not in json.dumps(blocks, ensure_ascii=False):
        return blocks
    place = next((n for n, block in enumerate(blocks) if "scope" in block.get("css", "").split()), 0) + 1
    note = {"kind": "paragraph", "css": "below", "runs": [{"text": CODE_POINTS, "style": ""}]}
    return [*blocks[:place], note, *blocks[place:]]


class Paper:
    """One page to blocks. `write` gives a word in the letters that the fonts have."""

    def __init__(self, body: Element, write: Callable[[str], str]) -> None:
        self._write = write
        self._body = body

    def blocks(self) -> list[Block]:
        """The blocks in reading order; links lead to headings and tables that are on paper, others are their text."""
        blocks = list(self._of(self._body.children))
        places = {block["id"] for block in blocks if block.get("id")}
        for block in blocks:
            for run in _runs(block):
                if run.get("to") not in places:
                    run.pop("to", None)
        code = ""
        for block in reversed(blocks):  # a drawing is above its table
            if block["kind"] == "table":
                code = block["code"] or code
            if "moved" in block.get("css", "").split():  # its table is an appendix
                code = block["runs"][-2]["text"].removeprefix("appendix ")
            if block["kind"] == "chart":
                block["code"] = code
        return blocks

    def _of(self, children: Iterable["Element | str"], css: str = "") -> Iterator[Block]:
        """Blocks of what an element holds; loose text and inline elements between blocks are a paragraph."""
        for is_loose, group in groupby(children, lambda child: isinstance(child, str) or child.tag in INLINE):
            if not is_loose:
                for child in group:
                    yield from self._block(cast(Element, child))
            elif runs := self._inline(group):
                yield {"kind": "paragraph", "css": css, "runs": runs}

    def _block(self, element: Element) -> Iterator[Block]:
        classes, tag = element.classes, element.tag
        if tag in NEVER or classes.intersection(ONLY_ON_SCREEN):
            return
        if "chart" in classes:
            yield self._chart(element)
        elif "tiles" in classes:
            yield {"kind": "tiles", "tiles": [self._tile(tile) for tile in element.all("div", "tile")]}
        elif tag in ("h1", "h2", "h3", "h4", "h5"):
            yield {"kind": "heading", "level": int(tag[1]), "id": "", "runs": self._inline(element.children)}
        elif tag in ("ul", "ol"):
            items = [self._inline(item.children) for item in element.elements]
            yield {"kind": "list", "css": " ".join(sorted(classes)), "is_numbered": tag == "ol", "items": items}
        elif tag == "dl":
            parts = [part for group in element.elements for part in (group.elements if group.tag == "div" else [group])]
            yield {"kind": "terms", "items": [[part.tag, self._inline(part.children)] for part in parts]}
        elif tag == "pre":
            yield {"kind": "code", "text": "\n".join(map(self._write, element.text().strip("\n").split("\n")))}
        elif tag == "table":
            yield self._table(element)
        elif tag == "p":
            yield from self._of(element.children, " ".join(sorted(classes)))
        else:
            named = True
            for block in self._of(element.children):
                if named and tag == "section" and block["kind"] in ("heading", "table"):
                    block["id"], named = element.attributes.get("id", ""), False
                yield block

    def _inline(self, children: Iterable["Element | str"], *, style: str = "", to: str = "") -> list[Run]:
        runs: list[Run] = []
        for child in children:
            if isinstance(child, str):
                if text := _clean(child, self._write):
                    runs.append({"text": text, "style": style, **({"to": to} if to else {})})
                continue
            if child.tag in NEVER or child.classes.intersection(ONLY_ON_SCREEN) or _leads_to_a_file(child):
                continue
            if child.tag == "br":
                runs.append({"text": "\n", "style": ""})
                continue
            own = "second" if "second" in child.classes else STYLES.get(child.tag, "quiet" if child.classes & QUIET else "")
            link = child.attributes.get("href", "") if child.tag == "a" else ""
            runs += self._inline(child.children, style=f"{style} {own}".strip(), to=link[1:] if link.startswith("#") else to)
        return _trimmed(runs)

    def _table(self, table: Element) -> Block:
        caption = next(iter(table.all("caption")), Element("caption", {}))
        code = next((span.text() for span in caption.all("span", "code")), "")
        return {
            "kind": "table",
            "id": "",
            "code": code,
            "caption": self._inline(caption.children),
            "head": [self._row(row) for head in table.all("thead") for row in head.elements],
            "body": [self._row(row) for body in table.all("tbody") for row in body.elements],
        }

    def _row(self, row: Element) -> Block:
        cells = []
        for cell in row.elements:
            classes = cell.classes
            cells.append(
                {
                    "runs": self._inline(cell.children, style="small" if "hash" in classes else ""),
                    "is_number": "number" in classes,
                    "is_bold": "total" in row.classes,
                    "span": int(cell.attributes.get("colspan", "1")),
                    "scope": cell.attributes.get("scope", ""),
                }
            )
        return {"css": " ".join(sorted(row.classes)), "cells": cells}

    def _tile(self, tile: Element) -> Block:
        parts = [(part.classes, self._inline(part.children)) for part in tile.elements]
        return {
            "label": [run for classes, runs in parts if "tile-label" in classes for run in runs],
            "number": [run for classes, runs in parts if "tile-number" in classes for run in runs],
            "lines": [runs for classes, runs in parts if not classes & {"tile-label", "tile-number"}],
        }

    def _chart(self, chart: Element) -> Block:
        title = next(iter(chart.all("p", "chart-title")), Element("p", {}))
        legend = next(iter(title.all("span", "legend")), Element("span", {}))
        names = [child for child in legend.children if isinstance(child, str) and child.strip()]
        panels = []
        for panel in (child for panels in chart.all("div", "panels") for child in panels.elements):
            drawing = next(panel.all("svg"))
            words = {child.tag: child.text() for child in drawing.elements}
            panels.append(
                {
                    "title": [run for name in panel.all("p", "panel-title") for run in self._inline(name.children)],
                    "svg": alone(drawing),
                    "labels": labels(drawing, self._write),
                    "alt": self._write(f"{words['title']}. {words['desc']}"),
                    "width": float(drawing.attributes["width"]),
                    "height": float(drawing.attributes["height"]),
                }
            )
        return {
            "kind": "chart",
            "title": self._inline([child for child in title.children if child is not legend]),
            "legend": [
                {"svg": key(mark.classes - {"key"}), "name": _clean(name, self._write)}
                for mark, name in zip(legend.all("span", "key"), names, strict=True)
            ],
            "panels": panels,
        }
