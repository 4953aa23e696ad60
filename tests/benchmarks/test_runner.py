"""The runner: what a process cost, what becomes of a figure, and the document that shows it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as runner
from benchmarks import compare
from benchmarks.homes import Bench, Home, Product
from benchmarks.machine import tree
from benchmarks.measures import AT_LEAST, CannotMeasure, Family, Reading, Spec, row
from benchmarks.page import of_goal, write_page
from benchmarks.process import CommandFailed, run

PROMISED = ["name", "value", "floor", "ratio", "goal", "met", "peak_mb"]
BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
TABLE_OF_GOALS = {
    "build_marts": 3,
    "whole_refresh": 5,
    "one_small_delivery": 5,
    "first_refresh": 20,
    "nothing_new": 1,
    "nothing_new_20000": 3,
    "month_36_over_month_3": 1.1,
    "records_36_over_3": 1.1,
    "month_turns_final": 0.3,
    "peak_memory_10m": 2048,
    "peak_memory_50m": 4096,
    "peak_memory_bigquery_2m": 1500,
    "peak_memory_1000_nodes": 2048,
    "landing_s3": 1.3,
    "neuron_monitor": 0.6,
    "queries_p95": 50,
    "report_5000_runs": 20,
    "build_marts_against_pandas": 1,
    "whole_refresh_against_spruce": 0.2,
}


def some_family(read: Any, *specs: Spec) -> Family:
    return Family("some", specs, read)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, Product())


def test_the_work_of_a_helper_process_counts(tmp_path: Path) -> None:
    helper = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
    done = run([sys.executable, "-c", helper], tmp_path)
    assert done.cpu_s >= 0.3
    assert list(tmp_path.iterdir()) == []  # measuring writes nothing into a home


def test_a_command_that_fails_has_no_figure(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="ended with 3: the reason"):
        run([sys.executable, "-c", "import sys; print('the reason'); sys.exit(3)"], tmp_path)


def test_every_goal_is_measured() -> None:
    goals = {spec.name: spec.goal for family in runner.FAMILIES for spec in family.specs}
    assert goals.items() >= TABLE_OF_GOALS.items()
    assert {"memory_limit_1gb", "google_build", "queries_of_many_rows_p95", "build_marts_against_polars"} <= goals.keys()


@pytest.mark.parametrize("fault", [CannotMeasure("no server here"), CommandFailed("no server here")])
def test_a_measure_that_cannot_run_is_listed_with_its_reason(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def read(bench: Bench) -> Iterator[tuple[str, Reading]]:
        yield "first", Reading(6.0, 3.0, 100.0, {"wall_s": 7.0})
        raise fault

    family = some_family(read, Spec("first", "a first", "CPU s", 3), Spec("second", "a second", "CPU s", 1))
    monkeypatch.setattr(runner, "FAMILIES", (family,))
    [document] = runner.measure_all(bench, set(), {})
    first, second = document["measures"]
    assert list(document)[:2] == ["machine", "versions"]
    assert list(first)[:7] == list(second)[:7] == PROMISED
    assert [first[key] for key in PROMISED] == ["first", 6.0, 3.0, 2.0, 3, True, 100.0]
    assert (second["value"], second["met"], second["reason"]) == (None, None, "no server here")


def test_a_run_of_one_measure_keeps_the_others(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    family = some_family(
        lambda bench: iter([("one", Reading(1.0)), ("two", Reading(2.0))]), Spec("one", "", ""), Spec("two", "", "")
    )
    monkeypatch.setattr(runner, "FAMILIES", (family,))
    before = {"measures": [{"name": "one", "value": 9.0}, {"name": "gone", "value": 9.0}]}
    [document] = runner.measure_all(bench, {"two"}, before)
    assert [(each["name"], each["value"]) for each in document["measures"]] == [
        ("one", 9.0),
        ("two", 2.0),
    ]


def test_a_quick_run_judges_no_goal_of_a_larger_input_and_a_broken_promise_is_a_miss() -> None:
    spec = Spec("x", "", "CPU s", 3, needs_full_size=True)
    assert row(spec, Reading(1.0, 1.0), None, is_quick=True)["met"] is None
    assert row(spec, Reading(1.0, 1.0), None, is_quick=False)["met"] is True
    written = row(Spec("y", "", "CPU s", 1), Reading(0.1, is_broken="written: a file"), None, is_quick=False)
    assert (written["met"], written["reason"]) == (False, "written: a file")
    completed = row(Spec("z", "", "MB"), Reading(900.0, is_kept=True), None, is_quick=False)
    assert (completed["met"], completed["reason"]) == (True, None)


def test_goals_point_both_ways() -> None:
    slow = row(Spec("x", "", "MB/s", 0.6, AT_LEAST), Reading(20.0, 100.0), None, is_quick=False)
    assert slow["met"] is False
    assert of_goal(slow) == pytest.approx(3)


def test_the_page_shows_every_measure_and_asks_no_other_host(tmp_path: Path) -> None:
    known = row(Spec("known", "a known one", "CPU s", 3), Reading(6.0, 1.0, 5.0), None, is_quick=False)
    missing = row(Spec("missing", "a missing one", "MB", 3), None, "no <server>", is_quick=False)
    write_page({"machine": {"cores": 2}, "versions": {"duckdb": "1"}, "measures": [known, missing]}, tmp_path / "index.html", "t")
    text = (tmp_path / "index.html").read_text()
    assert all(part in text for part in ("<svg", "a known one", "a missing one", "no &lt;server&gt;", "missed", "not judged"))
    assert "http" not in text and "<script" not in text


def test_each_measure_carries_its_code_time_and_load_and_the_page_greys_what_is_of_other_code(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    family = some_family(lambda bench: iter([("new", Reading(1.0))]), Spec("old", "", "", 3), Spec("new", "", "", 3))
    monkeypatch.setattr(runner, "FAMILIES", (family,))
    old = row(family.specs[0], Reading(2.0), None, is_quick=False) | {"tree": "of-july", "measured_at": "2026-07-01T00:00Z"}
    [document] = runner.measure_all(bench, {"new"}, {"measures": [old]})
    kept, fresh = document["measures"]
    assert kept == old
    assert fresh["tree"] == tree() and fresh["measured_at"] > old["measured_at"] and fresh["load_before"] >= 0
    write_page(document, tmp_path / "index.html", tree())
    rows = [line for line in (tmp_path / "index.html").read_text().splitlines() if line.startswith("<tr") and "<td" in line]
    assert ['class="older"' in line for line in rows] == [True, False]
    assert "2026-07-01T00:00Z" in rows[0] and "of-july" in rows[0]


def test_a_met_goal_of_the_committed_page_has_a_date() -> None:
    """A figure without its code and day once passed for today's: 6.6 seconds were shown as met where a release took 9.3."""
    measures = json.loads((runner.RESULTS / "latest.json").read_text())["measures"]
    assert all({"tree", "measured_at", "load_before"} <= one.keys() for one in measures)
    page = (runner.RESULTS / "index.html").read_text()
    assert page.count('class="older"') >= sum(one["tree"] is None for one in measures)


def test_nothing_written_is_seen_by_the_files_of_the_home(tmp_path: Path) -> None:
    home = Home(tmp_path, "", Product())
    (tmp_path / "home").mkdir()
    (tmp_path / "home/a").write_text("a")
    before = home.written()
    assert before == home.written()
    (tmp_path / "home/b").touch()
    assert before != home.written()


def test_another_release_is_compared_in_turns_by_its_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = compare.checked_out("HEAD", tmp_path)
    code = "import dagster_project; print(dagster_project.__file__)"
    done = run([sys.executable, "-c", code], tmp_path, Product(tree).environment)
    assert done.output.strip() == str(tree / "dagster_project/__init__.py")
    turns: list[Path | None] = []

    def read(bench: Bench) -> Iterator[tuple[str, Reading]]:
        turns.append(bench.product.tree)
        yield "one", Reading(2.0 if bench.product.tree else 1.0)

    monkeypatch.setattr(compare, "FAMILIES", (some_family(read, Spec("one", "", "CPU s")),))
    benches = Bench(tmp_path, Product(tree)), Bench(tmp_path, Product())
    [compared] = compare.compare(*benches, set(), turns=2)
    assert turns == [tree, None, tree, None]
    assert (compared["base"], compared["head"], compared["head_over_base"]) == ([2.0, 2.0], [1.0, 1.0], 0.5)


def test_without_tags_the_last_release_is_the_commit_before_the_changelog_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    compare.git("init", "-q")
    texts = [
        "## 0.1.0",
        "## 0.2.0\n## 0.1.0",
        "## 0.3.0 (not released)\n## 0.2.0",
        "## 0.4.0 (not released)\n## 0.3.0 (not released)\n## 0.2.0",
    ]
    commits = []
    for text in texts:
        (tmp_path / "CHANGELOG.md").write_text(text)
        compare.git("add", "CHANGELOG.md")
        compare.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "text")
        commits.append(compare.git("rev-parse", "--short", "HEAD"))
    assert compare.last_release() == commits[1]
    compare.git("tag", "0.2.1")
    assert compare.last_release() == "0.2.1"
