"""The real Dagster page in a real browser: what the command line did is shown, and a refresh is started with one click."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagster_project.base.failures import GateError
from dagster_project.settings import load_settings
from tests.browser import free_port, open_page
from tests.invented_build import FAILURE, ROWS, show, steps_of
from tests.line.kit import query, tree
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DEMO_NOW = "2026-10-10T00:00:00Z"
LONGEST_START_SECONDS = 180
LONGEST_REFRESH_SECONDS = 420
LOCATION = "dagster_project.definitions"
LATE = {
    "training_run_id": "UI late",
    "provider_name": "AWS",
    "attempts": [
        {
            "attempt_id": "1",
            "state": "succeeded",
            "started_at": "2026-06-01T00:00:00Z",
            "ended_at": "2026-06-01T06:00:00Z",
            "nodes": [{"resource_id": "i-ui-late", "accelerator_type": "trn1.32xlarge", "chips": 16}],
        }
    ],
}
LAUNCH = """mutation ($job: String!, $tags: [ExecutionTag!]!) { launchPipelineExecution(executionParams: {
  selector: {repositoryLocationName: "%s", repositoryName: "__repository__", pipelineName: $job},
  mode: "default", runConfigData: {}, executionMetadata: {tags: $tags}
}) { __typename ... on PythonError { message } ... on LaunchRunSuccess { run { runId } } } }"""

BACKFILL = """mutation ($asked: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $asked) {
  __typename ... on PythonError { message }
} }"""

STEPS = "query ($run: ID!) {runOrError(runId: $run) {... on Run {stepStats {stepKey}}}}"


@pytest.fixture(scope="module")
def line(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished demo that the UI may change."""
    folder = tmp_path_factory.mktemp("page") / "demo"
    shutil.copytree(demo_home, folder, symlinks=True)
    return folder


@pytest.fixture(scope="module")
def page_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def dagster_ui(line: Path, page_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of its UI; stopped as Ctrl-C would."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    log = tmp_path_factory.mktemp("ui") / "ui.log"
    command = [sys.executable, "-m", "dagster_project.cli", "ui", "--config", line / "trainledger.yaml", "--port", str(port)]
    command += ["--page-port", str(page_port)]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, cwd=ROOT, env=os.environ | {"TRAINLEDGER_NOW": DEMO_NOW}, start_new_session=True
        )
    try:
        for _ in range(LONGEST_START_SECONDS):
            assert process.poll() is None, log.read_text()
            try:
                urllib.request.urlopen(f"{address}/server_info", timeout=5).read()
                break
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                time.sleep(1)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=90) is not None
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"{address}/server_info", timeout=5)


def test_the_page_of_the_ledger_is_served_beside_it(dagster_ui: str, page_port: int, line: Path) -> None:
    served = urllib.request.urlopen(f"http://127.0.0.1:{page_port}/", timeout=10).read()
    assert served == (line / "trainledger-home" / "published" / "ledger" / "index.html").read_bytes()


def ask(address: str, text: str, **variables: Any) -> dict[str, Any]:
    """Ask the GraphQL that the page itself uses."""
    body = json.dumps({"query": text, "variables": variables}).encode()
    request = urllib.request.Request(f"{address}/graphql", body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))["data"]


def latest_run(address: str) -> dict[str, Any]:
    """The newest run: its id, state, and who started it."""
    found = ask(address, "{runsOrError(limit: 1) {... on Runs {results {runId status tags {key value}}}}}")
    return found["runsOrError"]["results"][0]


def first_run(address: str) -> str:
    """The id of the oldest run: the refresh of the demo."""
    found = ask(address, "{runsOrError {... on Runs {results {runId}}}}")
    return found["runsOrError"]["results"][-1]["runId"]


def finished(address: str, longest: int) -> dict[str, Any]:
    """The newest run once it has ended."""
    for _ in range(longest):
        if (run := latest_run(address))["status"] in ("SUCCESS", "FAILURE", "CANCELED"):
            return run
        time.sleep(1)
    raise TimeoutError(f"the run did not end: {run}")


def test_the_graph_shows_every_room_of_the_line(dagster_ui: str) -> None:
    with open_page() as page:
        page.goto(f"{dagster_ui}/asset-groups")
        for group in ("landing", "raw", "staging", "intermediate", "marts", "gates", "publication", "reports"):
            page.get_by_text(group, exact=True).first.wait_for(timeout=60_000)
        assert page.get_by_text("An unexpected error").count() == 0


def test_the_run_of_the_command_line_and_its_checks_are_on_the_page(dagster_ui: str) -> None:
    with open_page() as page:
        page.goto(f"{dagster_ui}/locations/{LOCATION}/jobs/refresh/runs")
        page.get_by_text("started_by: command line").first.wait_for(timeout=60_000)
        page.get_by_text("Success").first.wait_for(timeout=60_000)
        page.goto(f"{dagster_ui}/runs/{first_run(dagster_ui)}")
        for step in ("new_deliveries", "build"):  # the last one takes no time, so it has no bar with its name
            page.get_by_text(step, exact=True).first.wait_for(timeout=60_000)
        assert page.get_by_text("Unable to build execution plan").count() == 0
        page.goto(f"{dagster_ui}/assets/marts/fct_reconciliation?view=checks")
        page.get_by_text("assert_every_cell_adds_up").first.wait_for(timeout=60_000)
        page.get_by_text("Succeeded").first.wait_for(timeout=60_000)
        page.goto(f"{dagster_ui}/assets/landing/payer-a-cur?view=partitions")
        page.get_by_text("Materialized (6)").wait_for(timeout=60_000)
        page.get_by_text("Missing (0)").wait_for(timeout=60_000)  # no month of another source
        page.goto(f"{dagster_ui}/assets/reports/quarterly?view=partitions")
        page.get_by_text("Materialized (2)").wait_for(timeout=60_000)


def test_a_month_of_another_source_cannot_be_launched_nor_become_green(dagster_ui: str) -> None:
    asked = {"assetSelection": [{"path": ["landing", "payer-a-cur"]}], "partitionNames": ["2019-01"], "title": "not its month"}
    assert ask(dagster_ui, BACKFILL, asked=asked)["launchPartitionBackfill"]["__typename"] == "PartitionKeysNotFoundError"
    tags = [{"key": "dagster/partition", "value": "2019-01"}]  # past the dialog of the page
    started = ask(dagster_ui, LAUNCH % LOCATION, job="land_again_payer_a_cur", tags=tags)["launchPipelineExecution"]
    run = finished(dagster_ui, LONGEST_START_SECONDS)
    assert (run["runId"], run["status"]) == (started["run"]["runId"], "FAILURE")


def test_a_backfill_lands_one_month_of_one_source_again_and_nothing_else(dagster_ui: str, line: Path) -> None:
    before, landed = latest_run(dagster_ui)["runId"], tree(line / "trainledger-home/landing")
    asked = {"assetSelection": [{"path": ["landing", "payer-a-cur"]}], "partitionNames": ["2026-05"], "title": "May again"}
    assert ask(dagster_ui, BACKFILL, asked=asked)["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess"
    for _ in range(LONGEST_START_SECONDS):
        if latest_run(dagster_ui)["runId"] != before:
            break
        time.sleep(1)
    run = finished(dagster_ui, LONGEST_START_SECONDS)
    partitions = [tag["value"] for tag in run["tags"] if tag["key"] == "dagster/partition"]
    assert (run["runId"] != before, run["status"], partitions) == (True, "SUCCESS", ["2026-05"])
    assert tree(line / "trainledger-home/landing") == landed, "the same bytes again add nothing"


def test_a_refresh_is_started_with_one_click_and_lands_telemetry_and_run_records(dagster_ui: str, line: Path) -> None:
    (line / "exports" / "runs" / "late.run.json").write_text(json.dumps(LATE))
    [sample, *_] = sorted((line / "exports" / "neuron").rglob("*.zst"))
    late = line / "exports" / "neuron" / "run=ui-late" / "host=i-ui-late"
    late.mkdir(parents=True)
    shutil.copy(sample, late / sample.name)
    before = latest_run(dagster_ui)["runId"]
    with open_page(viewport={"width": 1600, "height": 1000}) as page:
        page.goto(f"{dagster_ui}/locations/{LOCATION}/jobs/refresh")
        button = page.get_by_role("button", name="Materialize all")
        button.wait_for(timeout=60_000)
        assert button.is_enabled()
        button.click()
        for _ in range(60):
            if latest_run(dagster_ui)["runId"] != before:
                break
            time.sleep(1)
    run = finished(dagster_ui, LONGEST_REFRESH_SECONDS)
    assert run["runId"] != before and run["status"] == "SUCCESS", run
    assert [step["stepKey"] for step in ask(dagster_ui, STEPS, run=run["runId"])["runOrError"]["stepStats"]] == [
        "new_deliveries",
        "build",
        "every_source_is_in",
    ]
    home = line / "trainledger-home"
    assert query(home, "select recorded_id from marts.dim_training_runs where training_run_id = 'ui-late'") == [("UI late",)]
    assert list((home / "landing" / "neuron").glob("*ui-late*"))
    asked = '{assetNodes(assetKeys: [{path: ["landing", "%s"]}]) {assetMaterializations(limit: 1) {runId}}}'
    for source in ("neuron", "runs"):
        [node] = ask(dagster_ui, asked % source)["assetNodes"]
        assert node["assetMaterializations"][0]["runId"] == run["runId"]


def test_a_failed_gate_of_the_command_line_shows_its_rows(dagster_ui: str, line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", DEMO_NOW)
    monkeypatch.setenv("DAGSTER_HOME", "")
    settings = load_settings(line / "trainledger.yaml")
    with pytest.raises(GateError):
        show(settings, steps_of(settings, FAILURE))
    run = latest_run(dagster_ui)
    assert run["status"] == "FAILURE"
    with open_page(viewport={"width": 1600, "height": 1000}) as page:
        page.goto(f"{dagster_ui}/runs/{run['runId']}")
        page.get_by_text("Failure").first.wait_for(timeout=60_000)
        page.get_by_text("Correct the cause.").first.wait_for(timeout=60_000)
        page.goto(f"{dagster_ui}/assets/marts/fct_reconciliation?view=checks&checkDetail=assert_every_cell_adds_up")
        page.get_by_text(ROWS).first.wait_for(timeout=60_000)
        page.get_by_text("This is a blocking asset check.").wait_for(timeout=60_000)


def test_a_missing_source_is_named_with_its_remedy_on_the_page_of_the_failed_run(dagster_ui: str, line: Path) -> None:
    (line / "exports" / "gpu").rename(line / "gone")
    done = run_trainledger("refresh", "--config", line / "trainledger.yaml", now=DEMO_NOW, in_dagster=True)
    (line / "gone").rename(line / "exports" / "gpu")
    assert done.returncode == 3, done.stderr
    run = latest_run(dagster_ui)
    assert run["status"] == "FAILURE"
    with open_page(viewport={"width": 1600, "height": 1000}) as page:
        page.goto(f"{dagster_ui}/runs/{run['runId']}")
        page.get_by_text(f"gpu: {line / 'exports' / 'gpu'}: there is no such folder. Create the folder").first.wait_for(
            timeout=60_000
        )
        assert page.get_by_text("every_source_is_in").count() > 1
