"""The services of one home by the commands of their units in deploy/: code server, daemon, webserver; started, ended, asked."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dagster_project.settings import Settings
from tests.browser import free_port

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
LONGEST = 900.0  # of anything that is waited for
GRAPH = 'repositoryLocationName: "dagster_project.definitions", repositoryName: "__repository__"'


def until(what: Callable[[], Any], log: Callable[[], str] = lambda: "") -> Any:
    """The first answer that is one; where there is none, the test ends with the log."""
    ends = time.monotonic() + LONGEST
    while not (answer := what()):
        assert time.monotonic() < ends, f"it did not come to be: {log()[-6000:]}"
        time.sleep(0.5)
    return answer


class Deployment:
    """Code server, daemon and pages of one home; `graph` is the module that the code server loads."""

    def __init__(self, settings: Settings, environment: Mapping[str, str], graph: str, folder: Path) -> None:
        self.settings, self._folder, self._port = settings, folder, str(free_port())
        self.address = f"http://127.0.0.1:{self._port}"
        self._environment = os.environ | environment
        self._environment |= {"TRAINLEDGER_CONFIG": str(settings.path), "DAGSTER_HOME": str(settings.home / ".dagster")}
        self._environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        self._places = {
            "/opt/trainledger/bin": str(Path(sys.executable).parent),
            "/run/trainledger": str(folder),
            "/etc/trainledger": str(folder),
            "dagster_project.definitions": graph,
            "3000": self._port,
        }
        workspace = (DEPLOY / "workspace.yaml").read_text().replace("/run/trainledger", str(folder))
        (folder / "workspace.yaml").write_text(workspace)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, service: str) -> None:
        unit = (DEPLOY / "systemd" / f"trainledger-{service}.service").read_text()
        [command] = [words for words in unit.splitlines() if words.startswith("ExecStart=")]
        command = command.removeprefix("ExecStart=")
        for place, here in self._places.items():
            command = command.replace(place, here)
        with (self._folder / f"{service}.log").open("ab") as log:
            self._running[service] = subprocess.Popen(
                shlex.split(command), stdout=log, stderr=log, cwd=ROOT, env=self._environment, start_new_session=True
            )

    def end(self, service: str, how: signal.Signals = signal.SIGTERM) -> None:
        """Signal a service and all it started, as systemd does."""
        process = self._running.pop(service)
        os.killpg(process.pid, how)
        process.wait(timeout=60)

    def end_all(self) -> None:
        for service in [*self._running]:
            self.end(service, signal.SIGKILL)

    def log(self, service: str) -> str:
        return (self._folder / f"{service}.log").read_text()

    def ask(self, text: str, **variables: Any) -> Any:
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.address}/graphql", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["data"]

    def serve_code(self) -> None:
        (self._folder / "code.sock").unlink(missing_ok=True)
        self.start("code")
        until(lambda: (self._folder / "code.sock").exists() or self._running["code"].poll() is not None)
        assert self._running["code"].poll() is None, self.log("code")

    def is_answering(self) -> bool:
        try:
            return any(
                self.ask("{repositoriesOrError {... on RepositoryConnection {nodes {name}}}}")["repositoriesOrError"]["nodes"]
            )
        except (urllib.error.URLError, ConnectionError):
            return False

    def runs(self) -> dict[str, tuple[str, dict[str, str]]]:
        """State and tags of every run."""
        found = self.ask("{runsOrError {... on Runs {results {runId status tags {key value}}}}}")["runsOrError"]["results"]
        return {run["runId"]: (run["status"], {tag["key"]: tag["value"] for tag in run["tags"]}) for run in found}

    def launch(self, *, full: bool = False) -> str:
        """Ask for a refresh, as the page's button does."""
        asked = f'executionParams: {{selector: {{{GRAPH}, pipelineName: "refresh"}}, mode: "default", runConfigData: $config}}'
        launch = f"mutation ($config: RunConfigData) {{launchPipelineExecution({asked})"
        found = self.ask(
            launch + " {... on LaunchRunSuccess {run {runId}}}}", config={"ops": {"build": {"config": {"full": full}}}}
        )
        return found["launchPipelineExecution"]["run"]["runId"]

    def steps(self, run: str) -> dict[str, str]:
        """State of each step that began."""
        found = self.ask(f'{{runOrError(runId: "{run}") {{... on Run {{stepStats {{stepKey status}}}}}}}}')["runOrError"]
        return {step["stepKey"]: step["status"] for step in found["stepStats"]}

    def is_waiting_for_the_lock(self, run: str) -> bool:
        return self.runs()[run][0] in ("STARTING", "STARTED") and "Waiting up to" in self.log("code")

    def ended(self, run: str) -> str:
        return until(lambda: state if (state := self.runs()[run][0]) in ("SUCCESS", "FAILURE", "CANCELED") else None)


@contextmanager
def deployed(settings: Settings, environment: Mapping[str, str], graph: str) -> Iterator[Deployment]:
    """All three services until the block ends."""
    folder = Path(tempfile.mkdtemp())  # a socket's path is short
    serving = Deployment(settings, environment, graph, folder)
    try:
        serving.serve_code()
        serving.start("daemon")
        serving.start("webserver")
        until(serving.is_answering)
        yield serving
    finally:
        serving.end_all()
        shutil.rmtree(folder)
