"""The usual published file, written once per test file; tests only read it."""

from pathlib import Path

import pytest

from tests.reports.published_fixture import write_published


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published(tmp_path_factory.mktemp("published") / "trainledger.duckdb")
