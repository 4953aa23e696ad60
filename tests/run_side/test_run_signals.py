"""Ctrl-C and SIGTERM, at any moment: systemd, cron and `timeout` rely on the exit code."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.landing.kit import Organisation, bill_line

START = "from dagster_project import main; main()"
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals")
    organisation = Organisation(folder)
    for month in range(1, 7):
        organisation.deliver([bill_line(1.5, day=f"2026-{month:02}-01")], at="2026-08-01", month=f"2026-{month:02}")
    config = folder / "trainledger.yaml"
    config.write_text(
        "organisation: {name: Test}\nhome: ./home\nsources: [{name: cur, kind: aws_cur, location: ./exports/cur}]\n"
    )
    return config


@pytest.mark.in_turn
@pytest.mark.parametrize("number", WORDS, ids=lambda number: number.name)
@pytest.mark.parametrize("after", [0.12, 0.3, 0.6, 1.0, 1.6, 2.4])
def test_a_signal_ends_the_command_with_one_line(config: Path, number: signal.Signals, after: float) -> None:
    """Whatever runs after those seconds: imports, listing, landing, dbt. Before the first, Python itself is not there yet."""
    command = [sys.executable, "-c", START, "refresh", "--full", "--config", str(config)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # where the tests run in the background of a shell Ctrl-C is ignored, and whoever is started there would ignore it too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(after)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert err.splitlines()[-1].startswith(f"trainledger: {WORDS[number]};")
    assert "Traceback" not in out + err
