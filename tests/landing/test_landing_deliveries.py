"""Landing: what adds a generation, what adds nothing, what is refused, and that nothing is ever half there."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_project.landing.records import file_names, safe_name
from tests import nightly
from tests.landing.kit import PAYER, Organisation, bill_line, instant, set_time, write_run

UNBLENDED = "select line_item_unblended_cost from raw.aws_cur order by 1"


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    return Organisation(tmp_path)


def test_a_delivery_is_landed_with_its_bytes_hashes_and_totals(organisation: Organisation) -> None:
    organisation.deliver([bill_line(1.81e-8), bill_line(4101.22, number=2)], at="2026-05-02")
    (landed,) = organisation.refresh()
    generation = landed.generation
    source = organisation.folder / "exports/cur/data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    data, manifest = generation.objects
    assert (landed.outcome, generation.partition, landed.contents.rows, data.role, manifest.role) == (
        "landed",
        "2026-04",
        2,
        "data",
        "manifest",
    )
    assert data.sha256 == hashlib.sha256(source.read_bytes()).hexdigest()
    assert (organisation.landing / generation.path / data.file).read_bytes() == source.read_bytes()
    assert generation.published_at == instant("2026-05-02")
    assert generation.landed_at == instant("2026-05-10")
    (total,) = landed.contents.controls.months
    assert (total.payer_account_id, total.usage_month, total.line_count) == (PAYER, "2026-04", 2)
    assert total.billed_cost == "4101.220000018100"
    assert organisation.raw("select line_count, billed_cost from raw.delivery_totals") == [(2, Decimal("4101.220000018100"))]


def test_nothing_new_is_known_without_reading_a_byte_and_writes_nothing(organisation: Organisation) -> None:
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    before = organisation.files()
    line = organisation.line
    assert line.plan().is_empty
    election = line.elect()
    published = organisation.folder / "home" / "published" / "PUBLICATION.json"
    published.parent.mkdir()
    published.write_text(json.dumps({"units": line.units(election)}))
    assert line.months_to_build(election) == []
    assert organisation.files() == before


def test_the_same_bytes_again_add_nothing_and_are_read_once(organisation: Organisation) -> None:
    organisation.deliver([bill_line()], at="2026-05-02")
    assert organisation.outcomes() == {"landed": 1}
    organisation.deliver([bill_line()], at="2026-05-03")
    assert organisation.outcomes() == {"unchanged": 1}
    assert organisation.outcomes() == {}
    (organisation.settings.cache / "seen" / "cur.txt").unlink()  # only a cache
    assert organisation.outcomes() == {"unchanged": 1}


def test_two_objects_with_the_same_bytes_both_count_and_one_object_named_twice_counts_once(tmp_path: Path) -> None:
    """Ten requests of one second may well fill two chunks alike. What makes a chunk is its name, and not its bytes."""
    organisation = Organisation(tmp_path)
    organisation.deliver_twice([bill_line(1.0)], at="2026-05-02")
    [landed] = organisation.refresh()
    assert landed.contents is not None and landed.contents.rows == 2
    [total] = landed.contents.controls.months
    assert (total.line_count, total.billed_cost) == (2, "2.000000000000")
    found = organisation.raw("select _source_object, _row_number, line_item_unblended_cost from raw.aws_cur order by 1")
    assert found == [(f"data/BILLING_PERIOD=2026-04/cur-0000{number}.snappy.parquet", 1, 1.0) for number in (1, 2)]


def test_a_then_b_then_a_is_news_and_the_last_wins(organisation: Organisation) -> None:
    for day, cost in ((2, 1.0), (3, 2.0), (4, 1.0)):
        organisation.deliver([bill_line(cost)], at=f"2026-05-0{day}")
        assert organisation.outcomes() == {"landed": 1}
    assert organisation.raw(UNBLENDED) == [(1.0,)]
    assert organisation.raw(UNBLENDED, as_published=instant("2026-05-03")) == [(2.0,)]


def test_equal_rows_in_other_bytes_are_a_generation_that_changes_no_fingerprint(organisation: Organisation) -> None:
    lines = [bill_line(1.0), bill_line(2.0, number=2, resource_tags={"a": "1", "b": "2"})]
    organisation.deliver(lines, at="2026-05-02")
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    turned = {**lines[1], "resource_tags": {"b": "2", "a": "1"}}
    organisation.deliver([turned, lines[0]], at="2026-05-03")
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.line.units(organisation.line.elect()) == before
    organisation.deliver([turned, lines[0], lines[0]], at="2026-05-04")
    organisation.refresh()
    assert organisation.line.units(organisation.line.elect()) != before


@pytest.mark.parametrize(("wrong", "value"), [(float("nan"), "nan"), (float("-inf"), "-inf"), (1e12, "1000000000000.0")])
def test_a_wrong_number_refuses_its_delivery_and_the_one_before_stays(
    organisation: Organisation, wrong: float, value: str
) -> None:
    organisation.deliver([bill_line(7.0)], at="2026-05-02")
    organisation.refresh()
    organisation.deliver([bill_line(), bill_line(wrong, number=2)], at="2026-05-03")
    (landed,) = organisation.refresh()
    assert landed.outcome == "refused"
    (refusal,) = landed.refusal.refusals
    assert refusal.source_object == "data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    assert (refusal.row_number, refusal.column_name, refusal.reason) == (2, "line_item_unblended_cost", "wrong_type")
    assert refusal.value.lower() == value
    assert refusal.remedy
    assert organisation.raw(UNBLENDED) == [(7.0,)]
    assert organisation.raw("select source_name, row_number, reason from raw.quarantine") == [("cur", 2, "wrong_type")]
    assert organisation.outcomes() == {}, "a refused delivery is not read again"


def test_text_that_is_no_number_is_refused_though_the_engine_would_take_it(organisation: Organisation) -> None:
    organisation.deliver([bill_line("1_000.5")], at="2026-05-02")
    (landed,) = organisation.refresh()
    assert landed.outcome == "refused"
    assert landed.refusal.refusals[0].value == "1_000.5"


def test_a_good_delivery_after_a_refused_one_ends_the_quarantine_even_with_the_old_bytes(organisation: Organisation) -> None:
    organisation.deliver([bill_line(7.0)], at="2026-05-02")
    organisation.refresh()
    organisation.deliver([bill_line(float("nan"))], at="2026-05-03")
    organisation.refresh()
    assert len(organisation.line.elect().refusals) == 1
    organisation.deliver([bill_line(7.0)], at="2026-05-04")
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.line.elect().refusals == ()
    assert organisation.raw(UNBLENDED) == [(7.0,)]


def test_a_refused_record_that_is_taken_away_is_no_longer_in_quarantine(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "runs", "kind": "training_runs"})
    path = tmp_path / "exports/runs/a.run.json"
    path.write_text("{")
    assert organisation.outcomes() == {"refused": 1}
    first = organisation.line.units(organisation.line.elect())
    path.unlink()
    assert not organisation.line.plan().is_empty
    organisation.refresh()
    assert organisation.line.elect().refusals == ()
    assert organisation.line.units(organisation.line.elect()) != first, "fct_quarantine has to be built again"
    assert organisation.line.plan().is_empty


def test_a_missing_column_is_refused_by_name(organisation: Organisation) -> None:
    line = bill_line()
    del line["line_item_unblended_cost"]
    organisation.deliver([line], at="2026-05-02")
    (landed,) = organisation.refresh()
    assert landed.outcome == "refused"
    assert "line_item_unblended_cost" in landed.refusal.refusals[0].message


def test_a_manifest_that_leaves_its_folder_is_refused_and_reads_nothing_outside(organisation: Organisation) -> None:
    organisation.deliver([bill_line()], at="2026-05-02")
    manifest = next((organisation.folder / "exports").rglob("*Manifest.json"))
    manifest.write_text(json.dumps({"dataFiles": ["cur/../../secret.parquet"]}))
    plan = organisation.line.plan()
    assert [refusal.reason for _, refusal in plan.refused] == ["unsafe_path"]
    assert organisation.outcomes() == {"refused": 1}
    assert list(organisation.landing.rglob("_generation.json")) == []


def test_an_unreadable_source_is_reported_and_the_others_are_planned(tmp_path: Path) -> None:
    organisation = Organisation(
        tmp_path, {"name": "cur", "kind": "aws_cur"}, {"name": "gone", "kind": "aws_cur", "location": "./nowhere"}
    )
    organisation.deliver([bill_line()], at="2026-05-02")
    plan = organisation.line.plan()
    assert [source.name for source, _ in plan.new] == ["cur"]
    assert [unreadable.source for unreadable in plan.unreadable] == ["gone"]


def test_an_object_that_changes_after_the_listing_is_left_for_the_next_refresh(organisation: Organisation) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    line = organisation.line
    plan = line.plan()
    organisation.deliver([bill_line(2.0)], at="2026-05-03")
    assert [landed.outcome for landed in line.land_all(plan)] == ["unreadable"]
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.raw(UNBLENDED) == [(2.0,)]


def test_leftovers_of_a_killed_landing_are_invisible_and_go_at_the_next_one(organisation: Organisation) -> None:
    organisation.deliver([bill_line()], at="2026-05-02")
    staged = organisation.landing / ".staging" / "delivery-dead"
    staged.mkdir(parents=True)
    (staged / "_generation.json").write_text("{")
    partition = organisation.landing / "cur" / "2026-04"
    (partition / "20260501T000000.000000Z-0000000000000000").mkdir(parents=True)  # a folder without its record is no generation
    assert organisation.line.elect().members == ()
    assert organisation.outcomes() == {"landed": 1}
    assert not staged.exists()


# One process that has loaded everything, and of it a child per kill: loading is most of what a process of its own would cost.
KILLED = """
import json, os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
import duckdb, polars, pyarrow.parquet
from tests.landing.kit import Organisation
def refresh(folder, instant):
    calls = 0
    def count(event, arguments):
        nonlocal calls
        if event in ("open", "os.rename", "os.mkdir", "shutil.rmtree") and folder + "/home" in str(arguments[0]):
            calls += 1
            if calls == instant:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    Organisation(Path(folder)).refresh()
    print(calls, flush=True)
    os._exit(0)
for line in sys.stdin:
    folder, instant = json.loads(line)
    if not (child := os.fork()):
        refresh(folder, instant)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def without_code_version(organisation: Organisation) -> dict[str, bytes]:
    """The landing's files; somebody may be editing a connector while the test runs."""
    return {name: re.sub(rb'"connector_version": "[^"]*"', b"", data) for name, data in organisation.files().items()}


@pytest.mark.slow
def test_a_kill_at_any_instant_leaves_no_generation_or_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    script = KILLED.format(root=str(Path(__file__).resolve().parents[2]))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as loaded:
        assert loaded.stdin and loaded.stdout and loaded.stderr

        def run(name: str, instant: int) -> tuple[Organisation, int]:
            """A refresh that is killed at an instant; what it printed first, which is how it ended if it was killed."""
            organisation = Organisation(tmp_path / name)
            organisation.deliver([bill_line()], at="2026-05-02")
            loaded.stdin.write(json.dumps([str(organisation.folder), instant]) + "\n")
            loaded.stdin.flush()
            answer = loaded.stdout.readline()
            assert answer, loaded.stderr.read()
            return organisation, int(answer)

        whole, instants = run("whole", 0)
        assert loaded.stdout.readline() == "0\n" and instants > 10
        for instant in nightly.drawn(10, range(1, instants + 1)):
            organisation, ended = run(f"killed-{instant}", instant)
            assert ended == -signal.SIGKILL
            if organisation.line.elect().members:
                assert organisation.raw(UNBLENDED) == [(21.5,)]
            organisation.refresh()
            assert without_code_version(organisation) == without_code_version(whole)
            assert list((organisation.landing / ".staging").iterdir()) == []


def test_every_name_is_one_safe_segment_and_two_keys_never_share_one() -> None:
    hostile = ["..", ".", "a/../b", "/etc/passwd", "_generation.json", "_refused", "a\0b", "ä\n", "x" * 300, "", "%5F"]
    for text in hostile:
        name = safe_name(text)
        assert "/" not in name
        assert name not in ("", ".", "..")
        assert name[0] not in "._"
        assert len(name) <= 150
        assert name.isascii()
    names = file_names(["a/b", "a~b", "A/B", "x" * 300, "x" * 301])
    assert len({name.casefold() for name in names.values()}) == 5


def test_a_run_record_restated_is_read_in_its_last_version(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "runs", "kind": "training_runs"})
    path = tmp_path / "exports/runs/team/a.run.json"
    write_run(path, "Run_A", at="2026-05-02", tokens=10)
    organisation.refresh()
    write_run(path, "Run_A", at="2026-05-03", tokens=20)
    set_time(path, "2026-05-03")
    organisation.refresh()
    query = "select recorded_id, tokens, _is_book from raw.training_runs where part = 'run'"
    assert organisation.raw(query) == [("Run_A", 20, True)]
