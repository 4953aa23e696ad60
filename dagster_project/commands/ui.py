"""The Dagster pages, their daemon and the page of the ledger for one configuration, on this machine only, until Ctrl-C.

Webserver and daemon are processes of their own that stop together. What they show is dagster_project/definitions.py.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dagster_project.assets.columns import learn_columns
from dagster_project.assets.instance import prepare_instance
from dagster_project.assets.schedules import require_times
from dagster_project.base.modes import owner_alone
from dagster_project.commands.page_server import serve_page
from dagster_project.publishing.ledger_page import FOLDER
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.site import Site

MODULE = "dagster_project.definitions"


def serve(settings: Settings, port: int, page_port: int, say: Callable[[str], None]) -> int:
    """Start all, say where, wait; stop all when one ends or a signal comes. Returns the exit code of who ended first."""
    require_times(settings)
    page = serve_page(settings.home / "published" / FOLDER, page_port)
    with owner_alone():
        prepare_instance(settings.home)
        learn_columns(Site.of_home(settings.home), modelling.project(settings.home))
    surroundings = os.environ | {"TRAINLEDGER_CONFIG": str(settings.path)}
    programs = Path(sys.executable).parent
    commands: list[list[str | Path]] = [
        [programs / "dagster-webserver", "-m", MODULE, "-h", "127.0.0.1", "-p", str(port)],
        [programs / "dagster-daemon", "run", "-m", MODULE],
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # both end the children first
    with owner_alone():
        children = [subprocess.Popen(command, env=surroundings) for command in commands]
    say(f"http://127.0.0.1:{page.server_port} shows the page of the ledger.")
    say(f"http://127.0.0.1:{port} shows {settings.path}; Ctrl-C stops all.")
    try:
        return os.waitstatus_to_exitcode(os.wait()[1])
    except KeyboardInterrupt:
        return 0
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait()
