"""One demo for all tests of this folder, and readers of its files that share nothing with its writers."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from demo.generate import write_demo

BILLS = ("payer-a-cur", "payer-b-cur")


@dataclass(frozen=True)
class Demo:
    folder: Path

    @cached_property
    def truth(self) -> dict[str, Any]:
        return json.loads((self.folder / "truth.json").read_text())

    def objects(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for source, keys in self.truth["objects"].items():
            for key, answer in keys.items():
                yield source, key, answer

    @cached_property
    def rows(self) -> Callable[[str, str], list[dict[str, Any]]]:
        return cache(lambda source, key: read_rows(self.folder / "exports" / source / key))

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted((self.folder / "exports" / "runs").rglob("*.json"))]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows with '' as None and maps as dicts, whatever the format."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        return [{**row, "resource_tags": dict(row["resource_tags"])} for row in rows]
    text = gzip.decompress(path.read_bytes()).decode()
    rows = [{name: value or None for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
    return [{**row, "resource_tags": json.loads(row["resource_tags"])} for row in rows]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return Demo(folder)
