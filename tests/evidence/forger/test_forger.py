"""Forgeries of an issued pack, plain and with all that follows made again: each is found and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagster_project import __version__
from dagster_project.base.kinds import KINDS
from dagster_project.evidence import known, layout
from dagster_project.evidence.checking import verify_pack
from dagster_project.evidence.manifest import folded
from dagster_project.landing.deriving.contents import JUDGED
from tests.evidence.forger import forging
from tests.evidence.known import document

pytestmark = pytest.mark.slow
# each with the file that is named once lists and manifest are made again
FORGERIES = [
    (forging.another_answer, "rows/figure-effective_cost.parquet"),
    (forging.another_model, "sql/model-rpt_coverage.sql"),
    (forging.lost_attributions, "data/marts/fct_charge_attributions.parquet"),
    (forging.invented_use_of_a_commitment, "data/marts/fct_commitment_attributions.parquet"),
    (forging.no_gates, "gates.json"),
    (forging.assured, "README.md"),
    (forging.another_code, "code/version.json"),
    (forging.another_build, "data/ops/builds.parquet"),
    (forging.fewer_tables, "issue.json"),
    (forging.another_file, "report/assurance.pdf"),
    (forging.unjudged, "validations"),
    (forging.another_library, "code/installed.txt"),
    (forging.another_filed_method, "issue.json"),
]


@pytest.mark.parametrize("number", range(len(FORGERIES)))
def test_a_forgery_and_one_more_are_found_when_lists_and_manifest_are_made_again(copied_pack: Path, number: int) -> None:
    """Alone in the plain form its bytes are not those of the manifest; made again it is named by what it does not follow from."""
    forge, name = FORGERIES[number]
    other, other_name = FORGERIES[number - 1]
    forge(copied_pack)
    assert verify_pack(copied_pack).exit_code == 1
    forging.listed_again(copied_pack)
    assert {text.partition(":")[0] for text in verify_pack(copied_pack).differences} == {name}
    other(copied_pack)
    forging.listed_again(copied_pack)
    assert {text.partition(":")[0] for text in verify_pack(copied_pack).differences} == {name, other_name}


def test_a_list_that_describes_the_pack_otherwise_is_found(copied_pack: Path) -> None:
    forging.another_crate(copied_pack)
    (copied_pack / forging.MANIFEST).write_bytes(forging.manifest_bytes(copied_pack))
    assert [text.partition(":")[0] for text in verify_pack(copied_pack).differences] == ["ro-crate-metadata.json"]


@pytest.mark.parametrize("forge", [forging.halved_emissions, forging.dropped_row, forging.another_gate, forging.another_delivery])
def test_tables_of_which_all_that_follows_was_made_again_are_not_those_that_were_issued(
    copied_pack: Path, forge: forging.Forgery
) -> None:
    forge(copied_pack)
    forging.made_again(copied_pack, with_digests=False)
    found = verify_pack(copied_pack)
    assert found.exit_code == 1 and all(
        "its rows are not those whose digest issue.json has" in text for text in found.differences
    )


def test_a_select_that_the_pack_brings_is_compared_with_that_of_the_version(copied_pack: Path) -> None:
    """All that follows from it is made again: a figure and its page agree. To name another version or form hides nothing."""
    forging.another_statement(copied_pack)
    forging.made_again(copied_pack)
    found = verify_pack(copied_pack)
    assert found.exit_code == 1 and found.differences[0].startswith("data/ops: the SELECT of pages.headlines is not that of")
    for hide, words in ((forging.another_version, "install trainledger 0.8.0"), (forging.another_form, "another form")):
        hide(copied_pack)
        forging.listed_again(copied_pack)
        found = verify_pack(copied_pack)
        assert found.exit_code == 3 and any(words in remark for remark in found.remarks), found


def test_a_seed_that_the_pack_brings_is_compared_with_that_of_the_version(copied_pack: Path) -> None:
    forging.another_seed(copied_pack)
    forging.made_again(copied_pack)
    assert verify_pack(copied_pack).differences == [f"data/seeds: the seed of pue is not that of trainledger {__version__}"]
    (copied_pack / "data" / "seeds" / "pue.parquet").unlink()
    forging.made_again(copied_pack)
    assert verify_pack(copied_pack).exit_code == 1
    forging.another_version(copied_pack)
    forging.listed_again(copied_pack)
    found = verify_pack(copied_pack)
    assert found.exit_code == 3 and any("The seed of pue is not that of this version: install" in text for text in found.remarks)


def test_a_value_of_report_json_and_of_the_page_is_not_what_its_sql_gives(copied_pack: Path) -> None:
    forging.another_value(copied_pack)
    forging.listed_again(copied_pack)
    found = verify_pack(copied_pack)
    assert found.exit_code == 1 and "2026Q2/glance/effective_cost, value: the report has 60.000000000000" in found.differences[0]


def test_a_rule_that_a_delivery_meets_is_met_by_its_value(copied_pack: Path) -> None:
    forging.judged_better(copied_pack)
    forging.listed_again(copied_pack)
    [difference] = verify_pack(copied_pack).differences
    assert difference.startswith("validations/") and difference.endswith("is not what its value gives")


def test_kinds_that_are_judged_are_those_of_the_registry() -> None:
    assert {*layout.JUDGED_KINDS} == {kind for kind, descriptor in KINDS.items() if descriptor.fact in JUDGED}


def test_names_that_some_file_systems_take_for_one_are_refused() -> None:
    assert folded("Issue.json") == folded("issue.JSON") and folded("e\u0301") == folded("\u00c9")
    assert folded("issue.json") != folded("issues.json")


def test_what_is_known_of_this_version_is_what_its_models_are() -> None:
    assert known.FILE.read_text() == document(), "run python -m tests.evidence.known"
