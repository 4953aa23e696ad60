"""The demo's issued report is restated by carbon that arrives after the issue, with `--late` by a corrected record too."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.conftest import Command

pytestmark = pytest.mark.slow


def restated(folder: Path, figure: str) -> dict[str, tuple[Decimal, Decimal]]:
    """A figure of the issued report before and after each cause."""
    with duckdb.connect(str(folder / "trainledger-home/published/trainledger.duckdb"), read_only=True) as published:
        asked = "select cause, before, after from marts.fct_restatements where report_id = '2026Q2-1' and datapoint_id = ?"
        found = published.execute(asked, [f"2026Q2/glance/{figure}"]).fetchall()
    assert len(found) == 6
    return {cause: (before, after) for cause, before, after in found}


def now(folder: Path, figure: str) -> Decimal:
    """The figure as it is published."""
    with duckdb.connect(str(folder / "trainledger-home/published/trainledger.duckdb"), read_only=True) as published:
        asked = "select value from marts.rpt_quarterly_figures where quarter = '2026Q2' and figure_id = ?"
        (value,) = published.execute(asked, [figure]).fetchone()
    return value


def moved(steps: dict[str, tuple[Decimal, Decimal]]) -> set[str]:
    return {cause for cause, (before, after) in steps.items() if before != after}


def shown(folder: Path, quarter: str) -> list[Any]:
    """What of restatements the report of a quarter shows."""
    report = json.loads((folder / f"trainledger-home/reports/{quarter}/report.json").read_text())
    [section] = [one for one in report["sections"] if one["id"] == "restatements"]
    return [row for table in section["tables"] for row in table["rows"]]


def test_carbon_in_a_new_version_restates_emissions_of_the_issued_report_and_no_cost(demo_home: Path) -> None:
    steps = restated(demo_home, "provider_total_location_based")
    assert moved(steps) == {"provider_model_version"}
    before, after = steps["provider_model_version"]
    issued = json.loads((demo_home / "trainledger-home/reports/issued/2026Q2-1/report/report.json").read_text())
    [printed] = [one["value"] for one in issued["figures"] if one["id"] == "2026Q2/glance/provider_total_location_based"]
    assert Decimal(printed) == before < after == now(demo_home, "provider_total_location_based")
    assert moved(restated(demo_home, "effective_cost")) == set()
    assert shown(demo_home, "2026Q2") and shown(demo_home, "2026Q3")


@pytest.mark.nightly
def test_a_late_correction_is_a_restatement_with_its_cause_in_the_file_and_in_the_next_report(
    demo_home: Path, tmp_path: Path, trainledger: Command
) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(demo_home, folder)
    rows = shown(folder, "2026Q3")
    done = trainledger("demo", "--dir", folder, "--late")
    assert done.returncode == 0, done.stderr
    assert "figures of 1 issued reports are known otherwise now" in done.stderr and "--late" not in done.stderr
    steps = restated(folder, "effective_cost")
    assert moved(steps) == {"run_record"}
    before, after = steps["run_record"]
    assert after == now(folder, "effective_cost") < before, "the node was kept and the run had ended"
    assert moved(restated(folder, "provider_total_location_based")) >= {"provider_model_version"}
    assert len(shown(folder, "2026Q3")) > len(rows)
