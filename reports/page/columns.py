"""How wide the columns of a table are on paper, and in which size of type.

Numbers are never broken. Long texts share what is left so that the table has few lines. Widths are reckoned from letters, in ems,
as typst measures a column only as a whole.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any
from unicodedata import east_asian_width

from reports.page.paper import BREAK

WIDTH = 516.0  # points between the margins
# type and half the gap between columns, in points: the first that leaves texts room to be read
SIZES = ((7.6, 4.0), (7.0, 3.5), (6.4, 3.0), (5.8, 2.4), (5.5, 2.2), (5.2, 2.0))
SHORT = 6.5  # ems of a text that is not broken: May 2026
READABLE = 10.0  # ems for a text that is broken over lines
STEPS = (1.0, 4.0)  # ems by which a column is tried wider: one may save no line where four save two
SCALES = {"small": 0.78, "quiet": 0.84, "second": 0.9, "sup": 0.7}  # of report.typ: units, repeated names, marks
THIN, BROAD = frozenset(" .,:;'|!()[]/-ijlt\u202f"), frozenset("mwMW@%—ÄÖÜ")


def ems(text: str) -> float:
    """How wide a text is set, in its own size; a little more than it is."""
    wide = sum(1.02 if east_asian_width(c) in "WF" else 0.31 if c in THIN else 0.95 if c in BROAD else 0.6 for c in text)
    return wide + 0.15


def _cell(runs: list[dict[str, str]]) -> tuple[float, float]:
    """The longest line of a cell, and its longest piece that cannot be broken; both in the size of the table."""
    longest = line = longest_piece = piece = 0.0
    for run in runs:
        scale = next((scale for style, scale in SCALES.items() if style in run["style"]), 1.0)
        text = f"\n{run['text']}" if "second" in run["style"] else run["text"]
        for n, row in enumerate(text.split("\n")):
            first, *others = row.replace(BREAK, " ").split(" ")
            line = (0.0 if n else line) + ems(row.replace(BREAK, "")) * scale
            piece = (0.0 if n else piece) + ems(first) * scale
            longest, longest_piece = max(longest, line), max(longest_piece, piece)
            if others:
                piece = ems(others[-1]) * scale
                longest_piece = max(longest_piece, *(ems(other) * scale for other in others))
    return longest, max(longest_piece, longest if longest <= SHORT else 0.0)


def measure(table: dict[str, Any]) -> dict[str, Any]:
    """The size of type, the gap and the width of each column, in points."""
    rows = [row["cells"] for row in table["body"]]
    headers = table["head"][-1]["cells"] if table["head"] else rows[0]
    cells = [[_cell(cell["runs"]) for cell in row] for row in rows]
    least, wanted = [], []
    for n, header in enumerate(headers):
        lengths = [row[n] for row in cells if len(row) > n] or [(0.0, 0.0)]
        line, piece = max(line for line, _ in lengths), max(piece for _, piece in lengths)
        label, word = _cell(header["runs"])
        least.append(max(line if header["is_number"] else piece, word))
        wanted.append(max(line, word, min(label, 8.0)))
    easy = [max(low, min(high, READABLE)) for low, high in zip(least, wanted, strict=True)]
    rooms = {(size, gap): (WIDTH - 2 * gap * (len(headers) - 1)) / size for size, gap in SIZES}
    fitting = [kind for need in (easy, least) for kind in SIZES if sum(need) <= rooms[kind]]
    size, gap = kind = fitting[0] if fitting else SIZES[-1]
    whole = [[line for line, _ in row] for row in cells if len(row) == len(headers)]
    given = _shared(least, wanted, rooms[kind], whole)
    ends = (0, len(headers) - 1)
    widths = [width * size + gap * (2 - (n in ends) - (ends[0] == ends[1])) for n, width in enumerate(given)]
    return {"size": size, "gap": gap, "columns": [round(width, 2) for width in widths]}


def _shared(least: list[float], wanted: list[float], room: float, rows: list[list[float]]) -> list[float]:
    """What each column gets: all it wants, else its least and of the rest what makes the table of `rows` have few lines.

    Where not even the least fits, less for all.
    """
    if sum(wanted) <= room:
        return wanted
    if (spare := room - sum(least)) < 0:
        return [low * room / sum(least) for low in least]
    given, open_columns = [*least], [n for n, (low, high) in enumerate(zip(least, wanted, strict=True)) if high > low]
    broken = [{n: row[n] for n in open_columns if row[n] > least[n]} for row in rows]
    broken = [row for row in broken if row]
    while spare > 0.05 and (best := max(_tries(given, wanted, spare, broken, open_columns), default=(0.0, 0, 0.0)))[0] > 0:
        _, n, step = best
        given[n], spare = given[n] + step, spare - step
    # a step may save no line where two columns are broken alike: to share by what is missing widens both
    ways = _spread(given, wanted, spare), _spread(least, wanted, room - sum(least))
    return min(ways, key=lambda widths: _lines(widths, broken))


def _spread(given: list[float], wanted: list[float], spare: float) -> list[float]:
    """Widths with what is left shared by what each column misses."""
    missing = sum(wanted) - sum(given)
    return [now + spare * (high - now) / missing for now, high in zip(given, wanted, strict=True)] if missing > 0 else given


def _tries(
    given: list[float], wanted: list[float], spare: float, broken: list[dict[int, float]], open_columns: list[int]
) -> Iterator[tuple[float, int, float]]:
    """How many lines an em saves where a column gets so many more, the column, and how many."""
    now = _lines(given, broken)
    for n in open_columns:
        for step in {min(one, spare, wanted[n] - given[n]) for one in STEPS}:
            if step > 0:
                wider = [*given[:n], given[n] + step, *given[n + 1 :]]
                yield (now - _lines(wider, broken)) / step, n, step


def _lines(given: list[float], broken: list[dict[int, float]]) -> int:
    """The lines of all rows in which a text is broken."""
    return sum(max(ceil(length / max(given[n], 0.1)) for n, length in row.items()) for row in broken)
