"""How wide the columns of a table are on paper, and in which size of type.

Numbers are never broken, long texts share what is left. Widths are reckoned from letters, in ems, as
typst measures a column only as a whole.
"""

from typing import Any
from unicodedata import east_asian_width

from reports.page.paper import BREAK

WIDTH = 516.0  # points between the margins
# type and half the gap between columns, in points: the first that leaves texts room to be read
SIZES = ((7.6, 4.0), (7.0, 3.5), (6.4, 3.0), (5.8, 2.4), (5.2, 2.0))
SHORT = 6.5  # ems of a text that is not broken: May 2026
READABLE = 10.0  # ems for a text that is broken over lines
THIN, BROAD = frozenset(" .,:;'|!()[]/-ijlt\u202f"), frozenset("mwMW@%—ÄÖÜ")


def ems(text: str) -> float:
    """How wide a text is set, in its own size; a little more than it is."""
    wide = sum(1.02 if east_asian_width(c) in "WF" else 0.31 if c in THIN else 0.95 if c in BROAD else 0.6 for c in text)
    return wide + 0.15


def _cell(runs: list[dict[str, str]]) -> tuple[float, float]:
    """The longest line of a cell, and its longest piece that cannot be broken."""
    lines = "".join(f"\n{run['text']}" if "second" in run["style"] else run["text"] for run in runs).split("\n")
    pieces = [piece for line in lines for piece in line.replace(BREAK, " ").split(" ")]
    scale = 0.78 if runs and all("small" in run["style"] for run in runs) else 1.0
    longest, piece = max(ems(line.replace(BREAK, "")) for line in lines), max(map(ems, pieces))
    return longest * scale, max(piece, longest if longest <= SHORT else 0.0) * scale


def measure(table: dict[str, Any]) -> dict[str, Any]:
    """The size of type, the gap and the width of each column, in points."""
    rows = [row["cells"] for row in table["body"]]
    headers = table["head"][-1]["cells"] if table["head"] else rows[0]
    least, wanted = [], []
    for n, header in enumerate(headers):
        lengths = [_cell(cells[n]["runs"]) for cells in rows if len(cells) > n] or [(0.0, 0.0)]
        line, piece = max(line for line, _ in lengths), max(piece for _, piece in lengths)
        label, word = _cell(header["runs"])
        least.append(max(line if header["is_number"] else piece, word))
        wanted.append(max(line, word, min(label, 8.0)))
    easy = [max(low, min(high, READABLE)) for low, high in zip(least, wanted, strict=True)]
    rooms = {(size, gap): (WIDTH - 2 * gap * (len(headers) - 1)) / size for size, gap in SIZES}
    fitting = [kind for need in (easy, least) for kind in SIZES if sum(need) <= rooms[kind]]
    size, gap = kind = fitting[0] if fitting else SIZES[-1]
    given = _shared(least, wanted, rooms[kind])
    ends = (0, len(headers) - 1)
    widths = [width * size + gap * (2 - (n in ends) - (ends[0] == ends[1])) for n, width in enumerate(given)]
    return {"size": size, "gap": gap, "columns": [round(width, 2) for width in widths]}


def _shared(least: list[float], wanted: list[float], room: float) -> list[float]:
    """What each column gets: all it wants, else its least and a share of the rest; where not even that fits, less for all."""
    if sum(wanted) <= room:
        return wanted
    if (spare := room - sum(least)) < 0:
        return [low * room / sum(least) for low in least]
    missing = sum(wanted) - sum(least)
    return [low + spare * (high - low) / missing for low, high in zip(least, wanted, strict=True)]
