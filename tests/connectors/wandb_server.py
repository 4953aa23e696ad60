"""A server of W&B's wire shape: GraphQL with a login, pages of runs, a run with its events, and its metadata file elsewhere.

The queries are told apart by their operation, as the real server does; what is asked of the project, runs and events it answers
in the shapes of wandb/apis/public/runs.py. It keeps every request, and where its login came from.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "local-0123456789abcdef"
_LOGIN = "Basic " + base64.b64encode(f"api:{KEY}".encode()).decode()


class Wandb:
    """The state of a server: runs in the order of their creation, events by run, and the requests it had."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.metadata: dict[str, dict[str, Any]] = {}
        self.page = 2
        self.failures: list[int] = []  # answered first, one a request
        self.asked: list[tuple[str, str | None]] = []  # what, and with which login
        self.uri = self.files_uri = ""

    def add(self, name: str, *events: dict[str, Any], metadata: dict[str, Any] | None = None, **more: Any) -> None:
        """A run with its events; another one of the name takes its place."""
        run = {"name": name, "displayName": f"the {name}", "state": "finished", "createdAt": "2026-04-01T00:00:00Z"}
        run |= {"heartbeatAt": "2026-04-01T01:00:00Z", "group": None, "jobType": None, "tags": [], "historyLineCount": 5}
        self.runs = [one for one in self.runs if one["name"] != name] + [run | {"eventsLineCount": len(events)} | more]
        self.events[name] = list(events)
        if metadata:
            self.metadata[name] = metadata

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        """The data of a query."""
        if (variables["entity"], variables["project"]) != ("acme", "llama"):
            return {"project": None}
        if query.startswith("query Runs("):
            first = int(variables["cursor"] or 0)
            size = min(self.page, variables["perPage"])
            edges = [{"node": run} for run in self.runs[first : first + size]]
            more = first + size < len(self.runs)
            return {"project": {"runs": {"edges": edges, "pageInfo": {"endCursor": str(first + size), "hasNextPage": more}}}}
        run = next((one for one in self.runs if one["name"] == variables["name"]), None)
        if run is None:
            return {"project": {"run": None}}
        files = [{"node": {"directUrl": f"{self.files_uri}/{run['name']}?signature=x"}}] if run["name"] in self.metadata else []
        found = run | {"files": {"edges": files}}
        if "events(" in query:
            found["events"] = [json.dumps(event) for event in self.events[run["name"]]]
        if "summaryMetrics" in query:
            found |= {"config": run.get("config", "{}"), "summaryMetrics": run.get("summaryMetrics", "{}")}
        return {"project": {"run": found}}


def _handler(wandb: Wandb, is_files: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            wandb.asked.append((body["query"].split("(")[0], self.headers.get("Authorization")))
            if wandb.failures:
                return self._send(wandb.failures.pop(0), {})
            if self.path != "/graphql" or self.headers.get("Authorization") != _LOGIN:
                return self._send(401, {"errors": [{"message": "not logged in"}]})
            return self._send(200, {"data": wandb.answer(body["query"], body["variables"])})

        def do_GET(self) -> None:
            wandb.asked.append((self.path, self.headers.get("Authorization")))
            name = self.path.strip("/").partition("?")[0]
            self._send(200 if is_files else 404, wandb.metadata.get(name, {}))

        def _send(self, status: int, body: Any) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

    return Handler


@contextmanager
def serving() -> Iterator[Wandb]:
    """The API on one port, and the store of files on another."""
    wandb = Wandb()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(wandb, is_files)) for is_files in (False, True)]
    wandb.uri, wandb.files_uri = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield wandb
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
