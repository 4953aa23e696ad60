"""What this version of the code publishes: its tables, and by their digests its seeds and the SELECTs of report models and pages.

A pack brings its own SELECTs and seeds, and its figures and pages are worked out by them. So they are compared with these, which
no pack chooses. `known.json` is generated: `python -m tests.evidence.known` writes it, and a test compares it with the models.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

FILE = Path(__file__).with_name("known.json")


@cache
def _known() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(FILE.read_bytes())
    return found


def tables() -> set[str]:
    """Every published table and view."""
    return {*_known()["tables"]}


def selects() -> dict[str, str]:
    """The digest of each SELECT, by name."""
    return _known()["selects"]


def seeds() -> dict[str, str]:
    """The digest of each seed, by name."""
    return _known()["seeds"]


def digest(statement: str, printed: str = "") -> str:
    """Of a SELECT, and of how reports print it."""
    return hashlib.sha256(f"{statement}\0{printed}".encode()).hexdigest()


def selects_of(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Those of a publication."""
    models = connection.execute("select model, statement from ops.report_statements").fetchall()
    pages = connection.execute("select model, statement, printed from ops.report_pages").fetchall()
    found = {name: digest(statement) for name, statement in models}
    return found | {f"pages.{name}": digest(statement, printed) for name, statement, printed in pages}
