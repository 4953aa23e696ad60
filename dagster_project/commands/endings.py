"""How a command ends: an exit code, and for what went wrong one message. A traceback only on demand, a secret never."""

import functools
import inspect
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn, ParamSpec

import typer

from dagster_project.base.failures import TrainledgerError, UsageError, machine_failure

BUG = 70
P = ParamSpec("P")
Debug = Annotated[bool, typer.Option("--debug", envvar="TRAINLEDGER_DEBUG", help="Show the traceback of an error.")]


def say(message: str) -> None:
    """A line for people; answers go to standard output, this does not."""
    # in one piece, so that a signal ends no half line; not by typer.echo, which would write past a display that is being drawn
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def fail(message: str, code: int) -> NoReturn:
    """End with one message."""
    say(f"trainledger: {message}")
    raise typer.Exit(code)


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """Make a function a command: what it returns is the exit code, what it raises becomes one message and an exit code.

    It has the option `--debug` too, with which an error keeps its traceback.
    """

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        if debug := kwargs.pop("debug", False):  # what stopped one delivery, and not the command
            logging.basicConfig(stream=sys.stderr)
            logging.getLogger("trainledger").setLevel(logging.DEBUG)
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
            if debug:
                raise
            _fail_with(error, _home_of(kwargs.get("config")))
        raise typer.Exit(code)

    own = inspect.signature(command)
    option = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    setattr(run, "__signature__", own.replace(parameters=[*own.parameters.values(), option]))  # noqa: B010 - typer reads it
    return run


def _home_of(config: object) -> Path | None:
    """The home of a command's configuration, where an error that names no file most likely happened."""
    from dagster_project.settings import load_settings

    try:
        return load_settings(config).home if isinstance(config, Path) else None
    except Exception:  # whatever is wrong with it is not what is reported here
        return None


def _fail_with(error: Exception, home: Path | None = None) -> NoReturn:
    from connectors.errors import ConnectorError
    from reports.errors import ReportError

    if isinstance(error, ReportError):  # a quarter, day or model that was asked for
        fail(str(error), UsageError.exit_code)
    if not isinstance(error, TrainledgerError):
        error = machine_failure(error, home) or error
    if isinstance(error, TrainledgerError):
        fail(str(error), error.exit_code)
    if isinstance(error, ConnectorError):
        fail(str(error), 3)
    text = f"this is a bug: {type(error).__name__}: {error}. Run the command again with --debug and report the traceback."
    fail(text, BUG)
