"""Histories with every model: a company of few rows, the product's own commands, and the power going at every tenth effect.

In nightly alone. At the end a new home that reads the same sources has the same bytes, and what was issued before still verifies.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import yaml

from tests.evidence import kit
from tests.line.kit import published_bytes
from tests.oracle.builders import Exports
from tests.simulation.cuts import each_is_mended
from tests.warm import run_trainledger

HISTORIES, EVERY = 20, 10
AGAIN = "NIGHTLY=1 .venv/bin/pytest -n 0 tests/simulation/test_deep_histories.py -k '[{seed}]'"


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exports and a home that has issued a quarter: every history begins with a copy."""
    folder = tmp_path_factory.mktemp("company")
    kit.write_company(folder)
    config = folder / "trainledger.yaml"
    run("refresh", config, now=kit.NOW)
    run("report", "quarterly", "--quarter", "2026Q2", "--issue", "--approver", kit.APPROVER, config, now=kit.NOW)
    return folder


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_power_cut_at_every_tenth_effect_with_all_models_is_mended(
    company: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    shutil.copytree(company, tmp_path, symlinks=True, dirs_exist_ok=True)
    config, home = tmp_path / "trainledger.yaml", tmp_path / "home"
    try:
        news(Exports(tmp_path), random.Random(seed))
        with monkeypatch.context() as patch:
            found = each_is_mended(home, patch, lambda: run("refresh", config), cuts=1, every=EVERY)
        print(found)
        assert found.builds > 2, found
        shutil.copytree(home / "reports", tmp_path / "fresh/reports")  # what was restated is told of what was issued
        config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | {"home": "./fresh"}))
        run("refresh", config)
        assert published_bytes(home) == published_bytes(tmp_path / "fresh")
        run("verify", home / "reports/issued/2026Q2-1.zip")
    except BaseException as error:
        error.add_note(f"again: {AGAIN.format(seed=seed)}")
        raise


def run(*words: object, now: str = kit.LATER) -> bool:
    """A command that must succeed, a path last as its configuration; whether it published."""
    *first, last = words
    done = run_trainledger(*first, *(["--config", last] if str(last).endswith(".yaml") else [last]), now=now)
    assert done.returncode == 0, done.stdout + done.stderr
    return "Published build" in done.stdout + done.stderr


def news(exports: Exports, draw: random.Random) -> None:
    """A bill with another price, and some of: carbon in a newer model, a run that ended earlier, telemetry of another month."""
    month = draw.choice(kit.MONTHS)
    kit.bill(exports, month, draw.randint(100, 9999) / 100, "2026-08-10")
    if draw.random() < 0.5:
        kit.emissions(exports, draw.choice(kit.MONTHS), draw.randint(1, 99) / 100, "v3.0.1", "2026-08-12")
    if draw.random() < 0.5:
        kit.record(exports, draw.choice(kit.MONTHS), "2026-08-11", until="10:30:00")
    if draw.random() < 0.5:
        kit.samples(exports, "2026-05", "2026-08-11")
