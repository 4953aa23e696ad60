"""trainledger's own side of the line: settings, landing, orchestration, commands. Importing it imports nothing of it.

The command `trainledger` starts here: signals first, then everything else, so that no moment is left in which one ends badly.
Ctrl-C and SIGTERM end the process at once, with one line. Nothing has to be undone: each write is whole or not there, the
lock dies with its process, and so does dbt. An exception instead could be caught by a library, or cut a library's own work short
with a traceback.
"""

import gc
import os
import signal
from types import FrameType

__version__ = "0.9.0.dev0"  # the newest heading of CHANGELOG.md; both packages are built with it

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_SHOW_CURSOR = b"\x1b[?25h"  # a progress display hides it


def end(number: int, frame: FrameType | None = None) -> None:
    """End with one line and 128 + the number of the signal."""
    line = f"trainledger: {_WORDS[signal.Signals(number)]}; the last publication stays, the next refresh goes on from here\n"
    try:
        os.write(2, (_SHOW_CURSOR + b"\r\n" if os.isatty(2) else b"") + line.encode())
    finally:  # also when standard error is closed
        os._exit(128 + number)


def main() -> None:
    """The entry point of the installed command."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # `nohup` and a shell's `&` ask for it
        signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    # Python looks for circles whenever 700 objects more are alive: of 20,000 deliveries a fourth of the time, and nothing to find
    gc.set_threshold(100_000, 50, 100)
    from dagster_project.cli import app

    try:
        app()
    finally:  # else Python looks for circles once more before it ends: among Dagster's objects half a second, for nothing
        gc.freeze()
