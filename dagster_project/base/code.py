"""The version of the code that makes numbers: a hash that changes when a file does that a published figure can depend on.

It covers the dbt project, every module of the folders between landing and the build file, and what the registry has of each
kind, so that there is no need to add a module to a list. Coarse on purpose: a changed comment builds everything once
more, a forgotten module never can.
Versions of connectors are counted apart, by kind: see landing.versions.
"""

from functools import cache

from connectors.registry import DESCRIPTORS
from dagster_project import __version__
from dagster_project.base.dbt_project import PACKAGE, files_hash, project_hash

FOLDERS = ("landing", "election", "warehouse")
FILES = ("base/kinds.py", "base/months.py")


@cache
def raw_version() -> str:
    """sha256 over the modules that decide which rows the models read, and how they read them; without the models."""
    return _hash_of(*(f"{folder}/**/*.py" for folder in FOLDERS[:2]), "warehouse/raw*.py")


@cache
def code_version() -> str:
    """sha256 over the dbt project and the modules that create what it reads."""
    return _hash_of(*(f"{folder}/**/*.py" for folder in FOLDERS), salt=f"{__version__} {project_hash()} {DESCRIPTORS}")


def _hash_of(*patterns: str, salt: str = "") -> str:
    modules = [path for pattern in patterns for path in sorted(PACKAGE.glob(pattern))]
    return files_hash(PACKAGE, [*modules, *(PACKAGE / name for name in FILES)], salt)
