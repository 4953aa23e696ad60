"""The real Dagster page in a real browser: the line from exports to reports, with the runs of the command line."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import open_page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DEMO_NOW = "2026-10-10T00:00:00Z"
LONGEST_START_SECONDS = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def dagster_ui(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the UI of the finished demo; stopped as Ctrl-C would."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    log = tmp_path_factory.mktemp("ui") / "ui.log"
    command = [sys.executable, "-m", "dagster_project.cli", "ui", "--config", demo_home / "trainledger.yaml", "--port", str(port)]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=ROOT, env=os.environ | {"TRAINLEDGER_NOW": DEMO_NOW}, start_new_session=True
        )
    try:
        for _ in range(LONGEST_START_SECONDS):
            assert process.poll() is None, log.read_text()
            try:
                urllib.request.urlopen(f"{address}/server_info", timeout=5).read()
                break
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                time.sleep(1)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=90) is not None
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"{address}/server_info", timeout=5)


def test_the_graph_shows_every_room_of_the_line(dagster_ui: str) -> None:
    with open_page() as page:
        page.goto(f"{dagster_ui}/asset-groups")
        for group in ("landing", "raw", "staging", "intermediate", "marts", "gates", "publication", "reports"):
            page.get_by_text(group, exact=True).first.wait_for(timeout=60_000)
        assert page.get_by_text("An unexpected error").count() == 0


def test_the_run_of_the_command_line_and_its_checks_are_on_the_page(dagster_ui: str) -> None:
    with open_page() as page:
        page.goto(f"{dagster_ui}/runs")
        page.get_by_text("Success").first.wait_for(timeout=60_000)
        page.goto(f"{dagster_ui}/assets/marts/fct_reconciliation?view=checks")
        page.get_by_text("assert_every_cell_adds_up").first.wait_for(timeout=60_000)
