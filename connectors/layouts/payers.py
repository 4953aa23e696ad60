"""Rows without a payer: they are of the only one that their delivery names; where it names several or none, it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from connectors.errors import ExportContentError

Made = TypeVar("Made")


def with_only_payer(converted: Callable[[str | None], Made], payers: Callable[[], set[str]], column: str) -> Made:
    """What a delivery becomes: as it is or, where a row has nothing in the payer's `column`, with the only one of `payers`.

    The error of a delivery that names several, or none, is the one of that row.
    """
    try:
        return converted(None)
    except ExportContentError as error:
        is_without_payer = (error.column_name, error.reason) == (column, "missing_value")
        found = payers() if is_without_payer else set()
        if len(found) != 1:
            raise
    return converted(*found)
