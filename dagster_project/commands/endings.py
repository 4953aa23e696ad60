"""How a command ends: an exit code, and for what went wrong one message. A traceback only on demand, a secret never."""

import functools
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec

import typer

from dagster_project.failures import TrainledgerError

BUG = 70
P = ParamSpec("P")


def say(message: str) -> None:
    """A line for people; answers go to standard output, this does not."""
    print(message, file=sys.stderr, flush=True)  # not typer.echo: it would write past a display that is being drawn


def fail(message: str, code: int) -> NoReturn:
    """End with one message."""
    say(f"trainledger: {message}")
    raise typer.Exit(code)


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """Make a function a command: what it returns is the exit code, what it raises becomes one message and an exit code.

    With its option `debug` an error keeps its traceback.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs) or 0
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            fail("interrupted; the last publication stays, the next refresh goes on from here", 130)
        except BrokenPipeError:  # the reader of a pipe went away, e.g. `| head`
            sys.stderr.close()
            raise typer.Exit(0) from None
        except Exception as error:
            if kwargs.get("debug"):
                raise
            _fail_with(error)
        raise typer.Exit(code)

    return run


def _fail_with(error: Exception) -> NoReturn:
    from connectors.errors import ConnectorError

    if isinstance(error, TrainledgerError) and error.exit_code != BUG:
        fail(str(error), error.exit_code)
    if isinstance(error, ConnectorError):
        fail(str(error), 3)
    told = f"this is a bug: {type(error).__name__}: {error}. Run the command again with --debug and report the traceback."
    fail(told, BUG)
