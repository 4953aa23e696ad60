"""Words of sections that are no table's: the YAML files beside the modules, by the name of a text."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def declared() -> dict[str, Any]:
    """What the files declare."""
    # the loader in C, where PyYAML has it: every refresh imports these files
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = [yaml.load(file.read_bytes(), loader) for file in sorted(Path(__file__).parent.glob("*.yml"))]
    return {name: entry for file in files for name, entry in file.items()}
