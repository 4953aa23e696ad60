"""Documents of a pack are read back: forged cells, pages, rows and hidden parts are found, whatever version the pack names."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dagster_project import __version__
from dagster_project.evidence import documents, paper
from dagster_project.evidence.checking import verify_pack
from dagster_project.evidence.findings import Findings
from reports.quarterly import Arranged, arranged
from tests.evidence.forger import forging
from tests.evidence.forger.documents import (
    BOARD,
    FORGERIES,
    HTML,
    PDF,
    XLSX,
    board_of_another_figure,
    html_cell,
    missing_file,
    no_board,
    no_workbook,
    pdf_of_one_line,
)

pytestmark = pytest.mark.slow
Forgery = forging.Forgery


@pytest.fixture(scope="module", autouse=True)
def _arranged_once() -> Iterator[None]:
    """The report as this version lays it out, once for each state of issue.json: no forgery here changes a table."""
    known: dict[str, Any] = {}

    def once(data: Path, *words: Any, code: str, **more: Any) -> Any:
        key = f"{words} {more} {code}"
        if key not in known:
            known[key] = arranged(data, *words, code=code, **more)
        return known[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "arranged", once)
        patched.setattr(Arranged, "workbook", cache(Arranged.workbook))
        patched.setattr(Arranged, "texts", cache(Arranged.texts))
        patched.setattr(Arranged, "__hash__", object.__hash__)
        patched.setattr(paper, "read", cache(paper.read))
        yield


@pytest.fixture
def documents_of(pack: Path, tmp_path: Path) -> Path:
    """What of a pack is asked for its documents; its tables are only read."""
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "data").symlink_to(pack / "data")
    for name in ("report", "code"):
        shutil.copytree(pack / name, folder / name)
    shutil.copy(pack / "issue.json", folder)
    return folder


def compared(folder: Path) -> Findings:
    found = Findings(issued=json.loads((folder / "issue.json").read_bytes()))
    documents.compare(folder, found)
    return found


def places(found: Findings) -> set[str]:
    return {text.partition(":")[0].partition(",")[0] for text in found.differences}


def named_otherwise(folder: Path, version: str) -> None:
    """Another version and another hash of the code, wherever the pack has them."""
    zeros = "0" * 64
    forging.changed_json(folder / "code" / "version.json", lambda it: it.update(trainledger=version, report_code_sha256=zeros))
    report = folder / "report" / "report.json"
    record = json.loads(report.read_bytes()) | {"report_code_sha256": zeros}
    report.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def test_every_document_is_read_and_has_what_report_json_has(documents_of: Path) -> None:
    found = compared(documents_of)
    assert found.differences == [] and not found.is_partial
    tables = len([*(documents_of / "report" / "tables").iterdir()])
    assert found.counts["documents"] == tables + 4 and found.counts["texts"] > 10_000


@pytest.mark.in_turn
@pytest.mark.parametrize("number", range(len(FORGERIES)), ids=[forge.__name__ for forge, _ in FORGERIES])
def test_a_forged_document_is_found_and_so_are_two(documents_of: Path, number: int) -> None:
    forge, name = FORGERIES[number]
    forge(documents_of / "report")
    assert name in places(compared(documents_of))
    other, other_name = FORGERIES[number - 7]
    if other_name != name:
        other(documents_of / "report")
        assert {name, other_name} <= places(compared(documents_of))


@pytest.mark.in_turn
@pytest.mark.parametrize("version", [__version__, "0.8.0"])
def test_zeros_for_the_hash_of_the_code_and_another_version_switch_nothing_off(documents_of: Path, version: str) -> None:
    named_otherwise(documents_of, version)
    for forge in (pdf_of_one_line, no_workbook, html_cell):
        forge(documents_of / "report")
    assert {PDF, XLSX, HTML} <= places(compared(documents_of))


@pytest.mark.in_turn
def test_words_that_this_version_does_not_write_differ_or_name_the_version_to_install(documents_of: Path) -> None:
    """An upgrade may have other words. Documents are compared with what report.json states that they print, by either."""
    report = documents_of / "report" / "report.json"
    record = json.loads(report.read_bytes())
    record["sections"][0]["title"] = "Limited assurance was given"
    report.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    assert any("another sections/glance/title" in text for text in compared(documents_of).differences)
    forging.changed_json(documents_of / "code" / "version.json", lambda it: it.update(trainledger="0.8.0"))
    found = compared(documents_of)
    assert found.differences == [] and found.exit_code == 3
    assert any("(sections/glance/title): install trainledger 0.8.0" in text for text in found.remarks)
    for forge in (pdf_of_one_line, no_workbook, html_cell):
        forge(documents_of / "report")
    assert {PDF, XLSX, HTML} <= places(compared(documents_of))


@pytest.mark.in_turn
def test_a_pack_is_as_good_after_an_upgrade_that_prints_the_same(documents_of: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "__version__", "1.0.0")
    monkeypatch.setattr("reports.quarterly.code_digest", lambda: "0" * 64)
    found = compared(documents_of)
    assert found.differences == [] and not found.is_partial and found.counts["documents"] > 3


@pytest.mark.in_turn
def test_without_the_reader_of_a_pdf_it_is_said_what_to_install(documents_of: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("dagster_project.evidence.paper")
    monkeypatch.delitem(sys.modules, "dagster_project.evidence.paper")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    found = compared(documents_of)
    assert found.differences == [] and found.is_partial
    assert "report/report.pdf cannot be read back: pypdf is not installed" in found.remarks[0]


@pytest.mark.in_turn
def test_a_pack_of_before_has_no_pages_for_the_board_and_is_compared_but_for_them(documents_of: Path) -> None:
    no_board(documents_of / "report")
    forging.changed_json(documents_of / "issue.json", lambda it: it.update(form=2))
    found = compared(documents_of)
    assert not any("board.pdf" in text for text in found.differences) and found.is_partial
    assert "report/board.pdf is not compared: packs of before have no pages for the board." in found.remarks


@pytest.mark.in_turn
def test_verify_names_documents_that_are_not_there(copied_pack: Path) -> None:
    missing_file(copied_pack / "report")
    no_board(copied_pack / "report")
    forging.listed_again(copied_pack)
    found = verify_pack(copied_pack)
    assert found.exit_code == 1 and {PDF, BOARD} <= places(found)


@pytest.mark.in_turn
def test_the_same_is_found_by_verify_when_lists_and_manifest_are_made_again(copied_pack: Path) -> None:
    named_otherwise(copied_pack, __version__)
    for forge in (pdf_of_one_line, board_of_another_figure, no_workbook, html_cell):
        forge(copied_pack / "report")
    forging.listed_again(copied_pack)
    found = verify_pack(copied_pack)
    assert found.exit_code == 1 and {PDF, BOARD, XLSX, HTML} <= places(found)
