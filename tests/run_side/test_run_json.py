"""`--json`: the shapes that docs/operations.md promises to programs."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from run_side_kit import write_build, write_config
from typer.testing import CliRunner

from dagster_project.cli import app

DIGITS = set("0123456789abcdef")


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_doctor_shows_every_check_and_its_exit_code(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    code, out, _ = run("doctor", "--json", "--config", str(config))
    found = json.loads(out)
    assert code == found["exit_code"] == 3 and found["configuration"] == str(config)
    assert list(found) == ["exit_code", "configuration", "checks"]
    keys = ["about", "outcome", "message", "remedy", "is_source", "question", "facts"]
    assert all(list(check) == keys and check["question"] for check in found["checks"])
    by_name = {check["about"]: check for check in found["checks"]}
    assert by_name["home"]["outcome"] == "ok" and not by_name["home"]["is_source"]
    assert by_name["runs"]["outcome"] == "problem" and by_name["runs"]["is_source"] and by_name["runs"]["remedy"]


def test_digest_lists_file_tables_rows_and_digests_as_the_text_does(tmp_path: Path) -> None:
    file = write_build(tmp_path / "some.duckdb")
    code, out, _ = run("digest", "--json", str(file))
    found = json.loads(out)
    assert code == 0 and list(found) == ["file", "tables"] and found["file"] == str(file)
    assert [(table["table"], table["rows"]) for table in found["tables"]] == [("dim_things", 2), ("fct_costs", 3)]
    assert all(len(table["digest"]) == 64 and set(table["digest"]) <= DIGITS for table in found["tables"])
    assert run("digest", str(file))[1].split()[::3] == [table["digest"] for table in found["tables"]]


@pytest.mark.slow
def test_a_refresh_shows_what_was_new_and_what_is_published(refreshed: Path, config: Path) -> None:
    first = json.loads((refreshed.parent / "refresh.json").read_text())
    publication = json.loads((refreshed.parent / "home" / "published" / "PUBLICATION.json").read_text())
    keys = ["exit_code", "is_published", "build_id", "new_deliveries", "rows", "problems", "expected_missing"]
    keys += ["not_published", "publish_to"]
    assert list(first) == keys
    assert first["exit_code"] == 0 and first["is_published"] and first["problems"] == []
    assert first["new_deliveries"] == {"runs": 1}
    assert first["build_id"] == publication["build_id"] and first["rows"] == publication["rows"]
    code, out, _ = run("refresh", "--json", "--config", str(config))
    again = json.loads(out)
    assert code == 0 and again == first | {"is_published": False, "new_deliveries": {}}


def test_a_refresh_that_could_not_read_a_source_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = write_config(tmp_path, "  - {name: gone, kind: aws_cur, location: ./nowhere}\n")
    nothing_new = SimpleNamespace(refusals=[], members=[])
    monkeypatch.setattr("dagster_project.commands.refreshing.current_election", lambda *_: nothing_new)
    code, out, _ = run("refresh", "--json", "--config", str(config))
    found = json.loads(out)
    assert code == found["exit_code"] == 3 and found["build_id"] is None and found["rows"] == {}
    assert len(found["problems"]) == 1 and found["problems"][0].startswith("gone: ")
