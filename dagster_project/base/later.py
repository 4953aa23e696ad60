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
    """DuckDB compares its first parameter with two values of pandas, which no parameter of ours is, and keeps both for good."""
    import duckdb

    later = Later("pandas")
    vars(later).update(NaT=object(), NA=object())
    if sys.modules.setdefault("pandas", later) is later:
        with duckdb.connect() as connection:
            connection.execute("select ?", [""])
        del sys.modules["pandas"]
