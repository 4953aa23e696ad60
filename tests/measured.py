"""Processor seconds of each test file, of its processes too: which proof costs what.

conftest.py imports these hooks. `TEST_SECONDS=file.json` keeps the figures; under `NIGHTLY` the dearest files are printed. What
is made for the whole session counts for the test that asks for it first; a process that is never waited for counts nowhere.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

SHOWN = 25
_last = pytest.StashKey[float]()
_by_file: Counter[str] = Counter()


def _spent() -> float:
    """Seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """A phase of a test takes its seconds along to where reports are put together."""
    report = yield
    now = _spent()
    report.cpu_seconds = now - item.config.stash.get(_last, now)
    item.config.stash[_last] = now
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """What collecting took is no test's."""
    item.config.stash[_last] = _spent()
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In the process that sees all reports."""
    _by_file[report.nodeid.partition("::")[0]] += getattr(report, "cpu_seconds", 0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The dearest files, and a file of all for who asks for it."""
    if kept := os.environ.get("TEST_SECONDS"):
        rounded = {name: round(seconds, 1) for name, seconds in _by_file.most_common()}
        Path(kept).write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")
    if os.environ.get("NIGHTLY"):
        terminalreporter.section("processor seconds by file")
        for name, seconds in _by_file.most_common(SHOWN):
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")
