"""A release is refused with every reason, and what it consists of depends on the commit alone."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from benchmarks import machine
from tests import nightly
from tests.release import artefacts, checks
from tests.release.checks import ROOT

TODAY = dt.date(2026, 11, 24)
COMMITTED = "2026-11-20T10:00:00+00:00"
BY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
CHANGELOG = "# Changelog\n\n## 1.2.0 (2026-11-20)\n\nNews.\n\n## 1.1.0 (2026-01-01)\n\nOld.\n"


def commit(root: Path) -> None:
    """Everything as one commit of a fixed time."""
    when = os.environ | {"GIT_AUTHOR_DATE": COMMITTED, "GIT_COMMITTER_DATE": COMMITTED}
    for words in (("init", "-q"), ("add", "-A"), (*BY, "commit", "-q", "-m", "All")):
        subprocess.run(["git", *words], cwd=root, env=when, check=True)


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small checkout of which everything agrees, in place of this one."""
    root = tmp_path / "checkout"
    monkeypatch.setattr(machine, "ROOT", root)
    monkeypatch.setattr(nightly, "ROOT", root)
    monkeypatch.setattr(nightly, "RECORD", root / "tests" / "nightly.json")
    for name, text in {"dagster_project/__init__.py": '__version__ = "1.2.0"\n', "CHANGELOG.md": CHANGELOG}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in (checks.RESULTS, "tests/nightly.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / checks.RESULTS).write_text(json.dumps({"measures": [{"name": "refresh", "tree": machine.tree()}]}))
    commit(root)
    nightly.tree.cache_clear()
    parts = {name: {"date": f"{TODAY}", "tree": nightly.tree()} for name in nightly.PARTS}
    (root / "tests" / "nightly.json").write_text(json.dumps(parts))
    commit(root)
    yield root
    nightly.tree.cache_clear()


def reasons(root: Path) -> list[str]:
    """What is refused but for locks, for which an index is asked."""
    nightly.tree.cache_clear()
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
    assert found.count("another tree). Run `make nightly PART=") == len(nightly.PARTS)
    assert len(found.splitlines()) == 4 + len(nightly.PARTS)


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


def copied(target: Path, *, is_other: bool = False) -> Path:
    """The files of this checkout as a repository of its own; another one has other times and rights."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip("\0").split("\0")
    for name in (name for name in names if (ROOT / name).is_file()):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
        if is_other:
            (target / name).chmod(0o600)
            os.utime(target / name, (1_500_000_000, 1_500_000_000))
    commit(target)
    (target / ".venv" / "bin").mkdir(parents=True)
    (target / ".venv" / "bin" / "uv").touch()  # the environment of these tests is the one that is used
    return target


@pytest.mark.slow
@pytest.mark.nightly
def test_the_same_commit_gives_the_same_bytes_in_another_folder_and_its_sums_are_right(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    artefacts.write(copied(tmp_path / "here"), one)
    artefacts.write(copied(tmp_path / "far" / "there", is_other=True), other)
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    assert [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()] == []
    assert [re.sub(r"-\d.*?(-py3|\.cdx)", r"\1", name) for name in names] == [
        *("NOTES.md", "SHA256SUMS", "trainledger-py3-none-any.whl", "trainledger-verify.cdx.json", "trainledger.cdx.json"),
        *("trainledger_recorder-py3-none-any.whl", "trainledger_verify-py3-none-any.whl"),
    ]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=one, check=True)
    [materials] = one.glob("trainledger-[0-9]*.cdx.json")
    stated = json.loads(materials.read_bytes())
    locked = re.findall(r"^(\S+)==", (ROOT / "requirements" / "run.lock").read_text(), re.MULTILINE)
    assert {part["name"].lower() for part in stated["components"]} == {*locked}
    assert stated["metadata"]["timestamp"] == COMMITTED


@pytest.mark.slow
@pytest.mark.nightly
def test_locks_that_do_not_give_what_is_asked_for_are_refused(tmp_path: Path) -> None:
    root = copied(tmp_path / "checkout")
    assert [*checks.of_locks(root)] == []
    project = root / "verify" / "pyproject.toml"
    project.write_text(project.read_text().replace('    "duckdb==1.5.5",\n', '    "duckdb==1.5.5",\n    "filelock",\n'))
    assert [one.what for one in checks.of_locks(root)] == ["requirements/: verify.lock are not what pyproject.toml asks for"]
