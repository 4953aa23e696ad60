"""The version of the code that makes numbers: a hash that changes when a file does that a published figure can depend on.

It covers the dbt project and every module of the folders between landing and the build file, so that nobody has to remember
to add a module to a list. Coarse on purpose: a changed comment builds everything once more, a forgotten module never can.
Versions of connectors are counted apart, by kind: see landing.versions.
"""

from functools import cache
from pathlib import Path

from dagster_project import __version__
from dagster_project.dbt_project import files_hash, project_hash

FOLDERS = ("landing", "election", "warehouse")
FILES = ("kinds.py", "months.py")


@cache
def code_version() -> str:
    """sha256 over the dbt project and the modules that create what it reads."""
    here = Path(__file__).resolve().parent
    modules = [path for folder in FOLDERS for path in sorted((here / folder).rglob("*.py"))]
    return files_hash(here, [*modules, *(here / name for name in FILES)], f"{__version__} {project_hash()}")
