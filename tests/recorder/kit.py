"""A node that is none: a neuron-monitor that prints at once, sysfs trees, metadata services; recorders as users start them."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.connectors.neuron import document, runtime

SECONDS = 120
HOST = "i-0123456789abcdef0"
POWER = "POWER_STATUS_VALID,1787754600,0.10,2.82,1.57"
# prints its documents, leaves a mark, and lives as long as its recorder
MONITOR = """#!/bin/sh
cat "$0.lines"
touch "$0.printed"
while kill -0 $PPID 2> /dev/null; do sleep 0.1; done
"""


class Node:
    """A machine in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.spool = folder, folder / "out", folder / "spool"
        self.sysfs = folder / "sys"
        self.program = [sys.executable, "-P", "-m", "trainledger_recorder"]
        (folder / "bin").mkdir(parents=True)
        (folder / "json.py").write_text("raise SystemExit('a file of the job was taken for a library')\n")
        self.printed = folder / "bin" / "neuron-monitor.printed"

    def monitor(self, *documents: Mapping[str, Any]) -> None:
        """Have a neuron-monitor that prints these documents."""
        program = self.folder / "bin" / "neuron-monitor"
        program.write_text(MONITOR)
        program.chmod(0o755)
        lines = documents or (document(runtime(40.0, 60.0)), document(runtime(50.0, 70.0)))
        program.with_name("neuron-monitor.lines").write_text("".join(f"{json.dumps(one)}\n" for one in lines))

    def power(self, device: int, text: str = POWER, below: str = "stats/power") -> Path:
        """Have a Neuron device with a power file, in one of the driver's trees."""
        folder = self.sysfs / "devices/virtual/neuron_device" / f"neuron{device}" / below
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "utilization").write_text(f"{text}\n")
        return folder / "utilization"

    def arguments(self, *options: object, to: object = None, run: str | None = "run-a") -> list[str]:
        fixed = [*(("--run", run) if run else ()), "--host", HOST, "--spool", self.spool, "--sysfs", self.sysfs]
        return [str(one) for one in ("--to", to or self.out, *fixed, *options)]

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR", "COVERAGE_PROCESS_START") if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        nowhere = {"AWS_EC2_METADATA_DISABLED": "true", "GCE_METADATA_HOST": "127.0.0.1:9"}
        return {**kept, **nowhere, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}", **more}

    def start(self, *arguments: object, to: object = None, run: str | None = "run-a", **more: str) -> subprocess.Popen[str]:
        """A recorder as a user starts it."""
        command = [*self.program, *self.arguments(*arguments, to=to, run=run)]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(**more),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # whoever runs the tests in the background (`&`, nohup) has SIGINT ignored, and a child inherits that
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def record(
        self, *arguments: object, to: object = None, run: str | None = "run-a", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """A recording from its start to its end."""
        process = self.start(*arguments, to=to, run=run, **more)
        out, err = process.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def delivered(self, kind: str) -> list[Path]:
        return [path for path in files_below(self.out / kind) if not path.name.endswith(".tmp")]

    def waiting(self) -> list[Path]:
        """Files of the spool that are lines or records."""
        return [path for path in files_below(self.spool) if path.name.endswith((".jsonl", ".jsonl.gz", "record.json"))]

    def record_of(self) -> dict[str, Any]:
        (path,) = self.delivered("runs")
        record: dict[str, Any] = json.loads(path.read_text())
        return record


def files_below(folder: Path) -> list[Path]:
    """All files, also while others come and go."""
    return sorted(Path(base) / name for base, _, names in os.walk(folder) for name in names)


@contextmanager
def answering(
    answers: Mapping[tuple[str, str], str], needed: Mapping[str, str], otherwise: int = 404, asked: list[str] | None = None
) -> Iterator[str]:
    """A server that answers these methods and paths, to who sends this header, and keeps what else it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answers.get((self.command, self.path))
            is_allowed = self.command == "PUT" or all(self.headers.get(name) == value for name, value in needed.items())
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if found is None and asked is not None:
                asked.append(self.path)
            self.send_response(200 if found is not None and is_allowed else otherwise)
            self.end_headers()
            self.wfile.write((found or "").encode())

        do_PUT = do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def chip_answer(moment: dt.datetime, host: str, *percents: float | str, memory: int = 0) -> bytes:
    """What the sampler of libtpu prints at a time: a duty cycle of each chip, and the memory of the first ones."""
    end = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    listed = [("duty_cycle", "%", chip, value) for chip, value in enumerate(percents)]
    listed += [("memory_used", "By", chip, 1024.0) for chip in range(memory)]
    series = [
        {
            "metric": {"type": f"libtpu/accelerator/{metric}", "labels": {"accelerator_id": f"{host}-{chip}"}},
            "resource": {"type": "libtpu", "labels": {"location": "us-central2", "accelerator_type": "ct6e-standard-4t"}},
            "unit": unit,
            "points": [{"interval": {"endTime": end}, "value": {"doubleValue": value}}],
        }
        for metric, unit, chip, value in listed
    ]
    return json.dumps({"timeSeries": series}).encode()
