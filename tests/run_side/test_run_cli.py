"""The command line: every command helps with an example, and what goes wrong is one message and one exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from run_side_kit import write_config
from typer.testing import CliRunner

from dagster_project import failures
from dagster_project.cli import app

COMMANDS = [["demo"], ["init"], ["doctor"], ["refresh"], ["status"], ["sql"], ["digest"], ["prune"], ["report", "quarterly"]]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAINLEDGER_CONFIG", raising=False)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command: list[str]) -> None:
    code, out, _ = run(*command, "--help")
    assert code == 0 and f"Example: trainledger {' '.join(command)}" in " ".join(out.split())


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in (["demo"], ["init"])], ids=" ".join)
def test_a_configuration_that_is_not_there_is_named_with_its_remedy(command: list[str], tmp_path: Path) -> None:
    more = {"sql": ["select 1"], "quarterly": ["--quarter", "2026Q3"]}.get(command[-1], [])
    code, _, err = run(*command, *more, "--config", str(tmp_path / "none.yaml"))
    assert code == 2 and "none.yaml" in err and "trainledger init" in err and "Traceback" not in err


def test_the_configuration_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_CONFIG", str(write_config(tmp_path)))
    code, _, err = run("sql", "select 1")
    assert code == 2 and "nothing is published yet" in err


def test_init_writes_a_configuration_that_is_read_and_never_overwrites_it(tmp_path: Path) -> None:
    from dagster_project.settings import load_settings

    config = tmp_path / "trainledger.yaml"
    assert run("init", "--config", str(config))[0] == 0
    settings = load_settings(config)
    assert [source.kind for source in settings.sources] == ["aws_cur", "aws_carbon", "training_runs"]
    assert yaml.safe_load(config.read_text())["landing"] is None
    config.write_text("mine")
    code, _, err = run("init", "--config", str(config))
    assert code == 2 and "there already" in err and config.read_text() == "mine"


def test_an_unknown_option_is_usage() -> None:
    assert run("refresh", "--fast")[0] == 2
    assert run("report", "quarterly")[0] == 2  # without its quarter


def test_two_questions_in_one_report_are_usage(tmp_path: Path) -> None:
    both = ["--as-of", "2026-07-01", "--as-published", "2026-07-01"]
    code, _, err = run("report", "quarterly", "--quarter", "2026Q3", *both, "--config", str(write_config(tmp_path)))
    assert code == 2 and "two different questions" in err


def test_a_report_before_the_first_publication_is_usage(tmp_path: Path) -> None:
    code, _, err = run("report", "quarterly", "--quarter", "2026Q3", "--config", str(write_config(tmp_path)))
    assert code == 2 and "nothing is published yet" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (failures.GateError("a gate differs"), 1),
        (failures.UsageError("wrong use"), 2),
        (failures.SourceError("unreadable"), 3),
        (failures.LockHeldError("held"), 4),
        (KeyError("oops"), 70),
    ],
)
def test_each_failure_has_its_exit_code_and_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def raises(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("dagster_project.commands.refreshing.refresh", raises)
    config = str(write_config(tmp_path))
    found, _, err = run("refresh", "--config", config)
    assert found == code and err.startswith("trainledger: ") and "Traceback" not in err
    assert ("this is a bug: KeyError" in err) == (code == 70)
    assert isinstance(CliRunner().invoke(app, ["refresh", "--config", config, "--debug"]).exception, type(error))


def test_doctor_changes_nothing_and_tells_an_empty_source(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    code, out, _ = run("doctor", "--config", str(config))
    assert code == 3 and "problem  runs:" in out and "ok       home:" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "trainledger.yaml"]


def test_doctor_tells_a_source_that_cannot_be_listed(tmp_path: Path) -> None:
    config = write_config(tmp_path, "  - {name: gone, kind: aws_cur, location: ./nowhere}\n")
    code, out, _ = run("doctor", "--config", str(config))
    assert code == 3 and "problem  gone:" in out and "nowhere" in out


def test_the_demo_never_writes_into_a_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run("demo", "--dir", str(tmp_path))
    assert code == 2 and "not a demo" in err and [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


FAST = """
import sys
from dagster_project.cli import app
try:
    app(["refresh", "--config", sys.argv[1]])
except SystemExit as ended:
    heavy = {"dagster", "dagster_dbt", "dbt", "duckdb", "polars", "pyarrow", "pandas", "great_expectations", "boto3"}
    print(sorted(heavy & set(sys.modules)), ended.code)
"""


def test_a_refresh_that_finds_nothing_new_imports_nothing_heavy_and_writes_nothing(tmp_path: Path) -> None:
    import json

    from dagster_project.settings import load_settings
    from tests.landing.kit import Line

    config = write_config(tmp_path)
    line = Line(load_settings(config))
    published = tmp_path / "home" / "published"
    published.mkdir(parents=True)
    (published / "trainledger.duckdb").touch()
    (published / "PUBLICATION.json").write_text(json.dumps({"fingerprint": line.fingerprint(line.elect()), "units": {}}))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FAST, str(config)], capture_output=True, text=True, cwd=root, env=dict(os.environ), check=True
    )
    assert done.stdout == "[] 0\n"
    assert "Nothing is new" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
