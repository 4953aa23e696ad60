"""Every test is run by `make test` or by a part of nightly, and what is left out of `make test` is left out for a reason."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import grimp
import pytest

from tests import nightly
from tests.conftest import left_to_others, waits
from tests.nightly import PARTS, ROOT

WAREHOUSE = "dagster_project/warehouse/"
TODAY = dt.date(2026, 11, 23)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small checkout of its own in place of this one, with a folder of models and a record."""
    for name, text in {
        "dbt/model.sql": "select 1",
        "docs/page.md": "One.",
        "requirements/test.lock": "",
        "tests/nightly.json": "{}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    monkeypatch.setattr(nightly, "RECORD", tmp_path / "tests" / "nightly.json")
    monkeypatch.setattr(nightly, "IS_NIGHTLY", False)
    monkeypatch.delenv("PROOF_SEED")
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """The hashes of files as they were."""
    nightly.tree.cache_clear()
    nightly.code.cache_clear()


def test_every_test_file_is_in_the_suite_or_in_one_other_part() -> None:
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")]
    others = {name: part.tests for name, part in PARTS.items() if name != "suite" and part.tests}
    held = {name: [file for file in files if file.startswith(places)] for name, places in others.items()}
    assert all(held.values()) and sum(map(len, held.values())) == len({file for found in held.values() for file in found})
    *words, last = nightly.command("suite")
    ignored = {word.removeprefix("--ignore=") for word in words if word.startswith("--ignore=")}
    assert last == "tests" and ignored == {place for places in others.values() for place in places}


def test_what_only_nightly_runs_is_in_a_part_that_states_it() -> None:
    """The part `suite` runs what is marked as well, but nobody would look for it there."""
    marked = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("tests/**/test_*.py")
        if path != Path(__file__)
        and any(word in path.read_text() for word in ("mark.nightly", "nightly.drawn(", "mark.proved_by("))
    }
    places = [place for name, part in PARTS.items() if name != "suite" for place in part.tests]
    assert marked and not [file for file in marked if not any(file.startswith(place) for place in places)]


@pytest.mark.parametrize("name", PARTS)
def test_the_command_of_each_part_is_there(name: str) -> None:
    program, *words = nightly.command(name)
    if program == "make":
        asked = subprocess.run([program, "-n", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        assert asked.returncode == 0, asked.stderr
    else:
        assert (ROOT / ".venv" / "bin" / program).exists() or shutil.which(program)
    assert all((ROOT / place).exists() for place in PARTS[name].reads if not place.startswith(":(exclude)"))


def test_sparks_proof_reads_every_module_of_the_warehouse_that_decides_what_is_run_there() -> None:
    graph = grimp.build_graph("dagster_project", exclude_type_checking_imports=True, cache_dir=None)
    graph.remove_import(importer="dagster_project", imported="dagster_project.cli")  # the command, which imports everything
    room = WAREHOUSE.replace("/", ".")
    begin = {f"{room}{name}" for name in ("on_spark", "spark_process", "runner")}
    reached = begin.union(*(graph.find_upstream_modules(module) for module in begin))
    decide = {f"{module.replace('.', '/')}.py" for module in reached if module.startswith(room)}
    assert {place for place in PARTS["spark"].reads if place.startswith(WAREHOUSE)} == decide | {f"{WAREHOUSE}building.py"}


def test_a_draw_is_of_code_and_tests_and_nightly_has_all(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = nightly.drawn(3, range(100))
    assert first == nightly.drawn(3, range(100)) == sorted(first) and len({*first}) == 3
    for page in ("docs/page.md", "docs/adr/page.md", "dbt/page.md", "CHANGELOG.md", "tests/budget.json", "tests/nightly.json"):
        (checkout / page).parent.mkdir(exist_ok=True)
        (checkout / page).write_text("Two.")
    forget()
    assert nightly.drawn(3, range(100)) == first, "a page changes no draw"
    (checkout / "dbt/model.sql").write_text("select 2")
    forget()
    assert nightly.drawn(3, range(100)) != first
    monkeypatch.setattr(nightly, "IS_NIGHTLY", True)
    assert nightly.drawn(3, range(100)) == [*range(100)]


def test_one_in_sixteen_of_what_takes_turns_is_run_and_all_that_is_asked_for_by_name(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {file for part in PARTS.values() if part.takes_turns for file in part.tests}
    monkeypatch.setenv("PROOF_OF_A_COMMIT", "1")
    assert len(files - left_to_others()) == -(-len(files) // nightly.ONE_OF) and left_to_others() < files
    seen = {file for seed in map(str, range(150)) for file in _drawn_by(seed, monkeypatch)}
    assert seen == files, "every file has its turn"
    monkeypatch.delenv("PROOF_OF_A_COMMIT")
    assert left_to_others() == set()


def test_one_in_sixteen_of_the_tests_in_turn_is_run_and_each_of_them_in_time(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    tests = [f"tests/evidence/test_forged_packs.py::test_{number}" for number in range(200)]
    mark = {"in_turn": pytest.mark.in_turn}.get
    monkeypatch.setenv("PROOF_OF_A_COMMIT", "1")
    assert not waits(request.node), "a test without the mark is run by every commit"
    seen = set[str]()
    for seed in range(150):
        monkeypatch.setenv("PROOF_SEED", str(seed))
        run = {test for test in tests if not waits(SimpleNamespace(nodeid=test, get_closest_marker=mark))}
        assert 3 < len(run) < 40 and run == {test for test in tests if nightly.has_turn(test)}
        seen |= run
    assert seen == {*tests}
    monkeypatch.delenv("PROOF_OF_A_COMMIT")
    assert not any(waits(SimpleNamespace(nodeid=test, get_closest_marker=mark)) for test in tests), "asked for by name"


def _drawn_by(seed: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setenv("PROOF_SEED", seed)
    return nightly.turning({})[0] - left_to_others()


def test_the_hash_of_the_tree_sees_every_file_but_the_record(checkout: Path) -> None:
    before = nightly.digest()
    (checkout / "tests/nightly.json").write_text('{"kills": {}}')
    assert nightly.digest() == before
    (checkout / "dbt/another.sql").write_text("")
    assert nightly.digest() != before


def test_a_part_is_due_that_never_ran_or_long_ago_or_of_other_code(checkout: Path) -> None:
    record = {name: {"date": "2026-11-20", "reads": nightly.read(name)} for name in PARTS}
    record |= {"kills": record["kills"] | {"date": "2026-11-01"}, "wheel": record["wheel"] | {"reads": "of others"}}
    record["suite"] = {"date": "2026-11-20", "tree": nightly.tree()}  # as it was written before `reads`
    del record["drawn"]
    nightly.RECORD.write_text(json.dumps(record))
    due = {"drawn": "never", "kills": "2026-11-01", "wheel": "2026-11-20, other code"}
    assert nightly.due(TODAY) == due


def test_an_edit_makes_due_what_reads_it(checkout: Path) -> None:
    def after(place: str) -> set[str]:
        nightly.RECORD.write_text(json.dumps({name: {"date": f"{TODAY}", "reads": nightly.read(name)} for name in PARTS}))
        (checkout / place).parent.mkdir(parents=True, exist_ok=True)
        (checkout / place).write_text(f"another {place}")
        forget()
        return {*nightly.due(TODAY)}

    of_code = {name for name, part in PARTS.items() if part.reads == nightly.CODE}
    assert {"suite", "turns", "postgres"} < of_code
    for record in ("tests/budget.json", "benchmarks/results/latest.json", "CHANGELOG.md", "deploy/README.md"):
        assert after(record) == set(), record
    assert after("docs/page.md") == {"site"} and after("docs/tutorial.md") == {"site", "tutorial"}
    assert after("deploy/compose.yaml") == of_code
    assert after("dbt/model.sql") == {*PARTS} - {"generator", "googlesql", "site"}


def test_a_part_that_opens_a_page_names_it() -> None:
    opens = re.compile(r'(?:ROOT|parents\[\d\]) / "docs"|glob\("docs')
    others = [(name, part) for name, part in PARTS.items() if name != "suite"]
    found = {
        name: part
        for name, part in others
        for place in part.tests
        for path in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"))
        if opens.search(path.read_text())
    }
    assert {"site", "tutorial"} <= {*found}
    assert [name for name, part in found.items() if not any(place.startswith("docs") for place in part.reads)] == []


def test_what_passed_is_recorded_and_proved_until_something_that_it_reads_changes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PARTS, "lint", nightly.Part("a test", command=("true",), reads=nightly.MODELS))
    assert not nightly.is_proved("lint")
    assert nightly.main(["lint"]) == 0
    written = nightly.record()["lint"]
    assert written["tree"] == nightly.digest() and {"date", "processor_seconds", "wall_seconds", "seed", "reads"} < written.keys()
    (checkout / "docs/page.md").write_text("Another.")
    assert nightly.is_proved("lint")
    (checkout / "dbt/model.sql").write_text("select 2")
    assert not nightly.is_proved("lint")


def test_a_part_that_fails_or_whose_code_moved_is_not_recorded(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "lint", nightly.Part("a test", command=("false",)))
    monkeypatch.setitem(PARTS, "kills", nightly.Part("a test", command=("touch", "dbt/late.sql")))
    assert nightly.main(["lint"]) == 1
    assert nightly.main(["kills"]) == 0
    assert nightly.record() == {}
    assert nightly.main(["no such part"]) == 2


def test_make_test_ends_with_its_seconds_and_the_parts_that_are_due(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.main(["test", "sh", "-c", "exit 3"]) == 3
    seconds, due = capsys.readouterr().out.splitlines()
    assert seconds.startswith("make test: processor 0 s, wall 0 s; allowed on two quiet cores: ")
    assert due.startswith("due in make nightly: suite (never), drawn (never)")
