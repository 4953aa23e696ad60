"""What tests of `trainledger doctor` ask it, at an hour of a clock that is still."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from dagster_project.cli import app
from tests.oracle.builders import Exports, hour

CLOCK = {"TRAINLEDGER_NOW": "2026-06-30T00:00:00Z"}
TAG = {"user_training_run_id": "run-a"}


def doctor(config: Path) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and findings."""
    result = CliRunner().invoke(app, ["doctor", "--json", "--config", str(config)], env=CLOCK)
    assert result.exit_code in (0, 2, 3), result.output
    return result.exit_code, json.loads(result.stdout)["checks"]


def text(config: Path) -> str:
    """What a person sees."""
    return CliRunner().invoke(app, ["doctor", "--config", str(config)], env=CLOCK).stdout


def answer(checks: list[dict[str, Any]], question: str, about: str = "") -> dict[str, Any]:
    """The only finding of a question, or that about something."""
    [found] = [check for check in checks if check["question"] == question and about in check["about"]]
    return found


def two_chunks(folder: Path) -> Exports:
    """A month in two files, of which the larger one alone carries tags."""
    exports = Exports(folder)
    exports.bill([hour("2026-04-10T10:00:00", 1.0, resource_tags=TAG, identity_line_item_id=str(n)) for n in range(500)])
    large = folder / "exports/cur/data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    small = large.with_name("cur-00002.snappy.parquet")
    table = pq.read_table(large)
    tags = pa.array([[]], table.schema.field("resource_tags").type)
    pq.write_table(table.slice(0, 1).set_column(table.schema.get_field_index("resource_tags"), "resource_tags", tags), small)
    keys = [f"bucket/prefix/cur/data/BILLING_PERIOD=2026-04/{path.name}" for path in (large, small)]
    (folder / "exports/cur/metadata/BILLING_PERIOD=2026-04/export-Manifest.json").write_text(json.dumps({"dataFiles": keys}))
    return exports
