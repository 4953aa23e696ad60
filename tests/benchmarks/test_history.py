"""Measures of history deliver one month at a time, to a young home and an old one in turns; the product here only notes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.families import history
from benchmarks.homes import Bench, Product

NOTE = """
import os, pathlib
months = sorted(path.name[-7:] for path in pathlib.Path("exports/bench-cur/data").iterdir())
late = len(list(pathlib.Path("exports/runs").glob("late/*/*.run.json")))
home = "old" if "long" in os.getcwd() else "young"
with open("../refreshes", "a") as notes:
    print(home, months[-1], len(months), os.environ["TRAINLEDGER_NOW"][:10], late, file=notes)
"""


def test_months_arrive_in_turns_then_two_records_then_the_clock_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "QUICK", (0, 6))
    monkeypatch.setattr(Product, "command", property(lambda product: [sys.executable, "-c", NOTE]))
    read = dict(history.read_history(Bench(tmp_path, Product(), is_quick=True, rounds=1)))
    assert (tmp_path / "refreshes").read_text().splitlines() == [
        "young 2024-02 2 2024-03-11 0",
        "young 2024-02 2 2024-03-11 0",  # its newest month once more, which leaves the statements of a build of months
        "old 2024-04 4 2024-05-11 0",
        "old 2024-04 4 2024-05-11 0",
        "young 2024-03 3 2024-04-11 0",
        "old 2024-05 5 2024-06-11 0",
        "young 2024-04 4 2024-05-11 0",
        "old 2024-06 6 2024-07-11 0",
        "young 2024-04 4 2024-05-11 2",
        "old 2024-06 6 2024-07-11 2",
        "old 2024-06 6 2024-07-22 2",  # three weeks after the month's end its bill is final
    ]
    assert list(read) == [spec.name for spec in history.SPECS]
    assert all(reading.floor for reading in read.values())
