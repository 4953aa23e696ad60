"""How a step fails: with the words of the failure, its place and its remedy, and tried again only where that can help.

A refused delivery, a failed gate and a wrong setting stay what they are however often they are tried; a source that could not
be read may be readable in a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from dagster_project.failures import TrainledgerError

UNREADABLE_RETRIES = 2
UNREADABLE_WAIT = 30.0


def failure_of(error: TrainledgerError) -> dg.Failure:
    """A failure of the product as Dagster shows it; a failed gate brings its first rows in its words."""
    parts = {"where": error.where, "remedy": error.remedy}
    return dg.Failure(str(error), metadata={name: text for name, text in parts.items() if text}, allow_retries=False)


@contextmanager
def explained() -> Iterator[None]:
    """Let a step fail with what, where and remedy instead of a traceback, and not be tried again."""
    try:
        yield
    except TrainledgerError as error:
        raise failure_of(error) from error
