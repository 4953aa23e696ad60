"""The recorder as a package: what it imports, on which Pythons it runs, and what its wheel brings into an environment."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import typing
import zipfile
from pathlib import Path

import pytest

from connectors.runs.run_records import _PROVIDERS, RunRecord
from tests.connectors.kit import converted, rows_of
from tests.interpreters import interpreter, surroundings
from tests.recorder.kit import HOST, SECONDS, Node
from trainledger_recorder import run_record

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
MODULES = sorted((ROOT / "recorder" / "trainledger_recorder").glob("*.py"))
OF_STORES = {"s3.py": {"boto3", "botocore"}, "gcs.py": {"google", "requests"}}
MOST_BYTES = 1_000_000


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_each_module_is_python_3_9_of_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    nodes = list(ast.walk(tree))
    names = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    foreign = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"trainledger_recorder"}
    assert foreign == OF_STORES.get(path.name, set())


def test_the_fields_that_a_recorder_takes_are_those_of_the_run_record_with_their_types() -> None:
    own = {"training_run_id", "cluster", "aliases", "attempts", "tags"}  # filled by the recorder itself
    hints = {name: typing.get_args(hint) for name, hint in typing.get_type_hints(RunRecord).items() if name not in own}
    assert set(run_record.TEXTS) == {name for name, types in hints.items() if str in types}
    assert set(run_record.NUMBERS) == {name for name, types in hints.items() if int in types and float in types}
    assert set(run_record.KNOWN) == set(hints)
    assert set(run_record.PROVIDERS) == set(_PROVIDERS)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make wheels` fills."""
    folder = tmp_path_factory.mktemp("wheels")
    command = ["make", "-s", "wheels", f"WHEELS={folder}", f"BIN={Path(sys.executable).parent}"]
    done = subprocess.run(command, cwd=ROOT, env=surroundings(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def installed(wheels: Path, name: str, python: str, folder: Path, *options: str) -> Path:
    """An environment with one wheel and nothing else, which no index was asked for; returns its site-packages."""
    make = [str(UV), "venv", "-q", "--python", python, str(folder)]
    into = [
        str(UV),
        "pip",
        "install",
        "-q",
        "--python",
        str(folder / "bin" / "python"),
        "--no-index",
        "--find-links",
        str(wheels),
    ]
    for command in (make, [*into, *options, name]):
        done = subprocess.run(command, env=surroundings(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return next(folder.glob("lib/python*/site-packages"))


@pytest.mark.slow
def test_make_wheels_puts_all_packages_into_one_folder_and_each_can_be_installed_alone(wheels: Path, tmp_path: Path) -> None:
    files = {path.name.partition("-")[0]: {*zipfile.ZipFile(path).namelist()} for path in wheels.iterdir()}
    assert sorted(files) == ["trainledger", "trainledger_recorder", "trainledger_verify"]
    assert len({path.name.split("-")[1] for path in wheels.iterdir()}) == 1, "all have one version"
    assert not files["trainledger"] & files["trainledger_verify"], "removing one leaves the other whole"
    main = installed(wheels, "trainledger", sys.executable, tmp_path / "main", "--no-deps")
    own = installed(wheels, "trainledger-recorder", sys.executable, tmp_path / "recorder")
    names = {path.name for path in MODULES}
    assert {path.name for path in (main / "trainledger_recorder").glob("*.py")} == names, "the main wheel carries the module"
    assert {path.name for path in (own / "trainledger_recorder").glob("*.py")} == names
    (metadata,) = main.glob("trainledger-*.dist-info/METADATA")
    needed = [line for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist")]
    assert needed and not [line for line in needed if "trainledger" in line], "no index has the name"
    assert list(own.glob("trainledger_recorder-*.dist-info/licenses/LICENSE"))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.9", "3.10", "3.13"])
def test_its_wheel_alone_records_a_job(version: str, wheels: Path, node: Node, tmp_path: Path) -> None:
    site = installed(wheels, "trainledger-recorder", interpreter(version), tmp_path / "environment")
    brought = sorted(path.name for path in site.iterdir() if not path.name.startswith("_"))
    assert [name.partition("-")[0] for name in brought] == ["trainledger_recorder", "trainledger_recorder"]
    node.monitor()
    node.power(0)
    node.program = [str(site.parents[2] / "bin" / "trainledger-recorder")]
    kinds = ["--only", "neuron_monitor", "--only", "neuron_power", "--record", "tokens=1e9"]
    printed = 'until [ -e "$PRINTED" ]; do sleep 0.02; done; exit 3'
    done = node.record(*kinds, "--", "sh", "-c", printed, PRINTED=str(node.printed))
    assert done.returncode == 3 and node.waiting() == [], done.stderr
    for kind, folder in (("neuron_monitor", "neuron_monitor"), ("neuron_power", "neuron_power"), ("training_runs", "runs")):
        result = converted(kind, node.out / folder, tmp_path / folder)
        assert (result.refusals, result.unknown_columns) == ((), ())
        assert HOST in {row.get("host_id", row.get("resource_id")) for row in rows_of(result)}
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < MOST_BYTES
    process = node.start("--record-only")  # killed, and its record closed by the next: times are read back
    while not node.delivered("runs")[1:]:
        assert process.poll() is None
        os.sched_yield()
    process.kill()
    process.communicate(timeout=SECONDS)
    assert node.record("--flush").returncode == 0
    states = {json.loads(path.read_text())["attempts"][0]["state"] for path in node.delivered("runs")}
    assert states == {"failed", "unknown"}


@pytest.mark.slow
def test_a_store_whose_package_is_missing_is_named_and_the_job_runs(wheels: Path, node: Node, tmp_path: Path) -> None:
    site = installed(wheels, "trainledger-recorder", sys.executable, tmp_path / "environment")
    node.program = [str(site.parents[2] / "bin" / "trainledger-recorder")]
    done = node.record("--drain", 0, "--", "sh", "-c", "exit 3", to="s3://bucket/recorded")
    assert done.returncode == 3 and len(node.waiting()) == 1
    flushed = node.record("--flush", to="s3://bucket/recorded")
    assert flushed.returncode == 75 and len(node.waiting()) == 1
    assert "s3:// needs a package that is not installed here (boto3). Install boto3 beside the recorder." in flushed.stderr
