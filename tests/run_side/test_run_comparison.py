"""The comparison as a command and as an asset: where it goes, what it is asked, and what is refused."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from dagster_project.assets import names
from dagster_project.assets.release import report_assets
from dagster_project.cli import app
from dagster_project.settings import load_settings
from tests.reports.compared_file import write_compared


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small publication, and nothing else in it."""
    config = tmp_path_factory.mktemp("compared") / "trainledger.yaml"
    config.write_text(
        "organisation: {name: Example AG, reporting_currency: USD}\nhome: ./home\n"
        "sources:\n  - {name: runs, kind: training_runs, location: ./runs}\n"
    )
    write_compared(config.parent / "home" / "published" / "trainledger.duckdb")
    return config


def test_the_asset_has_path_dates_and_counts_of_verdicts(config: Path) -> None:
    settings = load_settings(config)
    done = dg.materialize(report_assets(settings)[1:], instance=dg.DagsterInstance.ephemeral())
    [stated] = done.asset_materializations_for_node("reports__comparison")
    assert stated.asset_key == names.COMPARISON
    page = settings.home / "reports" / "compare-2025-10-01_2026-10-01" / "comparison.html"
    assert Path(str(stated.metadata["report"].value)) == page and page.exists()
    assert stated.metadata["from"].value == "2025-10-01" and stated.metadata["to"].value == "2026-10-01"
    assert stated.metadata["claims/undecided"].value == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2030-01-01", "--to", "2030-02-01"], "No run ended from 2030-01-01 up to and without 2030-02-01"),
        (["--from", "1 May"], "--from '1 May' is not a day. Write it like 2026-10-01"),
        (["--from", "2026-05-01", "--to", "2026-05-01"], "--to is the day after the last"),
    ],
)
def test_dates_that_answer_nothing_end_with_2_and_leave_nothing(
    config: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["report", "compare", *arguments, "--config", str(config), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2 and said in " ".join(result.stderr.split()) and "Traceback" not in result.stderr
    assert not list(tmp_path.rglob("*.html"))


def test_the_command_writes_where_it_is_asked_and_shows_what_it_found(config: Path, tmp_path: Path) -> None:
    arguments = ["--from", "2026-09-01", "--to", "2026-10-01", "--config", str(config), "--out", str(tmp_path)]
    result = CliRunner().invoke(app, ["report", "compare", *arguments])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip() == str(tmp_path / "compare-2026-09-01_2026-10-01" / "comparison.html")
    assert "1 September 2026 to 30 September 2026" in result.stderr and "claims of vendors 1 undecided" in result.stderr
