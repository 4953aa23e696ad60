"""One Trino server for all tests of a module: it takes 20 seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.trino_server import Trino, must_be_installed, trino_server


@pytest.fixture(scope="module")
def trino(endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    must_be_installed()
    folder: Path = tmp_path_factory.mktemp("trino")
    with trino_server(folder, endpoint) as server:
        yield server
