"""A small company whose second quarter was refreshed and issued once; tests copy what they change."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import built_once
from tests.evidence.kit import APPROVER, NOW, write_company
from tests.warm import run_trainledger


@pytest.fixture(scope="session")
def issued(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder of the company: home/reports/issued/2026Q2-1 and its zip are there."""

    def build(folder: Path) -> None:
        folder.mkdir()
        config = write_company(folder).folder / "trainledger.yaml"
        refreshed = run_trainledger("refresh", "--config", config, now=NOW)
        made = run_trainledger(
            *("report", "quarterly", "--quarter", "2026Q2", "--issue", "--approver", APPROVER, "--config", config), now=NOW
        )
        if refreshed.returncode or made.returncode:
            pytest.fail(f"{refreshed.stderr[-2000:]}\n{made.stderr[-2000:]}")

    return built_once(tmp_path_factory, request.config, "issued", build)


@pytest.fixture(scope="session")
def pack(issued: Path) -> Path:
    """The pack, to be read only."""
    return issued / "home" / "reports" / "issued" / "2026Q2-1"


@pytest.fixture
def copied_pack(pack: Path, tmp_path: Path) -> Path:
    """A copy of it outside any home, to be changed."""
    return Path(shutil.copytree(pack, tmp_path / pack.name))


@pytest.fixture
def home(issued: Path, tmp_path: Path) -> Path:
    """A copy of the company, times of files included, for what writes into its home. Returns its configuration."""
    shutil.copytree(issued, tmp_path / "company", symlinks=True)
    return tmp_path / "company" / "trainledger.yaml"
