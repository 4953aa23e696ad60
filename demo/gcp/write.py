"""Everything of Google's half, in order: fleet, run records, bill, carbon. Returns the truth of the bill's objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demo.clock import MONTHS
from demo.gcp import carbon, estate, export, fleet, machines
from demo.gcp.lines import Export
from demo.runs import write_runs
from demo.simulation import World


def worlds_of(aws_worlds: Sequence[World]) -> list[World]:
    """One fleet beside each of the Trainium fleets, whose paired runs it repeats."""
    worlds = []
    for twin in aws_worlds:
        world = World(twin.replica)
        fleet.add_paired(world, {run.pair_key: run for run in twin.runs if run.pair_key})
        fleet.add_pool(world)
        worlds.append(world)
    return worlds


def write_exports(exports: Path, worlds: Sequence[World]) -> dict[str, dict[str, dict]]:
    bill = Export()
    for world in worlds:
        write_runs(exports / "runs", world.runs, "Google Cloud")
        for node in fleet.nodes_of(world):
            machines.node_rows(bill, world, node)
            if node.volume_gb:
                machines.attached_rows(bill, node)
            if node.name.startswith("v5p-tuning"):
                machines.traffic_rows(bill, world, node)
        machines.job_rows(bill, world)
        machines.unused_reservation_rows(bill, world)
        estate.machine_rows(bill, world)
        estate.daily_rows(bill, world)
        estate.correction_rows(bill, world)
        for month in MONTHS:
            machines.commitment_rows(bill, world, month)
            estate.invoice_rows(bill, world, month)
    carbon.write_months(exports / "gcp-carbon", bill.activity)
    return {"gcp-billing": export.write_partitions(exports / "gcp-billing", bill)}
