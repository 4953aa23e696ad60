"""What Dagster loads. The only place where settings enter the graph: TRAINLEDGER_CONFIG names them, and without it nothing
is defined.
"""

import os
import warnings
from pathlib import Path

import dagster as dg

from dagster_project.assets.graph import build_definitions
from dagster_project.base.failures import UsageError
from dagster_project.settings import load_settings


def configured_definitions() -> dg.Definitions:
    """The graph of the configuration that TRAINLEDGER_CONFIG names."""
    config = os.environ.get("TRAINLEDGER_CONFIG")
    if not config:
        raise UsageError(
            "TRAINLEDGER_CONFIG is not set, so Dagster does not know which line to show",
            remedy="Set it to the path of your trainledger.yaml; `trainledger init` writes one.",
        )
    # code references and backfill policies are beta in Dagster; its warnings would hide what a person must see
    warnings.filterwarnings("ignore", category=dg.BetaWarning)
    settings = load_settings(Path(config))
    return build_definitions(settings)


defs = configured_definitions()
