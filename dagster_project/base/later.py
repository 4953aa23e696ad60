"""Modules that a library imports though nothing here asks it for what they are for: imported when somebody does."""

import importlib
import sys
from types import ModuleType
from typing import Any


class Later(ModuleType):
    """A module that is imported when it is asked for something."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who lists all modules asks each for its file
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def keep_pandas_for_later() -> None:
    """DuckDB compares its first parameter with two values of pandas, and keeps both: the import is a tenth of a small delivery.

    What else DuckDB asks of pandas, for a result as a data frame, it gets. No parameter of ours is of pandas.
    """
    if "pandas" in sys.modules:
        return
    import duckdb

    later = Later("pandas")
    vars(later).update(NaT=object(), NA=object())
    sys.modules["pandas"] = later
    try:
        with duckdb.connect() as connection:
            connection.execute("select ?", [""])
    finally:
        if sys.modules.get("pandas") is later:
            del sys.modules["pandas"]
