"""A run record or a job in a file of its own, read by the connector of run records, and any JSON that could stand in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from connectors.deliveries import Converted
from connectors.errors import ExportContentError
from tests.connectors.kit import converted, rows_of, write_bytes


def read(tmp_path: Path, record: Any, name: str = "a.run.json") -> Converted:
    content = record if isinstance(record, bytes) else json.dumps(record).encode()
    write_bytes(tmp_path / "runs" / name, content)
    return converted("training_runs", tmp_path / "runs", tmp_path / "landing")


def refused(tmp_path: Path, record: Any, name: str = "a.run.json") -> ExportContentError:
    with pytest.raises(ExportContentError) as caught:
        read(tmp_path, record, name)
    assert caught.value.source_object == name
    return caught.value


def part(result: Converted, name: str) -> list[dict[str, Any]]:
    """The rows of one part, with the filled columns alone."""
    return [{key: value for key, value in row.items() if value is not None} for row in rows_of(result) if row["part"] == name]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
