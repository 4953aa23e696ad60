"""What one file may cost: a number in it sizes no loop, list or text that was not counted first.

A node list of 20 kB can name a billion machines. Whoever makes several things out of one value calls `spend` with their number
before making them; above what a file of this size may become, the whole file is refused as `too_costly`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from connectors.errors import ExportContentError, Place, shorten

MOST = 500_000  # rows or steps that any file may become, however small it is
_REMEDY = "Look at what wrote this value; if it is right, deliver the file in parts."


@dataclass(slots=True)
class _Allowance:
    key: str
    uri: str
    most: int
    spent: int = 0


_CURRENT: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowance(key: str, uri: str, size: float) -> Iterator[None]:
    """While the body reads this file, `spend` counts up to MOST and `size` more: what the bytes that it has may become."""
    before = _CURRENT.set(_Allowance(key, uri, MOST + int(size)))
    try:
        yield
    finally:
        _CURRENT.reset(before)


def spend(steps: int, field: str | None = None, value: str | None = None) -> None:
    """Count what is about to be made of a value; ExportContentError where the file has become too much.

    Outside of `allowance`, as where a reader is called by itself, each call counts alone.
    """
    file = _CURRENT.get() or _Allowance("", "", MOST)
    file.spent += steps
    if file.spent > file.most:
        raise ExportContentError(
            f"{file.uri}: {f'{field} makes' if field else 'it becomes'} more than {file.most} rows of this file.",
            place=Place(file.key or None, column_name=field, value=None if value is None else shorten(value)),
            reason="too_costly",
            remedy=_REMEDY,
        )
