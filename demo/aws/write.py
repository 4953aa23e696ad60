"""Everything of the AWS half, in order: fleets, run records, bills, carbon. Returns the truth of each source's objects."""

from __future__ import annotations

from pathlib import Path

from demo.aws import bill, carbon, cur, fleet
from demo.aws.account import PAYER_A, PAYER_B
from demo.clock import MONTHS
from demo.runs import write_runs
from demo.simulation import World

ROWS_PER_FILE = 10_000
LARGEST_FILE = 250_000


def worlds_of(scale: int) -> list[World]:
    worlds = [World(replica) for replica in range(scale)]
    for world in worlds:
        fleet.build(world)
    return worlds


def write_exports(exports: Path, worlds: list[World]) -> dict[str, dict[str, dict]]:
    for world in worlds:
        write_runs(exports / "runs", world.runs, "AWS")
    rows_per_file = min(ROWS_PER_FILE * len(worlds), LARGEST_FILE)
    truth: dict[str, dict[str, dict]] = {}
    activity: dict[tuple[str, str], carbon.Activity] = {}
    for payer in (PAYER_A, PAYER_B):
        told = truth[payer.bill_source] = {}
        for month in MONTHS:
            *earlier, latest = cur.executions(payer, month)
            for execution in (*earlier, latest):
                sheet = bill.sheet_of(worlds, payer, month, is_early=execution is not latest)
                told |= cur.write_month(exports / payer.bill_source, sheet, execution, rows_per_file)
            activity[payer.account_id, month] = sheet.activity  # of the latest
    for release in carbon.releases():
        carbon.write_release(exports / release.payer.carbon_source, release, activity[release.payer.account_id, release.month])
    return truth
