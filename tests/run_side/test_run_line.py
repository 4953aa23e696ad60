"""The run side on a small real line: run records only, through dbt, gates and publication."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.settings.model import GROUPS
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, in_dagster: bool = False) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    done = run_trainledger(*arguments, in_dagster=in_dagster)
    return done.returncode, done.stdout, done.stderr


def publication(config: Path) -> dict[str, object]:
    """PUBLICATION.json."""
    return json.loads((config.parent / "home" / "published" / "PUBLICATION.json").read_text())


def test_what_was_published_is_read_and_a_wrong_record_is_named_while_the_others_go_on(config: Path) -> None:
    first = publication(config)
    _, out, _ = run(
        "sql", "select training_run_id, recorded_id, tokens from dim_training_runs", "--format", "csv", "--config", str(config)
    )
    assert out == "training_run_id,recorded_id,tokens\nrun-a,Run A,1000\n"
    (config.parent / "runs" / "b.run.json").write_text('{"training_run_id": 7}')
    code, _, err = run("refresh", "--config", str(config), in_dagster=True)
    assert code == 3 and "b.run.json" in err and "Unreadable or quarantined" in err
    assert publication(config)["build_id"] != first["build_id"]  # the others are published
    assert run("refresh", "--config", str(config), in_dagster=True)[0] == 3  # for as long as it stays
    newest = newest_run(config)
    assert newest.status.value == "FAILURE"  # in Dagster's list, as in the exit code
    with config.open("a") as more:
        more.write("expected_missing: [runs]\n")
    code, out, err = run("refresh", "--config", str(config), "--json", in_dagster=True)
    assert code == 0 and "Expected to be missing: runs" in err and "b.run.json" in err, err
    assert len(json.loads(out)["expected_missing"]) == 1 and json.loads(out)["problems"] == []
    assert "runs is expected to be missing" in run("status", "--config", str(config))[1].replace("\n", " ")
    (config.parent / "runs" / "b.run.json").unlink()
    code, _, err = run("refresh", "--config", str(config), in_dagster=True)
    assert code == 0 and f"runs is in again: take it off `expected_missing` in {config}" in err, err
    assert newest_run(config).status.value == "SUCCESS"


def test_a_source_that_cannot_be_read_is_a_failed_run_though_nothing_is_new(config: Path) -> None:
    (config.parent / "runs").rename(config.parent / "gone")
    first, before = publication(config), newest_run(config)
    code, _, err = run("refresh", "--config", str(config), in_dagster=True)
    assert code == 3 and "the publication is up to date" in err and publication(config) == first
    failed = newest_run(config)
    assert failed.run_id != before.run_id and failed.status.value == "FAILURE"
    assert run("refresh", "--config", str(config), in_dagster=True)[0] == 3
    assert newest_run(config).run_id == failed.run_id, "a look that finds the same adds no run"
    (config.parent / "gone").rename(config.parent / "runs")
    assert run("refresh", "--config", str(config), in_dagster=True)[0] == 0 and publication(config) == first
    assert newest_run(config).status.value == "SUCCESS"


def newest_run(config: Path) -> dg.DagsterRun:
    """The first of Dagster's list of runs."""
    with dg.DagsterInstance.from_config(str(config.parent / "home" / ".dagster")) as instance:
        return instance.get_runs(limit=1)[0]


def test_an_as_of_report_builds_beside_the_publication_and_never_touches_it(config: Path) -> None:
    first = publication(config)
    code, out, err = run("report", "quarterly", "--quarter", "2026Q2", "--as-of", "2026-10-10", "--config", str(config))
    assert code == 0 and Path(out.strip()).is_file(), err
    assert publication(config) == first
    asof = config.parent / "home" / "asof" / "as-of-20261010T000000.000000Z"
    assert json.loads((asof / "published" / "PUBLICATION.json").read_text())["tables"] == first["tables"]


def test_a_second_writer_ends_with_exit_code_4(config: Path) -> None:
    hold = "import sys; from pathlib import Path; from dagster_project.base.locking import writer_lock\n"
    hold += "with writer_lock(Path(sys.argv[1]), 'another'): print('held', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(config.parent / "home")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert other.stdout and other.stdout.readline() == "held\n"
    code, _, err = run("refresh", "--full", "--config", str(config))
    other.communicate("")
    assert code == 4 and "another" in err


def load(config: Path | None) -> subprocess.CompletedProcess[str]:
    """Load the definitions as Dagster's code server does, and say what is in them."""
    script = (
        "import json; from dagster_project.definitions import defs\n"
        "import dagster as dg; dg.Definitions.validate_loadable(defs)\n"
        "graph = defs.resolve_asset_graph()\n"
        "groups = sorted({graph.get(key).group_name for key in graph.get_all_asset_keys()})\n"
        "print(json.dumps([groups, sorted(job.name for job in defs.jobs), [s.name for s in defs.schedules],"
        " sorted('/'.join(key.path) for key in graph.get_all_asset_keys()), len(graph.asset_check_keys)]))"
    )
    environment = {key: value for key, value in os.environ.items() if key != "TRAINLEDGER_CONFIG"}
    environment |= {"TRAINLEDGER_CONFIG": str(config)} if config else {}
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, env=environment, check=False)


def test_the_definitions_hold_the_whole_line(config: Path) -> None:
    done = load(config)
    assert done.returncode == 0, done.stderr
    groups, jobs, schedules, keys, checks = json.loads(done.stdout.splitlines()[-1])
    assert groups == sorted(GROUPS)
    assert jobs == ["comparison_report", "prune", "publish", "quarterly_report", "rebuild_months", "refresh"]
    assert sorted(schedules) == ["prune", "quarterly", "refresh"]
    assert {
        "new_deliveries",
        "landing/runs",
        "raw/aws_cur",
        "gates",
        "publication",
        "reports/quarterly",
        "reports/comparison",
    } <= set(keys)
    assert [key for key in keys if key.startswith("landing/")] == ["landing/runs"]  # its sources, not all kinds
    assert checks > 30  # dbt tests, expectations, landings


def test_without_a_configuration_the_definitions_say_what_is_missing() -> None:
    done = load(None)
    assert done.returncode != 0 and "TRAINLEDGER_CONFIG is not set" in done.stderr
