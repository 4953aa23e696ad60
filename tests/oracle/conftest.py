"""A folder of exports for the oracle's tests, and the ledger of a bill of AWS written to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .google_builders import GoogleExports
from .oracle import Oracle, Tables


@pytest.fixture
def exports(tmp_path: Path) -> GoogleExports:
    return GoogleExports(tmp_path)


@pytest.fixture
def ledger(exports: GoogleExports) -> Callable[..., Tables]:
    def read(rows: list[dict], *records: dict) -> Tables:
        exports.bill(rows)
        if records:
            exports.runs(*records)
        return Oracle(exports.config()).tables()

    return read
