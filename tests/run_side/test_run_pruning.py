"""`trainledger prune`: the side files of killed writers go, what is in force stays."""

from pathlib import Path

import pytest

from dagster_project.base.locking import HOLDER_NAME, writer_lock
from dagster_project.commands.pruning import run
from tests.landing.kit import Organisation


@pytest.fixture
def organisation(tmp_path: Path) -> Organisation:
    """A home and an earlier view, each with what a killed writer left."""
    made = Organisation(tmp_path)
    for root in (made.settings.home, made.settings.home / "asof" / "as-of-20260601T000000.000000Z"):
        root.mkdir(parents=True)
        (root / HOLDER_NAME).write_text('{"name": "ana", "pid": 1, "command": "killed"}')
    return made


def pruned(organisation: Organisation, *, yes: bool) -> list[str]:
    lines: list[str] = []
    run(organisation.settings, yes=yes, wait=0, tell=lines.append, say=lines.append)
    return lines


def test_the_side_file_of_a_killed_writer_goes_and_a_living_ones_stays(organisation: Organisation) -> None:
    view = organisation.settings.home / "asof" / "as-of-20260601T000000.000000Z"
    with writer_lock(view, "trainledger report"):
        assert pruned(organisation, yes=True) == ["Nothing is to be removed."]
        assert (view / HOLDER_NAME).exists()
    (view / HOLDER_NAME).write_text("{}")
    pruned(organisation, yes=True)
    assert not (view / HOLDER_NAME).exists() and not (organisation.settings.home / HOLDER_NAME).exists()
