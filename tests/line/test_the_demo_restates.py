"""`trainledger demo --late`: a record is corrected after the issue, and the ledger shows what of the issued report it moved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.conftest import Command

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def test_a_late_correction_is_a_restatement_with_its_cause_in_the_file_and_in_the_next_report(
    demo_home: Path, tmp_path: Path, trainledger: Command
) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(demo_home, folder)
    done = trainledger("demo", "--dir", folder, "--late")
    assert done.returncode == 0, done.stderr
    assert "Run record -" in done.stderr and "Restated   " not in done.stderr
    with duckdb.connect(str(folder / "trainledger-home/published/trainledger.duckdb"), read_only=True) as published:
        rows = published.execute(
            "select cause, before, after from marts.fct_restatements"
            " where report_id = '2026Q2-1' and datapoint_id = '2026Q2/glance/effective_cost'"
        ).fetchall()
        (now,) = published.execute(
            "select value from marts.rpt_quarterly_figures where quarter = '2026Q2' and figure_id = 'effective_cost'"
        ).fetchone()
    steps = {cause: (before, after) for cause, before, after in rows}
    moved = {cause for cause, (before, after) in steps.items() if before != after}
    assert moved == {"run_record"} and len(steps) == 6
    before, after = steps["run_record"]
    assert after == now < before, "the node was kept and the run had ended"
    report = json.loads((folder / "trainledger-home/reports/2026Q3/report.json").read_text())
    [section] = [one for one in report["sections"] if one["id"] == "restatements"]
    assert any(table["rows"] for table in section["tables"])
