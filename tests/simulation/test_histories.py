"""Whatever happens while deliveries are landed and published, a home ends with the bytes of one to which nothing happened.

The message of a failure ends with the command that makes the same history again.
"""

from __future__ import annotations

import pytest

from tests import nightly
from tests.simulation.events import AT_ONE_SOURCE, FIRST, NEWS, TROUBLES, all_is_whole
from tests.simulation.history import History
from tests.simulation.shallow import small_home

HISTORIES, STEPS, AT_EVERY_COMMIT = 1000, 3, 20
AGAIN = "NIGHTLY=1 .venv/bin/pytest -n 0 'tests/simulation/test_histories.py' -k '[{seed}]'"


@pytest.mark.parametrize("seed", nightly.drawn(AT_EVERY_COMMIT, range(HISTORIES)))
def test_a_home_that_met_every_difficulty_has_the_bytes_of_one_that_met_none(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    with small_home(monkeypatch) as folder:
        history = History(folder, seed, monkeypatch)
        try:
            play(history)
        except BaseException as error:
            error.add_note(f"what happened: {', '.join(history.steps)}\nagain: {AGAIN.format(seed=seed)}")
            raise


def play(history: History) -> None:
    """So many steps, and a clean load: by the home that landed all, or by a new one of sources that hold all."""
    is_new = history.draw.random() < 0.5
    for number in range(STEPS - is_new):
        history.step(history.draw.choice(NEWS if number else FIRST), history.draw.choice(TROUBLES))
    if is_new:
        history.step(all_is_whole, history.draw.choice([one for one in TROUBLES if one not in AT_ONE_SOURCE]))
    history.end("./fresh" if is_new else "./spared")
