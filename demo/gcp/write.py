"""Everything of Google's half, in order: fleet, run records, bill, carbon. Returns the truth of the bill's objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demo.clock import MONTHS, seconds
from demo.gcp import carbon, estate, export, machines, paired, pool
from demo.gcp.lines import Export
from demo.gcp.nodes import nodes_of
from demo.runs import write_runs
from demo.simulation import World

# nodes whose rows of a month's end came after the invoice
LATE = {"v5p-tower": seconds("2026-07-08T16:05:00"), "gke-sweep-v5e-3-b": seconds("2026-10-04T11:30:00")}


def worlds_of(aws_worlds: Sequence[World]) -> list[World]:
    """One fleet beside each of the Trainium fleets, whose paired runs it repeats."""
    worlds = []
    for twin in aws_worlds:
        world = World(twin.replica)
        paired.build(world, {run.pair_key: run for run in twin.runs if run.pair_key})
        pool.build(world)
        worlds.append(world)
    return worlds


def write_exports(exports: Path, worlds: Sequence[World]) -> dict[str, dict[str, dict]]:
    bill = Export()
    for world in worlds:
        write_runs(exports / "runs", world.runs, "Google Cloud")
        for node in nodes_of(world):
            machines.node_rows(bill, world, node, LATE.get(node.name))
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
