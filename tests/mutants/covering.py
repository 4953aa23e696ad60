"""Which test files run which lines: one run of the fast suite under coverage, kept by the hash of the tree below `.mutants`.

A slow test file (servers, whole refreshes) is not run here; it counts for a module that it imports by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tests.mutants.changes import PYTHON, ROOT

SHELF = ROOT / ".mutants"


class ByFile:
    """A plugin of pytest that gives each test file a context of its own."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.measured.switch_context(str(item.path.relative_to(ROOT)))
        yield


def covered(tree: str) -> dict[str, dict[str, list[str]]]:
    """File -> line -> test files of the fast suite that run it; measured once for a tree."""
    kept = SHELF / f"covered-{tree[:16]}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    SHELF.mkdir(exist_ok=True)
    measured = coverage.Coverage(data_file=str(SHELF / "coverage"), source=[str(ROOT / top) for top in PYTHON])
    measured.start()
    code = pytest.main(["-q", "-m", "not slow", "-p", "no:cacheprovider", "tests"], plugins=[ByFile(measured)])
    measured.stop()
    if code != 0:
        raise SystemExit("the fast suite fails without any mutant: mend that first")
    data = measured.get_data()
    found = {
        str(Path(path).relative_to(ROOT)): {
            str(line): sorted(filter(None, names)) for line, names in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    kept.write_text(json.dumps(found))
    return found


def slow_tests_of(path: Path) -> list[str]:
    """Slow test files that name a module."""
    module = re.escape(".".join(path.with_suffix("").parts))
    named = re.compile(rf"\b{module}\b")
    found = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        text = test.read_text(encoding="utf-8")
        if "mark.slow" in text and named.search(text.replace(" import ", ".").replace("from ", "")):
            found.append(str(test.relative_to(ROOT)))
    return found
