"""A table of BigQuery, the source that names it, and what `trainledger doctor` states of both."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from dagster_project.cli import app
from tests.bigquery.described import described
from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.rest_fake import Rows, text_of
from tests.connectors.gcp import line
from tests.landing.kit import hour, instant

NOW = "2026-07-05T00:00:00Z"
DIVIDED = {"timePartitioning": {"type": "DAY"}, "location": "EU", "numRows": "93"}
TABLE_PERMISSIONS = ("bigquery.tables.get", "bigquery.tables.getData")
LOOK, READ = 3_000_000_000, 8_000_000  # bytes


def day_of(day: str) -> list[dict[str, Any]]:
    at = instant(day)
    return [line(**hour(f"{day}T{number:02}:00", export_time=at + dt.timedelta(days=1, hours=number))) for number in range(3)]


def millis(day: str) -> str:
    return str(int(instant(day).timestamp() * 1000))


class Asked:
    """A table, the source that names it, and what doctor states."""

    def __init__(self, folder: Path, url: str, bill: Exported, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.bill, self.rest, self.patch = folder, bill, bill.rest, patch
        self.source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url}
        self.bytes = {"look": LOOK, "read": READ}
        plain = bill.answer
        self.rest.answer = lambda text: self._counted(text, plain(text))

    def _counted(self, text: str, answer: Any) -> Any:
        number = self.bytes["look" if "COUNT(*)" in text else "read"]
        if "'2006-01-02" in text:  # the day that no bill has
            number = self.bytes.get("no day", 0)
        return Rows(answer.fields, answer.values, number, answer.total) if isinstance(answer, Rows) else answer

    def described_as(self, **more: Any) -> None:
        self.rest.tables = {TABLE: described(self.bill.schema, **{**DIVIDED, **more})}

    def doctor(self, *options: str) -> Any:
        config = self.folder / "trainledger.yaml"
        sources = [{name: value for name, value in self.source.items() if value is not None}]
        config.write_text(yaml.safe_dump({"organisation": {"name": "Example AG"}, "home": "./home", "sources": sources}))
        return CliRunner().invoke(app, ["doctor", *options, "--config", str(config)], env={"TRAINLEDGER_NOW": NOW})

    def checks(self) -> tuple[int, list[dict[str, Any]]]:
        result = self.doctor("--json")
        assert result.exit_code in (0, 3), result.output
        return result.exit_code, [check for check in json.loads(result.stdout)["checks"] if "google" in check["about"]]

    @property
    def run(self) -> list[str]:
        """The texts of queries that were run, not only tried."""
        return [text_of(body) for body in self.rest.asked if not body.get("configuration", {}).get("dryRun")]
