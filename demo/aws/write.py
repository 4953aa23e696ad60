"""Everything of the AWS half, in order: fleets, run records, bills, carbon. Returns the truth of each source's objects."""

from __future__ import annotations

from pathlib import Path

from demo.aws import bill_a, bill_b, carbon, cur, plan_a, plan_b
from demo.clock import MONTHS
from demo.organisation import PAYER_A, PAYER_B
from demo.runs import write_runs
from demo.simulation import World

ROWS_PER_FILE = 10_000
LARGEST_FILE = 250_000
SHRUNK_MONTH = "2026-04"  # its export once had one chunk more, overwritten since with an empty one


def worlds_of(scale: int) -> list[World]:
    worlds = []
    for replica in range(scale):
        world = World(replica)
        plan_a.build(world)
        plan_b.build(world)
        world.close()
        worlds.append(world)
    return worlds


def write_exports(exports: Path, worlds: list[World]) -> dict[str, dict[str, dict]]:
    for world in worlds:
        write_runs(exports / "runs", world.runs, "AWS")
    rows_per_file = min(ROWS_PER_FILE * len(worlds), LARGEST_FILE)
    truth: dict[str, dict[str, dict]] = {PAYER_A.bill_source: {}, PAYER_B.bill_source: {}}
    activity: dict[tuple[str, str], carbon.Activity] = {}
    for month in MONTHS:
        sheet = bill_a.sheet_of(worlds, month)
        surplus = 1 if month == SHRUNK_MONTH else 0
        execution = cur.Execution(bill_a.published(month))
        truth[PAYER_A.bill_source] |= cur.write_month(
            exports / PAYER_A.bill_source, sheet, execution, rows_per_file, surplus=surplus
        )
        activity[PAYER_A.account_id, month] = sheet.activity
        *earlier, latest = bill_b.executions(month)
        for execution in earlier:
            sheet = bill_b.sheet_of(worlds, month, is_first_june=True)
            truth[PAYER_B.bill_source] |= cur.write_month(exports / PAYER_B.bill_source, sheet, execution, rows_per_file)
        sheet = bill_b.sheet_of(worlds, month)
        truth[PAYER_B.bill_source] |= cur.write_month(exports / PAYER_B.bill_source, sheet, latest, rows_per_file)
        activity[PAYER_B.account_id, month] = sheet.activity
    for release in carbon.releases():
        carbon.write_release(exports / release.payer.carbon_source, release, activity[release.payer.account_id, release.month])
    return truth
