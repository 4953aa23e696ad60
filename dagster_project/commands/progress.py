"""How far a long command is, for a person at a terminal: a line per step with a bar, a count and the time it took.

Where standard error is a file or a pipe, as in a container or in cron, there are plain lines instead, and nothing is imported: at
most eleven a step, by its count and not by the clock. Whoever does the work calls a listener and knows nothing of this display.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from dagster_project.warehouse import steps
from dagster_project.warehouse.building import Listener

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LABELS = {
    "landing": "Landing",
    "raw": "Raw views",
    "models": "Models",
    "tests": "Tests",
    "publication": "Publication",
    "report": "Report",
    "issue": "Issued report",
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


def _plain(stream: TextIO) -> Listener:
    """A line when a step begins, and for each tenth of one that counts: `Models and tests 29 of 290: int_charges`."""
    last: dict[str, int] = {}

    def listener(step: str, done: int, total: int | None, detail: str = "") -> None:
        counted = total is not None and total > 1
        tenth = done * min(total, 10) // total if total and counted else 0
        if last.get(step) == tenth:
            return
        last[step] = tenth
        count = f" {done} of {total}" if counted else ""
        stream.write(f"{LABELS.get(step, step)}{count}{f': {detail}' if detail and done != total else ''}\n")
        stream.flush()

    return listener


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Listener]:
    """A listener that shows the steps, by default on standard error, until the block ends: drawn where it is a terminal.

    It draws from the first step on: a refresh that finds nothing to do draws nothing.
    """
    terminal = stream or sys.stderr
    if not terminal.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield _plain(terminal)
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
