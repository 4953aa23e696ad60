"""How a command ends: an exit code, and for what went wrong one message. A traceback only on demand, a secret never."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

import typer

from dagster_project.failures import TrainledgerError

BUG = 70


def say(message: str) -> None:
    """A line for people; answers go to standard output, this does not."""
    typer.echo(message, err=True)


def fail(message: str, code: int) -> NoReturn:
    """End with one message."""
    say(f"trainledger: {message}")
    raise typer.Exit(code)


def guarded(act: Callable[[], int | None], is_debug: bool) -> None:
    """Run a command's work; turn what it raises into a message and an exit code."""
    try:
        code = act() or 0
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        fail("interrupted; the last publication stands, the next refresh picks up", 130)
    except BrokenPipeError:  # the reader of a pipe went away, e.g. `| head`
        sys.stderr.close()
        raise typer.Exit(0) from None
    except Exception as error:
        if is_debug:
            raise
        code = _code_of(error)
        if code == BUG:
            fail(
                f"this is a bug: {type(error).__name__}: {error}. Run the command again with --debug and report the traceback.",
                BUG,
            )
        fail(str(error), code)
    raise typer.Exit(code)


def _code_of(error: Exception) -> int:
    from connectors.errors import ConnectorError

    if isinstance(error, TrainledgerError):
        return error.exit_code
    return 3 if isinstance(error, ConnectorError) else BUG
