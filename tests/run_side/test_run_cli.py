"""The command line: every command helps with an example, and what goes wrong is one message and one exit code."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from run_side_kit import write_config
from typer.testing import CliRunner

from dagster_project.base import failures
from dagster_project.cli import GROUPS, app
from dagster_project.commands import demonstration
from dagster_project.commands.refreshing import Refreshed

COMMANDS = [
    *(
        ["demo"],
        ["init"],
        ["doctor"],
        ["refresh"],
        ["status"],
        ["sql"],
        ["dbt"],
        ["ui"],
        ["run"],
        ["digest"],
        ["mcp"],
        ["plan"],
        ["verify"],
        ["prune"],
        ["compact"],
    ),
    *(
        ["report", "quarterly"],
        ["report", "compare"],
        ["report", "model"],
        ["report", "yearly"],
        ["trace"],
        ["restatements"],
        ["record"],
    ),
    *(["export", "focus"], ["export", "activity"], ["accept"], ["sign"]),
]
ROOT = Path(__file__).resolve().parents[2]


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


@pytest.mark.parametrize("command", [[], ["report"], ["export"], *COMMANDS], ids=" ".join)
def test_at_80_columns_help_is_whole(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(width: int) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        return run(*command, "--help")[1]

    narrow, wide = shown(80), shown(300)
    assert max(map(len, narrow.splitlines())) <= 80 and "…" not in narrow
    assert words_of(narrow) == words_of(wide)


def words_of(page: str) -> Counter[str]:
    """What is written on it, but for frames and where lines end; a long name may be folded."""
    return Counter(re.sub(r"[─│╭╮╰╯\s]", "", page))


def test_help_has_five_groups_and_begins_with_init_doctor_refresh() -> None:
    page = run("--help")[1]
    assert re.findall(r"╭─ ([A-Z][a-z ]+) ─", page) == ["Options", "Start", "Every day", "Reports", "Proof", "Upkeep"]
    assert re.findall(r"│ (\w+) ", page.split("─ Start ─")[1])[:3] == ["init", "doctor", "refresh"]
    assert sorted(name for names in GROUPS.values() for name in names) == sorted({words[0] for words in COMMANDS})


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in (["demo"], ["init"], ["record"])], ids=" ".join)
def test_a_configuration_that_is_not_there_is_named_with_its_remedy(command: list[str], tmp_path: Path) -> None:
    needed = {
        "sql": ["select 1"],
        "run": ["a"],
        "dbt": ["ls"],
        "plan": ["--workload", "chat"],
        "quarterly": ["--quarter", "2026Q3"],
        "yearly": ["--year", "2026"],
        "sign": ["2026Q2-1.zip", "--key", "key.pem", "--as", "preparer"],
        "verify": ["--landing"],
    }
    more = {**needed, "trace": ["--figure", "2026Q3/glance/effective_cost"], "accept": ["cur", "2026-04"]}.get(command[-1], [])
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


def commands_of(command: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not hasattr(command, "commands"):  # no group
        yield above
        return
    for name, below in command.commands.items():
        yield from commands_of(below, (*above, name))


def test_pages_and_messages_promise_the_commands_there_are_and_no_other() -> None:
    there = {" ".join(names) for names in commands_of(typer.main.get_command(app))}
    assert there == {" ".join(names) for names in COMMANDS}
    first_words = {name.split()[0] for name in there}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    sources = [path for folder in ("connectors", "dagster_project", "reports") for path in (ROOT / folder).rglob("*.py")]
    promised = {}
    for path in [*pages, *sources]:
        for word in re.findall(r"(?:`|bin/|Example: )trainledger ([a-z]\w*)", path.read_text()):
            promised.setdefault(word, path.relative_to(ROOT).as_posix())
    assert {word: path for word, path in promised.items() if word not in first_words} == {}
    operations = (ROOT / "docs" / "operations.md").read_text()
    assert [name for name in there if f"| `trainledger {name}" not in operations] == []


def test_the_shell_completes_commands_and_options() -> None:
    def completed(*words: str) -> str:
        asked = {"_TRAINLEDGER_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        return CliRunner().invoke(app, [], prog_name="trainledger", env=asked).stdout

    assert completed("trainledger", "ref").split() == ["refresh"]
    assert "--months" in completed("trainledger", "refresh", "--").split()
    assert "--show-completion" in run("--help")[1]


@pytest.mark.parametrize(
    ("months", "listed"),
    [
        ("2026-04", ["2026-04"]),
        ("2025-11..2026-02", ["2025-11", "2025-12", "2026-01", "2026-02"]),
        ("2026-09..", ["2026-09", "2026-10"]),  # up to the month of the clock
    ],
)
def test_months_to_build_again_are_listed(
    months: str, listed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}

    def refresh(*_: object, **options: object) -> Refreshed:
        asked.update(options)
        return Refreshed()

    monkeypatch.setattr("dagster_project.commands.refreshing.refresh", refresh)
    assert run("refresh", "--months", months, "--config", str(write_config(tmp_path)))[0] == 0
    assert asked["months"] == listed


@pytest.mark.parametrize("months", ["2026", "2026-13", "2026-05..2026-04", "April", "2026-04...2026-05"])
def test_months_that_are_no_range_are_usage(months: str, tmp_path: Path) -> None:
    code, _, err = run("refresh", "--months", months, "--config", str(write_config(tmp_path)))
    assert code == 2 and months in err and "Traceback" not in err


def test_a_command_ends_with_its_code_and_without_a_last_look_for_circles() -> None:
    """Python makes that look after the last exit handler, of all objects that are not frozen."""
    asked = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count())); from dagster_project import main; main()"
    for arguments, code in ((["--version"], 0), (["no-such-command"], 2)):
        done = subprocess.run([sys.executable, "-c", asked, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
        assert done.returncode == code and int(done.stdout.splitlines()[-1]) > 1000


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


def test_doctor_changes_nothing_and_shows_an_empty_source(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    code, out, _ = run("doctor", "--config", str(config))
    assert code == 3 and "problem  runs:" in out and "ok       home:" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "trainledger.yaml"]


def test_doctor_shows_a_source_that_cannot_be_listed(tmp_path: Path) -> None:
    config = write_config(tmp_path, "  - {name: gone, kind: aws_cur, location: ./nowhere}\n")
    code, out, _ = run("doctor", "--config", str(config))
    assert code == 3 and "problem  gone:" in out and "nowhere" in out


def test_the_demo_never_writes_into_a_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run("demo", "--dir", str(tmp_path))
    assert code == 2 and "not a demo" in err and [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_demo_shows_where_its_google_bill_is_read_from_bigquery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, shown = write_config(tmp_path, "  - {name: b, kind: gcp_billing, location: ./b}\n"), list[str]()
    monkeypatch.setattr(demonstration, "prepare", lambda *_: config)
    monkeypatch.setattr(demonstration, "refresh", lambda *_, **__: Refreshed())
    monkeypatch.setattr(demonstration, "QUARTERS", ())
    monkeypatch.setattr(demonstration, "_issued", lambda *_: tmp_path / "2026Q2-1.zip")
    monkeypatch.setattr(demonstration, "_arrive", lambda *_: 0)
    assert demonstration.run(tmp_path, 1, shown.append) == 0
    [stated] = [line for line in shown if line.startswith("BigQuery")]
    assert str(tmp_path / "README.md") in stated


FAST = """
import sys
from dagster_project.cli import GROUPS, app
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
    (published / "PUBLICATION.json").write_text(
        json.dumps({"fingerprint": line.fingerprint(line.elect()), "units": {}, "build_id": "none"})
    )
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = subprocess.run(
        [sys.executable, "-c", FAST, str(config)], capture_output=True, text=True, cwd=ROOT, env=dict(os.environ), check=True
    )
    assert done.stdout == "[] 0\n"
    assert "Nothing is new" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
