"""Every effect of one whole refresh, from landing to publication: it is under the lock, and the power may go before it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from dagster_project.base.locking import LOCK_NAME
from tests import nightly
from tests.landing.kit import Organisation, bill_line, write_run
from tests.simulation.cuts import each_is_mended
from tests.simulation.disk import Disk
from tests.simulation.shallow import SOURCES, refresh, small_home

EFFECTS = 100  # of a refresh with a bill and a run that are new; fewer would mean that some are not seen


def test_every_effect_of_a_refresh_is_under_the_writer_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    with small_home(monkeypatch) as folder:
        organisation = Organisation(folder, *SOURCES)
        organisation.deliver([bill_line()], at="2026-06-01")
        refresh(organisation.settings)
        organisation.deliver([bill_line(3.5)], at="2026-06-02")
        home = organisation.settings.home
        disk, outside = Disk(home, seed=0), set[str]()
        disk.before_each = lambda effect: outside.add(effect.path.name) if is_free(home / LOCK_NAME) else None
        disk.run(lambda: refresh(organisation.settings))
    assert len(disk.effects) > EFFECTS / 2
    assert outside <= {LOCK_NAME, home.name}  # making what is locked


def is_free(lock: Path) -> bool:
    """Whether another process could take a lock now; one of this process on another opening of the file stands for it."""
    descriptor = os.open(lock, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_power_cut_at_every_effect_of_one_refresh_is_mended_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    with small_home(monkeypatch) as folder:
        organisation = Organisation(folder, *SOURCES)
        organisation.deliver([bill_line()], at="2026-06-01")
        organisation.deliver([bill_line(7.25, day="2026-05-01")], at="2026-06-01", month="2026-05")
        write_run(folder / "exports/runs/a.run.json", "run-a", at="2026-06-01", tokens=1)
        refresh(organisation.settings)
        organisation.deliver([bill_line(3.5, day="2026-05-01")], at="2026-06-02", month="2026-05")  # and April's files stay
        write_run(folder / "exports/runs/b.run.json", "run-b", at="2026-06-02", tokens=2)

        found = each_is_mended(
            organisation.settings.home,
            monkeypatch,
            lambda: bool(refresh(organisation.settings).build),
            cuts=5 if nightly.IS_NIGHTLY else 2,
            goes_on_once=not nightly.IS_NIGHTLY,
        )
    assert found.effects >= EFFECTS, found
    print(found)
