"""The text of a PDF as its own tags order it: cells of tables, headings, paragraphs, words of drawings.

Every letter is read by what its font states that it stands for. What no tag holds, such as the line above a page, is kept apart.
Not read: shapes, and whether one of them covers a word. A picture, an attached file, a form, a layer or a hidden text is none of
ours, and is named.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pypdf import PdfReader
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject, NumberObject, StreamObject

from reports.page import printed

CELLS = frozenset({"/TD", "/TH"})
BLOCKS = CELLS | {"/P", "/H1", "/H2", "/H3", "/H4", "/H5", "/LI", "/Figure", "/Table"}  # text before and after is of another
TOKEN = re.compile(
    rb"(?P<text>\()|<(?P<hex>[0-9A-Fa-f\s]*)>|/(?P<name>[^\s()<>\[\]{}/%]+)|(?P<number>[+-]?[\d.]+)|"
    rb"(?P<word>[A-Za-z'\"*][A-Za-z0-9*]*)|(?P<mark><<|>>|[\[\]])",
    re.DOTALL,
)
BRACKET = re.compile(rb"\\.|[()]", re.DOTALL)
ESCAPE = re.compile(rb"\\([0-7]{1,3}|\r\n|.)", re.DOTALL)
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r\n": b""}
MOST_PAGES = 2_000


class UnreadableError(Exception):
    """A document that is none of its kind, or is written as none of ours is."""


@dataclass(slots=True)
class Paper:
    """What a PDF has as text: its blocks in reading order, what stands beside them, and what is none of ours in it."""

    blocks: list[tuple[bool, str]] = field(default_factory=list)  # whether it is a cell of a table, and its words
    beside: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    pages: int = 0


def read(content: bytes) -> Paper:
    """The text of a PDF. UnreadableError where it is none."""
    try:
        return _Reading(PdfReader(io.BytesIO(content), strict=True)).paper()
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError, OSError) as error:
        raise UnreadableError(f"it cannot be read as a PDF ({type(error).__name__})") from None


class _Reading:
    """One document while it is read."""

    def __init__(self, reader: PdfReader) -> None:
        self.root: Any = reader.trailer["/Root"].get_object()
        self.pages = reader.pages
        self.found = Paper(pages=len(self.pages))
        self.marked: dict[tuple[int, int], str] = {}  # text by page and number of its mark
        self.fonts: dict[int, dict[bytes, str]] = {}

    def paper(self) -> Paper:
        found = self.found
        if found.pages > MOST_PAGES:
            raise UnreadableError(f"it has {found.pages} pages")
        names = self.root["/Names"].get_object() if "/Names" in self.root else {}
        strange = [key for key in ("/AcroForm", "/OCProperties", "/OpenAction", "/AA", "/AF") if key in self.root]
        strange += [key for key in ("/EmbeddedFiles", "/JavaScript") if key in names]
        found.strange += [f"it has {key[1:]}" for key in strange]
        places = {}
        for n, page in enumerate(self.pages):
            places[_number(page.indirect_reference)] = n
            self._page(n, page)
        tree = self.root.get("/StructTreeRoot")
        text, is_cell = "", False
        for piece, within in self._walk(tree.get_object().get("/K"), places, None, False) if tree else ():
            if within is None:
                found.blocks += [(is_cell, text)] if text.strip() else []
                text = ""
            else:
                text, is_cell = text + piece, within
        found.blocks += [(is_cell, text)] if text.strip() else []
        found.beside += [text for _, text in sorted(self.marked.items()) if text.strip()]  # in no tag
        return found

    def _walk(self, node: Any, places: dict[int, int], page: int | None, is_cell: bool) -> Iterator[tuple[str, bool | None]]:
        """Pieces of text in reading order, and whether each is in a cell; None where a block begins or ends."""
        node = node.get_object() if isinstance(node, IndirectObject) else node
        if isinstance(node, NumberObject):
            if page is not None:
                yield self.marked.pop((page, int(node)), ""), is_cell
        elif isinstance(node, ArrayObject):
            for one in node:
                yield from self._walk(one, places, page, is_cell)
        elif isinstance(node, DictionaryObject):
            own = node.raw_get("/Pg") if "/Pg" in node else None
            page = places.get(own.idnum) if isinstance(own, IndirectObject) else page
            if node.get("/Type") == "/MCR":
                if page is not None:
                    yield self.marked.pop((page, _number(node["/MCID"])), ""), is_cell
                return
            if node.get("/S") == "/Lbl":  # the dash or number of an item
                self.found.beside += [text for text, _ in self._walk(node.get("/K"), places, page, is_cell)]
                return
            is_block = node.get("/S") in BLOCKS
            is_cell = is_cell or node.get("/S") in CELLS
            if is_block:
                yield "", None
            if "/Alt" in node:
                yield str(node["/Alt"]), is_cell
            if "/K" in node:
                yield from self._walk(node.raw_get("/K"), places, page, is_cell)
            if is_block:
                yield "", None

    def _page(self, n: int, page: Any) -> None:
        content = page.get_contents()
        for note in page.get("/Annots") or ():
            if note.get_object().get("/Subtype") != "/Link":
                self.found.strange.append(f"page {n + 1} has a note that is no link")
        if content is not None:
            self._content(n, content.get_data(), page["/Resources"].get_object())

    def _content(self, n: int, data: bytes, resources: Any) -> None:
        """Add the texts of one stream to the marks that hold them."""
        fonts = resources.get("/Font", {}).get_object()
        font: dict[bytes, str] = {}
        marks: list[tuple[int | None, str | None, list[str]]] = []  # its number, the text it states itself, what it shows then
        pieces: dict[int, list[str]] = defaultdict(list)
        beside: list[str] = []
        names: list[str] = []
        strings: list[bytes] = []
        number, properties = b"", []

        def show(text: str) -> None:
            stated = next((shown for _, own, shown in reversed(marks) if own is not None), None)
            mark = next((one for one, _, _ in reversed(marks) if one is not None), None)
            (stated if stated is not None else beside if mark is None else pieces[mark]).append(text)

        for kind, value in _tokens(data):
            if kind == "text":
                strings.append(ESCAPE.sub(_unescaped, value) if b"\\" in value else value)
            elif kind == "number":
                number = value
                if names and names[-1] == "MCID":
                    properties.append(int(value))
            elif kind == "name":
                names.append(value.decode("latin-1"))
            elif kind == "hex":
                strings.append(bytes.fromhex((value + b"0" * (len(value) % 2)).decode()))
            elif kind == "word":
                if value in (b"Tj", b"TJ", b"'", b'"'):
                    show("".join(_text(font, one) for one in strings))
                elif value == b"Tf":
                    font = self._font(fonts, f"/{names[-1]}")
                elif value == b"Tr" and number != b"0":
                    self.found.strange.append(f"page {n + 1} has text that is not shown")
                elif value in (b"BDC", b"BMC"):
                    stated = _unicode(strings) if "ActualText" in names else None
                    marks.append((properties[-1] if properties else None, stated, []))
                elif value == b"EMC":
                    _, stated, shown = marks.pop()
                    if stated is not None:
                        self._state(n, stated, "".join(shown))
                        show(stated)
                    if beside and not marks:
                        self.found.beside.append("".join(beside))
                        beside.clear()
                elif value == b"Do":
                    self._drawn(n, resources, f"/{names[-1]}")
                elif value == b"BI":
                    self.found.strange.append(f"page {n + 1} has a picture")
                names, strings, properties = [], [], []
        self.found.beside += ["".join(beside)] if beside else []
        for mark, texts in pieces.items():
            self.marked[n, mark] = self.marked.get((n, mark), "") + "".join(texts)

    def _state(self, n: int, text: str, shown: str) -> None:
        """A text beside its glyphs is another only where they are several to a letter, as in scripts that a font shapes."""
        if not printed.has_shaped(text) and printed.comparable(text) != printed.comparable(shown):
            self.found.strange.append(f"page {n + 1} states another text than it shows: {text!r}")

    def _drawn(self, n: int, resources: Any, name: str) -> None:
        drawn = resources["/XObject"][name].get_object()
        if drawn["/Subtype"] != "/Form":
            self.found.strange.append(f"page {n + 1} has a picture")
            return
        before = len(self.found.beside)
        self._content(n, drawn.get_data(), drawn.get("/Resources", resources).get_object())
        if len(self.found.beside) > before:
            self.found.strange.append(f"page {n + 1} has text in a drawing")

    def _font(self, fonts: Any, name: str) -> dict[bytes, str]:
        """What each code of a font stands for."""
        reference = fonts.raw_get(name)
        place = reference.idnum if isinstance(reference, IndirectObject) else id(reference)
        if place not in self.fonts:
            table = reference.get_object()["/ToUnicode"].get_object()
            assert isinstance(table, StreamObject)
            self.fonts[place] = dict(_characters(table.get_data()))
        return self.fonts[place]


def _tokens(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The tokens of a stream by kind. Brackets inside a text are part of it where they come in pairs."""
    at = 0
    while token := TOKEN.search(data, at):
        kind, at = token.lastgroup or "", token.end()
        if kind != "text":
            yield kind, token[kind]
            continue
        start, depth = at, 1
        while depth:
            bracket = BRACKET.search(data, at)
            if bracket is None:
                raise ValueError("a text without end")
            at = bracket.end()
            depth += {b"(": 1, b")": -1}.get(bracket[0], 0)
        yield kind, data[start : at - 1]


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 255]) if code[:1].isdigit() else ESCAPED.get(code, code)


def _number(value: Any) -> int:
    """Of an object, or of a mark."""
    return int(value.idnum if isinstance(value, IndirectObject) else value)


def _unicode(strings: list[bytes]) -> str:
    return b"".join(strings).removeprefix(b"\xfe\xff").decode("utf-16-be")


def _text(font: dict[bytes, str], codes: bytes) -> str:
    return "".join([font.get(codes[n : n + 2], "\ufffd") for n in range(0, len(codes), 2)])


def _characters(table: bytes) -> Iterator[tuple[bytes, str]]:
    """The pairs of a font's table: a code of two bytes and its text in UTF-16."""
    for one, section in re.findall(rb"beginbf(char|range)(.*?)endbf", table, re.DOTALL):
        codes = [bytes.fromhex(code.decode()) for code in re.findall(rb"<([0-9A-Fa-f]+)>", section)]
        if one == b"char":
            yield from ((code, text.decode("utf-16-be")) for code, text in zip(codes[::2], codes[1::2], strict=True))
            continue
        for low, high, first in zip(codes[::3], codes[1::3], codes[2::3], strict=True):
            start, text = int.from_bytes(low, "big"), first.decode("utf-16-be")
            for n in range(int.from_bytes(high, "big") - start + 1):
                yield (start + n).to_bytes(2, "big"), text[:-1] + chr(ord(text[-1]) + n)
