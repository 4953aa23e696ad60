"""Whatever happens while deliveries are landed and published, a home ends with the bytes of one to which nothing happened.

The message of a failure ends with the command that makes the same history again.
"""

from __future__ import annotations

import pytest

from tests import nightly
from tests.simulation.events import NEWS, TROUBLES, all_is_whole
from tests.simulation.history import History
from tests.simulation.shallow import small_home

HISTORIES, STEPS, AT_EVERY_COMMIT = 1000, 3, 10
AGAIN = "NIGHTLY=1 .venv/bin/pytest -n 0 'tests/simulation/test_histories.py' -k '[{seed}]'"


@pytest.mark.parametrize("seed", nightly.drawn(AT_EVERY_COMMIT, range(HISTORIES)))
def test_a_home_that_met_every_difficulty_has_the_bytes_of_one_that_met_none(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    with small_home(monkeypatch) as folder:
        history = History(folder, seed, monkeypatch)
        try:
            for _ in range(STEPS):
                history.step(history.draw.choice(NEWS), history.draw.choice(TROUBLES))
            history.end(all_is_whole)
        except BaseException as error:
            error.add_note(f"what happened: {', '.join(history.steps)}\nagain: {AGAIN.format(seed=seed)}")
            raise
