"""The Dagster instance of a home: its folder and dagster.yaml. The command line and the UI share it, so the UI shows every
run.
"""

import os
from pathlib import Path

from dagster_project.base import durable

DAGSTER_YAML = """\
# Written by trainledger. The UI and the command line share this instance.
telemetry: {enabled: false}
nux: {enabled: false}
# one step at a time on the warehouse file; the operating-system lock in the home guards against everyone else
concurrency:
  pools: {default_limit: 1, granularity: op}
"""


def prepare_instance(home: Path) -> None:
    """Make home/.dagster an instance and let this process use it."""
    folder = home / ".dagster"
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "dagster.yaml"
    if not configuration.exists():
        durable.write(configuration, DAGSTER_YAML)  # a half-written one would be taken for whole ever after
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "yes"
