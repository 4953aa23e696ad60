"""Slurm's lists of machines: `trn[01-04,7],head` are trn01, trn02, trn03, trn04, trn7 and head; `a[1-2]b[3-4]` are four."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from connectors.formats.costs import spend
from connectors.runs.run_records import RecordError

_MOST = 100_000  # machines of one job
_NAME = 64  # characters of a usual name; a longer one costs as much as several
_NONE = {"", "none assigned", "(null)", "none", "n/a", "unknown"}
_PARTS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def hosts_of(text: str, field: str = "nodes") -> list[str]:
    """The machines of a list, in its order and each once; none for Slurm's words for no machine."""
    if text.strip().lower() in _NONE:
        return []
    found: dict[str, None] = {}
    for item in _items(text, field):
        pieces = _PARTS.split(item)  # name, what is in brackets, name, ...
        if any(mark in piece for piece in pieces[::2] for mark in "[]"):
            raise RecordError("is no list of machines", field=field, value=text, reason="wrong_value")
        choices: list[list[str]] = []
        size = 1
        for place, piece in enumerate(pieces):
            choices.append(_numbers(piece, field) if place % 2 else [piece])
            size *= len(choices[-1])
            if size + len(found) > _MOST:  # before the next brackets are read: two of them multiply
                raise _too_many(field, text)
        spend(size * (1 + len(item) // _NAME), field, text)
        found |= dict.fromkeys("".join(parts) for parts in product(*choices))
    return list(found)


def _items(text: str, field: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets."""
    start, depth = 0, 0
    for place, letter in enumerate(f"{text},"):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            if item := text[start:place].strip():
                yield item
            start = place + 1
    if depth:
        raise RecordError("has a bracket that is never closed", field=field, value=text[:80], reason="wrong_value")


def _numbers(text: str, field: str) -> list[str]:
    """The numbers of a bracket as they are written: 08-10 are 08, 09 and 10."""
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise RecordError("is no list of machines", field=field, value=text[:80], reason="wrong_value")
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) + len(found) >= _MOST:
            raise _too_many(field, text)
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found


def _too_many(field: str, text: str) -> RecordError:
    return RecordError(f"names more than {_MOST} machines", field=field, value=text[:80], reason="too_costly")
