"""What the documents of a report print, as text alone: for who reads them back.

A document is a list of texts: a cell of a table, or all that stands between two tables. Two texts are the same where their
letters and digits are: how lines are broken is a matter of paper, and so is how a font sets letters from right to left.
report.json has a digest of each document's texts, which any later version can compare without knowing how they were laid out.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from reports.page.names import JOINERS, code_point, visible
from reports.page.paper import BREAK, Block, Paper, explained
from reports.page.tree import Element

CODE_POINT = re.compile(r"‹U\+(0?[0-9A-F]{4,5})›")
SHAPED = range(0x0590, 0x2000)  # scripts whose letters a font joins, turns or reorders
Text = tuple[bool, str]  # whether it is a cell of a table, and its words


def of_paper(parts: Iterable[Element], write: Callable[[str], str] = str) -> list[str]:
    """The texts of the PDF that is set from a page or its sections. `write` gives a word in the letters that the fonts have."""
    return texts(text for part in parts for text in _blocks(explained(Paper(part, write).blocks())))


def of_page(body: Element) -> list[str]:
    """The texts of a page, those that a pointer or a voice shows too."""
    return texts(_of_element(body, False))


def _of_element(element: Element, is_cell: bool) -> Iterator[Text]:
    is_cell = is_cell or element.tag in ("td", "th")
    for name in ("title", "alt", "aria-label", "placeholder", "value"):
        if name in element.attributes:
            yield False, element.attributes[name]
    for child in element.children:
        if isinstance(child, str):
            yield is_cell, child
        else:
            yield from _of_element(child, is_cell)


def texts(parts: Iterable[Text]) -> list[str]:
    """In the form in which they are compared: each cell by itself, and what is between cells as one."""
    found: list[list[str]] = []
    was_cell = True
    for is_cell, text in parts:
        if is_cell or was_cell:
            found.append([])
        found[-1].append(text)
        was_cell = is_cell
    return [text for text in (comparable("".join(them)) for them in found) if text]


def digest(found: Iterable[str]) -> str:
    """Of a document's texts, for report.json."""
    return sha256("\0".join(found).encode()).hexdigest()


def comparable(text: str) -> str:
    """Letters, digits and signs in their order. Where a font shapes letters, it decides on it, and on how often each is drawn."""
    if text.isascii() and text.isprintable():
        return text.replace(" ", "")
    text = CODE_POINT.sub(lambda found: chr(int(found[1], 16)), text.replace(BREAK, ""))
    text = unicodedata.normalize("NFKD", text)
    kept = [letter if letter.isprintable() else code_point(letter) for letter in text if not _is_space(letter)]
    if not any(map(_is_shaped, kept)):
        return "".join(kept)
    ordered = [one for one in kept if one.isalnum() and not _is_shaped(one)]
    signs = sorted(one for one in kept if not one.isalnum() and not _is_shaped(one))
    return "".join([*ordered, *signs, *sorted({one for one in kept if _is_shaped(one)})])


def has_shaped(text: str) -> bool:
    """Whether a font joins, turns or reorders letters of it."""
    return any(_is_shaped(letter) for letter in unicodedata.normalize("NFKD", text))


def is_rare(letter: str) -> bool:
    """Whether fonts of ours may lack a letter."""
    return not letter.isprintable() or (ord(letter) > 0x2FF and (letter.isalnum() or unicodedata.category(letter) == "So"))


@cache
def _is_space(letter: str) -> bool:
    return letter.isspace() or letter in JOINERS


@cache
def _is_shaped(letter: str) -> bool:
    return len(letter) == 1 and (ord(letter) in SHAPED or unicodedata.category(letter).startswith("M"))


def span_of(record: Mapping[str, Any]) -> str:
    """The time that a report is about, as paper names it."""
    return str(record.get("span", record["quarter"]))


def stamp_of(record: Mapping[str, Any]) -> str:
    """Its status in words: issued, preliminary."""
    return str(record["status"]).replace("_", ", ")


def furniture(record: Mapping[str, Any]) -> set[str]:
    """What stands on a page of paper beside its text: the line above it, and that below without the page's number."""
    of_whom, of_when = (
        visible(f"{record['organisation']}, training runs"),
        f", {span_of(record)}{stamp_of(record).upper()}",
    )
    return {
        comparable(of_whom + of_when),
        comparable(f"{of_whom}, for the board{of_when}"),
        comparable(str(record["scope_sentence"])),
        comparable("–"),
    }


def _words(runs: list[dict[str, str]]) -> str:
    return "".join(run["text"] for run in runs)


def _blocks(blocks: list[Block]) -> Iterator[Text]:
    """Texts in the order in which report.typ sets them."""
    for block in blocks:
        yield from FORMS[block["kind"]](block)


def _paragraph(block: Block) -> Iterator[Text]:
    words = _words(block["runs"])
    yield False, words.upper() if "stamp" in block.get("css", "").split() else words


def _table(block: Block) -> Iterator[Text]:
    yield False, _words(block["caption"])
    for row in (*block["head"], *block["body"]):
        yield from ((True, _words(cell["runs"])) for cell in row["cells"])


def _chart(block: Block) -> Iterator[Text]:
    yield False, _words(block["title"])
    yield from ((False, mark["name"]) for mark in block["legend"])
    if block["code"]:
        yield False, f"numbers in {block['code']}"
    for panel in block["panels"]:
        yield False, _words(panel["title"])
        yield False, panel["alt"]
        yield from ((False, label["text"]) for label in panel["labels"])


def _tiles(block: Block) -> Iterator[Text]:
    for tile in block["tiles"]:
        yield from ((False, _words(runs)) for runs in (tile["label"], tile["number"], *tile["lines"]))


def _each(items: Iterable[Any]) -> Iterator[Text]:
    yield from ((False, _words(runs)) for runs in items)


FORMS: dict[str, Callable[[Block], Iterator[Text]]] = {
    "paragraph": _paragraph,
    "heading": _paragraph,
    "list": lambda block: _each(block["items"]),
    "terms": lambda block: _each(runs for _, runs in block["items"]),
    "code": lambda block: iter([(False, block["text"])]),
    "table": _table,
    "chart": _chart,
    "tiles": _tiles,
}
