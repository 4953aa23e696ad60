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

from dagster_project.warehouse import steps
from dagster_project.warehouse.building import Listener, no_listener

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LABELS = {
    "landing": "Landing",
    "raw": "Raw views",
    "models": "Models",
    "tests": "Tests",
    "publication": "Publication",
    "report": "Report",
    "verify": "Landed bytes",
    "proof": "Proof",
    "landed rows": "Landed rows",
    "figures": "Figures",
}
BARS: dict[type[steps.Step], tuple[str, int]] = {  # what a step of a refresh moves, and how far of one
    steps.Started: ("raw", 0),
    steps.RawCreated: ("raw", 1),
    steps.Allowed: ("publication", 0),
    steps.Published: ("publication", 1),
}


def _started(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    progress = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:16}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}", markup=False, style="dim"),
        console=Console(file=stream),
        redirect_stdout=False,  # answers go there, also when only standard error is a terminal
        redirect_stderr=True,  # lines that are reported meanwhile appear above the bars
    )
    progress.start()
    return progress


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Listener]:
    """A listener that shows the steps on a terminal, by default standard error, until the block ends.

    It draws from the first step on: a refresh that finds nothing to do draws nothing.
    """
    terminal = stream or sys.stderr
    if not terminal.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield no_listener
        return
    progress: Progress | None = None
    tasks: dict[str, TaskID] = {}

    def listener(step: str, done: int, total: int | None, detail: str = "") -> None:
        nonlocal progress
        progress = progress or _started(terminal)
        if step not in tasks:
            tasks[step] = progress.add_task(LABELS.get(step, step), total=total, detail=detail)
        # a finished step names nothing: its last detail would look as if it were still at it
        progress.update(tasks[step], completed=done, total=total, detail="" if done == total else detail)

    try:
        yield listener
    finally:
        if progress is not None:
            progress.stop()


def draw(listener: Listener, step: steps.Step) -> None:
    """Show one step of a refresh."""
    if isinstance(step, steps.NodeEnded):
        listener("tests" if step.node.is_test else "models", step.number, step.total, step.node.name)
    elif type(step) in BARS:
        listener(*BARS[type(step)], 1)
