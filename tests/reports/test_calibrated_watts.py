"""What reports say where the watts of chips were calibrated: from how many windows, of which days, with which spread.

Paper shows what the page states (test_report_on_paper.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import open_page
from tests.reports.kit import changed, record_of, rendered, values_of
from tests.reports.published_fixture import TWO_RUNS, write_published
from tests.reports.published_rows import PAYERS

WINDOWS = """insert into marts.fct_power_calibration values
    ('trn2.48xlarge', '', 'gpu_monitoring', date '2026-06-01', 412, 4, 9, 6, 120.5, 0.25, 95.5, 300, 400, 69.6, 0.95, null,
        timestamp '2025-07-02 10:00:00', timestamp '2026-06-30 09:30:00'),
    ('trn2.48xlarge', '', 'gpu_monitoring', date '2026-05-01', 400, 3, 9, 6, 110, 0.25, 95.5, 300, 400, 60, 0.95, null,
        timestamp '2025-07-01 10:00:00', timestamp '2026-05-30 09:30:00'),
    ('trn2.48xlarge', 'other', 'gpu_monitoring', date '2026-06-01', 9999, 9, 9, 6, 999, 0, 95.5, 300, 400, 12, 0.95, null,
        timestamp '2020-01-01 10:00:00', timestamp '2026-06-30 09:30:00')"""
CALIBRATED = """update marts.fct_training_run_energy set power_confidence = 'calibrated'
    where usage_month >= date '2026-05-01' and training_run_id in
        (select training_run_id from marts.dim_training_runs where accelerator_type = 'trn2.48xlarge')"""
WORDS = "412 windows of 6 workloads on 4 hosts, 2025-07-01 to 2026-06-30, within 17.4 %"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])


def test_the_page_states_from_which_windows_watts_were_calibrated(published: Path, tmp_path: Path) -> None:
    report = rendered(changed(published, WINDOWS, CALIBRATED), "2026Q2", tmp_path)
    record = record_of(report)
    stated = {row["accelerator_type"]: row["calibrated_from"] for row in values_of(record, "energy_by_basis")}
    assert stated.pop("trn2.48xlarge") == WORDS and not any(stated.values())
    latest = [row for row in values_of(record, "calibrated_watts") if row["sdk_version"] == ""]
    assert [(row["valid_from_month"], row["window_count"], row["busy_w"], row["spread_w"]) for row in latest] == [
        ("2026-06-01", "412", "400.0", "69.6")
    ]
    page = " ".join(report.html.read_text().split())
    for shown in ("Watts of a chip, calibrated from measured windows", WORDS, "hold the full power of the type"):
        assert shown in page


@pytest.mark.in_turn
@pytest.mark.slow
def test_what_the_energy_rests_on_is_no_wider_than_a_page(published: Path, tmp_path: Path) -> None:
    report = rendered(changed(published, WINDOWS, CALIBRATED), "2026Q2", tmp_path)
    with open_page(viewport={"width": 1440, "height": 900}) as tab:
        tab.goto(report.html.as_uri())
        shown = tab.locator("#energy_by_basis .scroll")
        assert shown.evaluate("shown => shown.scrollWidth - shown.clientWidth") <= 0


@pytest.mark.in_turn
def test_a_report_without_calibrated_watts_does_not_mention_them(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2026Q2", tmp_path)
    assert "calibrated_watts" not in report.json.read_text() and "Calibrated from" not in report.html.read_text()
