"""The code that a report was rendered by: a hash over the sources of this package, in any place where it is installed."""

from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).resolve().parent


def code_digest() -> str:
    """sha256 over this package's own sources: the code a figure was rendered by."""
    total = sha256()
    for path in sorted([*HERE.rglob("*.py"), *HERE.rglob("*.yml"), *HERE.rglob("templates/*")]):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()
