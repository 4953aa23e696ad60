"""The power goes before every effect of one whole refresh, from landing to publication, and after its last one."""

from __future__ import annotations

import pytest

from tests import nightly
from tests.landing.kit import Organisation, bill_line, write_run
from tests.simulation.cuts import each_is_mended
from tests.simulation.shallow import SOURCES, refresh, small_home

EFFECTS = 100  # of a refresh with a bill and a run that are new; fewer would mean that some are not seen


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
