"""Arrow and Polars, imported when they are first used: a refresh that finds nothing new needs neither and must be over by then.

Import `pa`, `pc`, `pq` and the others from here, at the top of a file, and use them as the modules they are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["pa", "pacsv", "pajson", "pc", "pl", "pq"]

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv
    import pyarrow.json as pajson
    import pyarrow.parquet as pq
else:

    class _Lazy:
        """A module by name; each of its names is looked up once."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self._module), name)
            setattr(self, name, value)
            return value

    pl, pa, pc = _Lazy("polars"), _Lazy("pyarrow"), _Lazy("pyarrow.compute")
    pacsv, pajson, pq = _Lazy("pyarrow.csv"), _Lazy("pyarrow.json"), _Lazy("pyarrow.parquet")
