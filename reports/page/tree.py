"""The HTML page as a tree, for its other form on paper.

Reads what our own templates write: every element but a void one is closed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "link", "col", "hr", "input"})
# the reader gives names in small letters; a drawing by itself, outside HTML, needs them as they were
MIXED_CASE = {name.lower(): name for name in ("viewBox", "patternUnits", "patternTransform")}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: "list[Element | str]" = field(default_factory=list)

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(self.attributes.get("class", "").split())

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if isinstance(child, Element)]

    def all(self, tag: str, css: str = "") -> "Iterator[Element]":
        """Elements of a name and class at any depth, in reading order."""
        for child in self.elements:
            if child.tag == tag and (not css or css in child.classes):
                yield child
            yield from child.all(tag, css)

    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)

    def markup(self) -> str:
        """The element as a document of its own: a drawing as SVG."""
        attributes = "".join(f' {MIXED_CASE.get(name, name)}="{escape(value)}"' for name, value in self.attributes.items())
        inside = "".join(escape(child) if isinstance(child, str) else child.markup() for child in self.children)
        return f"<{self.tag}{attributes}>{inside}</{self.tag}>"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("document", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self.open.pop().tag != tag:
            raise ValueError(f"</{tag}> closes another element")

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


@lru_cache(maxsize=2)
def read(html: str) -> Element:
    """The page's body, which nobody changes: the texts of a page, its PDF and who verifies both read it."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return next(reader.open[0].all("body"))
