"""Rows without a payer: they are of the only one that their delivery names; where it names several or none, it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from connectors.deliveries import Converted
from connectors.errors import ExportContentError

_Object = TypeVar("_Object")


def with_only_payer(
    objects: Sequence[_Object],
    convert: Callable[[_Object, str | None], Converted],
    payers: Callable[[_Object], Iterable[Any]],
    column: str,
) -> list[Converted]:
    """What the objects of a delivery become: as they are or, where a row has no payer in its `column`, with the only one.

    `payers` gives the arrays of payers of an object. The error of a delivery that names several, or none, is the one of that row.
    """
    try:
        return [convert(one, None) for one in objects]
    except ExportContentError as error:
        if (error.column_name, error.reason) != (column, "missing_value"):
            raise
        arrays = (values for one in objects for values in payers(one))
        found = {payer for values in arrays for payer in values.unique().to_pylist() if payer}
        if len(found) != 1:
            raise
    return [convert(one, *found) for one in objects]
