"""The Dagster instance of a home: its folder and dagster.yaml. The command line and the UI share it, so the UI shows every
run.
"""

import os
from pathlib import Path

from dagster_project.base import durable

FIRST_YAML = """\
# Written by trainledger. The UI and the command line share this instance.
telemetry: {enabled: false}
nux: {enabled: false}
# one step at a time on the warehouse file; the operating-system lock in the home guards against everyone else
concurrency:
  pools: {default_limit: 1, granularity: op}
"""
# a killed run keeps its place in the pool until the next has the lock and ends it: without a buffer none would leave the queue
DAGSTER_YAML = f"""{FIRST_YAML.replace("granularity: op", "granularity: op, op_granularity_run_buffer: 10")}\
# a run that never began, and one whose end was asked for after its process was gone, are ended by the daemon
run_monitoring: {{enabled: true, start_timeout_seconds: 600}}
# looks of the sensors and times of the schedules, by days
retention:
  schedule: {{purge_after_days: 90}}
  sensor: {{purge_after_days: {{skipped: 2, started: 90, success: 90, failure: 90}}}}
  auto_materialize: {{purge_after_days: {{skipped: 2, started: 90, success: 90, failure: 90}}}}
"""


def prepare_instance(home: Path) -> None:
    """Make home/.dagster an instance and let this process use it."""
    folder = home / ".dagster"
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "dagster.yaml"
    if not configuration.exists() or configuration.read_text() == FIRST_YAML:  # as 0.8 wrote it
        durable.write(configuration, DAGSTER_YAML)  # a half-written one would be taken for whole ever after
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "yes"
