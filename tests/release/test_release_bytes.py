"""`make release` to its end; what it hands out depends on the commit alone, and locks are compared with what they are made of."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.release import artefacts, checks
from tests.release.checks import ROOT
from tests.release.test_release import COMMITTED, commit, forget, make_current

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def copied(target: Path, *, is_other: bool = False) -> Path:
    """The files of this checkout, with a finished version, as a repository of its own; another one has other times and rights."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip("\0").split("\0")
    for name in (name for name in names if (ROOT / name).is_file()):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
        if is_other:
            (target / name).chmod(0o600)
            os.utime(target / name, (1_500_000_000, 1_500_000_000))
    for name, unfinished, finished in (
        ("dagster_project/__init__.py", ".dev0", ""),
        ("CHANGELOG.md", "(not released)", "(2026-11-20)"),
    ):
        (target / name).write_text((target / name).read_text().replace(unfinished, finished, 1))
    commit(target)
    (target / ".venv" / "bin").mkdir(parents=True)
    (target / ".venv" / "bin" / "uv").touch()  # the environment of these tests is the one that is used
    (target / ".venv-release").mkdir()
    (target / ".venv-release" / "bin").symlink_to(ROOT / ".venv-release" / "bin")
    return target


def test_a_release_is_made_where_everything_agrees_and_the_same_commit_gives_the_same_bytes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    here, there = copied(tmp_path / "here"), copied(tmp_path / "far" / "there", is_other=True)
    installed = [f"--old-file={name}" for name in (".venv/bin/uv", ".venv/installed-test", ".venv-release/installed")]
    make = ["make", "release", *installed, f"BIN={Path(sys.executable).parent}", f"RELEASE={one}"]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # the clone's own modules
    refused = subprocess.run(make, cwd=here, env=alone, capture_output=True, text=True, check=False)
    assert refused.returncode and "tests/nightly.json: " in refused.stderr and not one.exists()
    for root in (here, there):
        make_current(root, dt.datetime.now(dt.UTC).date(), monkeypatch)
    forget()
    done = subprocess.run(make, cwd=here, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "refused" not in done.stderr
    artefacts.write(there, other)
    names = sorted(path.name for path in one.iterdir())
    assert [line.split()[-1] for line in done.stdout.splitlines()] == names
    assert names == sorted(path.name for path in other.iterdir())
    assert [name for name in names if (one / name).read_bytes() != (other / name).read_bytes()] == []
    assert {re.sub(r"-\d.*?(-py3|\.cdx)", r"\1", name) for name in names} == {
        *("NOTES.md", "SHA256SUMS", "trainledger-py3-none-any.whl", "trainledger-verify.cdx.json", "trainledger.cdx.json"),
        *("trainledger_recorder-py3-none-any.whl", "trainledger_verify-py3-none-any.whl"),
    }
    assert not [name for name in names if ".dev" in name]
    assert (one / "NOTES.md").read_text().startswith(f"## {checks.version_of(here)} (2026-11-20)\n")
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=one, check=True)
    [materials] = one.glob("trainledger-[0-9]*.cdx.json")
    stated = json.loads(materials.read_bytes())
    locked = re.findall(r"^(\S+)==", (ROOT / "requirements" / "run.lock").read_text(), re.MULTILINE)
    assert {part["name"].lower() for part in stated["components"]} == {*locked}
    assert stated["metadata"]["timestamp"] == COMMITTED


def test_locks_that_do_not_give_what_is_asked_for_are_refused(tmp_path: Path) -> None:
    root = copied(tmp_path / "checkout")
    assert [*checks.of_locks(root)] == []
    project = root / "verify" / "pyproject.toml"
    project.write_text(project.read_text().replace('    "duckdb==1.5.5",\n', '    "duckdb==1.5.5",\n    "filelock",\n'))
    assert [one.what for one in checks.of_locks(root)] == ["requirements/: verify.lock are not what pyproject.toml asks for"]
