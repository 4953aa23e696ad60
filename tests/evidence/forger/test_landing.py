"""A pack of which all is made again, digests in issue.json too: the landing gives other tables, and so other figures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagster_project.election.election import Election
from dagster_project.election.units import fingerprints
from dagster_project.evidence import layout, rebuilding
from dagster_project.evidence.checking import verify_pack
from dagster_project.evidence.findings import tell_findings
from dagster_project.landing.store import LocalLanding
from dagster_project.warehouse.building import no_listener
from dagster_project.warehouse.home import Home
from tests.evidence.forger import forging

pytestmark = pytest.mark.slow
OTHER_MANIFEST = "MANIFEST.json: it is not the one of 2026Q2-1 that the landing recorded when that was issued"
Rebuilt = tuple[list[str], list[str], int]


@pytest.fixture(scope="module")
def built(issued: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Rebuilt]:
    """What the landing gives, compared with a pack: its tables are built once."""
    kept, real = tmp_path_factory.mktemp("built") / "build.duckdb", rebuilding.build_tables

    def build(home: Home, election: Election, *words: Any, **options: Any) -> Any:
        if kept.is_file():
            home.site.build_file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(kept, home.site.build_file)
            return fingerprints(home.rules, election), {}
        done = real(home, election, *words, **options)
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
    assert differences == [OTHER_MANIFEST]  # which no version of the code has a say in
    assert any("is not compared: its SQL is another here. Install trainledger" in text for text in remarks)


def test_a_figure_that_is_printed_otherwise_is_not_what_the_landing_gives(
    built: Callable[[Path], Rebuilt], copied_pack: Path
) -> None:
    forging.another_value(copied_pack)
    differences, _, _ = built(copied_pack)
    assert differences == [
        "2026Q2/glance/effective_cost, value: the report has 60.000000000000, its SQL gives 129.000000000000 "
        "(of the tables that the landing gives)",
        OTHER_MANIFEST,
    ]


def test_rows_that_a_pack_calls_groups_are_rows_in_the_landing(built: Callable[[Path], Rebuilt], copied_pack: Path) -> None:
    """As groups that a pack calls rows would be groups there. The pack alone is whole, and verification names what it states."""
    forging.called_groups(copied_pack)
    forging.made_again(copied_pack)
    found = verify_pack(copied_pack)
    kept = "beside 3 of them these rows are kept in the landing"
    groups = f"cur: 3 deliveries are groups, not the provider's rows: 9 that bigquery made of 3000000 rows; {kept}."
    assert (found.differences, found.groups) == ([], [groups])
    lines = list[str]()
    assert tell_findings(found, lines.append) == 0 and groups in lines
    differences, _, _ = built(copied_pack)
    assert differences[:3] == [
        f"data/ops/dim_deliveries.parquet: cur 2026-0{month} is grouped by bigquery, of 1000000 rows, which are kept;"
        " in the landing it is the provider's rows"
        for month in (4, 5, 6)
    ]


@pytest.mark.parametrize(
    "forge", [forging.judged_a_little_better, forging.another_unprinted_library, forging.another_configuration]
)
def test_what_nothing_else_of_a_pack_has_is_not_what_the_landing_recorded_when_it_was_issued(
    built: Callable[[Path], Rebuilt], copied_pack: Path, forge: forging.Forgery
) -> None:
    forge(copied_pack)
    forging.listed_again(copied_pack)
    assert verify_pack(copied_pack).differences == []
    differences, _, _ = built(copied_pack)
    of_units = f"{layout.ISSUE}: its deliveries and configuration give other fingerprints of the build than it states"
    assert differences == [*([of_units] if forge is forging.another_configuration else []), OTHER_MANIFEST]


def test_a_landing_that_knows_of_no_such_report_cannot_be_compared_with_it(
    built: Callable[[Path], Rebuilt], pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalLanding, "issued", lambda _: [])
    differences, remarks, _ = built(pack)
    assert differences == [] and [text.partition(":")[0] for text in remarks] == [
        "The landing has no record that 2026Q2-1 was issued"
    ]
