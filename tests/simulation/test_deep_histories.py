"""Histories with every model: few rows, the product's own commands, and the power going at every tenth effect of each refresh.

In nightly alone. At the end a new home that reads the same sources has the same bytes, and what was issued before verifies.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tests.line.kit import NOW, date_files, day_of_hours, published_bytes, write_small_exports
from tests.oracle.builders import Exports, carbon, hour, run
from tests.simulation.cuts import each_is_mended
from tests.warm import run_trainledger

HISTORIES, EVERY = 12, 10
AGAIN = "NIGHTLY=1 .venv/bin/pytest -n 0 tests/simulation/test_deep_histories.py -k '[{seed}]'"
APPROVER = "A. Approver"


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_power_cut_at_every_tenth_effect_with_all_models_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", NOW)
    draw = random.Random(seed)
    exports = write_small_exports(tmp_path)
    config, home = tmp_path / "trainledger.yaml", tmp_path / "home"
    settings = yaml.safe_load(config.read_text())
    settings["reporting"] = {"prepared_by": "P. Preparer", "approved_by": [APPROVER], "base_year": 2026}
    config.write_text(yaml.safe_dump(settings))
    try:
        refresh(config)
        asked = ("report", "quarterly", "--quarter", "2026Q2", "--issue", "--approver", APPROVER)
        assert (done := run_trainledger(*asked, "--config", config)).returncode == 0, done.stderr
        news(exports, draw)
        found = each_is_mended(home, monkeypatch, lambda: refresh(config), cuts=1, every=EVERY)
        assert found.builds > 2, found
        monkeypatch.undo()
        monkeypatch.setenv("TRAINLEDGER_NOW", NOW)
        config.write_text(yaml.safe_dump(settings | {"home": "./fresh"}))
        refresh(config)
        assert published_bytes(home) == published_bytes(tmp_path / "fresh")
        done = run_trainledger("verify", home / "reports/issued/2026Q2-1.zip")
        assert done.returncode == 0, done.stdout + done.stderr
    except BaseException as error:
        error.add_note(f"again: {AGAIN.format(seed=seed)}")
        raise


def refresh(config: Path) -> bool:
    """The command; whether it published."""
    done = run_trainledger("refresh", "--config", config)
    assert done.returncode == 0, done.stdout + done.stderr
    return "Published build" in done.stdout + done.stderr


def news(exports: Exports, draw: random.Random) -> None:
    """April with another price, and some of: a month more, carbon restated, another run."""
    price = draw.randint(100, 9999) / 100
    tag = {"user_training_run_id": "run-a"}
    exports.bill([*day_of_hours("i-tagged", price, resource_tags=tag), *day_of_hours("i-shared", price)])
    if draw.random() < 0.5:
        exports.bill([hour("2026-05-03T01:00:00", price, line_item_resource_id="i-may")], period="2026-05")
    if draw.random() < 0.5:
        exports.carbon([carbon(draw.randint(1, 99) / 100, 0.02)])
    if draw.random() < 0.5:
        exports.runs(run("run-d", ("i-shared", "2026-04-02T04:00:00Z", "2026-04-02T06:00:00Z", 8)))
    for name in ("cur", "carbon"):
        date_files(exports.folder / "exports" / name, datetime(2026, 6, 10, tzinfo=UTC))
