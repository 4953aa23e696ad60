"""A pack of which all is made again, digests in issue.json too: the landing gives other tables, and so other figures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagster_project.evidence import rebuilding
from dagster_project.warehouse.building import no_listener
from dagster_project.warehouse.home import Home
from tests.evidence.forger import forging

pytestmark = pytest.mark.slow
Rebuilt = tuple[list[str], list[str], int]


@pytest.fixture(scope="module")
def built(issued: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Rebuilt]:
    """What the landing gives, compared with a pack: its tables are built once."""
    kept, real = tmp_path_factory.mktemp("built") / "build.duckdb", rebuilding.build_tables

    def build(home: Home, *words: Any) -> Any:
        if kept.is_file():
            home.site.build_file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(kept, home.site.build_file)
            return {}, {}
        done = real(home, *words)
        shutil.copy(home.site.build_file, kept)
        return done

    def compared(pack: Path) -> Rebuilt:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rebuilding, "build_tables", build)
            stated = json.loads((pack / "issue.json").read_bytes())
            return rebuilding.landing_differences(pack, stated, str(issued / "home"), no_listener)

    return compared


def test_halved_emissions_of_which_all_that_follows_was_made_again_are_not_what_the_landing_gives(
    built: Callable[[Path], Rebuilt], pack: Path, copied_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences, remarks, count = built(pack)
    assert (differences, remarks) == ([], []) and count > 40
    forging.halved_emissions(copied_pack)
    forging.made_again(copied_pack)
    differences, _, _ = built(copied_pack)
    assert any("fct_training_run_emissions.parquet: the landing gives other rows" in text for text in differences)
    # another version of the code: what its SQL makes alike is compared, and which version to install is printed
    monkeypatch.setattr(rebuilding, "code_version", lambda: "0" * 64)
    differences, remarks, count = built(pack)
    assert differences == [] and count > 40 and any("Install trainledger" in text for text in remarks)
    differences, remarks, _ = built(copied_pack)
    assert any("fct_training_run_emissions.parquet: the landing gives other rows" in text for text in differences)
    forging.changed_json(copied_pack / "issue.json", lambda it: it["build"].update(statements={}))
    differences, remarks, _ = built(copied_pack)
    assert differences == [] and any("is not compared: its SQL is another here. Install trainledger" in text for text in remarks)


def test_a_figure_that_is_printed_otherwise_is_not_what_the_landing_gives(
    built: Callable[[Path], Rebuilt], copied_pack: Path
) -> None:
    forging.another_value(copied_pack)
    differences, _, _ = built(copied_pack)
    assert differences == [
        "2026Q2/glance/effective_cost, value: the report has 60.000000000000, its SQL gives 129.000000000000 "
        "(of the tables that the landing gives)"
    ]
