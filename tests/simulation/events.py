"""What can happen in a history: at the sources, to the one home, and by its people. Listed twice is drawn twice as often."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

from dagster_project.base.failures import LockHeldError, MachineError, UsageError, machine_failure
from dagster_project.base.locking import LOCK_NAME
from dagster_project.commands import accepting, pruning
from dagster_project.election import units
from dagster_project.landing import land
from dagster_project.warehouse import builds
from tests.landing.kit import Organisation, bill_line, set_time, write_run
from tests.simulation.history import Delivery, History
from tests.simulation.shallow import found_by_readers

PAYERS = {"cur": "000000000017", "other": "000000000018"}  # by export
ANOTHER = {"cur": "000000000027", "other": "000000000028"}
MONTHS = ("2026-04", "2026-05")
REFRESH, PRUNE = 110, 25  # about as many effects as these have


# what providers do


def bill(history: History) -> None:
    """A new delivery of a month, whole again, as AWS rewrites it several times a day."""
    _deliver(history, history.now)


def late_bill(history: History) -> None:
    """A copied file keeps its provider's time: older than what was read before."""
    _deliver(history, history.now - timedelta(hours=history.draw.randint(30, 90)))


def bill_of_another_payer(history: History) -> None:
    """What another payer's export left in this one's place: held back, if there was a bill before."""
    _deliver(history, history.now, payers=ANOTHER)


def same_bill(history: History) -> None:
    """The same bytes once more, written later."""
    if manifests := _files(history, "cur", "*Manifest.json"):
        _touch(history, history.draw.choice(manifests))


def damaged_bill(history: History) -> None:
    """A file of a bill that is cut off: refused, and what was there before still counts."""
    if files := _files(history, "cur", "*.parquet"):
        path = history.draw.choice(files)
        path.write_bytes(path.read_bytes()[: history.draw.randint(0, 500)])
        set_time(path, history.now.isoformat())
        set_time(_manifest_of(path), history.now.isoformat())


def withdrawn_bill(history: History) -> None:
    """A bill is no longer at its source: what was landed of it stays."""
    if files := _files(history, "cur", "*.parquet"):
        path = history.draw.choice(files)
        path.unlink()
        _manifest_of(path).unlink()


def run(history: History) -> None:
    """A run record, new or restated."""
    _write_run(history, history.draw.choice("abc"))


def renamed_run(history: History) -> None:
    """A record under another name: the same run, stated twice over time."""
    if files := _files(history, "runs", "*.run.json"):
        path = history.draw.choice(files)
        path.rename(path.with_name(f"{path.name.partition('.')[0]}{history.draw.randint(1, 9)}.run.json"))


def withdrawn_run(history: History) -> None:
    """A record is deleted at its source: it stays landed."""
    if files := _files(history, "runs", "*.run.json"):
        history.draw.choice(files).unlink()


def clock_back(history: History) -> None:
    """Somebody sets the clock of the machine back, and a bill comes with an older time."""
    history.set_clock(history.now - timedelta(hours=history.draw.randint(2, 200)))
    bill(history)


def months_pass(history: History) -> None:
    """Nothing is delivered for so long that bills turn final and retention begins."""
    history.set_clock(history.now + timedelta(days=history.draw.randint(40, 120)))


def upgrade(history: History) -> None:
    """Another version of the code: what code derives is derived again, and everything is built again."""
    number = history.draw.randint(1, 10**6)
    of_code, of_connector = builds.code_version(), land.connector_version
    for module in (builds, units):
        history.patch.setattr(module, "code_version", lambda: f"{of_code[:20]}{number}")
    history.patch.setattr(land, "connector_version", lambda kind: f"{of_connector(kind)[:6]}{number:06}")


# what goes wrong in one home


def no_trouble(history: History) -> None:
    """Nothing."""


def power_cut(history: History) -> None:
    """The power goes at some effect; what was not forced to the disk may be gone. Sometimes twice."""
    for _ in range(history.draw.randint(1, 2)):
        history.cut(history.refresh, REFRESH)


def full_disk(history: History) -> None:
    """No room from some effect on: the command ends by name, if it wanted any."""
    _ends_by_name(history, lambda: history.disk().fill(history.refresh, history.draw.randint(1, REFRESH)))


def unreadable_bill(history: History) -> None:
    """Files of one source give errors: that source is unreadable and nothing else."""
    history.disk().fail_to_read(history.refresh, "/exports/cur/data")


def unreadable_landing(history: History) -> None:
    """The home's own disk gives errors where landed records are read: the command ends by name."""
    _ends_by_name(history, lambda: history.disk().fail_to_read(history.refresh, "_generation.json"))


def lost_cache(history: History) -> None:
    """Somebody deletes the cache, all of which can be made again."""
    shutil.rmtree(history.home / "cache", ignore_errors=True)


def second_writer(history: History) -> None:
    """Another process holds the writer lock: a refresh with news is refused by name, and does nothing."""
    history.home.mkdir(exist_ok=True)
    lock = os.open(history.home / LOCK_NAME, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        disk = history.disk()
        try:
            disk.run(history.refresh)
        except LockHeldError:
            assert {effect.path.name for effect in disk.effects} <= {LOCK_NAME, history.home.name}, history.steps
    finally:
        os.close(lock)


def pruned(history: History) -> None:
    """Retention in both homes; in one of them it is cut short first."""
    pruning_of(history.spared)
    history.cut(partial(pruning_of, history.tried), PRUNE)
    pruning_of(history.tried)


def pruning_of(one: Organisation) -> None:
    """The command, with `--yes`."""
    pruning.run(one.settings, yes=True, wait=0, tell=_no_words, say=_no_words)


def accepted(history: History) -> None:
    """A person accepts what is held back, in both homes, each after a look at its sources."""
    history.refresh()
    history.check(found_by_readers(history.home))  # a publication of its own: what is accepted next is in the one after it
    held = [place for place in history.truth.bills if history.truth.elected(*place)[1]]
    if held:
        export, month = history.draw.choice(held)
        for one in (history.spared, history.tried):
            accepting.accept(one.settings, "cur", month, export, "a person", 0, _no_words)
        history.truth.accepted.add(history.truth.elected(export, month)[1][-1].cost)


# the last news of a history that ends with a new home, which knows only what the sources hold


def all_is_whole(history: History) -> None:
    """Every export and every record is delivered anew, by the payer who counts, later than all before."""
    history.set_clock(history.latest + timedelta(hours=1))
    for export, month in history.truth.bills:
        payer = history.truth.elected(export, month)[0].payer
        _write_bill(history, export, month, history.now, payer)
    for path in _files(history, "runs", "*.run.json"):
        path.unlink()
    for name in history.truth.runs:
        _write_run(history, name.removeprefix("run-"))


FIRST: tuple[Callable[[History], None], ...] = (bill, bill, late_bill, bill_of_another_payer, clock_back, run)  # of a history
NEWS: tuple[Callable[[History], None], ...] = (
    *(bill, bill, bill, late_bill, same_bill, damaged_bill, withdrawn_bill, bill_of_another_payer, bill_of_another_payer),
    *(run, run, renamed_run, withdrawn_run, clock_back, months_pass, upgrade),
)
TROUBLES: tuple[Callable[[History], None], ...] = (
    *(no_trouble, power_cut, power_cut, power_cut, full_disk, unreadable_bill, unreadable_landing, lost_cache),
    *(second_writer, pruned, accepted, accepted),
)
AT_ONE_SOURCE = (unreadable_bill,)  # which lets the news of the other be read and published meanwhile


def _no_words(words: str) -> None:
    """Nobody listens."""


def _ends_by_name(history: History, action: Callable[[], None]) -> None:
    try:
        action()
    except (MachineError, UsageError, OSError) as error:  # the command names what an OSError states of the machine
        assert not isinstance(error, OSError) or machine_failure(error), history.steps


def _files(history: History, source: str, pattern: str) -> list[Path]:
    return sorted((history.folder / "exports" / source).rglob(pattern))


def _manifest_of(data: Path) -> Path:
    export = data.name.partition("-")[0]
    return data.parents[2] / "metadata" / data.parent.name / f"{export}-Manifest.json"


def _deliver(history: History, at: datetime, payers: dict[str, str] = PAYERS) -> None:
    export, month = history.draw.choice(("cur", "other")), history.draw.choice(MONTHS)
    _write_bill(history, export, month, at, payers[export])


def _write_bill(history: History, export: str, month: str, at: datetime, payer: str) -> None:
    costs = [Decimal(history.draw.randint(1, 10**8)) / 100 for _ in range(history.draw.randint(1, 3))]
    lines = [
        bill_line(float(cost), day=f"{month}-02", number=number, bill_payer_account_id=payer) for number, cost in enumerate(costs)
    ]
    history.tried.deliver(lines, at=at.isoformat(), month=month, export=export)
    _came(history, export, month, Delivery(at, payer, sum(costs, Decimal(0))))


def _touch(history: History, manifest: Path) -> None:
    """The same bytes at another time; a damaged file stays damaged."""
    set_time(manifest, history.now.isoformat())


def _came(history: History, export: str, month: str, one: Delivery) -> None:
    history.truth.bills.setdefault((export, month), []).append(one)


def _write_run(history: History, name: str) -> None:
    tokens = history.draw.randint(1, 10**6)
    write_run(history.folder / f"exports/runs/{name}.run.json", f"run-{name}", at=history.now.isoformat(), tokens=tokens)
    at, before = history.truth.runs.get(f"run-{name}", (history.now, tokens))
    history.truth.runs[f"run-{name}"] = max((at, before), (history.now, tokens)) if at != history.now else (at, tokens)
