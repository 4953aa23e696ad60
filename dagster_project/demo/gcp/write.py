"""Everything of Google's half, in order: fleet, run records, bill, carbon. Returns the truth of the bill's objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dagster_project.demo.gcp import carbon, charges, export, fleet
from dagster_project.demo.gcp.lines import Export
from dagster_project.demo.gcp.table import Table
from dagster_project.demo.runs import write_runs
from dagster_project.demo.simulation import World
from dagster_project.demo.trials import add_tpu


def worlds_of(aws_worlds: Sequence[World]) -> list[World]:
    """One fleet beside each of the Trainium fleets, whose paired runs it repeats."""
    worlds = []
    for twin in aws_worlds:
        world = World(twin.replica)
        twins = {run.pair_key: run for run in twin.runs if run.pair_key}
        fleet.add_paired(world, twins)
        fleet.add_pool(world)
        add_tpu(world, twins)
        worlds.append(world)
    return worlds


def write_exports(exports: Path, worlds: Sequence[World]) -> dict[str, dict[str, dict[str, Any]]]:
    bill = Export()
    for world in worlds:
        write_runs(exports / "runs", world.runs, "Google Cloud")
        charges.add_charges(bill, world)
    carbon.write_months(exports / "gcp-carbon", bill.activity)
    table = Table()
    told = {"gcp-billing": export.write_partitions(exports / "gcp-billing", bill, table)}
    table.write(exports, export.COLUMNS)
    return told
