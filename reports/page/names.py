"""Names that came from outside, as a page shows them: nothing in them is invisible, turns the line around, or fills the page.

CSV and report.json keep every character; HTML, PDF and XLSX show a control or format character as its code point, ‹U+202E›.
"""

from unicodedata import category

LONGEST = 240  # characters of a name that a page shows
HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
JOINERS = "\u200c\u200d"  # Persian and the scripts of India are spelt with them


def code_point(letter: str) -> str:
    return f"‹U+{ord(letter):04X}›"


def visible(text: str, kept: str = "\n\t") -> str:
    """The text with its invisible characters as code points; `kept` are white space of our own sentences and queries."""
    if text.isprintable():
        return text
    kept += JOINERS
    return "".join(letter if letter in kept or category(letter) not in HIDDEN else code_point(letter) for letter in text)


def shown(text: str) -> str:
    """A name in a cell: on one line, and cut where it would fill the page."""
    if len(text) > LONGEST:
        return f"{visible(text[:LONGEST], '')}… ({len(text)} characters, all of them in the data file)"
    return visible(text, "")
