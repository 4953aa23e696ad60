"""The version of the code that derives data from a kind's exports: a hash of the modules it is made of.

Found from the imports of the kind's connector, not from a list: a corrected connector changes the version of the kinds it
feeds, and only of those.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import connectors

ENGINES = ("duckdb", "pyarrow")  # row digests and typed copies are theirs


@cache
def connector_version(kind: str) -> str:
    """Twelve hex digits that change with the code, and with the engines, that read a kind's exports."""
    here = Path(__file__).resolve().parent
    modules = [*Path(connectors.__file__).parent.rglob("*.py"), *(here / "deriving").glob("*.py")]
    modules += [here.parent / "kinds.py", here.parent / "months.py"]
    digest = hashlib.sha256(" ".join(version(engine) for engine in ENGINES).encode())
    for path in sorted(modules):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
