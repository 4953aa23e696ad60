"""The PDF: the blocks of the page set by typst, tagged (PDF/UA-1), in fonts that come with the code.

Nothing of the machine reaches the bytes: its fonts are ignored, and the document has no date but what its text states.
"""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typst

from reports.page import fonts, tree
from reports.page.columns import measure
from reports.page.names import visible
from reports.page.paper import Block, Paper, explained
from reports.page.printed import span_of, stamp_of

TEMPLATE = Path(__file__).resolve().parent / "templates" / "report.typ"
NO_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # typst wants one; the document is given none


def document(html: str, record: dict[str, Any], *, pages: int = 0) -> bytes:
    """The PDF of a page and its record: as long as it is, or so many pages with a section of the page on each."""
    body = tree.read(html)
    try:
        return _set(body, record, fonts.printable, pages)
    except typst.TypstError:
        # a cluster that a font has letter by letter and yet cannot shape; then only what every font has is printed
        return _set(body, record, fonts.plain, pages)


def _set(body: tree.Element, record: dict[str, Any], write: Callable[[str], str], pages: int) -> bytes:
    parts = body.elements if pages else [body]
    sheets = [explained(Paper(part, write).blocks()) for part in parts]
    _lay_out(block for blocks in sheets for block in blocks)
    organisation = write(visible(str(record["organisation"])))
    title = f"{organisation}, training runs{', for the board' if pages else ''}, {span_of(record)} ({stamp_of(record)})"
    report = {
        "title": title,
        "author": organisation,
        "description": record["scope_sentence"],
        "running": title.rpartition(" (")[0],
        "status": stamp_of(record),
        "scope": record["scope_sentence"],
        "fonts": fonts.FAMILIES,
        "sheets": sheets,
        "is_fitted": bool(pages),
    }
    done = typst.compile(
        str(TEMPLATE),
        font_paths=[str(folder) for folder in fonts.folders()],
        ignore_system_fonts=True,
        sys_inputs={"report": json.dumps(report, ensure_ascii=False)},
        pdf_standards=["ua-1"],
        timestamp=NO_DATE,
    )
    assert isinstance(done, bytes)
    return done


def _lay_out(blocks: Iterable[Block]) -> None:
    """Headings at most one level below the last. Captions of tables are headings too: readers of tags go from one to the next."""
    level = 0
    for block in blocks:
        if block["kind"] == "heading":
            block["level"] = level = min(block["level"], level + 1)
        elif block["kind"] == "table":
            block["level"] = min(level + 1, 3)
            block |= measure(block)
