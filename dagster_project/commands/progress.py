"""How far a long command is, for a person at a terminal: a line per step with a bar, a count and the time it took.

Where standard error is a file or a pipe, as in cron or a test, nothing is shown and nothing is imported. Whoever does the
work calls a listener and knows nothing of this display.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from dagster_project.warehouse.building import Listener, no_listener

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LABELS = {
    "landing": "Landing",
    "raw": "Raw views",
    "models": "Models and tests",
    "tests": "Tests",
    "expectations": "Expectations",
    "publication": "Publication",
    "report": "Report",
}


class Display:
    """A listener that draws. It starts with the first step, so a refresh that finds nothing to do draws nothing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, step: str, done: int, total: int | None, detail: str = "") -> None:
        """Show that `done` of `total` are done in a step, None for as many as there are, and what it is at."""
        progress = self._progress or self._start()
        if step not in self._tasks:
            self._tasks[step] = progress.add_task(LABELS.get(step, step), total=total, detail=detail)
        # a finished step names nothing: its last detail would look as if it were still at it
        shown = "" if done == total else detail
        progress.update(self._tasks[step], completed=done, total=total, detail=shown)

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description:16}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", markup=False, style="dim"),
            console=Console(file=self._stream),
            redirect_stdout=False,  # answers go there, also when only standard error is a terminal
            redirect_stderr=True,  # lines that are said meanwhile appear above the bars
        )
        self._progress.start()
        return self._progress

    def stop(self) -> None:
        """Leave what was drawn and give the terminal back."""
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Listener]:
    """A listener that shows the steps on a terminal, by default standard error, until the block ends."""
    stream = stream or sys.stderr
    if not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield no_listener
        return
    display = Display(stream)
    try:
        yield display
    finally:
        display.stop()
