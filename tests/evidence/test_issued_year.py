"""A fiscal year is issued, verified, traced and restated as a quarter is, in one chain with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from dagster_project.evidence import chain
from dagster_project.evidence.manifest import MANIFEST, manifest_bytes
from tests.conftest import built_once
from tests.evidence.kit import APPROVER, LATER, NOW, emissions, write_company
from tests.evidence.test_evidence_packs import found_in
from tests.oracle.builders import Exports
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow


MONTHS = (*(f"2025-{month:02d}" for month in range(7, 13)), *(f"2026-{month:02d}" for month in range(1, 7)))


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The small company with twelve months from July on, which issued a quarter and then its fiscal year; to be read only."""

    def build(folder: Path) -> None:
        folder.mkdir()
        config = write_company(folder, MONTHS).folder / "trainledger.yaml"
        config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | {"fiscal_year_start": 7}))
        issue = ("--issue", "--approver", APPROVER)
        for asked in (
            ("refresh",),
            ("report", "quarterly", "--quarter", "2026Q2", *issue),
            ("report", "yearly", "--year", "2026", *issue),
        ):
            done = run_trainledger(*asked, "--config", config, now=NOW)
            if done.returncode:
                pytest.fail(done.stderr[-2000:])

    return built_once(tmp_path_factory, request.config, "issued-year", build)


def issued_year(company: Path) -> Path:
    return company / "home/reports/issued/2026-1"


def test_a_year_follows_the_quarter_in_the_chain_and_its_pack_is_verified_also_from_the_landing(company: Path) -> None:
    first, second = chain.lines_of(company / "home" / "reports")
    assert (first["report_id"], second["report_id"], second["status"]) == ("2026Q2-1", "2026-1", "issued_preliminary")
    found = found_in(issued_year(company).with_suffix(".zip"))
    assert found.differences == [] and not found.is_partial and found.counts["rendered"] == 3
    done = run_trainledger("verify", issued_year(company), "--from-landing", company / "home")
    assert done.returncode == 0 and "tables rebuilt from the landing" in done.stdout
    page = (issued_year(company) / "report" / "report.html").read_text()
    assert "Report 2026-1, issued" in page and f"approved by {APPROVER}" in page
    assert not (issued_year(company) / "report" / "board.pdf").exists()


def test_a_page_of_a_year_that_prints_otherwise_differs_also_by_a_new_manifest(company: Path, tmp_path: Path) -> None:
    pack = Path(shutil.copytree(issued_year(company), tmp_path / "2026-1"))
    page = pack / "report" / "report.html"
    page.write_text(page.read_text().replace("Lists of frameworks", "Audited lists"))
    (pack / MANIFEST).write_bytes(manifest_bytes(pack))
    assert any(text.startswith("report/report.html: it has ") for text in found_in(pack).differences)


def test_a_figure_of_an_issued_year_is_traced_from_the_pack_and_in_the_home(company: Path) -> None:
    pack = issued_year(company)
    record = json.loads((pack / "report" / "report.json").read_bytes())
    tables = [table for section in record["sections"] for table in section["tables"] if table["id"] == "year_contributions"]
    row = next(row for row in tables[0]["rows"] if row["values"]["value"])
    id = f"{row['id']}/value".replace("2026/", "2026-1/", 1)
    done = run_trainledger("trace", "--figure", id, "--json", "--config", company / "trainledger.yaml", now=LATER)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["value"] == row["values"]["value"] and {one["kind"] for one in answer["behind"]} >= {"carbon"}


def test_carbon_that_comes_again_restates_the_year(company: Path, tmp_path: Path) -> None:
    config = Path(shutil.copytree(company, tmp_path / "company", symlinks=True)) / "trainledger.yaml"
    emissions(Exports(config.parent), "2026-05", 0.75, "v3.1.0", "2026-08-20")
    assert run_trainledger("refresh", "--config", config, now=LATER).returncode == 0
    done = run_trainledger("restatements", "--quarter", "2026", "--config", config, now=LATER)
    assert done.returncode == 0, done.stderr
    assert "2026-1, Provider model version (change of method)" in done.stdout
    assert "2026-1 2026/year_contributions/" in done.stdout
