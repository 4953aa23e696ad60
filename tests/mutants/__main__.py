"""`python -m tests.mutants [--tranche N] [--count 120] [--seed TEXT]`: draw mutants, put tests before them, print who lives.

Each mutant is put into a copy of the tree and before the test files that belong to it, at most 90 processor seconds of them; one
that lives is then put before the whole fast suite. Tests of a Python line are those that run it; tests of a model are its unit
tests and the files that tests/mutants/models.yml names for its folder. Ends with 1 when somebody lives.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from dagster_project.warehouse.modelling import PARSE_STATE
from tests import nightly
from tests.mutants.changes import ROOT, Change, drawn
from tests.mutants.covering import covered, slow_tests_of

SECONDS = 90.0
TRANCHE = 20
MODELS = yaml.safe_load(Path(__file__).with_name("models.yml").read_text(encoding="utf-8"))
UNIT_TESTS = "tests/test_rules_of_calculation.py"
FAST = ("-m", "not slow", "tests")


def tree_files() -> list[str]:
    """What git knows of the tree, changed or not."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in listed if name and (ROOT / name).is_file()]


def copy_tree(names: Sequence[str], folder: Path) -> Path:
    """A copy that may be changed, with the reference folder beside it as in a checkout."""
    copied = folder / "main"
    for name in names:
        (copied / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copied / name)
    if (ROOT.parent / "shared").exists():
        (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return copied


def build_of_the_demo(tree: Path, folder: Path) -> Path:
    """A build without any mutant: dbt's unit tests ask it for the columns of its tables."""
    command = [sys.executable, "-c", "from dagster_project import main; main()", "demo", "--dir", str(folder / "demo")]
    subprocess.run(command, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, check=True)
    return folder / "demo" / "trainledger-home" / "build.duckdb"


def spent() -> float:
    """Processor seconds of everything this process started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_noticed(tree: Path, *arguments: str, environment: dict[str, str] | None = None) -> bool:
    """Whether pytest ends with anything but success; no test (5) notices nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
    surroundings = os.environ | {"PYTHONPATH": str(tree), "HYPOTHESIS_SEED": "0"} | (environment or {})
    done = subprocess.run(command, cwd=tree, env=surroundings, capture_output=True, text=True, check=False)
    return done.returncode not in (0, 5)


def tests_of(change: Change, lines: dict[str, dict[str, list[str]]]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Arguments and environment of pytest, the nearest tests first."""
    if change.path.suffix == ".py":
        for name in [*lines.get(str(change.path), {}).get(str(change.line), []), *slow_tests_of(change.path)]:
            yield [name], {}
        return
    yield [UNIT_TESTS], {"UNIT_TESTS_OF": change.path.stem}
    folder = change.path.parent.relative_to("dbt/models").as_posix()
    for name in next((MODELS[key] for key in (folder, folder.split("/")[0]) if key in MODELS), []):
        yield [name], {}


def lives(change: Change, tree: Path, lines: dict[str, dict[str, list[str]]]) -> bool:
    """Whether no test notices the change."""
    place = tree / change.path
    before = place.read_text(encoding="utf-8")
    place.write_text(change.applied(before), encoding="utf-8")
    try:
        begun = spent()
        for arguments, environment in tests_of(change, lines):
            if is_noticed(tree, *arguments, environment=environment):
                return False
            if spent() - begun > SECONDS:
                break
        return not is_noticed(tree, *FAST)
    finally:
        place.write_text(before, encoding="utf-8")


def main() -> int:
    """Draw, try, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--tranche", type=int, help=f"of the drawn ones the N-th {TRANCHE}; all unless given")
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", help="draws again what an earlier run drew; unless given, the hash of the tree")
    asked = parser.parse_args()
    names = tree_files()
    tree = nightly.tree()
    seed = asked.seed or tree[:16]
    changes = drawn(asked.count, seed)
    if asked.tranche is not None:
        changes = changes[(asked.tranche - 1) * TRANCHE : asked.tranche * TRANCHE]
    lines, alive, begun = covered(tree), [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied = copy_tree(names, Path(folder))
        os.environ["UNIT_TESTS_ON"] = str(build_of_the_demo(copied, Path(folder)))
        [parsed] = copied.glob(f"dbt/target/laid-out-*/{PARSE_STATE}")
        os.environ["UNIT_TESTS_PARSED"] = str(parsed)
        for number, change in enumerate(changes, 1):
            if lives(change, copied, lines):
                alive.append(change)
            print(
                f"{number}/{len(changes)} {'lives' if change in alive[-1:] else 'dies'}  {change.path}:{change.line}", flush=True
            )
    for change in alive:
        print(f"\n{change.diff()}")
    share = 100 * (1 - len(alive) / len(changes))
    print(f"\nseed {seed}: {len(changes) - len(alive)} of {len(changes)} died ({share:.0f} %),", end=" ")
    print(f"{spent():.0f} processor seconds, {time.monotonic() - begun:.0f} s")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
