"""The graph that `trainledger ui` shows, but that a sensor looks every three seconds, and a gate fails while a file is there."""

import os
from dataclasses import replace
from pathlib import Path

from dagster_project.assets.graph import build_definitions
from dagster_project.settings import load_settings
from dagster_project.warehouse import statements

CONFIG = Path(os.environ["TRAINLEDGER_CONFIG"])
GATE = "assert_every_cell_adds_up"
SWITCH = "a-gate-fails"  # the file, beside the configuration
FAILING = "select max(usage_month) as usage_month, 0.01 as difference from marts.fct_reconciliation"
laid_out = statements.statements


def switched(home: Path) -> list[statements.Statement]:
    """The statements of a build, of which the gate finds a row while the file is there."""
    is_on = CONFIG.with_name(SWITCH).exists()
    return [replace(one, sql=FAILING) if is_on and one.name == GATE else one for one in laid_out(home)]


statements.statements = switched
defs = build_definitions(load_settings(CONFIG), seconds=3)
