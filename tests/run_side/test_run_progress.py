"""Progress: drawn on a terminal, plain lines everywhere else, and never in the way of what a command states or answers."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest
from run_side_kit import RECORD

from dagster_project.commands.endings import say
from dagster_project.commands.progress import shown
from dagster_project.commands.refreshing import refresh
from dagster_project.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal: `stream` is what a program writes to, `text()` what came out of it."""

    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        self.stream: TextIO = os.fdopen(slave, "w")
        self.raw = ""

    def text(self) -> str:
        """What a person would see of it, without escape sequences; ends the terminal."""
        self.stream.close()
        chunks = []
        while True:
            try:
                chunk = os.read(self.master, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        os.close(self.master)
        self.raw = b"".join(chunks).decode()
        return ESCAPES.sub("", self.raw)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    yield Terminal()


def test_steps_are_drawn_with_label_count_and_what_they_are_at(terminal: Terminal) -> None:
    with shown(terminal.stream) as listener:
        listener("landing", 0, 3, "payer-a-cur 2026-04")
        listener("landing", 3, 3, "payer-a-cur 2026-05")
        listener("models", 7, 120, "int_charges [by month]")
        listener("tests", 3, 9, "a_test")
    text = terminal.text()
    assert re.search(r"✓ Landing .*3/3", text)
    assert re.search(r"Models .*7/120.*int_charges \[by month\]", text)  # brackets are no markup
    assert re.search(r"Tests .*3/9.*a_test", text)
    assert "payer-a-cur 2026-05" not in text.split("✓ Landing")[-1]


def test_a_step_of_unknown_length_is_drawn_too(terminal: Terminal) -> None:
    with shown(terminal.stream) as listener:
        listener("report", 0, None, "2026Q2")
    assert re.search(r"Report .*0/\?.*2026Q2", terminal.text())


def test_lines_that_are_printed_meanwhile_are_whole(terminal: Terminal) -> None:
    with shown(terminal.stream) as listener:
        listener("landing", 1, 2)
        say("Published build 20261010.")
        listener("landing", 2, 2)
    assert "Published build 20261010.\r\n" in terminal.text()


def test_an_error_gives_the_terminal_back(terminal: Terminal) -> None:
    before = sys.stderr
    with pytest.raises(KeyError), shown(terminal.stream) as listener:
        listener("landing", 1, 2)
        raise KeyError
    assert sys.stderr is before
    terminal.text()
    assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l")  # the cursor is back


def test_a_command_that_has_nothing_to_do_draws_nothing(terminal: Terminal) -> None:
    with shown(terminal.stream):
        pass
    assert terminal.text() == ""


def test_a_terminal_that_cannot_draw_gets_plain_lines(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with shown(terminal.stream) as listener:
        listener("landing", 1, 2)
    assert terminal.text() == "Landing 1 of 2\r\n" and "\x1b" not in terminal.raw


def test_a_log_has_a_line_when_a_step_begins_and_for_each_tenth_of_it() -> None:
    stream = io.StringIO()
    with shown(stream) as listener:
        for done in range(1, 4):
            listener("landing", done, 3, f"cur 2026-0{done}")
        for done in (0, 1):
            listener("raw", done, 1)
        for done in range(1, 291):
            listener("models", done, 290, f"model_{done}")
    lines = stream.getvalue().splitlines()
    assert lines[:4] == ["Landing 1 of 3: cur 2026-01", "Landing 2 of 3: cur 2026-02", "Landing 3 of 3", "Raw views"]
    assert lines[4:7] == ["Models 1 of 290: model_1", "Models 29 of 290: model_29", "Models 58 of 290: model_58"]
    assert lines[-1] == "Models 290 of 290" and len(lines) == 4 + 11


def test_without_a_terminal_nothing_that_draws_is_imported() -> None:
    program = "import sys\nfrom dagster_project.commands.progress import shown\nwith shown() as told: told('landing', 1, 2)\n"
    program += "print('rich.progress' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "Landing 1 of 2\n")


@pytest.mark.slow
def test_a_refresh_counts_every_model_seed_and_test_once(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, int, int | None]] = []

    def note(step: str, done: int, total: int | None, detail: str = "") -> None:
        steps.append((step, done, total))

    (config.parent / "runs" / "b.run.json").write_text(json.dumps(RECORD | {"training_run_id": "Run B"}))
    refresh(load_settings(config), say=lambda _: None, listener=note)
    for kind in ("models", "tests"):  # each counted by itself
        counted = [(done, total) for step, done, total in steps if step == kind]
        assert counted == [(number, len(counted)) for number in range(1, len(counted) + 1)] and len(counted) > 80
    assert {step for step, _, _ in steps} == {"landing", "raw", "models", "tests", "publication"}
