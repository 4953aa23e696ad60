"""A node of its own for each test, and the bucket of the connectors' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.conftest import s3  # noqa: F401
from tests.recorder.kit import Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "node")
