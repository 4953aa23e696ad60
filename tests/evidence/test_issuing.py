"""Issuing: two people, nothing unfinished, nothing changed afterwards, each report bound to the one before."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from dagster_project.base.durable import sha256_of
from dagster_project.evidence import chain, paper
from dagster_project.landing.retention import cited_hashes
from reports import quarterly
from reports.page import printed
from reports.sections.status import Status
from tests.evidence.kit import APPROVER, LATER, NOW, PREPARER, key
from tests.evidence.test_evidence_packs import found_in
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow


def issue(config: Path, *more: object, approver: str = APPROVER, now: str = LATER) -> subprocess.CompletedProcess:
    asked = ("report", "quarterly", "--quarter", "2026Q2", "--issue", "--approver", approver)
    return run_trainledger(*asked, *more, "--config", config, now=now)


def reports_of(config: Path) -> Path:
    return config.parent / "home" / "reports"


@pytest.fixture
def without_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """No PDF and no workbook: they are most of what a report costs."""
    monkeypatch.setattr("reports.page.pdf.document", lambda *_, **__: b"%PDF-")
    monkeypatch.setattr("reports.page.workbook.document", lambda *_: b"PK")
    monkeypatch.setattr("reports.page.cells.texts", lambda *_: [])
    monkeypatch.setattr("dagster_project.evidence.documents._compare_paper", lambda *_, **__: None)


def test_the_first_report_names_who_when_and_that_rows_may_still_change(pack: Path) -> None:
    record = json.loads((pack / "report" / "report.json").read_bytes())
    assert record["status"] == "issued_preliminary"
    assert record["issue"]["approver"] == APPROVER and record["issue"]["issued_at"] == "2026-08-01T00:00:00Z"
    page = (pack / "report" / "report.html").read_text()
    assert f"prepared by {PREPARER} and approved by {APPROVER}" in page and "reaches 5.0 %" in page and "Base year: 2026" in page
    assert "trainledger verify 2026Q2-1.zip" in page


def test_a_second_issue_is_a_new_report_that_names_the_one_it_takes_the_place_of(
    home: Path, tmp_path: Path, without_paper: None
) -> None:
    before = sha256_of(reports_of(home) / "issued" / "2026Q2-1.zip")
    assert issue(home, "--sign", key(tmp_path, "approver")).returncode == 0
    first, second = chain.lines_of(reports_of(home))
    assert (second["report_id"], second["supersedes"]) == ("2026Q2-2", "2026Q2-1") and second["previous"]
    assert sha256_of(reports_of(home) / "issued" / "2026Q2-1.zip") == before == first["zip_sha256"]
    signed = reports_of(home) / "issued" / "2026Q2-2"
    found = found_in(signed.with_suffix(".zip"))
    assert found.differences == [] and found.signed[0].startswith(f"Signed as approver by {APPROVER}, with the key with sha256 ")
    assert any("2026Q2-2 takes the place" in text for text in found_in(signed.with_name("2026Q2-1")).remarks)
    known = json.loads((signed / "issue.json").read_bytes())["head_of_chain"]
    assert known == {"lines": 1, "report_id": "2026Q2-1", "sha256": second["previous"]}


def test_a_report_that_went_with_the_tail_of_the_chain_is_named_and_its_number_is_not_given_again(
    home: Path, without_paper: None
) -> None:
    reports, asked = reports_of(home), ("verify", "--landing", "--config", home)
    assert issue(home).returncode == 0
    assert run_trainledger(*asked).returncode == 0
    assert sorted(path.name for path in (home.parent / "home/landing/_issued").iterdir()) == ["2026Q2-1.json", "2026Q2-2.json"]
    later = reports / "issued" / "2026Q2-2"
    shutil.rmtree(later)
    shutil.copytree(later.with_name("2026Q2-1"), later)  # an older pack in its place
    done = run_trainledger(*asked, "--json")
    found = json.loads(done.stdout)["reports"]
    assert done.returncode == 1 and "issued/2026Q2-2: issue.json: it is of 2026Q2-1, and lies in the place of 2026Q2-2" in found
    shutil.rmtree(later)
    for name in ("2026Q2-2.zip", "2026Q2-2.line.json"):
        (reports / "issued" / name).unlink()
    chained = (reports / "issued.jsonl").read_text().splitlines(keepends=True)
    (reports / "issued.jsonl").write_text(chained[0])
    done = run_trainledger(*asked)
    assert done.returncode == 1
    assert f"differs: issued.jsonl: line 2 is missing: 2026Q2-2, issued {LATER}" in done.stdout
    refused = issue(home)
    assert refused.returncode == 1 and "reports that were issued are missing: issued.jsonl: line 2" in refused.stderr


def test_the_same_publication_gives_the_same_bytes_but_for_the_act_of_issuing(home: Path) -> None:
    assert issue(home).returncode == 0
    folder = reports_of(home) / "issued"
    one, other = (json.loads((folder / name / "MANIFEST.json").read_bytes())["files"] for name in ("2026Q2-1", "2026Q2-2"))
    assert {name for name in one if one[name] != other[name]} == {
        *("README.md", "issue.json", "ro-crate-metadata.json", "report/board.pdf", "report/report.html", "report/report.json"),
        "report/report.pdf",
    }
    for name in ("README.md", "issue.json", "report/report.html", "report/report.json"):
        texts = [without_the_act((folder / report / name).read_text()) for report in ("2026Q2-1", "2026Q2-2")]
        assert texts[0] == texts[1], name
    for name in ("report.pdf", "board.pdf"):
        papers = [paper.read((folder / report / "report" / name).read_bytes()) for report in ("2026Q2-1", "2026Q2-2")]
        assert len({without_the_act("".join(printed.texts(one.blocks))) for one in papers}) == 1, name


def without_the_act(text: str) -> str:
    """A text without the number of a report, the one before, the head of the chain, its time, and digests of what has them."""
    text = re.sub(r'"head_of_chain": \{[^}]*\}', "", text)
    text = re.sub(r' ?It ?takes ?the ?place ?of ?2026Q2-1\.|"supersedes": (null|"2026Q2-1"),?', "", text)
    text = re.sub(r'("(?:report|board)\.(?:html|pdf)": )"[0-9a-f]{64}"', r"\1", text)
    return text.replace("2026Q2-1", "NUMBER").replace("2026Q2-2", "NUMBER").replace(NOW, "TIME").replace(LATER, "TIME")


def test_a_report_that_a_chain_does_not_name_and_a_changed_line_are_found(home: Path) -> None:
    path = reports_of(home) / "issued.jsonl"
    text = path.read_text()
    path.write_text(text.replace(APPROVER, "B. Somebody"))
    assert any("2026Q2-1.line.json" in found for found in found_in(reports_of(home) / "issued" / "2026Q2-1").differences)
    path.write_text("")
    assert found_in(reports_of(home) / "issued" / "2026Q2-1").differences == ["issued.jsonl: it has no line of 2026Q2-1"]


def test_a_line_that_does_not_follow_the_one_before_is_named_and_nothing_more_is_issued(home: Path) -> None:
    path = reports_of(home) / "issued.jsonl"
    path.write_text(path.read_text() * 2)
    done = issue(home)
    assert done.returncode == 1 and "issued.jsonl, line 2" in done.stderr


def test_it_takes_two_people_and_each_refusal_shows_what_is_missing(home: Path) -> None:
    assert "may not approve" in (done := issue(home, approver="Somebody Else")).stderr and done.returncode == 2
    document = yaml.safe_load(home.read_text())
    home.write_text(yaml.safe_dump(document | {"reporting": {"approved_by": [APPROVER]}}))
    assert "no preparer is configured" in (done := issue(home)).stderr and done.returncode == 2
    home.write_text(yaml.safe_dump(document | {"reporting": {"prepared_by": APPROVER, "approved_by": [APPROVER]}}))
    assert "it takes two people" in (done := issue(home)).stderr and done.returncode == 2
    home.write_text(yaml.safe_dump(document | {"reporting": {"prepared": "A"}}))
    assert "did you mean 'prepared_by'" in (done := issue(home)).stderr and done.returncode == 2
    asked = ("report", "quarterly", "--quarter", "2026Q2", "--approver", APPROVER, "--config", home)
    home.write_text(yaml.safe_dump(document))
    assert "belong to an issued report" in run_trainledger(*asked, now=LATER).stderr


def test_a_draft_is_refused_names_what_it_lacks_and_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, without_paper: None
) -> None:
    monkeypatch.setattr(quarterly, "decide", lambda *_: Status("draft", ("No bill of AWS payer 1 for May 2026.",)))
    done = issue(home)
    assert done.returncode == 1 and "No bill of AWS payer 1 for May 2026." in done.stderr
    assert {path.name for path in (reports_of(home) / "issued").iterdir()} == {"2026Q2-1", "2026Q2-1.zip", "2026Q2-1.line.json"}


def test_what_a_killed_command_left_was_never_issued_and_goes(
    home: Path, monkeypatch: pytest.MonkeyPatch, without_paper: None
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(chain, "append", killed)
        from dagster_project.commands.reporting import issue_report
        from dagster_project.election.winners import View
        from dagster_project.settings import load_settings
        from dagster_project.warehouse.building import no_listener
        from dagster_project.warehouse.home import Home

        patched.setenv("TRAINLEDGER_NOW", LATER)
        issue_report(Home.of(load_settings(home)), "2026Q2", View(), APPROVER, None, 0, print, print, no_listener)
    left = reports_of(home) / "issued" / "2026Q2-2"
    assert left.exists() and found_in(left).differences == ["issued.jsonl: it has no line of 2026Q2-2"]
    (left / "README.md").write_text("left by a killed command")
    assert issue(home).returncode == 0 and found_in(left).differences == []


def test_retention_keeps_every_bill_and_carbon_delivery_that_an_issued_report_rests_on(pack: Path) -> None:
    import duckdb

    cited = cited_hashes(pack.parent.parent / "issued.jsonl")
    elected = duckdb.sql(
        f"select distinct content_hash from '{pack}/data/ops/dim_deliveries.parquet' where is_elected and kind like 'aws_c%'"
    ).fetchall()
    assert len(elected) == 6 and {content for (content,) in elected} <= cited


def test_the_landing_gives_the_tables_again_and_another_landing_is_reported(issued: Path, pack: Path, home: Path) -> None:
    done = run_trainledger("verify", pack, "--from-landing", issued / "home")
    assert done.returncode == 0 and "tables rebuilt from the landing" in done.stdout
    landing = home.parent / "home" / "landing" / "cur"
    next(landing.glob("2026-05/*/_generation.json")).unlink()
    done = run_trainledger("verify", pack, "--from-landing", landing.parent, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["differences"][0].startswith("cur 2026-05: the landing has no delivery")


def test_a_landing_whose_deliveries_lie_in_bundles_gives_the_same_tables_and_the_same_trace(
    pack: Path, home: Path, tmp_path: Path
) -> None:
    landed, rows = home.parent / "home", tmp_path / "rows.csv"
    figure = ("trace", "--figure", "2026Q2-1/glance/effective_cost", "--out", rows, "--json", "--config", home)

    def answers() -> list[str]:
        done = [run_trainledger(*asked, now=LATER) for asked in (("verify", pack, "--from-landing", landed), figure)]
        assert [one.returncode for one in done] == [0, 0], done
        return [*(one.stdout for one in done), rows.read_text()]

    before = answers()
    assert run_trainledger("compact", "--config", home, now=LATER).returncode == 0
    assert [*landed.glob("landing/runs/_bundles/*.zip")] and not [*landed.glob("landing/runs/*/*/_generation.json")]
    assert answers() == before


def test_verify_wants_one_subject(pack: Path) -> None:
    assert run_trainledger("verify").returncode == 2
    assert run_trainledger("verify", pack, "--landing").returncode == 2
    assert run_trainledger("verify", "--landing", "--from-landing", pack).returncode == 2
    assert run_trainledger("verify", pack / "nothing").returncode == 2
