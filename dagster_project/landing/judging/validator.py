"""Great Expectations, imported without what no suite of ours asks it for: half of its time to load.

It imports every library that some expectation or data source may use. Those that it takes as missing are hidden from it; the
two that it takes for granted, for statistics and charts, are loaded when somebody asks them for something.
"""

import os
import sys
from types import ModuleType
from typing import Any

from dagster_project.base.later import Later

# Spark's look at its network client takes seconds and, in a process without a main file, ends that process as if all were well
MISSING = ("pyspark", "sqlalchemy", "boto3", "botocore")
LATER = ("scipy.stats", "altair")


def great_expectations() -> ModuleType:
    """Import it. What is hidden stays so for it, also where this process uses it for something else."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    hidden: dict[str, Any] = dict.fromkeys(MISSING)  # None: it cannot be imported
    loaded = {name: sys.modules[name] for name in MISSING if name in sys.modules}
    later = {name: Later(name) for name in LATER if name not in sys.modules}
    sys.modules.update({**hidden, **later})
    try:
        import great_expectations as gx
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
        sys.modules.update(loaded)
        for name, module in later.items():  # whoever else imports it gets the module itself
            if sys.modules.get(name) is module:
                del sys.modules[name]
    imported: ModuleType = gx
    return imported
