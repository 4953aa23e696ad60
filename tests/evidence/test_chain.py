"""The chain of issued reports: a line or a pack that goes, or is replayed, is missed by a later pack and by the landing."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dagster_project.base.durable import sha256_of
from dagster_project.evidence import chain, chained
from dagster_project.evidence.findings import Findings
from dagster_project.evidence.manifest import MANIFEST, canonical, manifest_bytes
from dagster_project.landing.records import IssuedLine
from dagster_project.landing.store import LocalLanding

IDS = ("2026Q1-1", "2026Q2-1", "2026Q2-2", "2026Q3-1")
Known = list[IssuedLine]


def issue(reports: Path, landing: LocalLanding, report_id: str) -> None:
    """A report as far as the chain knows one."""
    lines = chain.lines_of(reports)
    folder = reports / chain.FOLDER / report_id
    folder.mkdir(parents=True)
    (folder / "issue.json").write_bytes(canonical({"report_id": report_id, chained.HEAD: chained.head(lines)}))
    (folder / MANIFEST).write_bytes(manifest_bytes(folder))
    quarter = report_id.partition("-")[0]
    line = chain.append(reports, {"report_id": report_id, "quarter": quarter, "manifest_sha256": sha256_of(folder / MANIFEST)})
    at = datetime(2026, 10, 1, tzinfo=UTC)
    landing.put_record(IssuedLine(report_id=report_id, number=len(lines) + 1, line_sha256=chain.digest_of(line), issued_at=at))


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for report_id in IDS:
        issue(tmp_path / "reports", LocalLanding(tmp_path / "landing"), report_id)
    return tmp_path / "reports"


@pytest.fixture
def known(reports: Path) -> Known:
    return LocalLanding(reports.parent / "landing").issued()


def found_by(reports: Path, report_id: str) -> list[str]:
    """What verification of a pack finds beside its chain."""
    found, folder = Findings(), reports / chain.FOLDER / report_id
    chained.check(folder, folder, found)
    return found.differences


def forget(reports: Path, *report_ids: str) -> None:
    """Take reports away with their lines, and link what is left as if they had never been."""
    lines = [line for line in chain.lines_of(reports) if line["report_id"] not in report_ids]
    for report_id in report_ids:
        shutil.rmtree(reports / chain.FOLDER / report_id)
        (reports / chain.FOLDER / f"{report_id}.line.json").unlink()
    (reports / chain.CHAIN).unlink()
    for line in lines:
        chain.append(reports, {name: value for name, value in line.items() if name != "previous"})


def test_a_whole_chain_is_whole_for_its_packs_and_for_the_landing(reports: Path, known: Known) -> None:
    assert [one.report_id for one in known] == [*IDS]
    assert list(chained.landing_differences(reports, known)) == []
    assert [found_by(reports, report_id) for report_id in IDS] == [[]] * 4


def test_a_tail_that_was_cut_with_its_folder_is_named_by_the_landing(reports: Path, known: Known) -> None:
    forget(reports, "2026Q3-1")
    assert found_by(reports, "2026Q2-2") == [], "what is left does not know of it"
    found = list(chained.landing_differences(reports, known))
    assert found == ["issued.jsonl: line 4 is missing: 2026Q3-1, issued 2026-10-01T00:00:00Z"]
    (reports / chain.CHAIN).unlink()
    assert len(list(chained.landing_differences(reports, known))) == 4


def test_a_line_that_went_from_the_middle_is_named_by_the_pack_after_it_also_where_all_digests_are_made_again(
    reports: Path, known: Known
) -> None:
    forget(reports, "2026Q2-2")
    assert list(chain.chain_differences(reports / chain.CHAIN)) == []
    assert found_by(reports, "2026Q3-1") == ["issued.jsonl: the line of 2026Q2-2 is missing, after which 2026Q3-1 was issued"]
    found = list(chained.landing_differences(reports, known))
    assert found[0] == "issued.jsonl: line 3 is missing: 2026Q2-2, issued 2026-10-01T00:00:00Z"


def test_a_number_of_a_quarter_that_is_missing_is_named_where_the_landing_knows_of_no_line(reports: Path) -> None:
    forget(reports, "2026Q2-1")
    found = list(chained.landing_differences(reports, []))
    assert "issued.jsonl: 2026Q2-1 is missing before 2026Q2-2" in found
    assert found_by(reports, "2026Q2-2") == ["issued.jsonl: the line of 2026Q2-1 is missing, after which 2026Q2-2 was issued"]


def test_an_older_pack_in_the_place_of_a_later_one_is_named(reports: Path, known: Known) -> None:
    older, later = (reports / chain.FOLDER / name for name in ("2026Q2-1", "2026Q2-2"))
    shutil.rmtree(later)
    shutil.copytree(older, later)
    found = found_by(reports, "2026Q2-2")
    assert "MANIFEST.json: it is not the one that issued.jsonl names" in found
    assert "issue.json: it is of 2026Q2-1, and lies in the place of 2026Q2-2" in found
    lines = chain.lines_of(reports)
    lines[2]["manifest_sha256"] = lines[1]["manifest_sha256"]  # and the chain made again
    (reports / chain.CHAIN).unlink()
    for line in lines:
        chain.append(reports, {name: value for name, value in line.items() if name != "previous"})
    assert found_by(reports, "2026Q2-2") == ["issue.json: it is of 2026Q2-1, and lies in the place of 2026Q2-2"]
    assert "issued.jsonl: the lines before 2026Q3-1 are not those after which it was issued" in found_by(reports, "2026Q3-1")
    assert "issued.jsonl: the line of 2026Q2-2 is not the one that was written when it was issued" in list(
        chained.landing_differences(reports, known)
    )


def test_a_pack_whose_folder_went_alone_is_named(reports: Path, known: Known) -> None:
    shutil.rmtree(reports / chain.FOLDER / "2026Q2-1")
    assert list(chained.landing_differences(reports, known)) == ["issued/2026Q2-1: issued.jsonl names it and it is not there"]


def test_a_chain_of_an_older_version_of_which_landing_and_packs_know_nothing_is_no_difference(reports: Path) -> None:
    for report_id in IDS:
        issued = reports / chain.FOLDER / report_id / "issue.json"
        document = json.loads(issued.read_bytes())
        del document[chained.HEAD]
        issued.write_bytes(canonical(document))
    assert list(chained.landing_differences(reports, [])) == []
