"""Names that came from outside, as a page shows them: nothing in them is invisible, turns the line around, or fills the page.

CSV and report.json keep every character; HTML, PDF and XLSX show a control or format character as its code point, ‹U+202E›.
"""

from unicodedata import category

LONGEST = 240  # characters of a name that a page shows
HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
JOINERS = "\u200c\u200d"  # Persian and the scripts of India are spelt with them


PLATFORMS = {"trainium": "Trainium", "inferentia": "Inferentia", "tpu": "TPU", "gpu": "GPU"}
NAMES_A_PLATFORM = frozenset({"accelerator_family", "from_family", "to_family", "verdict", "part"})  # columns
RUNS_ON = "Runs on "  # before a platform, in a step from runs to a total


def platform(text: str) -> str:
    """A platform as people write it: TPU, or Runs on TPU; any other text is as it was."""
    name = text.removeprefix(RUNS_ON)
    return text[: len(text) - len(name)] + PLATFORMS.get(name, name)


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
