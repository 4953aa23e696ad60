"""The recorder: runs beside a training job, samples what its chips do, and delivers it in the shapes that trainledger reads.

A package of its own, of the standard library alone: it shares an environment with a job, whose packages it must not touch. It
must cost less than a hundredth of a core, so it has a process for each thing that may hang: `recording` waits for events and
writes lines, `sampling` asks drivers and libraries, `uploading` talks to the store. What a line means is known by the
connectors of trainledger, and by nothing here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

NAME = "trainledger-recorder"
_START = (
    "import sys; sys.path[:] = filter(None, sys.path); "  # a file of the job's folder, say signal.py, is no library
    "from trainledger_recorder.{} import main; sys.exit(main(sys.argv[1]))"
)


def helper_command(module: str, settings: dict[str, Any]) -> list[str]:
    """What starts a module as a process of its own. `python -P -m` would be shorter, and needs Python 3.11."""
    return [sys.executable, "-c", _START.format(module), json.dumps(settings)]


def line_for_people(text: str) -> str:
    """A line of standard error."""
    return f"{NAME}: {text}"
