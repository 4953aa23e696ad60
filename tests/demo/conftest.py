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

from dagster_project.demo.generate import write_demo
from tests.conftest import built_once

BILLS = ("payer-a-cur", "payer-b-cur")
GOOGLE_BILL = "gcp-billing"


@dataclass(frozen=True)
class Demo:
    folder: Path

    @cached_property
    def truth(self) -> dict[str, Any]:
        return json.loads((self.folder / "truth.json").read_text())

    def objects(self, *sources: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """The AWS bills' objects, or those of the sources named."""
        for source in sources or BILLS:
            for key, answer in self.truth["objects"][source].items():
                yield source, key, answer

    @cached_property
    def google_rows(self) -> list[tuple[str, dict[str, Any], list[Any] | None]]:
        """Every row of Google's bill with its partition and its entry in the truth."""
        found = []
        for source, key, answer in self.objects(GOOGLE_BILL):
            entries = {row: entry for entry in answer["lines"] for row in range(entry[0], entry[1] + 1)}
            for number, row in enumerate(nested_rows(self.folder / "exports" / source / key), start=1):
                found.append((key.split("/")[0].split("=")[1], row, entries.get(number)))
        return found

    @cached_property
    def rows(self) -> Callable[[str, str], list[dict[str, Any]]]:
        return cache(lambda source, key: read_rows(self.folder / "exports" / source / key))

    def records(self) -> list[dict[str, Any]]:
        """Of runs; a registration is none."""
        paths = sorted((self.folder / "exports" / "runs").rglob("*.json"))
        return [json.loads(path.read_text()) for path in paths if not path.name.endswith(".registered.json")]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows with '' as None and maps as dicts, whatever the format."""
    if path.suffix == ".parquet":
        rows = pq.read_table(path).to_pylist()
        return [{**row, "resource_tags": dict(row["resource_tags"])} for row in rows]
    text = gzip.decompress(path.read_bytes()).decode()
    rows = [{name: value or None for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
    return [{**row, "resource_tags": json.loads(row["resource_tags"])} for row in rows]


def nested_rows(path: Path) -> list[dict[str, Any]]:
    """Rows as BigQuery has them, but labels as a dict."""
    rows = pq.ParquetFile(path).read().to_pylist()
    return [{**row, "labels": {each["key"]: each["value"] for each in row["labels"]}} for row in rows]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Demo:
    """Shared by all workers, so tests only read it."""

    def write(folder: Path) -> None:
        folder.mkdir()
        write_demo(folder)

    return Demo(built_once(tmp_path_factory, request.config, "demo-exports", write))
