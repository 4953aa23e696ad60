"""A build without any export, made once: columns of every table, and seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comparison.published import make_template
from tests.conftest import built_once


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return built_once(tmp_path_factory, request.config, "comparison-template", make_template)
