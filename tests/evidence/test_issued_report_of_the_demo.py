"""The demo's issued report, verified offline: every file, every figure from its SQL, every text and cell of its documents."""

from pathlib import Path

import pytest

from dagster_project.evidence.checking import verify_pack

pytestmark = pytest.mark.slow


def test_every_figure_of_the_demos_issued_report_is_verified_offline(demo_home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "2026Q2-1.zip"  # away from its home
    archive.write_bytes((demo_home / "trainledger-home/reports/issued/2026Q2-1.zip").read_bytes())
    found = verify_pack(archive)
    assert found.differences == []
    assert found.counts["figures"] > 5000 and found.counts["rendered"] == 4
    assert found.counts["documents"] > 40 and found.counts["texts"] > 40_000
    assert found.issued["status"] == "issued_preliminary" and found.issued["approver"] == "Anton Approver (invented)"
