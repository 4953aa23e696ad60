"""Great Expectations, imported without what no suite of ours asks it for: half of its time to load.

It imports every library that some expectation or data source may use. Those that it takes as missing are hidden from it; the
two that it takes for granted, for statistics and charts, are loaded when somebody asks them for something.
"""

import importlib
import os
import sys
from types import ModuleType
from typing import Any

# Spark's look at its network client takes seconds and, in a process without a main file, ends that process as if all were well
MISSING = ("pyspark", "sqlalchemy", "boto3", "botocore")
LATER = ("scipy.stats", "altair")


class Later(ModuleType):
    """A module that is imported when it is asked for something."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who lists all modules asks each for its file
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def great_expectations() -> ModuleType:
    """Import it; what this process has loaded already it may use."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    hidden: dict[str, Any] = {name: None for name in MISSING if name not in sys.modules}  # None: it cannot be imported
    later = {name: Later(name) for name in LATER if name not in sys.modules}
    sys.modules.update({**hidden, **later})
    try:
        import great_expectations as gx
    finally:
        for name in hidden:
            del sys.modules[name]
        for name, module in later.items():  # whoever else imports it gets the module itself
            if sys.modules.get(name) is module:
                del sys.modules[name]
    return gx
