"""The version of the code that derives data from a kind's exports: a hash of the modules it is made of.

Found from the imports of the kind's connector, not from a list: a corrected connector changes the version of the kinds it
feeds, and only of those.
"""

from functools import cache
from importlib.metadata import version
from pathlib import Path

from connectors.registry import DESCRIPTORS, modules_of
from dagster_project.base.dbt_project import files_hash

ENGINES = ("duckdb", "pyarrow", "polars", "msgspec")  # they read the bytes, write the copies, hash the rows


@cache
def records_version() -> str:
    """Twelve hex digits that change with the code that reads records and what was made of them."""
    here = Path(__file__).resolve().parent
    paths = [here / name for name in ("records.py", "bundles.py", "store.py", "index.py", "deriving/contents.py")]
    return files_hash(here, paths)[:12]


@cache
def connector_version(kind: str) -> str:
    """Twelve hex digits that change with the code, and with the engines, that read a kind's exports."""
    here = Path(__file__).resolve().parent
    root = here.parent.parent
    summing_up = [*sorted((here / "deriving").glob("*.py")), here.parent / "base" / "months.py"]
    engines = [version(engine) for engine in ENGINES]
    return files_hash(root, [*modules_of(kind), *summing_up], f"{engines} {DESCRIPTORS[kind]}")[:12]
