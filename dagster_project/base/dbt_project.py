"""Where the dbt project is, which files it is made of, and the one hash of them.

In a checkout it is the folder `dbt` beside this package; in an installed wheel it is package data of the same content. Running
dbt is the warehouse's matter.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

MADE_BY_DBT = {"target", "logs", "dbt_packages", "dbt_internal_packages"}
PACKAGE = Path(__file__).resolve().parents[1]  # dagster_project
PACKAGED = PACKAGE / "dbt_files"


def project_folder() -> Path:
    """The folder with dbt_project.yml."""
    return PACKAGED if PACKAGED.is_dir() else PACKAGE.parent / "dbt"


def shared_target() -> Path | None:
    """The project's own target folder, or None where nothing may be written into it: in an installed wheel, or read-only."""
    root = project_folder()
    is_installed = root.is_relative_to(PACKAGE)
    return None if is_installed or not os.access(root, os.W_OK) else root / "target"


def project_files(root: Path) -> Iterator[Path]:
    """The files that make the project, in a fixed order; what dbt writes beside them is left out."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in MADE_BY_DBT and not name.startswith((".", "__")))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def project_hash() -> str:
    """sha256 over the names and bytes of the project's files."""
    return hash_of(project_folder())


@cache
def hash_of(root: Path) -> str:
    """The hash of a project as this process first finds it: each of the 290 steps of a refresh asks."""
    return files_hash(root, project_files(root))


def files_hash(root: Path, paths: Iterable[Path], salt: str = "") -> str:
    """sha256 over the names and bytes of files below a folder, in the order given, after some text."""
    digest = hashlib.sha256(salt.encode())
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
