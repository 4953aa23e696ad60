"""Drawn histories of an organisation: what its providers deliver, and what goes wrong while one of two homes reads it.

Both homes read the same exports at the same times. Nothing ever happens to one of them. After each step the other must hold the
same bytes, and both the money that the history itself has added up.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from dagster_project.base.failures import MachineError, machine_failure
from dagster_project.landing.retention import prune
from tests.landing.kit import Organisation, bill_line, carbon_row, set_time, write_run
from tests.simulation.disk import Disk

KINDS = {"cur": "aws_cur", "carbon": "aws_carbon", "runs": "training_runs"}
SOURCES = [{"name": name, "kind": kind} for name, kind in KINDS.items()]
PAYERS = {"cur": "000000000017", "other": "000000000018"}  # by export
MONTHS = ("2026-04", "2026-05")
BILLED = """
    select bill_payer_account_id, strftime(bill_billing_period_start_date, '%Y-%m'),
        cast(sum(line_item_unblended_cost) as decimal(18, 2))
    from raw.aws_cur group by all order by all
"""
CARBON = """
    select usage_period_start, cast(sum(total_lbm_emissions_value) as decimal(18, 3))
    from raw.aws_carbon group by all order by all
"""
RUNS = "select recorded_id, tokens from raw.training_runs where part = 'run' and _is_book order by all"


@dataclass
class Bill:
    """The newest whole bill of an export and month that was ever read."""

    published: int
    cost: Decimal


class History:
    """One history; `seed` draws all of it."""

    def __init__(self, folder: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.draw, self._patch = folder, random.Random(seed), monkeypatch
        self.tried = Organisation(folder, *SOURCES, home="./tried")
        self.spared = Organisation(folder, *SOURCES, home="./spared")
        self.bills: dict[tuple[str, str], Bill] = {}
        self.lying: dict[tuple[str, str], Decimal | None] = {}  # what each file at the source holds; None: it is damaged
        self._effects = 1  # of the last refresh to which nothing happened
        self.hour = 200  # since the beginning of June 2026
        self.steps: list[str] = []  # what happened, for whoever looks at a failure

    def step(self) -> None:
        """Something changes, then both homes are refreshed, one of them under difficulties."""
        self.hour += self.draw.randint(1, 30)
        self._patch.setenv("TRAINLEDGER_NOW", self._at(self.hour) + "Z")
        news = (self.bill, self.bill, self.bill, self.late_bill, self.same_bill, self.damage, self.carbon, self.run)
        self._happen(self.draw.choice(news))
        self._effects = self._count(self.spared.refresh)
        trouble = (self.no_trouble, self.power_cut, self.power_cut, self.disk_full, self.no_answer, self.lost_cache)
        self._happen(self.draw.choice(trouble))
        self.tried.refresh()
        if self.draw.random() < 0.2:
            self.prune()
        self.check()

    def check(self) -> None:
        """Same bytes in both homes, nothing left over, and the money of the history."""
        tried, spared = _landing(self.folder / "tried"), _landing(self.folder / "spared")
        assert tried.keys() == spared.keys(), self.steps
        assert [name for name in tried if tried[name] != spared[name]] == [], self.steps
        billed = [(PAYERS[export], month, bill.cost) for (export, month), bill in self.bills.items()]
        for query, expected in ((BILLED, sorted(billed)), (CARBON, None), (RUNS, None)):
            found = self.tried.raw(query)
            assert found == (self.spared.raw(query) if expected is None else expected), self.steps

    # what providers do

    def bill(self) -> None:
        """A new delivery of a month, whole again, as AWS rewrites it several times a day."""
        self._deliver(self.hour)

    def late_bill(self) -> None:
        """A copied file keeps its provider's time: older than what was read before."""
        self._deliver(self.hour - self.draw.randint(30, 90))

    def same_bill(self) -> None:
        """The same bytes once more, written later."""
        files = sorted((self.folder / "exports/cur").rglob("*Manifest.json"))
        if files:
            self._touch(self.draw.choice(files))

    def damage(self) -> None:
        """A file of a bill that is cut off."""
        files = sorted((self.folder / "exports/cur").rglob("*.parquet"))
        if files:
            path = self.draw.choice(files)
            path.write_bytes(path.read_bytes()[: self.draw.randint(0, 500)])
            set_time(path, self._at(self.hour))
            export = path.name.partition("-")[0]
            self.lying[export, path.parent.name.partition("=")[2]] = None
            self._touch(self.folder / "exports/cur/metadata" / path.parent.name / f"{export}-Manifest.json")

    def carbon(self) -> None:
        """Carbon of a month, in the same model version or a newer one."""
        month, version = self.draw.choice(MONTHS), f"v3.0.{self.draw.randint(0, 2)}"
        value = self.draw.randint(1, 9999) / 1000
        rows = [carbon_row(value, month=month, version=version)]
        self.tried.deliver_carbon(rows, at=self._at(self.hour), month=month, version=version)

    def run(self) -> None:
        """A run record, new or restated."""
        name = self.draw.choice("abc")
        write_run(self.folder / f"exports/runs/{name}.run.json", name, at=self._at(self.hour), tokens=self.draw.randint(1, 99))

    # what goes wrong

    def no_trouble(self) -> None:
        """Nothing."""

    def power_cut(self) -> None:
        """The power goes at some effect; what was not forced to the disk may be gone. Sometimes twice."""
        for _ in range(self.draw.randint(1, 2)):
            self._disk().crash(self.tried.refresh, self.draw.randint(1, self._effects))

    def disk_full(self) -> None:
        """No room from some effect on: the command ends by name, if it wanted any."""
        try:
            self._disk().fill(self.tried.refresh, self.draw.randint(1, self._effects))
        except (MachineError, OSError) as error:  # the command names what an OSError states of the machine
            assert isinstance(error, MachineError) or machine_failure(error), self.steps

    def no_answer(self) -> None:
        """Files of one source give errors: that source is unreadable and nothing else."""
        landed = self._disk().fail_to_read(self.tried.refresh, "other-00001")
        assert {one.source for one in landed if one.outcome == "unreadable"} <= {"cur"}, self.steps

    def lost_cache(self) -> None:
        """Somebody deletes the cache, all of which can be made again."""
        shutil.rmtree(self.folder / "tried/cache", ignore_errors=True)

    def prune(self) -> None:
        """Retention in both homes; in one of them it is cut short first."""
        self.steps.append("prune")

        def remove(one: Organisation) -> None:
            prune(one.settings.sources, one.line.landing, one.issued, yes=True)

        effects = self._count(partial(remove, self.spared))
        self._disk().crash(partial(remove, self.tried), self.draw.randint(1, effects))
        remove(self.tried)

    def _happen(self, what: Callable[[], None]) -> None:
        self.steps.append(f"{self._at(self.hour)} {what.__name__}")
        what()

    def _deliver(self, hour: int) -> None:
        export, month = self.draw.choice([*PAYERS]), self.draw.choice(MONTHS)
        costs = [Decimal(self.draw.randint(1, 99_999)) / 100 for _ in range(self.draw.randint(1, 3))]
        if (known := self.bills.get((export, month))) and hour == known.published:
            return  # two bills of one instant: which of them counts is decided by their hashes
        self.lying[export, month] = sum(costs, Decimal(0))
        self._came(export, month, hour)
        lines = [
            bill_line(float(cost), day=f"{month}-02", number=number, bill_payer_account_id=PAYERS[export])
            for number, cost in enumerate(costs)
        ]
        self.tried.deliver(lines, at=self._at(hour), month=month, export=export)

    def _touch(self, manifest: Path) -> None:
        set_time(manifest, self._at(self.hour))
        export, month = manifest.name.partition("-")[0], manifest.parent.name.partition("=")[2]
        self._came(export, month, self.hour)

    def _came(self, export: str, month: str, hour: int) -> None:
        cost, known = self.lying[export, month], self.bills.get((export, month))
        if cost is not None and (known is None or hour > known.published):
            self.bills[export, month] = Bill(hour, cost)

    def _count(self, action: Callable[[], object]) -> int:
        """How many effects something has in the home to which nothing happens."""
        (self.folder / "spared").mkdir(exist_ok=True)
        disk = Disk(self.folder / "spared", seed=0)
        disk.run(action)
        return max(1, disk.effects)

    def _disk(self) -> Disk:
        (self.folder / "tried").mkdir(exist_ok=True)
        return Disk(self.folder / "tried", self.draw.getrandbits(32))

    def _at(self, hour: int) -> str:
        return f"2026-06-{1 + hour // 24:02}T{hour % 24:02}:00:00"


def _landing(home: Path) -> dict[str, bytes]:
    """Every file of a landing, and every empty folder of its staging: there must be none."""
    root = home / "landing"
    return {path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else b"" for path in root.rglob("*")}
