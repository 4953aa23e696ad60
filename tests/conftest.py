"""Fixtures of more than one room of the tests: the command inside this process, and one finished demo run."""

import gc
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

from tests import nightly
from tests.measured import pytest_runtest_logreport, pytest_runtest_makereport, pytest_runtest_setup, pytest_terminal_summary
from tests.s3 import endpoint, made_up_credentials
from tests.warm import run_trainledger

__all__ = [
    "endpoint",
    "made_up_credentials",
    "pytest_runtest_logreport",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_terminal_summary",
]

DEMO_SECONDS = 900
# Hypothesis fails an example that takes 0.2 s, as any may on a busy machine; speed is measured in benchmarks
settings.register_profile("every commit", deadline=None, max_examples=40)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile("nightly" if nightly.IS_NIGHTLY else "every commit")
# the oracle makes millions of small objects: Python's own threshold of 700 is a tenth of its time
gc.set_threshold(100_000, 50, 100)


# about how many processor seconds a file takes, where that has more than the number of its slow tests (44 tests may ask one
# build, and one test may build six times). The first that asks for the demo begins early: others would wait for it.
SECONDS = {
    "test_kills.py": 65,
    "test_oracle_agrees.py": 175,  # 60 of its own, and the demo
    "test_spark_parity.py": 160,
    "test_what_a_build_runs.py": 125,
    "test_restatements.py": 75,
    "test_any_changed_row.py": 100,
    "test_two_clouds.py": 40,
    "test_quarterly_report_figures.py": 45,
    "test_run_doctor.py": 40,
    "test_run_doctor_promises.py": 38,
    "test_absent_report_tables.py": 35,
    "test_evidence_packs.py": 12,
    "test_run_publish_parts.py": 28,
    "test_doctor_of_tables.py": 21,
    "test_forged_packs.py": 4,
    "test_forger.py": 150,
    "test_landing.py": 90,
    "test_documents.py": 40,  # the first that asks for an issued report
    "test_report_on_paper.py": 18,
    "test_no_decimal_is_cut.py": 32,
    "test_first_page.py": 17,
    "test_every_effect.py": 16,
    "test_run_partial_months.py": 13,
    "test_report_for_readers_of_all_kinds.py": 14,
    "test_report_in_a_browser.py": 25,
    "test_recorder_package.py": 13,
    "test_small_wheel.py": 60,
    "test_refresh_again.py": 60,
    "test_run_months.py": 60,
    "test_run_wheel.py": 55,
    "test_dagster_page.py": 60,
    "test_the_daemon_watches.py": 120,  # beside other work; its processes look around while they wait
    "test_conservation_of_any_google.py": 35,
    "test_four_ways.py": 35,
    "test_demo_exports.py": 20,
    "test_whole_line_on_s3.py": 35,
    "test_run_dbt_by_hand.py": 35,
    "test_trace.py": 40,
    "test_issuing.py": 70,
    "test_issued_year.py": 45,
    "test_histories.py": 11,
    "test_bad_input.py": 19,
    "test_a_month_turns_final.py": 16,
    "test_a_bill_and_its_tags.py": 15,
    "test_backup_and_restore.py": 25,
    "test_aws_permissions.py": 7,
    "test_alerts_of_a_line.py": 16,
    "test_run_mcp.py": 10,
    "test_conservation_of_any_bill.py": 35,
    "test_issued_report_of_the_demo.py": 60,
    "test_terraform.py": 5,
}


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Every draw starts from one seed, which the header names: the same tree draws the same, and so does every worker."""
    os.environ.setdefault("PROOF_SEED", str(nightly.seed()))
    if not nightly.IS_NIGHTLY:  # two threads that wait for each other take a third more of a refresh of few rows than one
        os.environ.setdefault("TRAINLEDGER_THREADS", "1")
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        os.environ["PROOF_OF_A_COMMIT"] = "1"  # workers are given files by name
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(nightly.seed())


def pytest_report_header() -> str:
    waiting = "nothing" if nightly.IS_NIGHTLY else ", ".join(sorted(left_to_others())) or "nothing"
    return f"draws: PROOF_SEED={nightly.seed()}, left to other commits: {waiting}"


def left_to_others() -> set[str]:
    """Of the files that take turns those that this commit leaves out, where no file was asked for by name."""
    files, now = nightly.turning(SECONDS)
    return files - now if "PROOF_OF_A_COMMIT" in os.environ else set()


def waits(item: pytest.Item) -> bool:
    """Whether a test that takes turns is left to another commit."""
    is_of_a_commit = "PROOF_OF_A_COMMIT" in os.environ and item.get_closest_marker("in_turn") is not None
    return is_of_a_commit and not nightly.has_turn(item.nodeid)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is proved less often; the longest files first, so that no worker is left with one when others are done."""
    if not nightly.IS_NIGHTLY:
        files = {nightly.ROOT / file for file in left_to_others()}
        left_out = {item for item in items if item.path in files or item.get_closest_marker("nightly") or waits(item)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=[*left_out])
        for item in items:
            proved = item.get_closest_marker("proved_by")
            if proved and nightly.is_proved(proved.args[0]):
                of = nightly.record()[proved.args[0]]["date"]
                item.add_marker(pytest.mark.skip(reason=f"proved on {of}, and nothing that it reads changed: tests/nightly.json"))
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -SECONDS.get(item.path.name, slow[item.path]))


Command = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="session")
def trainledger() -> Command:
    """The command inside this process, where engines stay loaded."""
    return run_trainledger


def built_once(factory: pytest.TempPathFactory, config: pytest.Config, name: str, build: Callable[[Path], None]) -> Path:
    """A folder that the first worker who needs it builds, and that all workers only read."""
    base = factory.getbasetemp()
    if hasattr(config, "workerinput"):
        base = base.parent  # of all workers of this session
    folder, done = base / name, base / f"{name}.done"
    with FileLock(base / f"{name}.lock"):
        if not done.exists():
            build(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder of a finished demo run: exports, trainledger.yaml, home."""

    def run_demo(folder: Path) -> None:
        command = [sys.executable, "-c", "from dagster_project import main; main()", "demo", "--dir", str(folder)]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=DEMO_SECONDS, check=False, cwd=nightly.ROOT)
        if finished.returncode != 0:
            pytest.fail(f"trainledger demo: {finished.returncode}\n{finished.stdout[-4000:]}\n{finished.stderr[-4000:]}")

    return built_once(tmp_path_factory, request.config, "demo", run_demo)


@pytest.fixture(scope="session")
def before_the_restatement(demo_home: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A copy of the demo with a report as published on 1 August: after the first execution of June's bill, before the second."""

    def report(folder: Path) -> None:
        # copy2: file times are delivery times
        shutil.copytree(
            demo_home, folder, symlinks=True, ignore=shutil.ignore_patterns("published", "reports", ".dagster", "dbt")
        )
        as_published = ("--as-published", "2026-08-01T00:00:00Z", "--config", folder / "trainledger.yaml")
        made = run_trainledger("report", "quarterly", "--quarter", "2026Q2", *as_published, now="2026-10-10T00:00:00Z")
        if made.returncode != 0:
            pytest.fail(f"{made.stdout[-3000:]}\n{made.stderr[-3000:]}")

    return built_once(tmp_path_factory, request.config, "demo-before-restatement", report)
