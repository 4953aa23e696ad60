"""A release is refused with every reason; what it hands out is named where it is made."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
import yaml

from benchmarks import machine
from tests import nightly
from tests.release import artefacts, checks
from tests.release.checks import ROOT

PROJECT = tomllib.loads((ROOT / "verify" / "pyproject.toml").read_text())
TODAY = dt.date(2026, 11, 24)
COMMITTED = "2026-11-20T10:00:00+00:00"
BY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
CHANGELOG = "# Changelog\n\n## 1.2.0 (2026-11-20)\n\nNews.\n\n## 1.1.0 (2026-01-01)\n\nOld.\n"


def commit(root: Path) -> None:
    """Everything as one commit of a fixed time."""
    when = os.environ | {"GIT_AUTHOR_DATE": COMMITTED, "GIT_COMMITTER_DATE": COMMITTED}
    for words in (("init", "-q"), ("add", "-A"), (*BY, "commit", "-q", "-m", "All")):
        subprocess.run(["git", *words], cwd=root, env=when, check=True)


def make_current(root: Path, day: dt.date, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this checkout nightly and benchmarks are of its code: a record that nothing was run for."""
    monkeypatch.setattr(machine, "ROOT", root)
    monkeypatch.setattr(nightly, "ROOT", root)
    monkeypatch.setattr(nightly, "RECORD", root / "tests" / "nightly.json")
    forget()
    for path in (root / checks.RESULTS, nightly.RECORD):
        path.parent.mkdir(parents=True, exist_ok=True)
    (root / checks.RESULTS).write_text(json.dumps({"measures": [{"name": "refresh", "tree": machine.tree()}]}))
    parts = {name: {"date": f"{day}", "reads": nightly.read(name)} for name in nightly.PARTS}
    nightly.RECORD.write_text(json.dumps(parts))
    commit(root)


def forget() -> None:
    """The hashes of files as they were."""
    nightly.tree.cache_clear()
    nightly.code.cache_clear()


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small checkout of which everything agrees, in place of this one."""
    root = tmp_path / "checkout"
    for name, text in {"dagster_project/__init__.py": '__version__ = "1.2.0"\n', "CHANGELOG.md": CHANGELOG}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    commit(root)
    make_current(root, TODAY, monkeypatch)
    yield root
    forget()


def reasons(root: Path) -> list[str]:
    """What is refused but for locks, for which an index is asked."""
    forget()
    of = (checks.of_version(root), checks.of_checkout(root), checks.of_benchmarks(root), checks.of_nightly(TODAY))
    return [f"{one.what}. {one.remedy}" for found in of for one in found]


def test_what_agrees_is_released_and_each_disagreement_is_refused_by_its_name(ready: Path) -> None:
    assert reasons(ready) == []
    (ready / "dagster_project" / "__init__.py").write_text('__version__ = "1.3.0.dev0"\n')
    found = "\n".join(reasons(ready))
    assert "1.3.0.dev0 is not finished. Write 1.3.0" in found
    assert "its newest heading is of 1.2.0, the version is 1.3.0.dev0" in found
    assert "the checkout is not that of its commit: dagster_project/__init__.py." in found
    assert "1 of 1 measures are of other code (refresh). Run `make bench`" in found
    reading = [name for name, part in nightly.PARTS.items() if {".", "dagster_project"} & {*part.reads}]
    assert found.count("other code). Run `make nightly PART=") == len(reading) > 10
    assert len(found.splitlines()) == 4 + len(reading)
    (ready / "dagster_project" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (ready / "CHANGELOG.md").write_text(CHANGELOG + "A line more.\n")
    commit(ready)
    assert reasons(ready) == [], "the changelog was written after the proofs"


def test_a_version_without_its_day_and_benchmarks_that_are_not_there_are_refused(ready: Path) -> None:
    (ready / "CHANGELOG.md").write_text(CHANGELOG.replace("2026-11-20", "not released"))
    (ready / checks.RESULTS).unlink()
    commit(ready)
    first, second, *_ = reasons(ready)
    assert first == "CHANGELOG.md: 1.2.0 has no day (not released). Write `## 1.2.0 (YYYY-MM-DD)`"
    assert second.startswith("benchmarks/results/latest.json: 0 of 0 measures")


def test_the_notes_are_the_newest_part_of_the_changelog() -> None:
    assert artefacts.notes(CHANGELOG) == "## 1.2.0 (2026-11-20)\n\nNews.\n"


def test_the_hosted_ci_runs_the_two_commands_and_nothing_else() -> None:
    [file] = (ROOT / ".github" / "workflows").iterdir()
    jobs = yaml.safe_load(file.read_text())["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    assert [step["run"] for step in steps if "run" in step] == ["bash .ci/run", "make release"]
    assert {step["uses"].partition("@")[0] for step in steps if "uses" in step} == {"actions/checkout"}
    assert "exec make test" in (ROOT / ".ci" / "run").read_text()


def test_the_wheel_carries_what_its_command_imports_and_nothing_else() -> None:
    graph = grimp.build_graph("trainledger_verify", "dagster_project", "reports", cache_dir=None)
    graph.remove_import(importer="dagster_project", imported="dagster_project.cli")  # the other command's entry point
    needed = graph.find_upstream_modules("trainledger_verify.command")
    files = {name: ROOT / name.replace(".", "/") for name in needed if name.startswith("dagster_project")}
    listed = {f"{path.relative_to(ROOT)}{'/__init__' if path.is_dir() else ''}.py" for path in files.values()}
    folders = {f"{name}/__init__.py" for file in listed for name in map(str, Path(file).parents) if name != "."}
    carried = {*PROJECT["tool"]["hatch"]["build"]["hooks"]["custom"]["carried"]}
    read = {f"dagster_project/evidence/{name}" for name in ("known.json", "tracing/rules.json")}
    assert carried == {"reports", *read, *listed, *folders}


def test_it_asks_for_packages_in_the_bounds_of_the_product() -> None:
    product = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    project = PROJECT["project"]
    assert {*project["dependencies"], *project["optional-dependencies"]["rendering"]} <= {*product}
