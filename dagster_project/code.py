"""The version of the code that makes numbers: a hash that changes when a file does that a published figure can depend on.

It covers the dbt project and every module of the folders between landing and the build file, so that nobody has to remember
to add a module to a list. Coarse on purpose: a changed comment builds everything once more, a forgotten module never can.
Versions of connectors are counted apart, by kind: see landing.versions.
"""

import hashlib
from functools import cache
from pathlib import Path

from dagster_project import __version__
from dagster_project.dbt_project import project_hash

FOLDERS = ("landing", "election", "warehouse")
FILES = ("kinds.py", "months.py")


@cache
def code_version() -> str:
    """sha256 over the dbt project and the modules that create what it reads."""
    here = Path(__file__).resolve().parent
    modules = [path for folder in FOLDERS for path in sorted((here / folder).rglob("*.py"))]
    digest = hashlib.sha256(f"{__version__} {project_hash()}".encode())
    for path in [*modules, *(here / name for name in FILES)]:
        digest.update(path.relative_to(here).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
