"""Whatever happens while deliveries are landed, the landing ends with the bytes of one to which nothing happened.

A failing seed is run again by `NIGHTLY=1 pytest tests/simulation -k '[SEED]'`; the message lists what happened.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import nightly
from tests.landing.kit import Organisation, bill_line, carbon_row, write_run
from tests.simulation.disk import Disk
from tests.simulation.history import SOURCES, History

HISTORIES, STEPS = 300, 6


@pytest.mark.parametrize("seed", nightly.drawn(6, range(HISTORIES)))
def test_a_home_that_met_every_difficulty_holds_the_bytes_of_one_that_met_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    history = History(tmp_path, seed, monkeypatch)
    for _ in range(STEPS):
        history.step()


def test_a_power_cut_at_every_effect_of_one_refresh_is_mended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    organisation = Organisation(tmp_path, *SOURCES)
    organisation.deliver([bill_line()], at="2026-06-01")
    organisation.refresh()
    organisation.deliver([bill_line(3.5)], at="2026-06-02")  # a second generation beside the first
    organisation.deliver_carbon([carbon_row()], at="2026-06-02")
    write_run(tmp_path / "exports/runs/a.run.json", "a", at="2026-06-02")
    home, before = tmp_path / "home", tmp_path / "before"
    shutil.copytree(home, before)
    whole = Disk(home, seed=0)
    whole.run(organisation.refresh)
    expected = organisation.files()
    assert whole.effects > 40
    for at in nightly.drawn(12, range(1, whole.effects + 1)):
        shutil.rmtree(home)
        shutil.copytree(before, home)
        assert Disk(home, seed=at).crash(organisation.refresh, at), f"effect {at} was never reached"
        organisation.refresh()
        assert organisation.files() == expected, f"a power cut at effect {at}"
